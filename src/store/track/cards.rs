//! What the readers in the vehicles say: noted with the fix if it came in order, read from the stored fixes again if it came late.
//! So the runs are what the stored fixes say, in whatever order they came.

use std::collections::BTreeMap;

use uuid::Uuid;
use waypost_actors::model::{AttributeValue, Attributes, OrganizationId, Timestamp, VehicleId};
use waypost_actors::ports::VehicleWrite;
use waypost_actors::tracking::{Freshness, PositionRow, Quarantine};

use crate::domain::card_time::Run;
use crate::domain::driver_card::card_key;
use crate::store::card_assignment::{self, Made};
use crate::store::card_run;
use crate::store::change_log;
use crate::store::fixes::read_fixes;
use crate::store::packed_chunk::ChunkFix;
use crate::store::position_chunk::Span;
use crate::store::rows::{Column, Insert};
use crate::store::sql::{Reader, Result, Tx};
use crate::store::time::{Time, just_after, just_before};

/// The attribute, as it stands in the text of attributes.
const MEMBER: &str = "\"driverCard\":";
/// Fixes that are read again at once.
const SCANNED_FIXES: usize = 2_000;
/// Fixes may be a little ahead of the clock.
const AHEAD_SECONDS: f64 = 86_400.0;

/// The card that a fix says, in the form in which cards are compared; empty: none is there. `None`: it says nothing of it.
fn card_of(attributes: Option<&Attributes>) -> Option<String> {
    let attributes = attributes.filter(|attributes| attributes.as_json().contains(MEMBER))?;
    match attributes.get("driverCard")? {
        AttributeValue::Text(card) => Some(card_key(&card)),
        _ => None,
    }
}

/// What a fix of a batch says.
struct CardReading {
    at: Timestamp,
    key: String,
    /// It is newer than all that was stored.
    is_fresh: bool,
}

/// What the fixes of one vehicle in a batch say, in the order in which they were applied.
struct VehicleReadings {
    organization: OrganizationId,
    judged_at: Timestamp,
    readings: Vec<CardReading>,
}

/// What the readers say in a batch, which asks the store nothing if no fix says anything.
fn readings(writes: &[VehicleWrite]) -> BTreeMap<VehicleId, VehicleReadings> {
    let mut by_vehicle: BTreeMap<VehicleId, VehicleReadings> = BTreeMap::new();
    let reading = |row: &PositionRow| {
        // Nobody knows when it was, so it says nothing.
        let key = card_of(row.attributes.as_ref()).filter(|_| row.quarantine != Some(Quarantine::Future))?;
        Some(CardReading { at: row.fix.recorded_at, key, is_fresh: row.freshness == Freshness::Fresh })
    };
    for write in writes {
        for reading in write.effects.rows.iter().filter_map(reading) {
            let new = || VehicleReadings {
                organization: write.organization_id,
                judged_at: write.judged_at,
                readings: Vec::new(),
            };
            by_vehicle.entry(write.vehicle_id).or_insert_with(new).readings.push(reading);
        }
    }
    by_vehicle
}

/// A vehicle's fixes that have to be read again: from the first to the last late one.
struct Late {
    vehicle: VehicleId,
    from: Timestamp,
    until: Timestamp,
    noted_at: Timestamp,
}

/// Notes what the readers say in a batch whose fixes are stored, and makes the assignments that follow from what came in order.
/// Returns whether it left anything to be put right.
pub(super) async fn note(tx: &mut Tx, writes: &[VehicleWrite]) -> Result<bool> {
    let by_vehicle = readings(writes);
    if by_vehicle.is_empty() {
        return Ok(false);
    }
    let asked: Vec<(VehicleId, Timestamp)> = by_vehicle
        .iter()
        .flat_map(|(vehicle, of)| of.readings.iter().map(|reading| (*vehicle, reading.at)))
        .collect();
    let mut known = card_run::runs_at(tx, &asked).await?.into_iter();
    let (mut runs, mut late, mut begun) = (Vec::new(), Vec::new(), Vec::new());
    for (vehicle, VehicleReadings { organization, judged_at, readings }) in by_vehicle {
        let known: Vec<String> = known.by_ref().take(readings.len()).collect();
        let new = runs_in_order(&readings, &known);
        if let Some((at, _)) = new.first() {
            begun.push((organization, vehicle, *at, judged_at));
        }
        runs.extend(new.into_iter().map(|run| (vehicle, run)));
        late.extend(late_in(vehicle, &readings, &known, judged_at));
    }
    card_run::put(tx, &runs).await?;
    let mut leaves_changes = !late.is_empty();
    put_late(tx, &late).await?;
    for (organization, vehicle, from, now) in begun {
        if card_assignment::make(tx, vehicle, from, now).await? != Made::AsBefore {
            leaves_changes = true;
            leave(tx, (organization, vehicle), from, now).await?;
        }
    }
    Ok(leaves_changes)
}

/// The runs that begin with fixes that came in order. `known`: what was said at the instant of each before.
fn runs_in_order(readings: &[CardReading], known: &[String]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (reading, known) in readings.iter().zip(known).filter(|(reading, _)| reading.is_fresh) {
        // No run is newer than what was stored, so before the first of them all know the same.
        let present = runs.last().map_or(known, |(_, key)| key);
        if reading.key != *present {
            runs.push((reading.at, reading.key.clone()));
        }
    }
    runs
}

/// What has to be read again: fixes that came late and say something else than was known at their instants, or something of the
/// time of this batch.
fn late_in(
    vehicle: VehicleId,
    readings: &[CardReading],
    known: &[String],
    noted_at: Timestamp,
) -> Option<Late> {
    let first_fresh = readings.iter().find(|reading| reading.is_fresh).map(|reading| reading.at);
    let is_new = |reading: &CardReading, known: &String| {
        !reading.is_fresh && (reading.key != *known || first_fresh.is_some_and(|first| reading.at >= first))
    };
    let mut late = readings
        .iter()
        .zip(known)
        .filter(|(reading, known)| is_new(reading, known))
        .map(|(reading, _)| reading.at);
    let first = late.next()?;
    let (from, until) = late.fold((first, first), |(from, until), at| (from.min(at), until.max(at)));
    Some(Late { vehicle, from, until, noted_at })
}

async fn put_late(tx: &mut Tx, late: &[Late]) -> Result<()> {
    let rows = Insert {
        into: "insert into card_scan (vehicle_id, scan_from, scan_until, noted_at)",
        columns: vec![
            Column::Uuid(late.iter().map(|late| late.vehicle.0).collect()),
            Column::Time(late.iter().map(|late| Time(late.from)).collect()),
            Column::Time(late.iter().map(|late| Time(late.until)).collect()),
            Column::Time(late.iter().map(|late| Time(late.noted_at)).collect()),
        ],
        after: "on conflict (vehicle_id) do update set noted_at = excluded.noted_at, \
            scan_from = case when excluded.scan_from < card_scan.scan_from then excluded.scan_from else card_scan.scan_from end, \
            scan_until = case when excluded.scan_until > card_scan.scan_until then excluded.scan_until else card_scan.scan_until end",
    };
    rows.run(tx).await?;
    Ok(())
}

/// Leaves it to the writer to make the assignments of a vehicle from an instant on, and to put right who drove.
async fn leave(
    tx: &mut Tx,
    owner: (OrganizationId, VehicleId),
    from: Timestamp,
    now: Timestamp,
) -> Result<()> {
    let to = now.plus_seconds(AHEAD_SECONDS).max(just_after(from));
    change_log::insert_driven(tx, owner, (from, to), now).await
}

/// A card whose assignments may not be as they should be since an instant: the row, the organization, the card.
type Unsettled = (Uuid, Uuid, String, Time);

/// Finds the vehicles that reported a card which began or ceased to be a driver's; returns whether there was one.
pub(super) async fn settle(tx: &mut Tx) -> Result<bool> {
    let select = "select id, organization_id, card_key, unsettled_from from card_holding where unsettled_from is not null";
    let shard = tx.shard();
    let stmt = tx.on().sql(select).and_of_shard(shard, "organization_id").push(" order by id limit 1");
    let Some((id, organization, key, Time(from))) = stmt.optional::<Unsettled>().await? else {
        return Ok(false);
    };
    let select = "select distinct r.vehicle_id from card_run r join vehicle v on v.id = r.vehicle_id \
        where v.organization_id = $1 and r.card_key = $2 and (r.reported_at >= $3 or not exists (select 1 from card_run n \
        where n.vehicle_id = r.vehicle_id and n.reported_at > r.reported_at and n.reported_at <= $3))";
    let stmt = tx.on().sql(select).bind(organization).bind(key).bind(Time(from));
    for (vehicle,) in stmt.all::<(Uuid,)>().await? {
        leave(tx, (organization.into(), vehicle.into()), from, from).await?;
    }
    let update = "update card_holding set unsettled_from = null where id = $1";
    tx.on().sql(update).bind(id).run().await?;
    Ok(true)
}

/// A vehicle with a card that came late: its organization, from when on, up to the last one, and when that was noted.
type Waiting = (Uuid, Uuid, Time, Time, Time);

/// Reads a slice of the fixes again whose cards came late, and makes the runs what they say; returns whether there was one.
pub(super) async fn scan(tx: &mut Tx, tail: impl Fn(VehicleId) -> Result<Vec<ChunkFix>>) -> Result<bool> {
    let select = "select s.vehicle_id, v.organization_id, s.scan_from, s.scan_until, s.noted_at from card_scan s \
        join vehicle v on v.id = s.vehicle_id where true";
    let shard = tx.shard();
    let stmt = tx.on().sql(select).and_of_shard(shard, "v.organization_id");
    let stmt = stmt.push(" order by s.vehicle_id limit 1");
    let Some((vehicle, organization, Time(from), Time(until), Time(noted_at))) =
        stmt.optional::<Waiting>().await?
    else {
        return Ok(false);
    };
    let vehicle = VehicleId(vehicle);
    // A run behind the last late one begins with a fix that says so: what follows it is as it was.
    let stop = card_run::runs_from(tx, vehicle, (just_after(until), None), 1).await?.pop();
    let stop_at = stop.as_ref().map(|(at, _)| *at);
    let (said, end) = said_from(tx, vehicle, &tail(vehicle)?, (from, stop_at)).await?;
    let before = card_run::run_before(tx, vehicle, just_before(from)).await?;
    let mut present = before.map(|(_, key)| key).unwrap_or_default();
    let mut new: Vec<Run> = Vec::new();
    for (at, key) in said {
        if key != present {
            present.clone_from(&key);
            new.push((at, key));
        }
    }
    let stored = card_run::runs_from(tx, vehicle, (from, end.or(stop_at)), i64::MAX).await?;
    let mut gone: Vec<Timestamp> =
        stored.iter().filter(|(at, _)| new.iter().all(|(other, _)| other != at)).map(|(at, _)| *at).collect();
    // One that says the same as before it is none.
    gone.extend(stop.filter(|(_, key)| end.is_none() && *key == present).map(|(at, _)| at));
    new.retain(|run| !stored.contains(run));
    let changed_at = new.iter().map(|(at, _)| *at).chain(gone.iter().copied()).min();
    card_run::delete(tx, vehicle, &gone).await?;
    card_run::put(tx, &new.into_iter().map(|run| (vehicle, run)).collect::<Vec<_>>()).await?;
    match end {
        Some(end) => {
            // What this slice made ends no later one.
            let until = Time(until.max(just_before(end)));
            let update = "update card_scan set scan_from = $2, scan_until = $3 where vehicle_id = $1";
            tx.on().sql(update).bind(vehicle.0).bind(Time(end)).bind(until).run().await?;
        }
        None => {
            tx.on().sql("delete from card_scan where vehicle_id = $1").bind(vehicle.0).run().await?;
        }
    }
    if let Some(changed_at) = changed_at {
        leave(tx, (organization.into(), vehicle), changed_at, noted_at).await?;
    }
    Ok(true)
}

/// What the next stored fixes of a time say, one card per instant, and where the rest begins; `None`: that is all.
async fn said_from(
    tx: &mut Tx,
    vehicle: VehicleId,
    tail: &[ChunkFix],
    (from, to): (Timestamp, Option<Timestamp>),
) -> Result<(Vec<Run>, Option<Timestamp>)> {
    let span = Span { vehicle, from: Some(from), to: to.map(just_before), is_newest_first: false };
    let fixes =
        read_fixes(Reader::Tx(tx), tail, span.into(), SCANNED_FIXES + 1, |fix| !fix.is_of_future()).await?;
    let next = fixes.get(SCANNED_FIXES).map(|fix| fix.recorded_at.0);
    // An instant is read whole, unless it has more fixes than any vehicle can mean.
    let end = next.map(|next| if next == from { just_after(next) } else { next });
    let mut said: Vec<Run> = Vec::new();
    for fix in fixes.iter().filter(|fix| end.is_none_or(|end| fix.recorded_at.0 < end)) {
        let Some(key) = card_of(fix.attributes().as_ref()) else { continue };
        let at = fix.recorded_at.0;
        match said.last_mut().filter(|(last, _)| *last == at) {
            // Of two that one instant says the greater one counts, whichever came first; a card before none.
            Some((_, known)) => *known = known.clone().max(key),
            None => said.push((at, key)),
        }
    }
    Ok((said, end))
}
