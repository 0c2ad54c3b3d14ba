//! Chunks of positions: consecutive fixes of one vehicle in one row. Cut where partitions are.

use std::collections::BTreeSet;
use std::iter;

use uuid::Uuid;
use waypost_actors::model::{Timestamp, VehicleId};

use super::chunk_area::{area_of, pack_area};
use super::packed_chunk::{ChunkFix, pack_chunk, unpack_chunk};
use super::partitions::{week_begin, week_of};
use super::rows::{Column, Insert};
use super::sql::{Reader, Result, Tx};
use super::time::{Time, just_after};

/// Fixes of one chunk at most: some 800 bytes. SQLite gives a row of a table without rowid that is longer than 1,002 bytes
/// a page of its own.
const CHUNK_FIXES: usize = 64;
/// Instants that are looked up by one statement: any number is filled up to one of these, so that there are few texts.
const TOGETHER: [usize; 4] = [1, 8, 64, 256];
/// Chunks that are read by one statement at most.
const CHUNKS_TOGETHER: usize = 256;

/// Stores vehicles' fixes, each vehicle's in the order in which they were recorded. Done once more with the same fixes and
/// newer ones behind them, it comes to what the second time alone would have.
pub(super) async fn insert_chunks(tx: &mut Tx, fixes: &[(VehicleId, Vec<ChunkFix>)]) -> Result<()> {
    let (mut vehicles, mut begins, mut ends) = (vec![], vec![], vec![]);
    let (mut packed, mut areas) = (vec![], vec![]);
    for (vehicle, fixes) in fixes {
        let week = |stored: &ChunkFix| week_of(stored.fix.recorded_at);
        let of_week = fixes.chunk_by(|a, b| week(a) == week(b));
        for chunk in of_week.flat_map(|week| week.chunks(CHUNK_FIXES)) {
            vehicles.push(vehicle.0);
            begins.push(Time(chunk[0].fix.recorded_at));
            ends.push(Time(chunk[chunk.len() - 1].fix.recorded_at));
            packed.push(pack_chunk(chunk)?);
            areas.push(pack_area(area_of(chunk)));
        }
    }
    let columns = vec![
        Column::Uuid(vehicles),
        Column::Time(begins),
        Column::Time(ends),
        Column::Bytes(packed),
        Column::Bytes(areas),
    ];
    let into = "insert into position_chunk (vehicle_id, recorded_at, ended_at, fixes, area)";
    let after = "on conflict (vehicle_id, recorded_at) do update set ended_at = excluded.ended_at, \
        fixes = excluded.fixes, area = excluded.area where position_chunk.ended_at < excluded.ended_at";
    Insert { into, columns, after }.run(tx).await?;
    Ok(())
}

/// A vehicle's fixes recorded between two instants, both included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) vehicle: VehicleId,
    /// `None`: since ever.
    pub(super) from: Option<Timestamp>,
    /// `None`: until now.
    pub(super) to: Option<Timestamp>,
    pub(super) is_newest_first: bool,
}

impl Span {
    /// An instant, oldest first.
    pub(super) const fn at(vehicle: VehicleId, instant: Timestamp) -> Self {
        Self { vehicle, from: Some(instant), to: Some(instant), is_newest_first: false }
    }

    /// Everything after an instant, oldest first.
    pub(super) fn behind(vehicle: VehicleId, after: Option<Timestamp>) -> Self {
        Self { vehicle, from: after.map(just_after), to: None, is_newest_first: false }
    }

    /// Whether an instant is in it.
    pub(super) fn holds(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| at >= from) && self.to.is_none_or(|to| at <= to)
    }
}

/// A vehicle's fixes in chunks, those of each chunk oldest first: at least the first `least` of the span, if it has so
/// many.
pub(super) async fn chunked_fixes(
    reader: &mut Reader<'_>,
    span: &Span,
    least: usize,
) -> Result<Vec<ChunkFix>> {
    let mut found = Vec::new();
    let mut behind = None;
    let limit = (least / CHUNK_FIXES + 2).min(CHUNKS_TOGETHER);
    loop {
        let rows = chunks_of(reader, span, behind, limit).await?;
        for (_, bytes) in &rows {
            found
                .extend(unpack_chunk(bytes)?.into_iter().filter(|stored| span.holds(stored.fix.recorded_at)));
        }
        if rows.len() < limit || found.len() >= least {
            return Ok(found);
        }
        behind = rows.last().map(|(begin, _)| *begin);
    }
}

/// The next chunks of a span behind one that begins at an instant.
async fn chunks_of(
    reader: &mut Reader<'_>,
    span: &Span,
    behind: Option<Time>,
    limit: usize,
) -> Result<Vec<(Time, Vec<u8>)>> {
    let select = "select recorded_at, fixes from position_chunk where vehicle_id = ";
    let mut stmt = reader.on().sql(select).push_bind(span.vehicle.0);
    if let Some(from) = span.from {
        // The one that may reach to it is the last that begins before, in the same week.
        let reaching = " and recorded_at >= coalesce((select max(b.recorded_at) from position_chunk b where b.vehicle_id = ";
        stmt = stmt.push(reaching).push_bind(span.vehicle.0).push(" and b.recorded_at >= ");
        stmt = stmt.push_bind(Time(week_begin(from))).push(" and b.recorded_at <= ").push_bind(Time(from));
        stmt = stmt.push("), ").push_bind(Time(from)).push(")");
    }
    if let Some(to) = span.to {
        stmt = stmt.push(" and recorded_at <= ").push_bind(Time(to));
    }
    if let Some(behind) = behind {
        stmt = stmt.push(if span.is_newest_first { " and recorded_at < " } else { " and recorded_at > " });
        stmt = stmt.push_bind(behind);
    }
    let order = if span.is_newest_first {
        " order by recorded_at desc limit "
    } else {
        " order by recorded_at limit "
    };
    stmt.push(order).push_bind(limit as i64).all().await
}

/// The fixes in chunks of some vehicles at some instants.
pub(super) async fn chunked_at(
    tx: &mut Tx,
    wanted: &BTreeSet<(VehicleId, Timestamp)>,
) -> Result<Vec<(VehicleId, ChunkFix)>> {
    let mut found = Vec::new();
    let each: Vec<_> = wanted.iter().collect();
    for some in each.chunks(TOGETHER[TOGETHER.len() - 1]) {
        let size = TOGETHER.into_iter().find(|size| *size >= some.len()).unwrap_or(some.len());
        let some = some.iter().chain(iter::repeat(&some[some.len() - 1])).take(size);
        let stmt = tx.on().sql(
            "select c.vehicle_id, c.fixes from position_chunk c join (select distinct column1 as vehicle, \
             (select max(b.recorded_at) from position_chunk b where b.vehicle_id = column1 \
             and b.recorded_at >= column2 and b.recorded_at <= column3) as chunk from (values ",
        );
        let stmt = stmt.push_each(some, |stmt, (vehicle, at)| {
            let stmt = stmt.push("(").push_bind(vehicle.0).push(", ").push_bind(Time(week_begin(*at)));
            stmt.push(", ").push_bind(Time(*at)).push(")")
        });
        let stmt =
            stmt.push(") as wanted) as one on c.vehicle_id = one.vehicle and c.recorded_at = one.chunk");
        for (vehicle, bytes) in stmt.all::<(Uuid, Vec<u8>)>().await? {
            let vehicle = VehicleId::from(vehicle);
            let fixes = unpack_chunk(&bytes)?.into_iter();
            let of_instant = fixes.filter(|stored| wanted.contains(&(vehicle, stored.fix.recorded_at)));
            found.extend(of_instant.map(|fix| (vehicle, fix)));
        }
    }
    Ok(found)
}

/// Leaves of the chunk that has fixes before and after an instant those after it.
pub(super) async fn cut_chunk(tx: &mut Tx, vehicle: VehicleId, until: Timestamp) -> Result<()> {
    let select = "select fixes from position_chunk where vehicle_id = $1 and recorded_at >= $2 \
        and recorded_at <= $3 and ended_at > $3 order by recorded_at desc limit 1";
    let week = Time(week_begin(until));
    let chunk: Option<(Vec<u8>,)> =
        tx.on().sql(select).bind(vehicle.0).bind(week).bind(Time(until)).optional().await?;
    let Some((bytes,)) = chunk else { return Ok(()) };
    let mut fixes = unpack_chunk(&bytes)?;
    fixes.retain(|stored| stored.fix.recorded_at > until);
    let delete = "delete from position_chunk where vehicle_id = $1 and recorded_at >= $2 and recorded_at <= $3 \
        and ended_at > $3";
    tx.on().sql(delete).bind(vehicle.0).bind(week).bind(Time(until)).run().await?;
    insert_chunks(tx, &[(vehicle, fixes)]).await
}
