//! What a step of the engine leaves for the store: rows, visits and records.

use super::record::Record;
use super::state::VehicleState;
use crate::fuel::FuelRow;
use crate::model::{EventId, Fix, GeofenceId, Origin, Timestamp, VisitId};

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
pub enum Standing {
    /// In time, and newer than anything stored of this vehicle: it cannot be a duplicate.
    Fresh,
    /// It may be stored already; then the two are made one ([`Fix::merge`]), and if that changes what
    /// was judged, events from its instant on await a correction. So they do if the stored one is
    /// quarantined as recorded in the future or as inaccurate and this one is not, or only for its
    /// speed: made one they may not count, but this one may have been judged.
    Recheck {
        /// If it was not stored before, events from its instant on await a correction.
        late: bool,
    },
    /// The newest fix reported again: it is stored, and what this report adds judges nothing, or is judged
    /// already. The two are made one, and nothing awaits a correction.
    Repeat,
}

/// A fix to store.
#[derive(Clone, Debug, PartialEq)]
pub struct PositionRow {
    /// The fix.
    pub fix: Fix,
    /// Set when it was not evaluated.
    pub quarantine: Option<Quarantine>,
    /// What is known of it.
    pub standing: Standing,
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

/// From when on a vehicle's records await a correction: its dirty mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The earliest late entry of the timeline. At least [`Timestamp::FIRST`].
    pub from: Timestamp,
    /// The latest one: until there, no agreement with what is stored ends a correction.
    pub until: Timestamp,
    /// What the corrected records say of how they came about: `backfill` or `recompute`.
    pub origin: Origin,
}

impl Mark {
    /// The mark of one late fix.
    #[must_use]
    pub const fn of_fix(recorded_at: Timestamp) -> Self {
        Self { from: recorded_at, until: recorded_at, origin: Origin::Backfill }
    }

    /// One mark for both; `recompute` if either is.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            from: self.from.min(other.from),
            until: self.until.max(other.until),
            origin: self.origin.max(other.origin),
        }
    }
}

/// The engine's whole state at an instant, from which a later one can be found again.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Everything on the timeline up to here, this instant included, is in the state.
    pub at: Timestamp,
    /// The state.
    pub state: VehicleState,
}

/// What a new evaluation of a part of a vehicle's timeline found. The store compares it with what it
/// holds ([`super::diff`]), in the transaction that writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Correction {
    /// The part begins behind this instant; `None`: with the beginning of time.
    pub after: Option<Timestamp>,
    /// And ends with this one; `None`: it has no end.
    pub until: Option<Timestamp>,
    /// What its records say of how they came about.
    pub origin: Origin,
    /// The server's clock at the evaluation.
    pub detected_at: Timestamp,
    /// Every record made in the part, in order, each id once, and what goes on since before it. What the store holds of
    /// it (active records of the vehicle with `confirmed_at` in the part) and is not here is retracted.
    pub records: Vec<Record>,
    /// Stays begun or ended in it, in order.
    pub visits: Vec<VisitRow>,
    /// Every row of the fuel log of the part, and of a fix that waited when it began. What the store holds of the
    /// part and is not here goes, and so does the row of a fix whose quarantine begins now.
    pub fuel_rows: Vec<FuelRow>,
    /// A fix that still waits for the next one at the end of the part: its row is left alone.
    pub undecided: Option<Timestamp>,
    /// Stored fixes whose quarantine is another one now.
    pub quarantines: Vec<(Fix, Option<Quarantine>)>,
    /// They replace all checkpoints of the part.
    pub checkpoints: Vec<Checkpoint>,
    /// The vehicle's dirty mark from now on, in place of the stored one; `None`: it is clean.
    pub dirty: Option<Mark>,
}

impl Correction {
    /// Whether an instant is in the part.
    #[must_use]
    pub fn covers(&self, at: Timestamp) -> bool {
        self.after.is_none_or(|after| at > after) && self.until.is_none_or(|until| at <= until)
    }
}

/// Everything a step leaves to be committed, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// Fixes to store.
    pub rows: Vec<PositionRow>,
    /// Quarantined fixes that a later one confirmed: their quarantine is lifted.
    pub confirmed: Vec<Fix>,
    /// Records, unnumbered: the store gives `sequence` in the transaction. The end of what goes on comes behind its
    /// beginning, under the same id.
    pub records: Vec<Record>,
    /// Stays begun or ended.
    pub visits: Vec<VisitRow>,
    /// Rows of the fuel log, each in place of one of the same instant.
    pub fuel_rows: Vec<FuelRow>,
    /// Fixes known to be stored already, with nothing new in them.
    pub duplicates: u64,
    /// States to keep, each in place of one of the same instant.
    pub checkpoints: Vec<Checkpoint>,
    /// Marks the vehicle dirty, whatever becomes of the rows: merged with the stored mark.
    pub late: Option<Mark>,
    /// A new evaluation of a part of the timeline. Then there is nothing else.
    pub correction: Option<Box<Correction>>,
}

impl Effects {
    /// What it weighs in a transaction: its rows and its records, and one.
    #[must_use]
    pub fn weight(&self) -> usize {
        let rows = self.rows.len() + self.fuel_rows.len() + self.records.len();
        let corrected = self.correction.as_ref();
        let corrected =
            corrected.map_or(0, |part| part.records.len() + part.fuel_rows.len() + part.quarantines.len());
        rows + corrected + 1
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
