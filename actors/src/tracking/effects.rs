//! The result of an engine step that goes to the store: rows, visits and records.

use smallvec::SmallVec;

use super::adjustment::Adjustment;
use super::record::Record;
use super::state::VehicleState;
use crate::fuel::FuelRow;
use crate::model::{Attributes, EventId, Fix, GeofenceId, Origin, Timestamp, VehicleId, VisitId};

words!(
    /// Why a stored fix is not evaluated.
    #[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = QuarantineReason))]
    Quarantine {
        /// Recorded too far ahead of the server's clock.
        Future = "future",
        /// Less accurate than the vehicle's limit.
        Accuracy = "accuracy",
        /// It implies an impossible speed, and no next fix confirmed it.
        Speed = "speed",
        /// Recorded while the vehicle was out of service.
        OutOfService = "outOfService",
    }
);

/// What the engine knows of a row before the store has seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// In time, and newer than anything stored of this vehicle: it cannot be a duplicate.
    Fresh,
    /// It may be stored already; then the two are merged ([`Fix::merge`]), and if that changes what was judged,
    /// events from its instant on await a correction. The same holds if the stored one is quarantined as recorded
    /// in the future or as inaccurate and this one is not, or only for its speed: the merged fix may not count, but
    /// this one may have been judged.
    Recheck {
        /// If it was not stored before, events from its instant on await a correction.
        late: bool,
    },
    /// The newest fix reported again: it is stored, and what this report adds affects no judgement, or is judged
    /// already. The two are merged, and nothing awaits a correction.
    Repeat,
}

/// A fix to store.
#[derive(Clone, Debug, PartialEq)]
pub struct PositionRow {
    /// The fix.
    pub fix: Fix,
    /// Set when it was not evaluated.
    pub quarantine: Option<Quarantine>,
    /// Further attributes of this report; not evaluated.
    pub attributes: Option<Attributes>,
    /// What is known of it so far.
    pub freshness: Freshness,
}

/// A stay as it stands after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VisitRow {
    /// The stay.
    pub id: VisitId,
    /// Where.
    pub geofence_id: GeofenceId,
    /// The record that began it.
    pub entry_event_id: EventId,
    /// Since when.
    pub entered_at: Timestamp,
    /// The record that ended it, and when.
    pub exit: Option<(EventId, Timestamp)>,
}

impl VisitRow {
    /// The record that is made with it: the one that ended the stay, or began it.
    #[must_use]
    pub fn record(&self) -> EventId {
        self.exit.map_or(self.entry_event_id, |(exit, _)| exit)
    }
}

/// The span of a vehicle's timeline whose records await a correction: its dirty mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The earliest late entry of the timeline. At least [`Timestamp::FIRST`].
    pub from: Timestamp,
    /// The latest late entry: up to there, agreement with the stored state does not end a correction.
    pub until: Timestamp,
    /// The origin that the corrected records get: `backfill` or `recompute`.
    pub origin: Origin,
}

impl Mark {
    /// The mark of one late fix.
    #[must_use]
    pub const fn of_fix(recorded_at: Timestamp) -> Self {
        Self { from: recorded_at, until: recorded_at, origin: Origin::Backfill }
    }

    /// One mark that covers both; `recompute` if either is.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            from: self.from.min(other.from),
            until: self.until.max(other.until),
            origin: self.origin.max(other.origin),
        }
    }
}

/// The engine's whole state at an instant, from which later states can be derived again.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Everything on the timeline up to here, including this instant, is in the state.
    pub at: Timestamp,
    /// The state.
    pub state: VehicleState,
}

/// The result of evaluating a part of a vehicle's timeline anew. The store compares it with what it holds
/// ([`super::diff`]), in the transaction that writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Correction {
    /// The part begins after this instant; `None`: with the beginning of time.
    pub after: Option<Timestamp>,
    /// The part ends with this instant; `None`: it has no end.
    pub until: Option<Timestamp>,
    /// The origin of its records.
    pub origin: Origin,
    /// The server's clock at the evaluation.
    pub detected_at: Timestamp,
    /// Every record made in the part, in order, each id once, and the record of an episode that began before it and
    /// has not ended. Stored records of the part (active ones of the vehicle with `confirmed_at` in it) that are
    /// not here are retracted.
    pub records: Vec<Record>,
    /// What it makes of the sums of the trip or stop that goes on at its end: for every state and record behind the part.
    pub adjustment: Option<Adjustment>,
    /// Stays that began or ended in it, in order.
    pub visits: Vec<VisitRow>,
    /// Every row of the fuel log of the part, and that of a fix that was waiting when it began. Stored rows of the
    /// part that are not here are deleted, and so is the row of a fix that is quarantined from now on.
    pub fuel_rows: Vec<FuelRow>,
    /// A fix that still waits for the next one at the end of the part: its row is left alone.
    pub undecided: Option<Timestamp>,
    /// Stored fixes whose quarantine changes.
    pub quarantines: Vec<(Fix, Option<Quarantine>)>,
    /// These replace all checkpoints of the part.
    pub checkpoints: Vec<Checkpoint>,
    /// The vehicle's dirty mark from now on, replacing the stored one; `None`: it is clean.
    pub dirty: Option<Mark>,
}

impl Correction {
    /// The records to compare with what is stored under the same ids.
    pub fn record_ids(&self, vehicle: VehicleId) -> impl Iterator<Item = EventId> {
        let adjusted = self.adjustment.as_ref().map(|adjustment| adjustment.record_id(vehicle));
        self.records.iter().map(|record| record.id).chain(adjusted)
    }

    /// Whether an instant is in the part.
    #[must_use]
    pub fn covers(&self, at: Timestamp) -> bool {
        self.after.is_none_or(|after| at > after) && self.until.is_none_or(|until| at <= until)
    }
}

/// Everything a step leaves to be committed, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// Fixes to store; a single one, which is usual, takes no allocation of its own.
    pub rows: SmallVec<[PositionRow; 1]>,
    /// Quarantined fixes that a later one confirmed: their quarantine is lifted.
    pub confirmed: Vec<Fix>,
    /// Records, unnumbered: the store assigns `sequence` in the transaction. The end of an episode follows its
    /// beginning, under the same id.
    pub records: Vec<Record>,
    /// Stays that began or ended.
    pub visits: Vec<VisitRow>,
    /// Rows of the fuel log, each replacing one of the same instant.
    pub fuel_rows: Vec<FuelRow>,
    /// Fixes known to be stored already that add nothing new.
    pub duplicates: u64,
    /// States to keep, each replacing one of the same instant.
    pub checkpoints: Vec<Checkpoint>,
    /// Marks the vehicle dirty, whatever happens to the rows; merged with the stored mark.
    pub late: Option<Mark>,
    /// The new evaluation of a part of the timeline. If set, there is nothing else.
    pub correction: Option<Box<Correction>>,
}

impl Effects {
    /// Its weight in a transaction: rows and records, plus one.
    #[must_use]
    pub fn weight(&self) -> usize {
        let rows = self.rows.len() + self.fuel_rows.len() + self.records.len();
        let corrected = self.correction.as_ref();
        let corrected =
            corrected.map_or(0, |part| part.records.len() + part.fuel_rows.len() + part.quarantines.len());
        rows + corrected + 1
    }

    /// The dirty mark that it may leave once it is stored: only the store knows what it had before.
    #[must_use]
    pub fn may_be_late(&self) -> Option<Mark> {
        let rechecked = self.rows.iter().filter(|row| matches!(row.freshness, Freshness::Recheck { .. }));
        rechecked.map(|row| Mark::of_fix(row.fix.recorded_at)).chain(self.late).reduce(Mark::merge)
    }

    /// Whether stays may have become open or ended: a step leaves a record of each that did.
    #[must_use]
    pub fn may_have_crossed(&self) -> bool {
        !self.records.is_empty() || self.correction.is_some()
    }

    /// Whether there is nothing to commit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
            && self.confirmed.is_empty()
            && self.records.is_empty()
            && self.visits.is_empty()
            && self.fuel_rows.is_empty()
            && self.checkpoints.is_empty()
            && self.late.is_none()
            && self.correction.is_none()
    }
}
