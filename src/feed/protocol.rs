//! The messages of the live feed (`/v1/ws/live`): JSON text frames, in both directions.

use serde::Serialize;
use serde_json::value::RawValue;
use waypost_actors::model::{GeofenceId, OrganizationId, Timestamp, VehicleId};

use crate::domain::field::FieldError;
use crate::domain::words::words;

/// The largest message of a client, in bytes.
pub const MAX_FRAME_BYTES: usize = 64 * 1024;

/// Messages of the client.
#[derive(Debug)]
pub enum Heard {
    /// Signs in with a one-time ticket; the first message of a browser.
    Authenticate {
        /// From `POST /v1/auth/ws-ticket`.
        ticket: String,
    },
    /// Subscribes, or replaces the subscription of the same id.
    Subscribe(Subscribe),
    /// Ends a subscription.
    Unsubscribe {
        /// The client's own name for it.
        id: String,
    },
    /// Asks for a `pong` at once: whether the way there and back still holds, which a browser cannot ask by a ping
    /// frame.
    Ping {},
}

/// A requested subscription; written, it is the message that asks for it.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename = "subscribe", rename_all = "camelCase")]
pub struct Subscribe {
    /// The client's own name for it, up to 64 characters.
    pub id: String,
    /// Topics to send.
    pub topics: Vec<Topic>,
    /// Which vehicles and geofences.
    pub filter: FilterSpec,
    /// Least time between two deltas, in milliseconds, 0 to 60,000.
    pub min_interval_ms: u64,
    /// Where to continue, from an earlier `event`, `subscribed` or `heartbeat`.
    pub cursor: Option<String>,
}

words!(
    /// A topic.
    Topic {
        /// Positions of vehicles.
        Positions = "positions",
        /// Which vehicle is inside which geofence.
        Occupancy = "occupancy",
        /// Every event.
        Events = "events",
        /// Fuel state and events.
        Fuel = "fuel",
        /// Changes of master data.
        Changes = "changes",
    }
);

/// The filter of a subscription. Absent = everything.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FilterSpec {
    /// Only these vehicles.
    pub vehicle_ids: Option<Vec<VehicleId>>,
    /// Only these geofences, in occupancy and events.
    pub geofence_ids: Option<Vec<GeofenceId>>,
    /// Only positions within west, south, east, north; west > east crosses the antimeridian.
    pub bbox: Option<[f64; 4]>,
    /// Only this organization: for operators, who otherwise see all.
    pub organization_id: Option<OrganizationId>,
}

/// Why a client must discard its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ResetReason {
    /// It reads too slowly: what it missed is summed up in a new snapshot.
    SlowReader,
    /// Its cursor is older than the server keeps, or not this server's.
    CursorExpired,
}

/// Messages of the server, except events and deltas, which are assembled from parts encoded once for all recipients
/// (`wire`). Lists come ready-made as JSON.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Say<'a> {
    /// The subscription is active.
    Subscribed {
        /// The client's name for it.
        id: &'a str,
        /// `resumed` if it continues from the cursor, `snapshot` if it starts anew.
        mode: &'a str,
        /// Where events continue.
        cursor: &'a str,
    },
    /// The current state, in parts.
    Snapshot {
        /// The client's name for it.
        id: &'a str,
        /// From 0.
        part: usize,
        /// Whether this is the last part.
        last: bool,
        /// Vehicles of this part.
        vehicles: &'a RawValue,
        /// The occupancy of this part's vehicles.
        occupancy: &'a RawValue,
    },
    /// Discard the state; a snapshot follows.
    Reset {
        /// The client's name for it.
        id: &'a str,
        /// Why.
        reason: ResetReason,
    },
    /// A sign of life.
    Heartbeat {
        /// The server's clock.
        server_time: Timestamp,
        /// Where each subscription's events continue, by the client's name for it.
        cursors: &'a RawValue,
        /// Whether reports of trackers are being stored. If not, everything is as of the last commit.
        storing: bool,
    },
    /// Reports of trackers are no longer stored, or are stored again.
    Status {
        /// Whether they are stored.
        storing: bool,
    },
    /// Answers a `ping`.
    Pong {
        /// The server's clock.
        server_time: Timestamp,
    },
    /// A problem with the client's message; the socket may close after it.
    Error {
        /// The subscription it concerns, if any.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        /// The reason's code.
        code: &'a str,
        /// The reason, for people.
        detail: &'a str,
        /// The members that are wrong, as pointers into the message.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        errors: &'a [FieldError],
    },
}

impl Say<'_> {
    /// The message's word, and where the log goes on, if it says so: the name and the id of an event of a stream. An
    /// `error` would be taken for a broken connection there.
    pub(super) const fn as_event(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Subscribed { cursor, .. } => ("subscribed", Some(cursor)),
            Self::Snapshot { .. } => ("snapshot", None),
            Self::Reset { .. } => ("reset", None),
            Self::Heartbeat { .. } => ("heartbeat", None),
            Self::Status { .. } => ("status", None),
            Self::Pong { .. } => ("pong", None),
            Self::Error { .. } => ("problem", None),
        }
    }
}
