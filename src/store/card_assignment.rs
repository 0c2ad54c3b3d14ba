//! Assignments that cards made: derived from what the readers said (`card_run`), for whom the cards assigned (`card_holding`) and
//! the assignments that somebody made, which go before. The track writer makes them; an edit only takes them out of its way.

use std::collections::HashMap;

use sha2::{Digest, Sha256};
use uuid::Uuid;
use waypost_actors::model::{
    Change, ChangeKind, ChangedResource, DriverId, OrganizationId, Timestamp, VehicleId,
};

use super::assignment::{Row, SELECT};
use super::card_run::{run_before, runs_from};
use super::change_log;
use super::sql::{Connection, Result, Tx};
use super::time::{Time, just_after};
use crate::auth::scope::OrgScope;
use crate::domain::assignment::Assignment;
use crate::domain::card_time::{Driven, Holding, Run, Span, driven};

/// Runs looked at in one step at most.
const RUNS: usize = 500;

/// Takes the assignments of a vehicle that cards made out of a time: those that began in it go, one that began before ends
/// with its beginning. Returns them as they were, and what was done to them.
pub async fn make_way(
    tx: &mut Tx,
    scope: &OrgScope,
    vehicle: VehicleId,
    (from, to): Span,
    now: Timestamp,
) -> Result<Vec<(Assignment, ChangeKind)>> {
    let stmt = tx.on().sql(SELECT).push("where origin = 'card' and organization_id = ");
    let stmt =
        stmt.push_bind(Uuid::from(scope.organization_id())).push(" and vehicle_id = ").push_bind(vehicle.0);
    let mut stmt = stmt.push(" and (ended_at is null or ended_at > ").push_bind(Time(from)).push(")");
    if let Some(to) = to {
        stmt = stmt.push(" and started_at < ").push_bind(Time(to));
    }
    let rows: Vec<Row> = stmt.all().await?;
    let made: Vec<Assignment> = rows.into_iter().map(Assignment::from).collect();
    let mut done = Vec::with_capacity(made.len());
    for assignment in made {
        let kind = if assignment.started_at < from {
            let update = "update assignment set ended_at = $2, end_reason = 'reassigned', updated_at = $3 where id = $1";
            tx.on().sql(update).bind(assignment.id).bind(Time(from)).bind(Time(now)).run().await?;
            ChangeKind::Updated
        } else {
            tx.on().sql("delete from assignment where id = $1").bind(assignment.id).run().await?;
            ChangeKind::Deleted
        };
        done.push((assignment, kind));
    }
    Ok(done)
}

/// What became of a vehicle's assignments by cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// They were as they should be.
    AsBefore,
    /// They are as they should be now.
    Anew,
    /// They are so up to this instant, from which it goes on.
    UpTo(Timestamp),
    /// Somebody changes the vehicle just now: to be tried again.
    Busy,
}

/// An assignment that a card made.
#[derive(sqlx::FromRow)]
struct Card {
    id: Uuid,
    driver_id: Uuid,
    started_at: Time,
    ended_at: Option<Time>,
}

impl Card {
    fn span(&self) -> Span {
        (self.started_at.0, self.ended_at.map(Timestamp::from))
    }
}

/// A vehicle's organization, and when it was deleted.
type Owner = (Uuid, Option<Time>);

/// Makes a vehicle's assignments by cards from an instant on what they should be, and logs what changed, as of `now`.
pub(super) async fn make(tx: &mut Tx, vehicle: VehicleId, from: Timestamp, now: Timestamp) -> Result<Made> {
    // Once what the readers said is deleted, the assignments that followed from it stand.
    let said = "select (exists (select 1 from card_run where vehicle_id = $1) \
        or exists (select 1 from assignment where vehicle_id = $1 and origin = 'card')) \
        and not exists (select 1 from vehicle where id = $1 and purge_asked_at is not null)";
    let is_said: bool = tx.on().sql(said).bind(vehicle.0).scalar().await?;
    if !is_said {
        return Ok(Made::AsBefore);
    }
    let Some((organization, deleted_at)) = hold(tx, vehicle).await? else { return Ok(Made::Busy) };
    // One that ends there, or goes on, may last longer now.
    let touching = "select min(started_at) from assignment where vehicle_id = $1 and origin = 'card' \
        and started_at < $2 and (ended_at is null or ended_at >= $2)";
    let first: Option<Time> = tx.on().sql(touching).bind(vehicle.0).bind(Time(from)).scalar().await?;
    let begin = first.map_or(from, Timestamp::from);
    let mut runs: Vec<Run> = run_before(tx, vehicle, begin).await?.into_iter().collect();
    runs.extend(runs_from(tx, vehicle, (just_after(begin), Some(just_after(from))), i64::MAX).await?);
    let later = runs_from(tx, vehicle, (just_after(from), None), RUNS as i64 + 1).await?;
    let until = later.get(RUNS).map(|(at, _)| *at);
    runs.extend(later.into_iter().take(RUNS));
    let stored = stored(tx, vehicle, (begin, until)).await?;
    let holdings = holdings(tx, organization, begin, &runs).await?;
    let by_hand = by_hand(tx, vehicle, (begin, until)).await?;
    let end = until.into_iter().chain(deleted_at.map(Timestamp::from)).min();
    let wanted = driven(&runs, &holdings, &by_hand, (begin, end));
    let owner = (OrganizationId(organization), vehicle);
    let is_changed = put(tx, owner, stored, wanted, now).await?;
    Ok(match (until, is_changed) {
        (Some(until), _) => Made::UpTo(until),
        (None, true) => Made::Anew,
        (None, false) => Made::AsBefore,
    })
}

/// Locks the vehicle's row against edits of its assignments, without waiting for one; `None` if one is under way.
///
/// Every edit locks this row before it touches an assignment of the vehicle. If it came first, it is not waited for: it may last,
/// and all live data waits for the writer. What made the writer look is stored, so it looks again, and by then it reads what the
/// edit committed, or nothing of it. If the writer came first, the edit waits for its commit, and makes way for what that made.
async fn hold(tx: &mut Tx, vehicle: VehicleId) -> Result<Option<Owner>> {
    let lock = match tx.connection() {
        Connection::Postgres(_) => " for no key update skip locked",
        Connection::Sqlite(_) => "",
    };
    let select = "select organization_id, deleted_at from vehicle where id = ";
    tx.on().sql(select).push_bind(vehicle.0).push(lock).optional().await
}

/// Whether an assignment is still what the cards say: of a driver whose cards are deleted with all else, it stands, also once
/// the driver comes again and has others.
macro_rules! still_by_card {
    () => {
        "(origin = 'card' and exists (select 1 from card_holding h where h.driver_id = assignment.driver_id \
         and h.organization_id = assignment.organization_id and h.held_from <= assignment.started_at))"
    };
}

/// The vehicle's assignments by cards that reach into a time.
async fn stored(tx: &mut Tx, vehicle: VehicleId, (from, to): Span) -> Result<Vec<Card>> {
    let select = concat!(
        "select id, driver_id, started_at, ended_at from assignment where ",
        still_by_card!(),
        " and vehicle_id = "
    );
    let stmt = tx.on().sql(select).push_bind(vehicle.0).push(" and started_at >= ").push_bind(Time(from));
    match to {
        Some(to) => stmt.push(" and started_at < ").push_bind(Time(to)),
        None => stmt,
    }
    .all()
    .await
}

/// For whom the cards of some runs assigned, in order.
async fn holdings(tx: &mut Tx, organization: Uuid, from: Timestamp, runs: &[Run]) -> Result<Vec<Holding>> {
    let mut keys: Vec<&str> =
        runs.iter().map(|(_, key)| key.as_str()).filter(|key| !key.is_empty()).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut found: Vec<(String, Uuid, Time, Option<Time>)> = Vec::new();
    for some in keys.chunks(RUNS) {
        let stmt = tx.on().sql("select card_key, driver_id, held_from, held_until from card_holding where ");
        let stmt = stmt
            .push("organization_id = ")
            .push_bind(organization)
            .push(" and (held_until is null or held_until > ");
        let stmt = stmt.push_bind(Time(from)).push(") and card_key in (");
        let rows = stmt.push_each(some, |stmt, key| stmt.push_bind((*key).to_owned())).push(")").all();
        found.extend(rows.await?);
    }
    found.sort_unstable_by_key(|holding| (holding.2, holding.1));
    let holding = |(key, driver, Time(from), until): (String, Uuid, Time, Option<Time>)| Holding {
        key,
        driver: driver.into(),
        span: (from, until.map(Timestamp::from)),
    };
    Ok(found.into_iter().map(holding).collect())
}

/// When somebody said who drives the vehicle, or nothing can be said of it any more, in order.
async fn by_hand(tx: &mut Tx, vehicle: VehicleId, (from, to): Span) -> Result<Vec<Span>> {
    let select = concat!(
        "select started_at, ended_at from assignment where not ",
        still_by_card!(),
        " and vehicle_id = "
    );
    let stmt = tx.on().sql(select).push_bind(vehicle.0).push(" and (ended_at is null or ended_at > ");
    let mut stmt = stmt.push_bind(Time(from)).push(")");
    if let Some(to) = to {
        stmt = stmt.push(" and started_at < ").push_bind(Time(to));
    }
    let rows: Vec<(Time, Option<Time>)> = stmt.push(" order by started_at").all().await?;
    Ok(rows.into_iter().map(|(Time(from), to)| (from, to.map(Timestamp::from))).collect())
}

/// Makes the stored ones the wanted ones, and logs that; returns whether they differed.
async fn put(
    tx: &mut Tx,
    (organization, vehicle): (OrganizationId, VehicleId),
    stored: Vec<Card>,
    wanted: Vec<Driven>,
    now: Timestamp,
) -> Result<bool> {
    let mut new: HashMap<(Uuid, Timestamp), Driven> =
        wanted.into_iter().map(|wanted| ((wanted.driver.0, wanted.span.0), wanted)).collect();
    let (mut changed, mut moved) = (Vec::new(), Vec::new());
    for card in stored {
        match new.remove(&(card.driver_id, card.started_at.0)) {
            Some(wanted) if wanted.span == card.span() => {}
            Some(wanted) => moved.push((card, wanted)),
            None => {
                tx.on().sql("delete from assignment where id = $1").bind(card.id).run().await?;
                changed.push((card.id, DriverId(card.driver_id), ChangeKind::Deleted));
            }
        }
    }
    // Those that get shorter first, because no two may overlap in between.
    let end = |end: Option<Timestamp>| end.unwrap_or(Timestamp::MAX);
    moved.sort_by_key(|(card, wanted)| end(wanted.span.1) > end(card.span().1));
    for (card, Driven { driver, span }) in moved {
        let update = "update assignment set ended_at = $2, end_reason = $3, ended_by = null, updated_at = $4 where id = $1";
        let stmt = tx.on().sql(update).bind(card.id).bind(span.1.map(Time)).bind(span.1.map(|_| "cardEnded"));
        stmt.bind(Time(now)).run().await?;
        changed.push((card.id, driver, ChangeKind::Updated));
    }
    for Driven { driver, span } in new.into_values() {
        let id = id_of(vehicle, driver, span.0);
        let insert = "insert into assignment (id, organization_id, driver_id, vehicle_id, started_at, ended_at, origin, \
            end_reason, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, 'card', $7, $8, $8)";
        let stmt = tx.on().sql(insert).bind(id).bind(organization.0).bind(driver.0).bind(vehicle.0);
        let stmt = stmt.bind(Time(span.0)).bind(span.1.map(Time)).bind(span.1.map(|_| "cardEnded"));
        stmt.bind(Time(now)).run().await?;
        changed.push((id, driver, ChangeKind::Created));
    }
    let logged = |resource, resource_id, kind| Change {
        sequence: 0,
        organization_id: Some(organization),
        resource,
        resource_id,
        kind,
        changed_at: now,
    };
    let log: Vec<Change> = changed
        .iter()
        .flat_map(|(id, driver, kind)| {
            [
                logged(ChangedResource::Assignment, *id, *kind),
                logged(ChangedResource::Driver, driver.0, ChangeKind::Updated),
                logged(ChangedResource::Vehicle, vehicle.0, ChangeKind::Updated),
            ]
        })
        .collect();
    if !log.is_empty() {
        change_log::insert(tx, &log).await?;
    }
    Ok(!log.is_empty())
}

/// An id that follows from what happened, so that it is the same in whatever order that became known.
fn id_of(vehicle: VehicleId, driver: DriverId, from: Timestamp) -> Uuid {
    let mut hash = Sha256::new();
    hash.update(vehicle.0.as_bytes());
    hash.update(driver.0.as_bytes());
    hash.update(from.as_micros().to_be_bytes());
    let digest = hash.finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}
