//! Each vehicle's newest state, and its dirty mark: the instant from which its records await a correction.

use std::collections::HashMap;
use std::sync::Arc;

use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Origin, Timestamp, VehicleId};
use waypost_actors::ports::VehicleWrite;
use waypost_actors::tracking::{Mark, VehicleState};

use super::packed_state::pack_state;
use super::record_row::unknown;
use super::rows::{Column, Insert};
use super::sql::{Result, Tx};
use super::time::Time;

/// Vehicles in one statement.
const TOGETHER: usize = 500;

/// A stored mark.
#[derive(sqlx::FromRow)]
pub(super) struct MarkRow {
    dirty_from: Time,
    dirty_until: Time,
    dirty_origin: String,
}

impl MarkRow {
    pub(super) fn mark(self) -> Result<Mark> {
        let word = &self.dirty_origin;
        let origin = Origin::from_word(word).ok_or_else(|| unknown("dirty_origin", word))?;
        Ok(Mark { from: self.dirty_from.into(), until: self.dirty_until.into(), origin })
    }
}

/// The change of one vehicle's mark by a batch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MarkChange {
    /// Whether a correction determined what is left, whatever was marked before it.
    is_whole: bool,
    /// What is left, merged with what was marked since.
    mark: Option<Mark>,
}

/// A state to store, with the change of its vehicle's mark.
#[derive(Clone, Debug)]
pub(super) struct NewState {
    pub(super) vehicle: VehicleId,
    pub(super) organization: OrganizationId,
    pub(super) state: Arc<VehicleState>,
    pub(super) change: MarkChange,
}

/// The outcome of a batch for one vehicle.
#[derive(Clone, Debug)]
pub(super) struct Left {
    pub(super) newest: NewState,
    /// Whether the state may wait, because the fix log suffices to restore it; if not, it is stored now.
    pub(super) is_logged: bool,
}

/// The outcome of a batch for each of its vehicles. `late`: the marks of late fixes, by write.
pub(super) fn left_of(writes: &[VehicleWrite], late: &[Option<Mark>]) -> HashMap<VehicleId, Left> {
    let mut left: HashMap<VehicleId, Left> = HashMap::with_capacity(writes.len());
    for (write, found) in writes.iter().zip(late) {
        let Left { newest, is_logged } = left.entry(write.vehicle_id).or_insert_with(|| Left {
            newest: NewState {
                vehicle: write.vehicle_id,
                organization: write.organization_id,
                state: Arc::clone(&write.state),
                change: MarkChange::default(),
            },
            is_logged: true,
        });
        newest.state = Arc::clone(&write.state);
        if let Some(correction) = &write.effects.correction {
            newest.change = MarkChange { is_whole: true, mark: correction.dirty };
        }
        for more in [*found, write.effects.late].into_iter().flatten() {
            newest.change.mark = Some(newest.change.mark.map_or(more, |known| known.merge(more)));
        }
        *is_logged &=
            !newest.change.is_whole && newest.change.mark.is_none() && !write.effects.rows.is_empty();
    }
    left
}

/// Stores states that contain every commit up to `log_number`. `anybody_is_dirty`: some vehicle had a mark before.
/// Returns the vehicles that have one now, and where it begins.
pub(super) async fn store_states(
    tx: &mut Tx,
    states: &[NewState],
    log_number: i64,
    anybody_is_dirty: bool,
) -> Result<Vec<(VehicleId, Timestamp)>> {
    if !anybody_is_dirty && states.iter().all(|new| !new.change.is_whole && new.change.mark.is_none()) {
        put_plain(tx, &states.iter().collect::<Vec<_>>(), log_number).await?;
        return Ok(Vec::new());
    }
    let (whole, merged): (Vec<_>, Vec<_>) = states.iter().partition(|new| new.change.is_whole);
    let mut rows: Vec<Marked> = insert_states(&merged, log_number, MERGED)?.returning(tx).await?;
    rows.extend(insert_states(&whole, log_number, REPLACED)?.returning::<Marked>(tx).await?);
    Ok(rows.into_iter().filter_map(|(vehicle, from)| Some((vehicle.into(), from?.into()))).collect())
}

/// A vehicle, and where its mark begins.
type Marked = (Uuid, Option<Time>);

/// Those of the given vehicles that are marked dirty, and where their marks begin.
pub(super) async fn dirty_among(tx: &mut Tx, vehicles: &[VehicleId]) -> Result<Vec<(VehicleId, Timestamp)>> {
    let mut dirty = Vec::new();
    for some in vehicles.chunks(TOGETHER) {
        let select = "select vehicle_id, dirty_from from vehicle_state where dirty_from is not null and vehicle_id in (";
        let stmt = tx.on().sql(select).push_each(some, |stmt, id| stmt.push_bind(id.0));
        let rows: Vec<(Uuid, Time)> = stmt.push(")").all().await?;
        dirty.extend(rows.into_iter().map(|(vehicle, from)| (VehicleId::from(vehicle), from.into())));
    }
    Ok(dirty)
}

/// Stores states of vehicles that are not marked dirty, which is the common case.
async fn put_plain(tx: &mut Tx, states: &[&NewState], log_number: i64) -> Result<()> {
    let columns = plain_columns(states, log_number)?;
    let into = "insert into vehicle_state (vehicle_id, organization_id, state, log_number)";
    let after =
        "on conflict (vehicle_id) do update set state = excluded.state, log_number = excluded.log_number";
    Insert { into, columns, after }.run(tx).await?;
    Ok(())
}

macro_rules! state_and {
    ($mark:literal) => {
        concat!(
            "on conflict (vehicle_id) do update set state = excluded.state, log_number = excluded.log_number, ",
            $mark,
            " returning vehicle_id, dirty_from"
        )
    };
}

/// [`Mark::merge`] with the stored mark, in SQL.
const MERGED: &str = state_and!(
    "dirty_from = case when vehicle_state.dirty_from <= excluded.dirty_from or excluded.dirty_from is null \
        then vehicle_state.dirty_from else excluded.dirty_from end, \
    dirty_until = case when vehicle_state.dirty_until >= excluded.dirty_until or excluded.dirty_until is null \
        then vehicle_state.dirty_until else excluded.dirty_until end, \
    dirty_origin = case when vehicle_state.dirty_origin = 'recompute' or excluded.dirty_origin is null \
        then vehicle_state.dirty_origin else excluded.dirty_origin end"
);

const REPLACED: &str = state_and!(
    "dirty_from = excluded.dirty_from, dirty_until = excluded.dirty_until, \
    dirty_origin = excluded.dirty_origin"
);

/// The columns of a state except for its mark.
fn plain_columns(states: &[&NewState], log_number: i64) -> Result<Vec<Column<'static>>> {
    Ok(vec![
        Column::Uuid(states.iter().map(|new| new.vehicle.0).collect()),
        Column::Uuid(states.iter().map(|new| new.organization.0).collect()),
        Column::Bytes(states.iter().map(|new| pack_state(&new.state)).collect::<Result<_>>()?),
        Column::Int(vec![log_number; states.len()]),
    ])
}

fn insert_states(states: &[&NewState], log_number: i64, after: &'static str) -> Result<Insert<'static>> {
    let marks = || states.iter().map(|new| new.change.mark);
    let mut columns = plain_columns(states, log_number)?;
    columns.extend([
        Column::MaybeTime(marks().map(|mark| Some(Time(mark?.from))).collect()),
        Column::MaybeTime(marks().map(|mark| Some(Time(mark?.until))).collect()),
        Column::MaybeText(marks().map(|mark| Some(mark?.origin.as_str())).collect()),
    ]);
    let into = "insert into vehicle_state (vehicle_id, organization_id, state, log_number, dirty_from, \
        dirty_until, dirty_origin)";
    Ok(Insert { into, columns, after })
}
