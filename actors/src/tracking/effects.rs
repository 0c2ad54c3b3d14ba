//! What a step of the engine leaves for the store: rows, visits and events.

use crate::model::{Event, EventId, Fix, GeofenceId, Timestamp, VisitId};

/// Why a stored fix was not evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quarantine {
    /// Recorded too far ahead of the server's clock.
    Future,
    /// Less accurate than the vehicle's limit.
    Accuracy,
    /// It implies an impossible speed, and no next fix confirmed it yet.
    Speed,
}

impl Quarantine {
    /// The word in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Future => "future",
            Self::Accuracy => "accuracy",
            Self::Speed => "speed",
        }
    }
}

/// What the engine knows of a row before the store has seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// In time, and newer than anything stored of this vehicle: it cannot be a duplicate.
    Fresh,
    /// It may be stored already; then what the stored one lacks is filled in.
    Recheck {
        /// If it was not stored before, events from its instant on await a correction.
        late: bool,
    },
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

/// Everything a step leaves to be committed, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// Fixes to store.
    pub rows: Vec<PositionRow>,
    /// Quarantined fixes that a later one confirmed: their quarantine is lifted.
    pub confirmed: Vec<Fix>,
    /// Records, unnumbered: the writer gives `sequence`.
    pub events: Vec<Event>,
    /// Stays begun or ended.
    pub visits: Vec<VisitRow>,
    /// Fixes known to be stored already, with nothing new in them.
    pub duplicates: u64,
}

impl Effects {
    /// Whether there is nothing to commit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.confirmed.is_empty() && self.events.is_empty() && self.visits.is_empty()
    }
}
