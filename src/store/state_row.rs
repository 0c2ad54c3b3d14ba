//! Each vehicle's newest state, and from when on its records await a correction (its dirty mark).

use std::collections::HashMap;

use sqlx::error::BoxDynError;
use sqlx::{Database, Decode, Type};
use uuid::Uuid;
use waypost_actors::model::{Origin, VehicleId};
use waypost_actors::ports::VehicleWrite;
use waypost_actors::tracking::{Mark, VehicleState};

use super::record_row::unknown;
use super::rows::{Column, Insert, Update};
use super::sql::{Connection, Result, Tx};
use super::time::Time;

/// A state as its column holds it: JSON, in a text that no engine takes apart.
pub(super) struct StateText(pub(super) VehicleState);

impl StateText {
    pub(super) fn of(state: &VehicleState) -> Result<String> {
        serde_json::to_string(state).map_err(|error| sqlx::Error::Encode(error.into()))
    }
}

impl<DB: Database> Type<DB> for StateText
where
    str: Type<DB>,
{
    fn type_info() -> DB::TypeInfo {
        <str as Type<DB>>::type_info()
    }

    fn compatible(ty: &DB::TypeInfo) -> bool {
        <str as Type<DB>>::compatible(ty)
    }
}

impl<'r, DB: Database> Decode<'r, DB> for StateText
where
    &'r str: Decode<'r, DB>,
{
    fn decode(value: DB::ValueRef<'r>) -> std::result::Result<Self, BoxDynError> {
        Ok(Self(serde_json::from_str(<&str as Decode<'r, DB>>::decode(value)?)?))
    }
}

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

/// What a batch makes of one vehicle's mark.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    /// A correction said what is left, whatever was marked before it.
    is_whole: bool,
    /// What is left, and what was marked since.
    mark: Option<Mark>,
}

/// The newest state of a vehicle in a batch, and what becomes of its mark.
type Newest<'a> = (&'a VehicleWrite, Change);

/// The newest state of each vehicle in the batch, and its mark. `late`: what each write was found to
/// have brought late. `anybody_is_dirty`: some vehicle had a mark before it. Answers the vehicles that have a mark
/// now.
pub(super) async fn store_states(
    tx: &mut Tx,
    writes: &[VehicleWrite],
    late: &[Option<Mark>],
    anybody_is_dirty: bool,
) -> Result<Vec<VehicleId>> {
    let (whole, merged) = newest(writes, late);
    if !anybody_is_dirty && whole.is_empty() && merged.iter().all(|(_, change)| change.mark.is_none()) {
        put_plain(tx, &merged).await?;
        return Ok(Vec::new());
    }
    let mut rows: Vec<(Uuid, bool)> = insert_states(&merged, MERGED)?.returning(tx).await?;
    rows.extend(insert_states(&whole, REPLACED)?.returning::<(Uuid, bool)>(tx).await?);
    Ok(rows.into_iter().filter(|(_, is_dirty)| *is_dirty).map(|(vehicle, _)| vehicle.into()).collect())
}

/// States of vehicles without a mark, which almost all batches have only.
async fn put_plain(tx: &mut Tx, states: &[Newest<'_>]) -> Result<()> {
    if states.is_empty() {
        return Ok(());
    }
    let columns = plain_columns(states)?;
    let new = if let Connection::Postgres(tx) = tx.connection() {
        let there = Update { change: PLAIN_CHANGE, columns: &columns, named: PLAIN_NAMED }.run(tx).await?;
        if there == states.len() as u64 {
            return Ok(());
        }
        "on conflict (vehicle_id) do nothing"
    } else {
        PLAIN
    };
    let into =
        "insert into vehicle_state (vehicle_id, organization_id, recorded_at, latitude, longitude, state)";
    Insert { into, columns, after: new }.run(tx).await?;
    Ok(())
}

const PLAIN: &str = "on conflict (vehicle_id) do update set recorded_at = excluded.recorded_at, \
    latitude = excluded.latitude, longitude = excluded.longitude, state = excluded.state";
const PLAIN_CHANGE: &str = "update vehicle_state set recorded_at = n.recorded_at, latitude = n.latitude, \
    longitude = n.longitude, state = n.state";
const PLAIN_NAMED: &str = "as n (vehicle_id, organization_id, recorded_at, latitude, longitude, state) \
    where vehicle_state.vehicle_id = n.vehicle_id";

/// Those whose mark is replaced, and the others.
fn newest<'a>(writes: &'a [VehicleWrite], late: &[Option<Mark>]) -> (Vec<Newest<'a>>, Vec<Newest<'a>>) {
    let mut newest: HashMap<VehicleId, Newest<'a>> = HashMap::with_capacity(writes.len());
    for (write, found) in writes.iter().zip(late) {
        let (last, change) = newest.entry(write.vehicle_id).or_insert((write, Change::default()));
        *last = write;
        if let Some(correction) = &write.effects.correction {
            *change = Change { is_whole: true, mark: correction.dirty };
        }
        for more in [*found, write.effects.late].into_iter().flatten() {
            change.mark = Some(change.mark.map_or(more, |known| known.merge(more)));
        }
    }
    newest.into_values().partition(|(_, change)| change.is_whole)
}

macro_rules! state_and {
    ($mark:literal) => {
        concat!(
            "on conflict (vehicle_id) do update set recorded_at = excluded.recorded_at, \
             latitude = excluded.latitude, longitude = excluded.longitude, state = excluded.state, ",
            $mark,
            " returning vehicle_id, dirty_from is not null as is_dirty"
        )
    };
}

/// [`Mark::merge`] with what is stored, in SQL.
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

/// What a state is without its mark.
fn plain_columns(states: &[Newest<'_>]) -> Result<Vec<Column<'static>>> {
    let last = |write: &VehicleWrite| write.state.last;
    Ok(vec![
        Column::Uuid(states.iter().map(|(w, _)| w.vehicle_id.0).collect()),
        Column::Uuid(states.iter().map(|(w, _)| w.organization_id.0).collect()),
        Column::MaybeTime(states.iter().map(|(w, _)| last(w).map(|fix| Time(fix.recorded_at))).collect()),
        Column::MaybeFloat(states.iter().map(|(w, _)| last(w).map(|fix| fix.place.latitude)).collect()),
        Column::MaybeFloat(states.iter().map(|(w, _)| last(w).map(|fix| fix.place.longitude)).collect()),
        Column::Written(states.iter().map(|(w, _)| StateText::of(&w.state)).collect::<Result<_>>()?),
    ])
}

fn insert_states(states: &[Newest<'_>], after: &'static str) -> Result<Insert<'static>> {
    let mark = |change: &Change| change.mark;
    let mut columns = plain_columns(states)?;
    columns.extend([
        Column::MaybeTime(states.iter().map(|(_, c)| mark(c).map(|mark| Time(mark.from))).collect()),
        Column::MaybeTime(states.iter().map(|(_, c)| mark(c).map(|mark| Time(mark.until))).collect()),
        Column::MaybeText(states.iter().map(|(_, c)| mark(c).map(|mark| mark.origin.as_str())).collect()),
    ]);
    let into = "insert into vehicle_state (vehicle_id, organization_id, recorded_at, latitude, longitude, \
        state, dirty_from, dirty_until, dirty_origin)";
    Ok(Insert { into, columns, after })
}
