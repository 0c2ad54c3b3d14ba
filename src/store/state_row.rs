//! Each vehicle's newest state, and from when on its records await a correction (its dirty mark).

use std::collections::HashMap;

use uuid::Uuid;
use waypost_actors::model::{Origin, VehicleId};
use waypost_actors::ports::VehicleWrite;
use waypost_actors::tracking::Mark;

use super::event_row::unknown;
use super::rows::{Column, Insert};
use super::sql::{Result, Tx};
use super::time::Time;

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
/// have brought late. Answers the vehicles that have a mark now.
pub(super) async fn store_states(
    tx: &mut Tx,
    writes: &[VehicleWrite],
    late: &[Option<Mark>],
) -> Result<Vec<VehicleId>> {
    let (whole, merged) = newest(writes, late);
    let mut rows: Vec<(Uuid, bool)> = insert_states(&merged, MERGED)?.returning(tx).await?;
    rows.extend(insert_states(&whole, REPLACED)?.returning::<(Uuid, bool)>(tx).await?);
    Ok(rows.into_iter().filter(|(_, is_dirty)| *is_dirty).map(|(vehicle, _)| vehicle.into()).collect())
}

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

fn insert_states(states: &[Newest<'_>], after: &'static str) -> Result<Insert<'static>> {
    let last = |write: &VehicleWrite| write.state.last;
    let mark = |change: &Change| change.mark;
    let json = |write: &VehicleWrite| {
        serde_json::to_string(&*write.state).map_err(|error| sqlx::Error::Encode(error.into()))
    };
    Ok(Insert {
        into: "insert into vehicle_state (vehicle_id, organization_id, recorded_at, latitude, longitude, \
            state, dirty_from, dirty_until, dirty_origin)",
        columns: vec![
            Column::Uuid(states.iter().map(|(w, _)| w.vehicle_id.0).collect()),
            Column::Uuid(states.iter().map(|(w, _)| w.organization_id.0).collect()),
            Column::MaybeTime(states.iter().map(|(w, _)| last(w).map(|fix| Time(fix.recorded_at))).collect()),
            Column::MaybeFloat(states.iter().map(|(w, _)| last(w).map(|fix| fix.place.latitude)).collect()),
            Column::MaybeFloat(states.iter().map(|(w, _)| last(w).map(|fix| fix.place.longitude)).collect()),
            Column::Json(states.iter().map(|(w, _)| json(w)).collect::<Result<_>>()?),
            Column::MaybeTime(states.iter().map(|(_, c)| mark(c).map(|mark| Time(mark.from))).collect()),
            Column::MaybeTime(states.iter().map(|(_, c)| mark(c).map(|mark| Time(mark.until))).collect()),
            Column::MaybeText(states.iter().map(|(_, c)| mark(c).map(|mark| mark.origin.as_str())).collect()),
        ],
        after,
    })
}
