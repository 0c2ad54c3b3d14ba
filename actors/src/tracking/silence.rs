//! Vehicles that fall silent while they move: one alert for all that do so at about the same time (docs/tracking.md,
//! "Alerts"). By the server's clock, as the records of connections that it is made of.

use super::alert_detail::{AlertDetail, AlertRule};
use super::identity::alert_id;
use super::record::{Detail, Record};
use super::state::VehicleState;
use crate::model::{Connection, Fix, Motion, Origin};

/// Silences that begin within this time of the first one are one alert: what cuts off many trackers is one thing to look
/// into, and they report at different moments. Seconds.
pub const TOGETHER_SECONDS: f64 = 600.0;
/// Vehicles of one alert at most; the next ones are another.
const MOST_VEHICLES: usize = 1_000;
/// A vehicle that was slower than this when it was heard last may have come to where its day ends. km/h.
const LEAST_KMH: f64 = 30.0;

/// Whether a vehicle was on its way when it was heard last: it moved, and if it said how fast, at no less than 30 km/h.
#[must_use]
pub fn was_on_its_way(state: &VehicleState) -> bool {
    let is_fast = |fix: &Fix| fix.speed_kmh.is_none_or(|kmh| kmh >= LEAST_KMH);
    state.trail.motion == Motion::Moving && state.last.as_ref().is_some_and(is_fast)
}

/// The alerts that some changes of connections make: new ones, and those of `open` that are about more vehicles now, with
/// the next revision. `open`: the organizations' alerts of this rule that have not ended.
#[must_use]
pub fn silent_while_moving(changes: &[Record], open: &[Record]) -> Vec<Record> {
    let mut alerts: Vec<(bool, Record)> = open.iter().map(|alert| (false, alert.clone())).collect();
    let mut silent: Vec<&Record> = changes.iter().filter(|change| is_silent_while_moving(change)).collect();
    silent.sort_by_key(|change| (change.occurred_at, change.vehicle_id));
    for change in silent {
        match alerts.iter_mut().find(|(_, alert)| joins(change, alert)) {
            Some((is_changed, alert)) => {
                add(alert, change);
                // One that is not numbered yet is new.
                alert.revision += i64::from(!*is_changed && alert.sequence > 0);
                *is_changed = true;
            }
            None => alerts.push((true, alert_of(change))),
        }
    }
    alerts.into_iter().filter(|(is_changed, _)| *is_changed).map(|(_, alert)| alert).collect()
}

fn is_silent_while_moving(change: &Record) -> bool {
    change.connection().is_some_and(|detail| detail.state == Connection::Offline && detail.was_moving)
}

fn joins(change: &Record, alert: &Record) -> bool {
    let apart = change.occurred_at.seconds_since(alert.occurred_at).abs();
    let has_room = alert.as_alert().is_some_and(|detail| detail.vehicle_ids.len() < MOST_VEHICLES);
    alert.organization_id == change.organization_id && apart <= TOGETHER_SECONDS && has_room
}

fn add(alert: &mut Record, change: &Record) {
    alert.confirmed_at = alert.confirmed_at.max(change.confirmed_at);
    alert.detected_at = change.detected_at;
    let Detail::Alert(detail) = &mut alert.detail else { return };
    if let Err(place) = detail.vehicle_ids.binary_search(&change.vehicle_id) {
        detail.vehicle_ids.insert(place, change.vehicle_id);
    }
}

fn alert_of(change: &Record) -> Record {
    let rule = AlertRule::SilentWhileMoving;
    let vehicle_ids = vec![change.vehicle_id];
    let detail = AlertDetail { vehicle_ids, ..AlertDetail::new(rule, change.id.0) };
    Record {
        id: alert_id(rule, change.id.0),
        sequence: 0,
        revision: 1,
        origin: Origin::Live,
        detail: Detail::Alert(Box::new(detail)),
        ..change.clone()
    }
}
