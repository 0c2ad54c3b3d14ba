//! Records as clients see them, in the form of their kind.

use serde::Serialize;

use super::record::{Detail, FuelDetail, GeofenceDetail, Record};
use crate::fuel::{FuelEvent, FuelEventKind, FuelRecord};
use crate::model::{Event, Place};

/// A record of any kind. Its `type` tells the forms apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum RecordView {
    /// An entry, exit or dwell.
    Geofence(Event),
    /// A refuel or a drain.
    Fuel(FuelRecord),
}

impl RecordView {
    /// The entry, exit or dwell that it is.
    #[must_use]
    pub fn geofence(self) -> Option<Event> {
        match self {
            Self::Geofence(event) => Some(event),
            Self::Fuel(_) => None,
        }
    }

    /// The refuel or drain that it is.
    #[must_use]
    pub fn fuel(self) -> Option<FuelRecord> {
        match self {
            Self::Fuel(record) => Some(record),
            Self::Geofence(_) => None,
        }
    }
}

impl From<&Record> for RecordView {
    fn from(record: &Record) -> Self {
        match &record.detail {
            Detail::Geofence(detail) => Self::Geofence(event(record, detail)),
            Detail::Fuel(kind, detail) => Self::Fuel(fuel_record(record, *kind, detail)),
        }
    }
}

fn event(record: &Record, detail: &GeofenceDetail) -> Event {
    let fix = detail.fix;
    Event {
        id: record.id,
        sequence: record.sequence,
        kind: detail.kind,
        status: record.status,
        revision: record.revision,
        visit_id: detail.visit_id,
        organization_id: record.organization_id,
        vehicle_id: record.vehicle_id,
        vehicle_name: record.vehicle_name.clone(),
        geofence_id: detail.geofence_id,
        geofence_name: detail.geofence_name.clone(),
        geofence_version: detail.geofence_version,
        driver_id: record.driver_id,
        occurred_at: record.occurred_at,
        time_uncertainty_seconds: detail.time_uncertainty_seconds,
        detected_at: record.detected_at,
        origin: record.origin,
        cause: detail.cause,
        inferred: detail.inferred,
        location: record.location.unwrap_or(Place::new(fix.latitude, fix.longitude)),
        fix,
        analytics: detail.analytics,
    }
}

fn fuel_record(record: &Record, kind: FuelEventKind, detail: &FuelDetail) -> FuelRecord {
    let event = FuelEvent {
        id: record.id,
        kind,
        started_at: record.occurred_at,
        ended_at: record.ended_at.unwrap_or(record.occurred_at),
        level_before_liters: detail.level_before_liters,
        level_after_liters: detail.level_after_liters,
        volume_liters: detail.volume_liters,
        place: record.location,
        motion: detail.motion,
        confidence: detail.confidence,
    };
    FuelRecord {
        sequence: record.sequence,
        event,
        status: record.status,
        revision: record.revision,
        organization_id: record.organization_id,
        vehicle_id: record.vehicle_id,
        vehicle_name: record.vehicle_name.clone(),
        driver_id: record.driver_id,
        geofence_ids: detail.geofence_ids.clone(),
        calibration_version: detail.calibration_version,
        detected_at: record.detected_at,
        origin: record.origin,
    }
}
