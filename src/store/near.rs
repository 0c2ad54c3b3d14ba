//! Which vehicles came near a geofence, and when: from the areas of their chunks, without reading a fix of these.

use std::collections::HashMap;

use futures_util::TryStreamExt;
use uuid::Uuid;
use waypost_actors::geofence::{FenceTimeline, GeoBox};
use waypost_actors::model::{Place, Timestamp, VehicleId};
use waypost_actors::tracking::{NearSpan, Stretch};

use super::chunk_area::{area_of, unpack_area};
use super::filters::each_of;
use super::packed_chunk::ChunkFix;
use super::sql::{Db, Result, Stmt};
use super::time::Time;

/// Vehicles that are looked at by one statement.
pub(super) const TOGETHER: usize = 16;
/// Rows of `position` that become one stretch, where there is no chunk before them.
const ROWS_TOGETHER: usize = 64;

/// The parts of some vehicles' timelines after an instant that a geofence may have to do with; none of those it has nothing
/// to do with. `tails`: the vehicles, each with its fixes that are in no chunk, read before.
pub(super) async fn came_near(
    db: &Db,
    fence: &FenceTimeline,
    from: Timestamp,
    tails: Vec<(VehicleId, Vec<ChunkFix>)>,
) -> Result<Vec<(VehicleId, NearSpan)>> {
    let vehicles: Vec<VehicleId> = tails.iter().map(|(vehicle, _)| *vehicle).collect();
    let mut by_vehicle = chunks(db, &vehicles, from).await?;
    for (vehicle, tail) in &tails {
        if let (Some(first), Some(last)) = (tail.first(), tail.last()) {
            let (began_at, ended_at) = (first.fix.recorded_at, last.fix.recorded_at);
            let stretch = Stretch { began_at, ended_at, area: area_of(tail) };
            let known = by_vehicle.entry(*vehicle).or_default();
            known.stretches.push(stretch);
            // Meanwhile its fixes may have become chunks.
            known.stretches.sort_by_key(|stretch| stretch.began_at);
        }
    }
    add_rows(db, &vehicles, from, &mut by_vehicle).await?;
    let span = |(vehicle, known): (VehicleId, Stretches)| {
        Some((vehicle, NearSpan::of(fence, from, known.stretches)?))
    };
    Ok(by_vehicle.into_iter().filter_map(span).collect())
}

/// A vehicle's stretches, oldest first.
#[derive(Default)]
struct Stretches {
    stretches: Vec<Stretch>,
    /// How many of them are of rows alone, and the rows of the last of these.
    of_rows: usize,
    rows: usize,
}

impl Stretches {
    /// Adds a row, not older than those before it, to the stretch it lies in or behind.
    fn add(&mut self, at: Timestamp, place: Place) {
        let behind = self.stretches.partition_point(|stretch| stretch.began_at <= at);
        if behind <= self.of_rows && (behind == 0 || self.rows == ROWS_TOGETHER) {
            let area = GeoBox::around([place]);
            self.stretches.insert(behind, Stretch { began_at: at, ended_at: at, area });
            self.of_rows += 1;
            self.rows = 1;
            return;
        }
        let stretch = &mut self.stretches[behind - 1];
        stretch.ended_at = stretch.ended_at.max(at);
        // What is not known stays so.
        stretch.area = stretch.area.zip(GeoBox::around([place])).map(|(area, place)| area.with(&place));
        self.rows += 1;
    }
}

/// The vehicles' chunks, each vehicle's from the third last that begins before an instant on: so its last two fixes before
/// that are among them, though few of some chunk may count.
async fn chunks(db: &Db, vehicles: &[VehicleId], from: Timestamp) -> Result<HashMap<VehicleId, Stretches>> {
    let select = db.read().sql("select r.vehicle_id, r.recorded_at, r.ended_at, r.area from ");
    let stmt = from_third_last(select, ("position_chunk r", "position_chunk b where"), vehicles, from)
        .push(" order by r.vehicle_id, r.recorded_at");
    let mut rows = stmt.stream::<(Uuid, Time, Time, Vec<u8>)>();
    let mut by_vehicle: HashMap<VehicleId, Stretches> = HashMap::new();
    while let Some((vehicle, began_at, ended_at, area)) = rows.try_next().await? {
        let (began_at, ended_at) = (began_at.into(), ended_at.into());
        let stretch = Stretch { began_at, ended_at, area: unpack_area(&area) };
        by_vehicle.entry(vehicle.into()).or_default().stretches.push(stretch);
    }
    Ok(by_vehicle)
}

/// Adds what came late or is judged otherwise since, and all from before chunks.
async fn add_rows(
    db: &Db,
    vehicles: &[VehicleId],
    from: Timestamp,
    by_vehicle: &mut HashMap<VehicleId, Stretches>,
) -> Result<()> {
    let select = db.read().sql("select r.vehicle_id, r.recorded_at, r.latitude, r.longitude from ");
    let tables = ("position r", "position b where b.quarantine is null and");
    let stmt = from_third_last(select, tables, vehicles, from)
        .push(" and r.quarantine is null order by r.vehicle_id, r.recorded_at");
    let mut rows = stmt.stream::<(Uuid, Time, f64, f64)>();
    while let Some((vehicle, at, latitude, longitude)) = rows.try_next().await? {
        by_vehicle.entry(vehicle.into()).or_default().add(at.into(), Place::new(latitude, longitude));
    }
    Ok(())
}

/// Selects from the rows `r` those of some vehicles, each vehicle's from the third last before an instant on; all of a vehicle that
/// has fewer. `rows`: the table as `r`, and where that one is looked up, the same table as `b` up to its next condition.
///
/// SQLite keeps the order of a cross join. Of a join it would rather go through all rows there are, which come in the wanted order.
fn from_third_last<'c>(
    stmt: Stmt<'c>,
    (table, rows): (&'static str, &'static str),
    vehicles: &[VehicleId],
    from: Timestamp,
) -> Stmt<'c> {
    let stmt = stmt.push("(select column1 as vehicle, (select b.recorded_at from ").push(rows);
    let stmt = stmt.push(" b.vehicle_id = column1 and b.recorded_at < ").push_bind(Time(from));
    let stmt = each_of(stmt.push(" order by b.recorded_at desc limit 1 offset 2) as begin from "), vehicles);
    let stmt = stmt.push(" as one cross join ").push(table);
    let stmt = stmt.push(" where r.vehicle_id = one.vehicle and r.recorded_at >= coalesce(one.begin, ");
    stmt.push_bind(Time(Timestamp::FIRST)).push(")")
}
