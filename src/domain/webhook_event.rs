//! The types of events that webhooks are sent, and patterns of them.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use waypost_actors::model::{Change, ChangeKind, ChangedResource, EventStatus};
use waypost_actors::tracking::{Record, RecordKind};

use super::members::Read;
use super::nearest::nearest;

/// The type of the event that tries a webhook out.
pub const TEST: &str = "webhook.test";
/// Most patterns of one webhook.
pub const MAX_PATTERNS: usize = 50;

/// The types that a webhook is sent: whole ones, `geofence.*` for all that begin so, `*` for all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventTypes(Vec<String>);

impl EventTypes {
    /// Whether a type is among them.
    #[must_use]
    pub fn matches(&self, event_type: &str) -> bool {
        self.0.iter().any(|pattern| is_match(pattern, event_type))
    }
}

fn is_match(pattern: &str, event_type: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => event_type.starts_with(prefix),
        None => pattern == event_type,
    }
}

/// An alert that was not found within this time after it began is none that anybody can still act on. Seconds.
const LATE_SECONDS: f64 = 900.0;

/// The type of a record.
#[must_use]
pub fn of_record(record: &Record) -> &'static str {
    let is_late = || record.detected_at.seconds_since(record.confirmed_at) > LATE_SECONDS;
    match record.kind() {
        RecordKind::Alert if record.status == EventStatus::Retracted => ALERT_RETRACTED,
        RecordKind::Alert if record.revision == 1 && is_late() => ALERT_LATE,
        kind => of_kind(kind, record.ended_at.is_some()),
    }
}

/// The type of an alert whose cause was none, as late data shows.
const ALERT_RETRACTED: &str = "alert.retracted";
/// The type of an alert about the past.
const ALERT_LATE: &str = "alert.late";

/// The type of a record. `has_ended`: whether it has an end.
const fn of_kind(kind: RecordKind, has_ended: bool) -> &'static str {
    match kind {
        RecordKind::Alert if has_ended => "alert.resolved",
        RecordKind::Alert => "alert.raised",
        RecordKind::Trip if has_ended => "trip.ended",
        RecordKind::Trip => "trip.started",
        RecordKind::Stop if has_ended => "stop.ended",
        RecordKind::Stop => "stop.started",
        RecordKind::Entry => "geofence.entry",
        RecordKind::Exit => "geofence.exit",
        RecordKind::Dwell => "geofence.dwell",
        RecordKind::Refuel => "fuel.refuel",
        RecordKind::Drain => "fuel.drain",
        RecordKind::Overspeed => "vehicle.overspeed",
        RecordKind::Online => "connection.online",
        RecordKind::Stale => "connection.stale",
        RecordKind::Offline => "connection.offline",
    }
}

/// The type of a change of master data.
#[must_use]
pub fn of_change(change: &Change) -> String {
    named(change.resource, change.kind)
}

fn named(resource: ChangedResource, kind: ChangeKind) -> String {
    format!("change.{}.{}", resource.as_str(), kind.as_str())
}

/// Every type there is.
static TYPES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let of_one = |(_, kind): &(&str, RecordKind)| [of_kind(*kind, false), of_kind(*kind, true)];
    let records = RecordKind::WORDS.iter().flat_map(of_one).chain([ALERT_RETRACTED, ALERT_LATE]);
    let mut records: Vec<String> = records.map(str::to_owned).collect();
    records.dedup();
    let kinds = || ChangeKind::WORDS.iter().map(|(_, kind)| *kind);
    let changes = ChangedResource::WORDS
        .iter()
        .flat_map(|(_, resource)| kinds().map(move |kind| named(*resource, kind)));
    records.into_iter().chain(changes).collect()
});

/// Reads a list of patterns, each of which must match a type that there is.
pub fn event_types(value: &Value) -> Read<EventTypes> {
    let wrong = || ("type", "a list of 1 to 50 event types".to_owned());
    let items =
        value.as_array().filter(|items| (1..=MAX_PATTERNS).contains(&items.len())).ok_or_else(wrong)?;
    let patterns: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    let patterns = patterns.ok_or_else(wrong)?;
    for pattern in &patterns {
        let is_whole = !pattern.contains('*') || *pattern == "*" || pattern.ends_with(".*");
        if !is_whole || !TYPES.iter().any(|known| is_match(pattern, known)) {
            let known = nearest(pattern, TYPES.iter().map(String::as_str)).unwrap_or("geofence.entry");
            return Err((
                "value",
                format!(
                    "a list of event types, or of beginnings such as geofence.*; no type is called {pattern:?}, did you mean {known}?"
                ),
            ));
        }
    }
    let mut read: Vec<String> = patterns.into_iter().map(str::to_owned).collect();
    read.sort();
    read.dedup();
    Ok(EventTypes(read))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;
    use waypost_actors::model::{DriverId, OrganizationId, Timestamp, VehicleId};
    use waypost_actors::tracking::license_expired;

    use super::*;

    #[test]
    fn a_beginning_with_a_star_matches_all_that_begin_so() {
        let types = event_types(&json!(["geofence.*", "fuel.refuel"])).unwrap();
        assert!(types.matches("geofence.entry") && types.matches("fuel.refuel"));
        assert!(!types.matches("fuel.drain") && !types.matches("change.geofence.updated"));
        let all = event_types(&json!(["*"])).unwrap();
        assert!(TYPES.iter().all(|known| all.matches(known)));
        let trips = event_types(&json!(["trip.*", "stop.started"])).unwrap();
        assert!(trips.matches("trip.started") && trips.matches("trip.ended") && !trips.matches("stop.ended"));
        assert!(event_types(&json!(["change.vehicle.*"])).unwrap().matches("change.vehicle.deleted"));
    }

    #[test]
    fn alerts_tell_by_their_type_what_becomes_of_them() {
        let at = |seconds| Timestamp::FIRST.plus_seconds(seconds);
        let vehicle = (VehicleId(Uuid::nil()), String::new());
        let (driver, organization) = (DriverId(Uuid::nil()), OrganizationId(Uuid::nil()));
        let raised = license_expired((Uuid::nil(), at(0.0)), vehicle, driver, organization, at(0.0));
        let late = Record { detected_at: at(901.0), ..raised.clone() };
        let ended = Record { ended_at: Some(at(5.0)), revision: 2, ..late.clone() };
        let retracted = Record { status: EventStatus::Retracted, ..ended.clone() };
        let told = [&raised, &late, &ended, &retracted].map(of_record);
        assert_eq!(told, ["alert.raised", "alert.late", "alert.resolved", "alert.retracted"]);
        assert!(told.iter().all(|told| TYPES.iter().any(|known| known == told)));
    }

    #[test]
    fn what_matches_nothing_is_refused() {
        for wrong in [
            json!([]),
            json!("*"),
            json!(["geofence.entri"]),
            json!(["geo*"]),
            json!(["*.entry"]),
            json!([1]),
        ] {
            assert!(event_types(&wrong).is_err(), "{wrong}");
        }
        let (_, must) = event_types(&json!(["geofence.entri"])).unwrap_err();
        assert!(must.ends_with("did you mean geofence.entry?"), "{must}");
    }
}
