//! Ids of records: a hash of what happened, so that a replay finds the same id again.

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::alert_detail::AlertRule;
use super::record::TripKind;
use crate::model::{Connection, EventId, EventKind, GeofenceId, Timestamp, VehicleId, VisitId};

/// What identifies a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// The first fix on the new side.
    Fix(Timestamp),
    /// Both neighbours of a passage, and the number of the chord.
    Passage {
        /// The fix before the passage.
        before: Timestamp,
        /// The fix after the passage.
        after: Timestamp,
        /// 0 for the first chord of the segment.
        chord: u32,
    },
    /// A version of the fence.
    Version(i64),
    /// The visit itself: its one dwell record.
    Visit(VisitId),
    /// What an alert is made of.
    Cause(Uuid),
}

pub(super) fn event_id(vehicle: VehicleId, fence: GeofenceId, kind: EventKind, anchor: Anchor) -> EventId {
    EventId(derive(vehicle, fence, kind.as_str(), anchor))
}

/// The id of the stay that an entry with this anchor begins.
pub(super) fn visit_id(vehicle: VehicleId, fence: GeofenceId, anchor: Anchor) -> VisitId {
    VisitId(derive(vehicle, fence, "visit", anchor))
}

/// The id of the episode over a limit that began with this fix.
pub(super) fn overspeed_id(vehicle: VehicleId, since: Timestamp) -> EventId {
    EventId(derive(vehicle, GeofenceId(Uuid::nil()), "overspeed", Anchor::Fix(since)))
}

/// The id of the trip or stop that began with this fix.
pub(super) fn trip_id(vehicle: VehicleId, kind: TripKind, since: Timestamp) -> EventId {
    EventId(derive(vehicle, GeofenceId(Uuid::nil()), kind.as_str(), Anchor::Fix(since)))
}

/// The id of what a vehicle came to be by the silence that began at an instant, or by its end.
pub(super) fn connection_id(vehicle: VehicleId, state: Connection, silent_since: Timestamp) -> EventId {
    EventId(derive(vehicle, GeofenceId(Uuid::nil()), state.as_str(), Anchor::Fix(silent_since)))
}

/// The id of the alert by a rule that a cause makes.
#[must_use]
pub fn alert_id(rule: AlertRule, cause: Uuid) -> EventId {
    EventId(derive(VehicleId(Uuid::nil()), GeofenceId(Uuid::nil()), rule.as_str(), Anchor::Cause(cause)))
}

fn derive(vehicle: VehicleId, fence: GeofenceId, what: &str, anchor: Anchor) -> Uuid {
    let mut hash = Sha256::new();
    hash.update(vehicle.0.as_bytes());
    hash.update(fence.0.as_bytes());
    hash.update(what.as_bytes());
    match anchor {
        Anchor::Fix(at) => {
            hash.update(b"f");
            hash.update(at.as_micros().to_be_bytes());
        }
        Anchor::Passage { before, after, chord } => {
            hash.update(b"p");
            hash.update(before.as_micros().to_be_bytes());
            hash.update(after.as_micros().to_be_bytes());
            hash.update(chord.to_be_bytes());
        }
        Anchor::Version(version) => {
            hash.update(b"v");
            hash.update(version.to_be_bytes());
        }
        Anchor::Visit(visit) => {
            hash.update(b"s");
            hash.update(visit.0.as_bytes());
        }
        Anchor::Cause(cause) => {
            hash.update(b"c");
            hash.update(cause.as_bytes());
        }
    }
    let digest = hash.finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}
