//! Corrections: a part of a vehicle's timeline evaluated anew, from a state before it, by the very steps that judge
//! live fixes (docs/tracking.md, "Late data").

use std::collections::HashMap;

use super::adjustment::Adjustment;
use super::alert;
use super::change::{advance, catch_up};
use super::context::Context;
use super::effects::{Checkpoint, Correction, Effects, Mark, Quarantine};
use super::journey::Journey;
use super::overspeed;
use super::record::Record;
use super::state::VehicleState;
use super::timeline::{apply, by_rank};
use super::trips;
use crate::model::{Attributes, EventId, Fix, Origin, Timestamp};

/// A stored fix.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredFix {
    /// The fix, merged from all reports of it.
    pub fix: Fix,
    /// Why it was not evaluated, if it was not.
    pub quarantine: Option<Quarantine>,
    /// What its reports said beside it.
    pub attributes: Option<Attributes>,
}

/// The input of one step of a correction; read in one snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// The vehicle's dirty mark.
    pub mark: Mark,
    /// The newest checkpoint with `at < mark.from`, with its fixes as they are stored by now; `None` to evaluate
    /// from the beginning. Where retention has deleted the beginning, the checkpoint from then, even if the mark is
    /// earlier.
    pub checkpoint: Option<Checkpoint>,
    /// The fixes after the checkpoint, by instant, without those quarantined as `future`: about
    /// [`Slice::MAX_FIXES`], and either all of an instant or none.
    pub fixes: Vec<StoredFix>,
    /// The stored checkpoints after `checkpoint`, by instant; none beyond the last fix unless `is_last`.
    pub checkpoints: Vec<Checkpoint>,
    /// Whether no fix is stored after the last one of `fixes`.
    pub is_last: bool,
}

impl Slice {
    /// Fixes read at once; the rest of the last one's instant is read too.
    pub const MAX_FIXES: usize = 2_000;
    /// Fixes read of one instant, each at a place of its own. No device reports as many; so that a slice stays small, what
    /// there is beyond them is not judged again.
    pub const MAX_FIXES_OF_INSTANT: usize = 10_000;
}

/// What a vehicle did since its slice was requested.
#[derive(Clone, Debug, Default)]
pub struct Meanwhile {
    /// The fixes it applied, in any order, including those in the slice.
    pub fixes: Vec<Fix>,
    /// What may have marked it dirty since then.
    pub late: Option<Mark>,
}

/// The result of one step of a correction.
#[derive(Clone, Debug, PartialEq)]
pub struct Corrected {
    /// What the step found.
    pub correction: Correction,
    /// The vehicle's state at the end of the step, if it reached the present.
    present: Option<VehicleState>,
}

impl Corrected {
    /// The vehicle's live state from now on. A step that did not reach the present changes only how far the
    /// correction has come.
    #[must_use]
    pub fn live(&self, live: &VehicleState) -> VehicleState {
        match (&self.present, self.correction.until) {
            (Some(present), _) => {
                let is_same = present.last.as_ref().map(key) == live.last.as_ref().map(key);
                let known = live.attributes.as_ref().filter(|_| is_same);
                VehicleState {
                    newest_stored: live.newest_stored,
                    future: live.future.clone(),
                    // The slice was read before the newest reports came.
                    attributes: known.or(present.attributes.as_ref()).cloned(),
                    ..present.clone()
                }
            }
            (None, Some(until)) => {
                let mut state = VehicleState { corrected_to: live.corrected_to.max(until), ..live.clone() };
                if let Some(adjustment) = &self.correction.adjustment {
                    adjustment.apply(&mut state);
                }
                state
            }
            (None, None) => live.clone(),
        }
    }
}

/// Evaluates a slice, up to the point where the stored state agrees, or to the end of the slice, or to the present.
#[must_use]
pub fn correct(slice: &Slice, meanwhile: &Meanwhile, context: &Context<'_>) -> Corrected {
    let mut evaluation = Evaluation::begin(slice, meanwhile, context);
    let after = slice.checkpoint.as_ref().map(|checkpoint| checkpoint.at);
    let last = slice.fixes.last().map(|stored| stored.fix.recorded_at).filter(|_| !slice.is_last);
    let fixes = slice.fixes.iter().map(|stored| stored.fix).chain(meanwhile.fixes.iter().copied());
    let in_part = |fix: &Fix| {
        after.is_none_or(|after| fix.recorded_at > after) && last.is_none_or(|last| fix.recorded_at <= last)
    };
    for fix in one_of_each(fixes.filter(in_part).collect()) {
        if let Some(agreed) = evaluation.agreement(|at| at < fix.recorded_at) {
            return evaluation.end(Some(agreed), meanwhile.late, None);
        }
        apply(&mut evaluation.state, fix, context, &mut evaluation.effects);
    }
    if let Some(last) = last {
        advance(&mut evaluation.state, last, context, &mut evaluation.effects);
    }
    if let Some(agreed) = evaluation.agreement(|at| last.is_none_or(|last| at <= last)) {
        return evaluation.end(Some(agreed), meanwhile.late, None);
    }
    if let Some(last) = last {
        return evaluation.pause(last, meanwhile.late);
    }
    catch_up(&mut evaluation.state, context, &mut evaluation.effects);
    let present = evaluation.present();
    evaluation.end(None, meanwhile.late, Some(present))
}

/// The state at an instant, evaluated from a checkpoint before it and the stored fixes in between: a checkpoint to
/// begin with once everything before it is gone. The records found on the way are stored already.
#[must_use]
pub fn checkpoint_at(
    at: Timestamp,
    from: Option<&Checkpoint>,
    fixes: &[StoredFix],
    context: &Context<'_>,
) -> Checkpoint {
    let state = from.map(|checkpoint| checkpoint.state.clone()).unwrap_or_default();
    let mut state = VehicleState { corrected_to: Timestamp::MIN, ..state };
    let mut effects = Effects::default();
    for fix in one_of_each(fixes.iter().map(|stored| stored.fix).collect()) {
        apply(&mut state, fix, context, &mut effects);
    }
    advance(&mut state, at, context, &mut effects);
    state.unsaved = 0;
    Checkpoint { at, state }
}

/// The last of several records with one id, in the place of the first.
fn newest_of_each(records: impl Iterator<Item = Record>) -> Vec<Record> {
    let mut places: HashMap<EventId, usize> = HashMap::new();
    let mut newest: Vec<Record> = Vec::new();
    for record in records {
        match places.get(&record.id) {
            Some(place) => newest[*place] = record,
            None => {
                places.insert(record.id, newest.len());
                newest.push(record);
            }
        }
    }
    newest
}

/// Fixes in the order of the timeline, with several reports of one fix merged.
pub(super) fn one_of_each(mut fixes: Vec<Fix>) -> Vec<Fix> {
    let place = |fix: &Fix| (fix.place.latitude, fix.place.longitude);
    fixes.sort_by(|a, b| {
        let (here, there) = (place(a), place(b));
        let instant = a.recorded_at.cmp(&b.recorded_at);
        instant.then(here.0.total_cmp(&there.0)).then(here.1.total_cmp(&there.1))
    });
    let mut ones: Vec<Fix> = Vec::with_capacity(fixes.len());
    for fix in fixes {
        match ones.last_mut().filter(|one| key(one) == key(&fix)) {
            Some(one) => {
                one.merge(&fix);
            }
            None => ones.push(fix),
        }
    }
    ones.sort_by(by_rank);
    ones
}

/// The key by which the store recognizes a fix.
type Key = (Timestamp, u64, u64);

fn key(fix: &Fix) -> Key {
    (fix.recorded_at, fix.place.latitude.to_bits(), fix.place.longitude.to_bits())
}

struct Evaluation<'a> {
    slice: &'a Slice,
    context: &'a Context<'a>,
    state: VehicleState,
    effects: Effects,
    /// The number of stored checkpoints passed so far.
    passed: usize,
    /// The fix that was waiting where the stored state agreed: what became of it is stored.
    decided: Option<Fix>,
    /// What to change of the sums that the stored state had there.
    adjustment: Option<Adjustment>,
    meanwhile: &'a [Fix],
}

impl<'a> Evaluation<'a> {
    fn begin(slice: &'a Slice, meanwhile: &'a Meanwhile, context: &'a Context<'a>) -> Self {
        let state = slice.checkpoint.as_ref().map(|checkpoint| checkpoint.state.clone()).unwrap_or_default();
        let mut state = VehicleState { corrected_to: Timestamp::MIN, ..state };
        for known in state.fixes_mut() {
            let same = key(known);
            for fix in meanwhile.fixes.iter().filter(|fix| key(fix) == same) {
                known.merge(fix);
            }
        }
        Self {
            slice,
            context,
            state,
            effects: Effects::default(),
            passed: 0,
            decided: None,
            adjustment: None,
            meanwhile: &meanwhile.fixes,
        }
    }

    /// The first of the next stored checkpoints, as long as they are reached, at which the state equals the stored
    /// one and after which nothing was late: everything that follows stands.
    fn agreement(&mut self, is_reached: impl Fn(Timestamp) -> bool) -> Option<Timestamp> {
        while let Some(stored) =
            self.slice.checkpoints.get(self.passed).filter(|stored| is_reached(stored.at))
        {
            self.passed += 1;
            if stored.at < self.slice.mark.until {
                continue;
            }
            advance(&mut self.state, stored.at, self.context, &mut self.effects);
            if !self.names_are_settled() {
                continue;
            }
            if let Some(adjustment) = Adjustment::between(&self.state, &stored.state)
                && self.is_decided_by_what_is_stored()
            {
                // From here on, the stored data is authoritative, but for those sums.
                let mut kept = stored.clone();
                kept.state.journey = self.state.journey.clone();
                self.effects.checkpoints.retain(|checkpoint| checkpoint.at != stored.at);
                self.effects.checkpoints.push(kept);
                self.adjustment = adjustment;
                self.decided = self.state.suspect.as_deref().copied();
                return Some(stored.at);
            }
        }
        None
    }

    /// Whether everything that names geofences by their change is told: a trip or stop that began before the mark ends names
    /// those at its beginning when it ends, and no state says which these were.
    fn names_are_settled(&self) -> bool {
        let Mark { until, origin, .. } = self.slice.mark;
        let began_behind = |journey: &Journey| journey.certain.since > until;
        origin != Origin::Recompute || self.state.journey.as_ref().is_none_or(began_behind)
    }

    /// Whether a fix that waits is stored as one that waited, or was believed later, rather than as one that was no
    /// candidate at all and must be corrected from here on.
    fn is_decided_by_what_is_stored(&self) -> bool {
        let Some(waits) = self.state.suspect.as_deref() else { return true };
        let stored = self.slice.fixes.iter().find(|stored| key(&stored.fix) == key(waits));
        stored.is_none_or(|stored| matches!(stored.quarantine, None | Some(Quarantine::Speed)))
    }

    /// The state at the end of everything. Fixes not after the newest checkpoint are late for it too, even if
    /// nothing up to there was judged.
    fn present(&self) -> VehicleState {
        let kept = self.effects.checkpoints.iter().chain(&self.slice.checkpoint);
        let corrected_to = kept.map(|checkpoint| checkpoint.at).max().unwrap_or(Timestamp::MIN);
        let newest = self.state.last.as_ref().map(key);
        let stored = self.slice.fixes.iter().rfind(|stored| Some(key(&stored.fix)) == newest);
        let attributes = stored.and_then(|stored| stored.attributes.clone());
        VehicleState { attributes, corrected_to, ..self.state.clone() }
    }

    /// Ends in the middle: the state is kept, and the next slice begins with it.
    fn pause(mut self, last: Timestamp, late: Option<Mark>) -> Corrected {
        self.state.unsaved = 0;
        self.effects.checkpoints.retain(|checkpoint| checkpoint.at != last);
        self.effects.checkpoints.push(Checkpoint { at: last, state: self.state.clone() });
        let mark = self.slice.mark;
        let from = Timestamp::from_micros(last.as_micros() + 1);
        let rest = Mark { from, until: mark.until.max(from), origin: mark.origin };
        self.end(Some(last), Some(late.map_or(rest, |late| late.merge(rest))), None)
    }

    fn end(self, until: Option<Timestamp>, dirty: Option<Mark>, present: Option<VehicleState>) -> Corrected {
        let quarantines = self.quarantines();
        let undecided = self.state.suspect.as_ref().map(|suspect| suspect.recorded_at);
        let over = overspeed::open_records(&self.state, self.context);
        let goes_on = over.into_iter().chain(alert::open_overstays(&self.state, self.context));
        let goes_on = goes_on.chain(trips::open_record(&self.state, self.context));
        let Self { slice, context, effects, adjustment, .. } = self;
        // It was recorded in the part or before it; without it, a record that was stored as ended in the part would
        // count as gone.
        let records = newest_of_each(effects.records.into_iter().chain(goes_on));
        let correction = Correction {
            after: slice.checkpoint.as_ref().map(|checkpoint| checkpoint.at),
            until,
            origin: slice.mark.origin,
            detected_at: context.detected_at,
            records,
            adjustment,
            visits: effects.visits,
            fuel_rows: effects.fuel_rows,
            undecided,
            quarantines,
            checkpoints: effects.checkpoints,
            dirty,
        };
        Corrected { correction, present }
    }

    /// The fixes whose quarantine differs from the stored one.
    fn quarantines(&self) -> Vec<(Fix, Option<Quarantine>)> {
        let mut found: HashMap<Key, Option<Quarantine>> =
            self.effects.rows.iter().map(|row| (key(&row.fix), row.quarantine)).collect();
        // It was already waiting when the evaluation began, so it is not among the fixes.
        let waited = self
            .slice
            .checkpoint
            .as_ref()
            .and_then(|checkpoint| checkpoint.state.suspect.as_deref().copied());
        found.extend(waited.map(|fix| (key(&fix), Some(Quarantine::Speed))));
        found.extend(self.effects.confirmed.iter().map(|fix| (key(fix), None)));
        if let Some(fix) = self.decided {
            found.remove(&key(&fix));
        }
        let stored = self.slice.fixes.iter().map(|stored| (stored.fix, Some(stored.quarantine)));
        // Since the slice was read, the live path may have come to believe the newest waiting fix.
        let newest = self.slice.fixes.iter().rfind(|stored| stored.quarantine == Some(Quarantine::Speed));
        let unknown = waited.into_iter().chain(newest.map(|stored| stored.fix));
        let all = stored.chain(unknown.chain(self.meanwhile.iter().copied()).map(|fix| (fix, None)));
        all.filter_map(|(fix, known)| {
            let now = *found.get(&key(&fix))?;
            (known != Some(now)).then_some((fix, now))
        })
        .collect()
    }
}
