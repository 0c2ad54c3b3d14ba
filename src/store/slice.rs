//! The input of one step of a correction: the dirty mark, the checkpoint to start at, and the fixes and checkpoints
//! after it.

use waypost_actors::model::{Timestamp, VehicleId};
use waypost_actors::ports::{Slice, StoredFix};
use waypost_actors::tracking::Checkpoint;

use super::fix_row::FixRow;
use super::fixes::read_fixes;
use super::packed_chunk::ChunkFix;
use super::packed_state::PackedState;
use super::position_chunk::Span;
use super::sql::{Db, Reader, Result, Tx};
use super::state_row::MarkRow;
use super::time::{Time, just_after};

/// Reads a vehicle's next slice in one snapshot; `None` when nothing awaits a correction.
/// `tail`: the vehicle's fixes that are in no chunk, read before.
pub(super) async fn read_slice(db: &Db, vehicle: VehicleId, tail: &[ChunkFix]) -> Result<Option<Slice>> {
    let mut tx = db.begin_snapshot().await?;
    // What is about to be deleted is not put right before.
    let select = "select dirty_from, dirty_until, dirty_origin from vehicle_state \
        where vehicle_id = $1 and dirty_from is not null \
        and not exists (select 1 from vehicle v where v.id = $1 and v.purge_asked_at is not null)";
    let mark: Option<MarkRow> = tx.on().sql(select).bind(vehicle.0).optional().await?;
    let Some(mark) = mark else { return Ok(None) };
    let mark = mark.mark()?;
    let kept = "select kept_from from vehicle_state where vehicle_id = $1";
    let kept: Option<Time> = tx.on().sql(kept).bind(vehicle.0).scalar().await?;
    // What is past retention stays as it was found, because its fixes are gone.
    let begin = kept.map_or(mark.from, |kept| mark.from.max(just_after(kept.into())));
    let checkpoint = checkpoint_before(&mut tx, vehicle, tail, begin).await?;
    let after = checkpoint.as_ref().map(|checkpoint| checkpoint.at);
    let (fixes, is_last) = fixes_behind(&mut tx, vehicle, tail, after, None).await?;
    let until = fixes.last().filter(|_| !is_last).map(|stored| stored.fix.recorded_at);
    let checkpoints = checkpoints_in(&mut tx, vehicle, after, until).await?;
    Ok(Some(Slice { mark, checkpoint, fixes, checkpoints, is_last }))
}

type CheckpointRow = (Time, PackedState);

fn checkpoint((at, PackedState(state)): CheckpointRow) -> Result<Checkpoint> {
    Ok(Checkpoint { at: at.into(), state: state? })
}

/// The newest checkpoint before an instant, with its fixes as currently stored: what later reports added to them
/// either affects no judgement, or has put the mark before them.
pub(super) async fn checkpoint_before(
    tx: &mut Tx,
    vehicle: VehicleId,
    tail: &[ChunkFix],
    instant: Timestamp,
) -> Result<Option<Checkpoint>> {
    let select =
        "select at, state from checkpoint where vehicle_id = $1 and at < $2 order by at desc limit 1";
    let row: Option<CheckpointRow> =
        tx.on().sql(select).bind(vehicle.0).bind(Time(instant)).optional().await?;
    let mut checkpoint = row.map(checkpoint).transpose()?;
    for known in checkpoint.iter_mut().flat_map(|checkpoint| checkpoint.state.fixes_mut()) {
        let of_instant = Span::at(vehicle, known.recorded_at);
        let stored = fixes(tx, tail, of_instant, Slice::MAX_FIXES_OF_INSTANT).await?;
        if let Some(stored) = stored.iter().find(|stored| stored.fix.place == known.place) {
            known.merge(&stored.fix);
        }
    }
    Ok(checkpoint)
}

/// The checkpoints in `(after, until]`, oldest first.
async fn checkpoints_in(
    tx: &mut Tx,
    vehicle: VehicleId,
    after: Option<Timestamp>,
    until: Option<Timestamp>,
) -> Result<Vec<Checkpoint>> {
    let mut stmt = tx.on().sql("select at, state from checkpoint where vehicle_id = ").push_bind(vehicle.0);
    if let Some(after) = after {
        stmt = stmt.push(" and at > ").push_bind(Time(after));
    }
    if let Some(until) = until {
        stmt = stmt.push(" and at <= ").push_bind(Time(until));
    }
    let rows: Vec<CheckpointRow> = stmt.push(" order by at").all().await?;
    rows.into_iter().map(checkpoint).collect()
}

/// The next fixes that count, by instant, up to one if it is given, and whether they are the last ones.
pub(super) async fn fixes_behind(
    tx: &mut Tx,
    vehicle: VehicleId,
    tail: &[ChunkFix],
    after: Option<Timestamp>,
    until: Option<Timestamp>,
) -> Result<(Vec<StoredFix>, bool)> {
    let behind = |after| Span { to: until, ..Span::behind(vehicle, after) };
    // One more than wanted shows whether there are more, and whether the last instant is complete.
    let mut rows = fixes(tx, tail, behind(after), Slice::MAX_FIXES + 1).await?;
    let Some(next) = rows.get(Slice::MAX_FIXES).map(|stored| stored.fix.recorded_at) else {
        return Ok((rows, true));
    };
    if rows[0].fix.recorded_at < next {
        rows.retain(|stored| stored.fix.recorded_at < next);
        return Ok((rows, false));
    }
    // All of them share one instant: the slice is that instant.
    let rows = fixes(tx, tail, Span::at(vehicle, next), Slice::MAX_FIXES_OF_INSTANT).await?;
    let is_last = fixes(tx, tail, behind(Some(next)), 1).await?.is_empty();
    Ok((rows, is_last))
}

/// The first fixes of a span that count or did, oldest first.
async fn fixes(tx: &mut Tx, tail: &[ChunkFix], span: Span, limit: usize) -> Result<Vec<StoredFix>> {
    let is_of_now = |row: &FixRow| !row.is_of_future();
    let rows = read_fixes(Reader::Tx(tx), tail, span.into(), limit, is_of_now).await?;
    rows.into_iter().map(StoredFix::try_from).collect()
}
