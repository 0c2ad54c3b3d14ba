//! Stored fixes, as a vehicle's history shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use waypost_actors::model::{Attributes, Timestamp};
use waypost_actors::tracking::Quarantine;

/// What the fuel sensor said, as it came; reports of one fix may have named several units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PositionFuel {
    /// Share of the tank, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// Litres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub liters: Option<f64>,
    /// The sensor's own unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<f64>,
    /// Litres burnt since the device's counter began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cumulative: Option<f64>,
}

/// A stored fix. Members the tracker did not send are absent.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredPosition {
    /// The device's clock at the fix.
    pub recorded_at: Timestamp,
    /// The server's clock when it arrived.
    pub received_at: Timestamp,
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
    /// Speed over ground, km/h.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_kmh: Option<f64>,
    /// Degrees clockwise from north.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heading_degrees: Option<f64>,
    /// Metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub altitude_meters: Option<f64>,
    /// Horizontal accuracy (68 %), metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy_meters: Option<f64>,
    /// Kilometres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub odometer_km: Option<f64>,
    /// Whether the ignition was on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignition: Option<bool>,
    /// What the fuel sensor said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuel: Option<PositionFuel>,
    /// What its reports said beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Attributes>,
    /// Why it is not evaluated; absent where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<Quarantine>,
}

/// Where to continue in a history: after the fix with this instant and place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AfterFix {
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
}

/// Filters and orders a vehicle's fixes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HistoryRequest {
    /// `recordedAt` from here, inclusive.
    pub from: Option<Timestamp>,
    /// `recordedAt` up to here, exclusive.
    pub to: Option<Timestamp>,
    /// Include those that are not evaluated.
    pub with_quarantined: bool,
    /// Newest first.
    pub is_newest_first: bool,
}
