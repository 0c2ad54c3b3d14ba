//! Writing of checkpoints: the engine's whole state at instants of a vehicle's timeline.

use std::collections::HashMap;

use waypost_actors::model::VehicleId;
use waypost_actors::tracking::{Checkpoint, Correction};

use super::packed_state::pack_state;
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

/// Replaces all checkpoints in the part of a correction.
pub(super) async fn replace_checkpoints(
    tx: &mut Tx,
    vehicle: VehicleId,
    correction: &Correction,
) -> Result<()> {
    let mut stmt = tx.on().sql("delete from checkpoint where vehicle_id = ").push_bind(vehicle.0);
    if let Some(after) = correction.after {
        stmt = stmt.push(" and at > ").push_bind(Time(after));
    }
    if let Some(until) = correction.until {
        stmt = stmt.push(" and at <= ").push_bind(Time(until));
    }
    stmt.run().await?;
    let checkpoints = correction.checkpoints.iter().map(|checkpoint| (vehicle, checkpoint));
    insert_checkpoints(checkpoints)?.run(tx).await?;
    Ok(())
}
