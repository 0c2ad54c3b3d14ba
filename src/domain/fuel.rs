//! The fuel log, refuels and drains, as the interface shows them, and queries on them.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::fuel::{Consumption, FuelUnit, Quality};
use waypost_actors::model::{DriverId, OrganizationId, Timestamp, VehicleId};

use super::event::EventOrder;
use super::words::words;

words!(
    /// How raw data is written.
    RawFormat {
        /// One JSON array.
        Json = "json",
        /// A JSON object on each line.
        Ndjson = "ndjson",
        /// A header, then a row for each entry (RFC 4180).
        Csv = "csv",
    }
);

/// What a fuel sensor said at an instant, and what that means. Members nobody knows are absent.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuelEntry {
    /// Follows from vehicle and instant.
    pub id: Uuid,
    /// Whose.
    pub organization_id: OrganizationId,
    /// Which vehicle. It has one entry at an instant.
    pub vehicle_id: VehicleId,
    /// The device's clock.
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
    /// Kilometres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub odometer_km: Option<f64>,
    /// Whether the ignition was on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignition: Option<bool>,
    /// How far the vehicle went since the entry before, metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance_meters: Option<f64>,
    /// What the number is.
    pub unit: FuelUnit,
    /// The number as it came.
    pub raw_value: f64,
    /// Litres in the tank by this reading alone; of quality `ok` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level_raw_liters: Option<f64>,
    /// Litres in the tank, smoothed over the sensor's window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level_liters: Option<f64>,
    /// The smoothed level as a share of the tank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level_percent: Option<f64>,
    /// Litres burnt since the counter began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter_liters: Option<f64>,
    /// Whether it can be believed.
    pub quality: Quality,
    /// Who drove, where an assignment says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_id: Option<DriverId>,
    /// By which version of the sensor's configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration_version: Option<i64>,
}

/// Filters fuel entries. Empty lists and `None` let everything through.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FuelFilter {
    /// Of these vehicles.
    pub vehicle_ids: Vec<Uuid>,
    /// `recordedAt` from here, inclusive.
    pub from: Option<Timestamp>,
    /// `recordedAt` up to here, exclusive.
    pub to: Option<Timestamp>,
    /// Of these qualities.
    pub qualities: Vec<Quality>,
    /// Oldest first.
    pub is_oldest_first: bool,
}

words!(
    /// In which order refuels and drains are listed.
    FuelEventOrder {
        /// The newest first.
        NewestFirst = "-startedAt",
        /// The oldest first.
        OldestFirst = "startedAt",
        /// As committed: the feed.
        Sequence = "sequence",
    }
);

impl From<FuelEventOrder> for EventOrder {
    fn from(order: FuelEventOrder) -> Self {
        match order {
            FuelEventOrder::NewestFirst => Self::NewestFirst,
            FuelEventOrder::OldestFirst => Self::OldestFirst,
            FuelEventOrder::Sequence => Self::Sequence,
        }
    }
}

/// What a vehicle burnt in a period.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsumptionOfPeriod {
    /// Which vehicle.
    pub vehicle_id: VehicleId,
    /// From when, inclusive.
    pub from: Timestamp,
    /// Until when, exclusive.
    pub to: Timestamp,
    /// What is known of it.
    #[serde(flatten)]
    pub consumption: Consumption,
}
