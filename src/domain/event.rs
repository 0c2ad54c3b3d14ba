//! Queries on the log of records.

use uuid::Uuid;
use waypost_actors::model::{Cause, EventStatus, Origin, Timestamp};
use waypost_actors::tracking::{AlertRule, RecordKind};

use super::words::words;

/// Filters records. Empty lists and `None` let everything through.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventFilter {
    /// Of these vehicles.
    pub vehicle_ids: Vec<Uuid>,
    /// With these drivers.
    pub driver_ids: Vec<Uuid>,
    /// In these geofences.
    pub geofence_ids: Vec<Uuid>,
    /// Of these kinds.
    pub kinds: Vec<RecordKind>,
    /// For these causes.
    pub causes: Vec<Cause>,
    /// Alerts by these rules.
    pub rules: Vec<AlertRule>,
    /// Alerts that ask for somebody's attention at an instant, or do not.
    pub attention: Option<(bool, Timestamp)>,
    /// Without alerts about fuel.
    pub without_fuel: bool,
    /// Of these origins.
    pub origins: Vec<Origin>,
    /// Active or retracted.
    pub statuses: Vec<EventStatus>,
    /// Inferred or observed.
    pub inferred: Option<bool>,
    /// Without an end, or ended.
    pub open: Option<bool>,
    /// `occurredAt` from here, inclusive.
    pub from: Option<Timestamp>,
    /// Ended at this instant or later.
    pub ended_from: Option<Timestamp>,
    /// `occurredAt` up to here, exclusive.
    pub to: Option<Timestamp>,
    /// Only stays that ended and lasted at least this long.
    pub min_duration_seconds: Option<f64>,
}

words!(
    /// In which order.
    EventOrder {
        /// The newest happening first.
        NewestFirst = "-occurredAt",
        /// The oldest happening first.
        OldestFirst = "occurredAt",
        /// As committed: the feed.
        Sequence = "sequence",
    }
);
