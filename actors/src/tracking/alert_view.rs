//! Alerts as clients see them in the log. Who has seen one is no part of it: `GET /v1/alerts` tells that.

use serde::Serialize;
use uuid::Uuid;

use super::alert_detail::{AlertDetail, AlertRule};
use super::record::Record;
use crate::model::{
    DriverId, EventId, EventStatus, GeofenceId, OrganizationId, Origin, Place, Timestamp, VehicleId,
};

words!(
    /// The one type of alerts.
    #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
    AlertKind {
        /// Something that a dispatcher should look at.
        Alert = "alert",
    }
);

/// Something that a dispatcher should look at: one for each cause. What lasts has no end while it goes on; its end is a
/// revision. Of a drain there is no end. Late data revises an alert with its cause, and retracts it when there was no such cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AlertEvent {
    /// A hash of `rule` and `causeId`, shaped as a UUIDv8.
    pub id: EventId,
    /// The place in the log, one order with all other events; anew with each revision.
    pub sequence: i64,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: AlertKind,
    /// By which rule.
    pub rule: AlertRule,
    /// Whether it still holds.
    pub status: EventStatus,
    /// 1 at first; one more with its end and with each correction.
    pub revision: i64,
    /// What it is made of: the id of the drain, of the time over a limit, of the dwell, of the first vehicle's `offline`
    /// event; of an expired licence, of the assignment.
    pub cause_id: Uuid,
    /// Whose.
    pub organization_id: OrganizationId,
    /// Which vehicle; of several, the first.
    pub vehicle_id: VehicleId,
    /// The vehicle's name.
    pub vehicle_name: String,
    /// Every vehicle that it is about.
    pub vehicle_ids: Vec<VehicleId>,
    /// Who drove at `startedAt`, where an assignment says so and it is about one vehicle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_id: Option<DriverId>,
    /// The fence whose rule or limit it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geofence_id: Option<GeofenceId>,
    /// The fence's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geofence_name: Option<String>,
    /// When it began: of a dwell, when the stay had lasted as long as the rule allows.
    pub started_at: Timestamp,
    /// When what lasts ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Where, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Place>,
    /// Of a drain: litres that went out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_liters: Option<f64>,
    /// Of a time over a limit: the limit, km/h.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_kmh: Option<f64>,
    /// Of a time over a limit: the highest speed, km/h; while it goes on, up to when it became an alert.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_speed_kmh: Option<f64>,
    /// The server's clock when it was found.
    pub detected_at: Timestamp,
    /// How the record came about.
    pub origin: Origin,
}

impl AlertEvent {
    pub(super) fn of(record: &Record, detail: &AlertDetail) -> Self {
        let vehicle_ids = match detail.vehicle_ids.is_empty() {
            true => vec![record.vehicle_id],
            false => detail.vehicle_ids.clone(),
        };
        Self {
            id: record.id,
            sequence: record.sequence,
            kind: AlertKind::Alert,
            rule: detail.rule,
            status: record.status,
            revision: record.revision,
            cause_id: detail.cause_id,
            organization_id: record.organization_id,
            vehicle_id: record.vehicle_id,
            vehicle_name: record.vehicle_name.clone(),
            vehicle_ids,
            driver_id: record.driver_id,
            geofence_id: detail.geofence_id,
            geofence_name: detail.geofence_name.clone(),
            started_at: record.occurred_at,
            ended_at: record.ended_at,
            location: record.location,
            volume_liters: detail.volume_liters,
            limit_kmh: detail.limit_kmh,
            max_speed_kmh: detail.max_speed_kmh,
            detected_at: record.detected_at,
            origin: record.origin,
        }
    }
}
