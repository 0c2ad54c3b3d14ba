//! What a slice of a correction is made from: the dirty mark, the checkpoint to begin at, and the
//! fixes and checkpoints after it.

use sqlx::types::Json;
use waypost_actors::model::{Timestamp, VehicleId};
use waypost_actors::ports::Slice;
use waypost_actors::tracking::{Checkpoint, PositionRow};

use super::position_row::{FixRow, SELECT_FIXES};
use super::sql::{Db, Result};
use super::state_row::DirtyRow;
use super::time::Time;

/// Fixes of one slice, but that an instant is never split.
const SLICE_FIXES: usize = 2_000;

/// Reads a vehicle's next slice; `None` when nothing awaits a correction.
pub(super) async fn read_slice(db: &Db, vehicle: VehicleId) -> Result<Option<Slice>> {
    let dirty: Option<DirtyRow> = db
        .read()
        .sql(
            "select dirty_from, dirty_until, dirty_origin from vehicle_state \
             where vehicle_id = $1 and dirty_from is not null",
        )
        .bind(vehicle.0)
        .optional()
        .await?;
    let Some(dirty) = dirty else { return Ok(None) };
    let dirty = dirty.dirty()?;
    let start = checkpoint_before(db, vehicle, dirty.from).await?;
    let after = start.as_ref().map(|start| start.at);
    let (fixes, more) = read_fixes(db, vehicle, after).await?;
    let until = fixes.last().filter(|_| more).map(|row| row.fix.recorded_at);
    let checkpoints = checkpoints_in(db, vehicle, after, until).await?;
    Ok(Some(Slice { dirty, start, fixes, checkpoints, more }))
}

type CheckpointRow = (Time, Json<waypost_actors::tracking::VehicleState>);

fn checkpoint((at, Json(state)): CheckpointRow) -> Checkpoint {
    Checkpoint { at: at.into(), state }
}

async fn checkpoint_before(db: &Db, vehicle: VehicleId, instant: Timestamp) -> Result<Option<Checkpoint>> {
    let row: Option<CheckpointRow> = db
        .read()
        .sql("select at, state from checkpoint where vehicle_id = $1 and at < $2 order by at desc limit 1")
        .bind(vehicle.0)
        .bind(Time(instant))
        .optional()
        .await?;
    Ok(row.map(checkpoint))
}

/// The checkpoints in `(after, until]`, oldest first.
async fn checkpoints_in(
    db: &Db,
    vehicle: VehicleId,
    after: Option<Timestamp>,
    until: Option<Timestamp>,
) -> Result<Vec<Checkpoint>> {
    let mut stmt = db.read().sql("select at, state from checkpoint where vehicle_id = ").push_bind(vehicle.0);
    if let Some(after) = after {
        stmt = stmt.push(" and at > ").push_bind(Time(after));
    }
    if let Some(until) = until {
        stmt = stmt.push(" and at <= ").push_bind(Time(until));
    }
    let rows: Vec<CheckpointRow> = stmt.push(" order by at").all().await?;
    Ok(rows.into_iter().map(checkpoint).collect())
}

/// A vehicle's next fixes that count, by instant, and whether there are more.
async fn read_fixes(
    db: &Db,
    vehicle: VehicleId,
    after: Option<Timestamp>,
) -> Result<(Vec<PositionRow>, bool)> {
    // One more than a slice has tells whether the last instant is whole.
    let limit = SLICE_FIXES + 1;
    let mut rows = fixes(db, vehicle, after, None, limit).await?;
    if rows.len() < limit {
        return Ok((rows, false));
    }
    let next = rows[SLICE_FIXES].fix.recorded_at;
    if rows[0].fix.recorded_at < next {
        rows.retain(|row| row.fix.recorded_at < next);
        return Ok((rows, true));
    }
    // All of them are of one instant: then the slice is that instant, however many it has.
    let rows = fixes(db, vehicle, None, Some(next), usize::MAX).await?;
    let more = !fixes(db, vehicle, Some(next), None, 1).await?.is_empty();
    Ok((rows, more))
}

async fn fixes(
    db: &Db,
    vehicle: VehicleId,
    after: Option<Timestamp>,
    of: Option<Timestamp>,
    limit: usize,
) -> Result<Vec<PositionRow>> {
    let mut stmt = db.read().sql(SELECT_FIXES).push(" where vehicle_id = ").push_bind(vehicle.0);
    if let Some(after) = after {
        stmt = stmt.push(" and recorded_at > ").push_bind(Time(after));
    }
    if let Some(instant) = of {
        stmt = stmt.push(" and recorded_at = ").push_bind(Time(instant));
    }
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let stmt = stmt.push(" and (quarantine is null or quarantine <> 'future') order by recorded_at limit ");
    let rows: Vec<FixRow> = stmt.push_bind(limit).all().await?;
    rows.into_iter().map(FixRow::position).collect()
}
