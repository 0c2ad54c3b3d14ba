//! The fuel log, refuels and drains, as the interface shows them, and what may be asked of them.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::fuel::{Consumption, FuelEventKind, FuelMotion, Quality};
use waypost_actors::model::{
    DriverId, EventId, EventStatus, GeofenceId, OrganizationId, Origin, Place, Timestamp, VehicleId,
};

use super::fuel_chart::Mark;
use super::words::words;

words!(
    /// What a sensor's number is.
    FuelUnit {
        /// Share of the tank.
        Percent = "percent",
        /// Litres in the tank.
        Liters = "liters",
        /// The sensor's own unit.
        Raw = "raw",
        /// Litres burnt since the counter began.
        Cumulative = "cumulative",
    }
);

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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latitude: Option<f64>,
    /// Degrees east.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longitude: Option<f64>,
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

/// Which entries. Empty lists and `None` let everything through.
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
    /// The oldest first.
    pub is_oldest_first: bool,
}

/// A refuel or a drain.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TankEvent {
    /// A hash of vehicle, type and `startedAt`: the same happening has the same id for ever.
    pub id: EventId,
    /// Its number in the order of commits; a revision gives it a new one.
    pub sequence: i64,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: FuelEventKind,
    /// Whether it still holds; data that came late may take it back.
    pub status: EventStatus,
    /// From 1; raised by each correction.
    pub revision: i64,
    /// Whose.
    pub organization_id: OrganizationId,
    /// Which vehicle.
    pub vehicle_id: VehicleId,
    /// Its name today.
    pub vehicle_name: String,
    /// Who drove, where an assignment says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_id: Option<DriverId>,
    /// The last reading of the level before.
    pub started_at: Timestamp,
    /// The first reading of the level after.
    pub ended_at: Timestamp,
    /// Litres before.
    pub level_before_liters: f64,
    /// Litres after.
    pub level_after_liters: f64,
    /// Litres that came in or went out.
    pub volume_liters: f64,
    /// Where, if any reading of it had a place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Place>,
    /// The geofences the vehicle was inside.
    pub geofence_ids: Vec<GeofenceId>,
    /// What the vehicle did.
    pub motion: FuelMotion,
    /// 0 to 1: how far the change is above what noise and burning explain.
    pub confidence: f64,
    /// By which version of the sensor's configuration.
    pub calibration_version: i64,
    /// The server's clock when it was found.
    pub detected_at: Timestamp,
    /// What made it.
    pub origin: Origin,
    /// The instant on the vehicle's timeline from which it was certain.
    pub confirmed_at: Timestamp,
}

impl TankEvent {
    /// As the pure arithmetic takes it.
    #[must_use]
    pub const fn measured(&self) -> waypost_actors::fuel::FuelEvent {
        waypost_actors::fuel::FuelEvent {
            id: self.id,
            kind: self.kind,
            started_at: self.started_at,
            ended_at: self.ended_at,
            level_before_liters: self.level_before_liters,
            level_after_liters: self.level_after_liters,
            volume_liters: self.volume_liters,
            place: self.location,
            motion: self.motion,
            confidence: self.confidence,
        }
    }

    /// As a chart shows it.
    #[must_use]
    pub const fn mark(&self) -> Mark {
        Mark {
            id: self.id,
            kind: self.kind,
            started_at: self.started_at,
            ended_at: self.ended_at,
            volume_liters: self.volume_liters,
        }
    }
}

/// Which refuels and drains. Empty lists and `None` let everything through.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TankEventFilter {
    /// Of these vehicles.
    pub vehicle_ids: Vec<Uuid>,
    /// With these drivers.
    pub driver_ids: Vec<Uuid>,
    /// Of these kinds.
    pub kinds: Vec<FuelEventKind>,
    /// Holding or retracted.
    pub statuses: Vec<EventStatus>,
    /// Ended at this instant or later.
    pub from: Option<Timestamp>,
    /// Begun before this instant.
    pub to: Option<Timestamp>,
}

/// In which order refuels and drains are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TankEventOrder {
    /// The newest first.
    NewestFirst,
    /// The oldest first.
    OldestFirst,
    /// As committed: the feed.
    Sequence,
}

impl TankEventOrder {
    /// The orders by their words.
    pub const WORDS: &[(&str, Self)] =
        &[("-startedAt", Self::NewestFirst), ("startedAt", Self::OldestFirst), ("sequence", Self::Sequence)];

    /// The order's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::WORDS.iter().find(|(_, order)| *order == self).map_or("", |(word, _)| word)
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
