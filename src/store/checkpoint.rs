//! Writing of checkpoints: the engine's whole state at instants of a vehicle's timeline.

use std::collections::{HashMap, HashSet};

use waypost_actors::model::{Timestamp, VehicleId};
use waypost_actors::tracking::{Adjustment, Checkpoint, Correction};

use super::packed_state::{PackedState, pack_state};
use super::rows::{Column, Insert};
use super::sql::{Result, Tx};
use super::time::Time;

/// The insert of checkpoints, each replacing one of the same instant; of two new ones, the later one wins.
pub(super) fn insert_checkpoints<'a>(
    checkpoints: impl Iterator<Item = (VehicleId, &'a Checkpoint)>,
) -> Result<Insert<'static>> {
    let newest: HashMap<_, _> =
        checkpoints.map(|(vehicle, checkpoint)| ((vehicle, checkpoint.at), checkpoint)).collect();
    let rows: Vec<_> = newest.into_iter().map(|((vehicle, _), checkpoint)| (vehicle, checkpoint)).collect();
    Ok(Insert {
        into: "insert into checkpoint (vehicle_id, at, state)",
        columns: vec![
            Column::Uuid(rows.iter().map(|(vehicle, _)| vehicle.0).collect()),
            Column::Time(rows.iter().map(|(_, checkpoint)| Time(checkpoint.at)).collect()),
            Column::Bytes(
                rows.iter().map(|(_, checkpoint)| pack_state(&checkpoint.state)).collect::<Result<_>>()?,
            ),
        ],
        after: "on conflict (vehicle_id, at) do update set state = excluded.state",
    })
}

/// Makes the checkpoints of a correction the only ones in its part; those that are there already are not written.
pub(super) async fn replace_checkpoints(
    tx: &mut Tx,
    vehicle: VehicleId,
    correction: &Correction,
) -> Result<()> {
    let mut stmt = tx.on().sql("select at, state from checkpoint where vehicle_id = ").push_bind(vehicle.0);
    if let Some(after) = correction.after {
        stmt = stmt.push(" and at > ").push_bind(Time(after));
    }
    if let Some(until) = correction.until {
        stmt = stmt.push(" and at <= ").push_bind(Time(until));
    }
    let stored: HashMap<Timestamp, Vec<u8>> =
        stmt.all::<(Time, Vec<u8>)>().await?.into_iter().map(|(at, state)| (at.into(), state)).collect();
    let mut gone: HashSet<Timestamp> = stored.keys().copied().collect();
    let mut different = Vec::new();
    for checkpoint in &correction.checkpoints {
        gone.remove(&checkpoint.at);
        if stored.get(&checkpoint.at) != Some(&pack_state(&checkpoint.state)?) {
            different.push((vehicle, checkpoint));
        }
    }
    for some in gone.into_iter().collect::<Vec<_>>().chunks(TOGETHER as usize) {
        let stmt = tx.on().sql("delete from checkpoint where vehicle_id = ").push_bind(vehicle.0);
        let stmt = stmt.push(" and at in (").push_each(some, |stmt, at| stmt.push_bind(Time(*at)));
        stmt.push(")").run().await?;
    }
    insert_checkpoints(different.into_iter())?.run(tx).await?;
    Ok(())
}

/// Checkpoints read at once.
const TOGETHER: i64 = 100;

/// Puts right the sums in the checkpoints behind the part of a correction, up to where the trip or stop ended that goes on there.
pub(super) async fn adjust_checkpoints(
    tx: &mut Tx,
    vehicle: VehicleId,
    correction: &Correction,
) -> Result<()> {
    let (Some(adjustment), Some(until)) = (&correction.adjustment, correction.until) else { return Ok(()) };
    let mut after = Some(until);
    while let Some(at) = after {
        after = adjust_some(tx, vehicle, adjustment, at).await?;
    }
    Ok(())
}

/// Returns the last one, if the trip or stop went on there and more may follow.
async fn adjust_some(
    tx: &mut Tx,
    vehicle: VehicleId,
    adjustment: &Adjustment,
    after: Timestamp,
) -> Result<Option<Timestamp>> {
    let stmt = tx.on().sql("select at, state from checkpoint where vehicle_id = ").push_bind(vehicle.0);
    let stmt = stmt.push(" and at > ").push_bind(Time(after)).push(" order by at limit ").push_bind(TOGETHER);
    let rows: Vec<(Time, PackedState)> = stmt.all().await?;
    let read = rows.len();
    let mut adjusted = Vec::new();
    for (at, PackedState(state)) in rows {
        let mut state = state?;
        if !adjustment.apply(&mut state) {
            break;
        }
        adjusted.push(Checkpoint { at: at.into(), state });
    }
    insert_checkpoints(adjusted.iter().map(|checkpoint| (vehicle, checkpoint)))?.run(tx).await?;
    let is_whole = read as i64 == TOGETHER && adjusted.len() == read;
    Ok(adjusted.last().filter(|_| is_whole).map(|checkpoint| checkpoint.at))
}
