//! Where vehicles were at a past instant: inside which geofences, and at which fix.

use std::collections::HashMap;

use uuid::Uuid;
use waypost_actors::model::{Cause, GeofenceId, Place, Timestamp, VehicleId, VisitId};
use waypost_actors::ports::StoredFix;
use waypost_actors::tracking::by_rank;

use super::filters::{each_of, one_of};
use super::fix_row::FixRow;
use super::fixes::read_fixes;
use super::packed_chunk::{ChunkFix, unpack_chunk};
use super::partitions::week_begin;
use super::position_chunk::Span;
use super::record_row::unknown;
use super::sql::{Db, Reader, Result, Stmt};
use super::stay::going_on_at;
use super::time::Time;
use super::track::Track;
use crate::auth::scope::OrgScope;

const DAY_SECONDS: f64 = 86_400.0;

/// A vehicle that was inside a geofence at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct WasInside {
    /// The vehicle.
    pub vehicle_id: VehicleId,
    /// Since when.
    pub entered_at: Timestamp,
    /// Why its stay began.
    pub cause: Cause,
    /// Where its stay began.
    pub entry: Place,
}

/// At most `limit` of the vehicles that were inside a geofence at an instant, by entry, then id.
pub async fn inside_at(
    db: &Db,
    scope: &OrgScope,
    geofence: GeofenceId,
    at: Timestamp,
    after: Option<(Timestamp, VehicleId)>,
    limit: i64,
) -> Result<Vec<WasInside>> {
    let stmt = db.lists().sql("with found as materialized (");
    let of_fence = |stmt| one_of(stmt, " and v.geofence_id in (", &[geofence.0]);
    let mut stmt = going_on_at(stmt, scope, at, db.engine(), of_fence).push(
        ") select f.vehicle_id, f.entered_at, e.cause, e.latitude, e.longitude from found f cross join visit v \
         cross join records e where v.id = f.id and e.id = v.entry_event_id",
    );
    if let Some((entered_at, vehicle)) = after {
        stmt = stmt.push(" and (f.entered_at, f.vehicle_id) > (").push_bind(Time(entered_at));
        stmt = stmt.push(", ").push_bind(vehicle.0).push(")");
    }
    let stmt = stmt.push(" order by f.entered_at, f.vehicle_id limit ").push_bind(limit);
    let rows: Vec<(Uuid, Time, String, f64, f64)> = stmt.all().await?;
    let inside = |(vehicle, entered_at, word, latitude, longitude): (Uuid, Time, String, f64, f64)| {
        Ok(WasInside {
            vehicle_id: VehicleId(vehicle),
            entered_at: entered_at.into(),
            cause: Cause::from_word(&word).ok_or_else(|| unknown("cause", &word))?,
            entry: Place::new(latitude, longitude),
        })
    };
    rows.into_iter().map(inside).collect()
}

/// A stay of a vehicle that went on at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// The vehicle.
    pub vehicle_id: VehicleId,
    /// Where it was.
    pub geofence_id: GeofenceId,
    /// The stay.
    pub visit_id: VisitId,
    /// Since when.
    pub entered_at: Timestamp,
}

/// The stays of some vehicles that went on at an instant, by entry.
pub async fn held_at(db: &Db, scope: &OrgScope, vehicles: &[VehicleId], at: Timestamp) -> Result<Vec<Held>> {
    if vehicles.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<Uuid> = vehicles.iter().map(|id| id.0).collect();
    let stmt = db.lists().sql("with found as materialized (");
    let of_vehicles = |stmt| one_of(stmt, " and v.vehicle_id in (", &ids);
    let stmt = going_on_at(stmt, scope, at, db.engine(), of_vehicles)
        .push(") select vehicle_id, geofence_id, id, entered_at from found order by entered_at, geofence_id");
    let rows: Vec<(Uuid, Uuid, Uuid, Time)> = stmt.all().await?;
    let held = |(vehicle, geofence, visit, entered_at): (Uuid, Uuid, Uuid, Time)| Held {
        vehicle_id: VehicleId(vehicle),
        geofence_id: GeofenceId(geofence),
        visit_id: VisitId(visit),
        entered_at: entered_at.into(),
    };
    Ok(rows.into_iter().map(held).collect())
}

/// The newest evaluated fix of each vehicle at an instant. Vehicles without one are left out.
pub async fn fixes_at(
    db: &Db,
    track: &Track,
    vehicles: &[VehicleId],
    at: Timestamp,
) -> Result<HashMap<VehicleId, StoredFix>> {
    let mut fixes = HashMap::new();
    // Most were heard of within a day: that looks at one or two partitions.
    for from in [week_begin(at.plus_seconds(-DAY_SECONDS)), Timestamp::FIRST] {
        let left: Vec<VehicleId> =
            vehicles.iter().filter(|vehicle| !fixes.contains_key(*vehicle)).copied().collect();
        fixes.extend(newest_of_each(db, track, &left, (from, at)).await?);
    }
    Ok(fixes)
}

/// Those of vehicles that have one between two instants, both included.
async fn newest_of_each(
    db: &Db,
    track: &Track,
    vehicles: &[VehicleId],
    range: (Timestamp, Timestamp),
) -> Result<Vec<(VehicleId, StoredFix)>> {
    if vehicles.is_empty() {
        return Ok(Vec::new());
    }
    let mut held = HashMap::new();
    for vehicle in vehicles {
        held.insert(*vehicle, (track.tail(*vehicle)?, Vec::new()));
    }
    for (vehicle, bytes) in newest_chunks(db, vehicles, range).await? {
        held.entry(vehicle).or_default().1 = unpack_chunk(&bytes)?;
    }
    let changed = newest_changed(db, vehicles, range).await?;
    let mut found = Vec::new();
    for (vehicle, (tail, chunk)) in held {
        let up_to = |stored: &&ChunkFix| stored.fix.recorded_at <= range.1;
        let in_order: Vec<&ChunkFix> = chunk.iter().chain(&tail).filter(up_to).collect();
        let newest = match (the_newest(&in_order), changed.get(&vehicle)) {
            (None, None) if in_order.is_empty() => continue,
            (Some(fix), changed) if changed.is_none_or(|at| *at < fix.fix.recorded_at) => Some(fix.clone()),
            // Rare: what came late, or is judged otherwise since, has to be laid over it.
            _ => {
                let span = Span { vehicle, from: Some(range.0), to: Some(range.1), is_newest_first: true };
                newest_of(db, &tail, span).await?
            }
        };
        found.extend(newest.map(|fix| (vehicle, fix)));
    }
    Ok(found)
}

/// The newest evaluated one, unless another is of the same instant.
fn the_newest<'a>(fixes: &[&'a ChunkFix]) -> Option<&'a ChunkFix> {
    let evaluated = || fixes.iter().filter(|stored| stored.quarantine.is_none());
    let newest = evaluated().max_by_key(|stored| stored.fix.recorded_at)?;
    let is_alone = evaluated().filter(|stored| stored.fix.recorded_at == newest.fix.recorded_at).count() == 1;
    is_alone.then_some(newest)
}

/// Of each vehicle the newest chunk that begins between two instants, both included.
async fn newest_chunks(
    db: &Db,
    vehicles: &[VehicleId],
    range: (Timestamp, Timestamp),
) -> Result<Vec<(VehicleId, Vec<u8>)>> {
    let stmt = db
        .lists()
        .sql("select c.vehicle_id, c.fixes from position_chunk c join (select column1 as vehicle, ")
        .push("(select max(b.recorded_at) from position_chunk b where b.vehicle_id = column1");
    let stmt = between(stmt, " and b.recorded_at >= ", " and b.recorded_at <= ", range);
    let stmt = each_of(stmt.push(") as chunk from "), vehicles);
    let stmt = stmt.push(" as one on c.vehicle_id = one.vehicle and c.recorded_at = one.chunk");
    let stmt = between(stmt, " and c.recorded_at >= ", " and c.recorded_at <= ", range);
    let rows: Vec<(Uuid, Vec<u8>)> = stmt.all().await?;
    Ok(rows.into_iter().map(|(vehicle, bytes)| (vehicle.into(), bytes)).collect())
}

/// Of each vehicle the instant of its newest late or changed fix between two instants, both included.
async fn newest_changed(
    db: &Db,
    vehicles: &[VehicleId],
    range: (Timestamp, Timestamp),
) -> Result<HashMap<VehicleId, Timestamp>> {
    let stmt = db
        .lists()
        .sql("select one.vehicle, one.newest from (select column1 as vehicle, ")
        .push("(select max(b.recorded_at) from position b where b.vehicle_id = column1");
    let stmt = between(stmt, " and b.recorded_at >= ", " and b.recorded_at <= ", range);
    let stmt = each_of(stmt.push(") as newest from "), vehicles).push(" as one where one.newest is not null");
    let rows: Vec<(Uuid, Time)> = stmt.all().await?;
    Ok(rows.into_iter().map(|(vehicle, at)| (vehicle.into(), at.into())).collect())
}

fn between<'c>(
    stmt: Stmt<'c>,
    from: &'static str,
    to: &'static str,
    range: (Timestamp, Timestamp),
) -> Stmt<'c> {
    stmt.push(from).push_bind(Time(range.0)).push(to).push_bind(Time(range.1))
}

/// The newest evaluated fix of a span; of two places at one instant the first by rank, as the engine takes it.
async fn newest_of(db: &Db, tail: &[ChunkFix], span: Span) -> Result<Option<StoredFix>> {
    let (mut span, mut newest) = (span, None);
    for limit in [2, usize::MAX] {
        let rows = read_fixes(Reader::Lists(db), tail, span.into(), limit, FixRow::is_evaluated).await?;
        let fixes: Vec<StoredFix> = rows.into_iter().map(StoredFix::try_from).collect::<Result<_>>()?;
        let first = fixes.first().map(|stored| stored.fix.recorded_at);
        let of_instant = |stored: &StoredFix| Some(stored.fix.recorded_at) == first;
        let many = fixes.iter().filter(|stored| of_instant(stored)).count();
        newest = fixes.into_iter().filter(of_instant).min_by(|a, b| by_rank(&a.fix, &b.fix));
        match &newest {
            Some(stored) if many > 1 => span = Span::at(span.vehicle, stored.fix.recorded_at),
            _ => break,
        }
    }
    Ok(newest)
}
