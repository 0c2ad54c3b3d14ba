//! Alerts: what a dispatcher should look at, each made of one cause (docs/tracking.md, "Alerts").
//!
//! An alert of the timeline is found beside its cause, by the same step: what makes, revises or takes back the cause does
//! so to the alert. Knows nothing of who has seen it.

use uuid::Uuid;

use super::alert_detail::{AlertDetail, AlertRule};
use super::context::Context;
use super::effects::Effects;
use super::identity::{Anchor, alert_id, event_id};
use super::overstay::Overstay;
use super::record::{Detail, Record};
use super::state::{Stay, VehicleState};
use crate::fuel::FuelEventKind;
use crate::geofence::FenceTimeline;
use crate::model::{DriverId, EventKind, EventStatus, OrganizationId, Origin, Timestamp, VehicleId};

/// The alert of an assignment whose driver's licence has expired, unnumbered. By the server's clock, `now`.
#[must_use]
pub fn license_expired(
    (assignment, started_at): (Uuid, Timestamp),
    (vehicle_id, vehicle_name): (VehicleId, String),
    driver_id: DriverId,
    organization_id: OrganizationId,
    now: Timestamp,
) -> Record {
    let rule = AlertRule::LicenseExpired;
    Record {
        id: alert_id(rule, assignment),
        sequence: 0,
        status: EventStatus::Active,
        revision: 1,
        organization_id,
        vehicle_id,
        vehicle_name,
        driver_id: Some(driver_id),
        occurred_at: started_at,
        ended_at: None,
        location: None,
        detected_at: now,
        origin: Origin::Live,
        confirmed_at: now,
        detail: Detail::Alert(Box::new(AlertDetail::new(rule, assignment))),
    }
}

impl Record {
    /// The alert by a rule of a cause, as if found on the timeline of the cause's vehicle at the cause's instant.
    fn alert(self, detail: AlertDetail) -> Self {
        let id = alert_id(detail.rule, detail.cause_id);
        Self { id, detail: Detail::Alert(Box::new(detail)), ..self }
    }
}

/// The alert that a drain is. It has no end: a drain is over when it is found.
pub(super) fn of_drain(record: &Record) -> Option<Record> {
    let Detail::Fuel(FuelEventKind::Drain, detail) = &record.detail else { return None };
    let found = AlertDetail::new(AlertRule::Drain, record.id.0);
    let alert = record.clone().alert(AlertDetail { volume_liters: Some(detail.volume_liters), ..found });
    Some(Record { ended_at: None, ..alert })
}

/// The alert that a time over a limit is.
pub(super) fn of_overspeed(record: &Record) -> Option<Record> {
    let Detail::Overspeed(detail) = &record.detail else { return None };
    Some(record.clone().alert(AlertDetail {
        geofence_id: detail.geofence_id,
        geofence_name: detail.geofence_name.clone(),
        limit_kmh: Some(detail.limit_kmh),
        max_speed_kmh: Some(detail.max_speed_kmh),
        ..AlertDetail::new(AlertRule::Overspeed, record.id.0)
    }))
}

/// The alert of a stay that is too long, with its end.
pub(super) fn of_overstay(
    (stay, overstay): (&Stay, &Overstay),
    fence: &FenceTimeline,
    (ended_at, confirmed_at): (Option<Timestamp>, Timestamp),
    context: &Context<'_>,
) -> Record {
    let visit = Anchor::Visit(stay.visit_id);
    let cause_id = event_id(context.vehicle.id, fence.id, EventKind::Dwell, visit).0;
    let detail = AlertDetail {
        geofence_id: Some(fence.id),
        geofence_name: Some(fence.name.clone()),
        ..AlertDetail::new(AlertRule::Dwell, cause_id)
    };
    let id = alert_id(detail.rule, cause_id);
    let found = Record::found(id, overstay.since, Detail::Alert(Box::new(detail)), context);
    Record { ended_at, location: Some(overstay.place), confirmed_at, ..found }
}

/// The alerts of stays that are too long and go on.
pub(super) fn open_overstays(state: &VehicleState, context: &Context<'_>) -> Vec<Record> {
    let stays = state.stays.iter().filter_map(|stay| Some((stay, stay.overstay.as_deref()?)));
    let alerts = stays.filter_map(|(stay, overstay)| {
        let fence = context.fences.get(stay.geofence_id)?;
        Some(of_overstay((stay, overstay), fence, (None, overstay.confirmed_at), context))
    });
    alerts.collect()
}

/// Sets what confirms the stays that a step found to be too long.
pub(super) fn confirm(state: &mut VehicleState, first: usize, at: Timestamp, effects: &Effects) {
    let found = effects.records[first..].iter().filter(|record| record.is_open());
    for dwell in found.filter_map(Record::as_alert).filter(|alert| alert.rule == AlertRule::Dwell) {
        let is_its = |stay: &&mut Stay| Some(stay.geofence_id) == dwell.geofence_id;
        if let Some(overstay) = state.stays.iter_mut().find(is_its).and_then(|stay| stay.overstay.as_mut()) {
            overstay.confirmed_at = at;
        }
    }
}
