//! Packs days of the fuel log that are over, while commits go on.
//!
//! A day is claimed by a row without levels, between two commits; its readings are read after that, and its levels are stored only
//! in the row of this claim. Whatever changes a reading deletes the day's row in its own transaction, claimed or packed. So
//! a change before the claim is read, and one after it leaves no row to store anything in. A claim that nobody sees through is taken
//! over by the next one.

use std::collections::BTreeSet;

use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp, VehicleId};

use super::fuel_day::{day_after, day_of};
use super::fuel_levels::{PAGE, logged, page};
use super::packed_levels::pack_levels;
use super::rows::{Column, Insert};
use super::sql::{Db, Result};
use super::time::{Time, just_before};
use super::track::Track;
use crate::clock::new_id;

/// Days that are claimed together.
const TOGETHER: usize = 16;

/// What one step came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Days that were packed.
    pub days: usize,
    /// Their readings.
    pub readings: usize,
    /// Whether the vehicle has no more days to pack.
    pub is_done: bool,
}

/// An organization's vehicles, those that were deleted too.
pub async fn vehicles(db: &Db, organization: OrganizationId) -> Result<Vec<VehicleId>> {
    let select = "select id from vehicle where organization_id = $1 order by id";
    let rows: Vec<(Uuid,)> = db.read().sql(select).bind(organization.0).all().await?;
    Ok(rows.into_iter().map(|(id,)| id.into()).collect())
}

/// Packs some of a vehicle's days from `since` on, if that is given, that end by `until`, the beginning of a day.
pub async fn pack_some(
    track: &Track,
    (organization, vehicle): (OrganizationId, VehicleId),
    since: Option<Timestamp>,
    until: Timestamp,
) -> Result<Step> {
    // From here on each commit before `until` is noted, and deletes the day's row.
    let Some(from) = track.fuel_days().await.begin(vehicle, until) else {
        return Ok(Step { is_done: true, ..Step::default() });
    };
    let first = since.map_or(from, |since| from.max(day_after(day_of(just_before(since)))));
    let packed = pack_from(track, (organization, vehicle), first, until).await;
    let rest = match &packed {
        Ok((_, rest)) => *rest,
        Err(_) => Some(from),
    };
    if let Some(rest) = rest {
        track.fuel_days().await.stop(vehicle, rest);
    }
    packed.map(|(step, _)| step)
}

/// Also returns from where on days are left.
async fn pack_from(
    track: &Track,
    (organization, vehicle): (OrganizationId, VehicleId),
    from: Timestamp,
    until: Timestamp,
) -> Result<(Step, Option<Timestamp>)> {
    let db = track.db();
    let days = unpacked(db, vehicle, from, until).await?;
    let rest = days.get(TOGETHER - 1).map(|last| day_after(*last));
    let mut step = Step { is_done: rest.is_none(), ..Step::default() };
    if days.is_empty() {
        return Ok((step, None));
    }
    let Some(claim) = claim(track, (organization, vehicle), &days).await? else {
        return Ok((Step { is_done: true, ..step }, Some(from)));
    };
    for day in days {
        if let Some(readings) = pack_claimed(db, vehicle, day, claim).await? {
            step.days += 1;
            step.readings += readings;
        }
    }
    Ok((step, rest))
}

/// The first days of a vehicle that have readings and are not packed.
async fn unpacked(db: &Db, vehicle: VehicleId, from: Timestamp, until: Timestamp) -> Result<Vec<Timestamp>> {
    let select = "select day from fuel_day where vehicle_id = $1 and day >= $2 and day < $3 \
        and levels is not null order by day";
    let stmt = db.read().sql(select).bind(vehicle.0).bind(Time(day_of(from))).bind(Time(until));
    let packed: Vec<(Time,)> = stmt.all().await?;
    let packed: BTreeSet<Timestamp> = packed.into_iter().map(|(Time(day),)| day).collect();
    let (mut found, mut from) = (Vec::new(), from);
    for end in packed.into_iter().chain([until]) {
        while from < end {
            let select = "select min(recorded_at) from fuel_log where vehicle_id = $1 and recorded_at >= $2 \
                and recorded_at < $3";
            let stmt = db.read().sql(select).bind(vehicle.0).bind(Time(from)).bind(Time(end));
            let Some(Time(first)) = stmt.scalar::<Option<Time>>().await? else { break };
            found.push(day_of(first));
            if found.len() == TOGETHER {
                return Ok(found);
            }
            from = day_after(day_of(first));
        }
        from = from.max(day_after(end));
    }
    Ok(found)
}

/// Claims days to pack; `None` if another server is the writer now.
pub async fn claim(
    track: &Track,
    (organization, vehicle): (OrganizationId, VehicleId),
    days: &[Timestamp],
) -> Result<Option<Uuid>> {
    let claim = new_id();
    let Some(mut held) = track.hold_commits().await? else { return Ok(None) };
    let tx = held.tx();
    let insert = Insert {
        into: "insert into fuel_day (vehicle_id, day, organization_id, claim)",
        columns: vec![
            Column::Uuid(vec![vehicle.0; days.len()]),
            Column::Time(days.iter().copied().map(Time).collect()),
            Column::Uuid(vec![organization.0; days.len()]),
            Column::Uuid(vec![claim; days.len()]),
        ],
        after: "on conflict (vehicle_id, day) do update set claim = excluded.claim where fuel_day.levels is null",
    };
    insert.run(tx).await?;
    held.commit().await?;
    Ok(Some(claim))
}

/// Packs a claimed day; returns how many readings it has, `None` if one of them was changed since it was claimed.
pub async fn pack_claimed(db: &Db, vehicle: VehicleId, day: Timestamp, claim: Uuid) -> Result<Option<usize>> {
    let (mut levels, mut after) = (Vec::new(), just_before(day));
    loop {
        let mut some = page(logged(db.read(), vehicle, after, day_after(day))).await?;
        let is_last = some.len() < PAGE;
        after = some.last().map_or(after, |last| last.measured.at);
        levels.append(&mut some);
        if is_last {
            break;
        }
    }
    let update = "update fuel_day set levels = $4 where vehicle_id = $1 and day = $2 and claim = $3";
    let stmt = db.write().sql(update).bind(vehicle.0).bind(Time(day)).bind(claim);
    let stored = stmt.bind(pack_levels(&levels)?).run().await?;
    Ok((stored > 0).then_some(levels.len()))
}
