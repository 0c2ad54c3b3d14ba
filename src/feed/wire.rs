//! Vehicles and events in the feed's format.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use waypost_actors::live::{LiveFuel, VehicleNow};
use waypost_actors::model::{
    Attributes, Connection, Fix, GeofenceId, Motion, OrganizationId, Timestamp, VehicleId,
};
use waypost_actors::watch::{PositionBatch, ProvisionalPosition, VehicleUpdate};

use super::changes::{Known, VehicleChange};
use super::occupancy::OccupancyOut;
use crate::auth::Sees;
use crate::socket::Frame;

/// Recipients that may see everything.
const ALL: Sees = Sees { positions: true, occupancy: true, fuel: true };
/// Typical size of a vehicle in a message.
const VEHICLE_BYTES: usize = 320;
/// Vehicles per message. A few of these is what waits for a slow reader.
pub(super) const PART: usize = 200;

/// A vehicle's current state, without the parts the watcher may not see.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VehicleOut<'a> {
    vehicle_id: VehicleId,
    organization_id: OrganizationId,
    /// `null` for a vehicle without a position.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<Option<PositionOut<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    motion: Option<Motion>,
    /// Whether the state is committed.
    durable: bool,
    /// Whether it is heard of.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<Connection>,
    /// Up to when its timeline stands; absent while that is nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    settled_through: Option<Timestamp>,
    /// As of the last commit; absent if it has not changed since it was last sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    geofence_ids: Option<Vec<GeofenceId>>,
    /// Absent for a vehicle that never reported fuel.
    #[serde(skip_serializing_if = "Option::is_none")]
    fuel: Option<LiveFuel>,
}

/// A fix, and what it carries if it carries anything.
#[derive(Serialize)]
#[serde(untagged)]
enum PositionOut<'a> {
    Plain(&'a Fix),
    Carrying {
        #[serde(flatten)]
        fix: &'a Fix,
        attributes: &'a Attributes,
    },
}

impl<'a> PositionOut<'a> {
    const fn of(fix: &'a Fix, attributes: Option<&'a Attributes>) -> Self {
        match attributes {
            Some(attributes) => Self::Carrying { fix, attributes },
            None => Self::Plain(fix),
        }
    }
}

/// A vehicle's JSON, by its provisional position or else its committed state.
fn vehicle(
    (vehicle_id, organization_id): (VehicleId, OrganizationId),
    committed: Option<&VehicleNow>,
    seen: Option<&ProvisionalPosition>,
    sees: Sees,
) -> String {
    let (position, motion, fuel, settled, heard) = match (seen, committed) {
        (Some(seen), _) => (seen.fix(), seen.motion(), seen.fuel(), seen.settled_through, Connection::Online),
        (None, Some(VehicleNow { state, settled_through, connection })) => {
            let fuel = LiveFuel::of(vehicle_id, state);
            (state.last.as_ref(), state.trail.motion, fuel, *settled_through, *connection)
        }
        (None, None) => (None, Motion::default(), None, None, Connection::Offline),
    };
    let attributes = match (seen, committed) {
        (Some(seen), _) => seen.attributes(),
        (None, committed) => committed.and_then(|now| now.state.attributes.as_ref()),
    };
    let without_fuel = position.filter(|fix| fix.has_fuel() && !sees.fuel);
    let without_fuel = without_fuel.map(|fix| Fix { fuel: None, fuel_cumulative: None, ..*fix });
    let position = without_fuel.as_ref().or(position).map(|fix| PositionOut::of(fix, attributes));
    let committed = committed.filter(|_| sees.occupancy);
    json(&VehicleOut {
        vehicle_id,
        organization_id,
        position: sees.positions.then_some(position),
        motion: sees.positions.then_some(motion),
        durable: seen.is_none_or(ProvisionalPosition::is_stored),
        state: sees.positions.then_some(heard),
        settled_through: settled.filter(|_| sees.positions),
        geofence_ids: committed.map(|now| now.state.open_stays().map(|stay| stay.geofence_id).collect()),
        fuel: fuel.filter(|_| sees.fuel),
    })
}

/// The JSON of a vehicle of a snapshot.
pub(super) fn known(known: &Known, sees: Sees) -> String {
    let ids = (known.vehicle_id, known.organization_id);
    vehicle(ids, Some(&known.now), known.provisional.as_deref(), sees)
}

/// The JSON of a vehicle's provisional position, for recipients that may see all of it.
fn seen(provisional: &ProvisionalPosition) -> &str {
    provisional.encoded(|seen| vehicle((seen.vehicle_id, seen.organization_id), None, Some(seen), ALL))
}

/// The JSON of a vehicle in a delta; encoded once for all recipients that may see all of it.
fn change(change: &VehicleChange, sees: Sees) -> Cow<'_, str> {
    let (update, provisional) = match change {
        VehicleChange::Seen(provisional) if sees.all() => return seen(provisional).into(),
        VehicleChange::Committed(update) if sees.all() => return committed(update).into(),
        VehicleChange::Seen(provisional) => (None, Some(&**provisional)),
        VehicleChange::Committed(update) => (Some(update), None),
        VehicleChange::Both(update, provisional) => (Some(update), Some(&**provisional)),
    };
    vehicle(change.of(), update.map(|update| update.now()).as_ref(), provisional, sees).into()
}

/// The JSON of a vehicle's committed state, for recipients that may see all of it.
fn committed(update: &VehicleUpdate) -> &str {
    update.encoded(|update| {
        let ids = (update.vehicle_id, update.organization_id);
        vehicle(ids, Some(&update.now()), None, ALL)
    })
}

/// The message of an entry of the log, in parts: its body is encoded once for all recipients. `id`: the subscription's name
/// as JSON.
pub(super) const fn entry<'a>(kind: &'a str, id: &'a str, cursor: &'a str, body: &'a str) -> [&'a str; 11] {
    [r#"{"type":""#, kind, r#"","id":"#, id, r#","cursor":""#, cursor, r#"",""#, kind, r#"":"#, body, "}"]
}

/// A delta's message. Its vehicles are encoded once for all recipients and only assembled here, because deltas are
/// most of what a server sends.
pub(super) fn delta(
    id: &str,
    sees: Sees,
    vehicles: &[VehicleChange],
    removes: &[VehicleId],
    occupancy: &OccupancyOut,
) -> String {
    message(id, vehicles.iter().map(|one| change(one, sees)), removes, occupancy)
}

/// The messages with positions to send at once to a subscription of this name; encoded once for all subscriptions
/// with that name.
pub(super) fn seen_frames(id: &str, batch: &PositionBatch) -> Arc<Vec<Frame>> {
    batch.encoded(id, |provisional| {
        let nobody = OccupancyOut::default();
        let parts = provisional.chunks(PART);
        parts
            .map(|part| message(id, part.iter().map(|one| seen(one).into()), &[], &nobody))
            .map(|text| Frame::text(&text))
            .collect()
    })
}

fn message<'a>(
    id: &str,
    vehicles: impl ExactSizeIterator<Item = Cow<'a, str>>,
    removes: &[VehicleId],
    occupancy: &OccupancyOut,
) -> String {
    let mut text = String::with_capacity(VEHICLE_BYTES * vehicles.len() + 128);
    text.push_str(r#"{"type":"delta","id":"#);
    text.push_str(&json(&id));
    text.push_str(r#","vehicles":["#);
    for (number, vehicle) in vehicles.enumerate() {
        if number > 0 {
            text.push(',');
        }
        text.push_str(&vehicle);
    }
    text.push(']');
    if !removes.is_empty() {
        text.push_str(r#","removes":"#);
        text.push_str(&json(&removes));
    }
    text.push_str(r#","occupancy":"#);
    text.push_str(&json(occupancy));
    text.push('}');
    text
}

/// Serializes one of our own types.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("our own types have string keys and finite numbers")
}

/// A JSON list from ready-made parts.
pub(super) fn list<'a>(parts: impl Iterator<Item = &'a str>) -> Box<serde_json::value::RawValue> {
    let mut text = String::from("[");
    for part in parts {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(part);
    }
    text.push(']');
    raw(text)
}

/// Ready-made JSON.
pub(super) fn raw(text: String) -> Box<serde_json::value::RawValue> {
    serde_json::value::RawValue::from_string(text).expect("made of JSON")
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::super::occupancy::LeaveOut;
    use super::*;

    #[test]
    fn an_entry_is_json_with_its_body_as_it_is() {
        let text = entry("event", &json(&"a\"b"), "x-_1", r#"{"id":1.50}"#).concat();
        assert_eq!(text, r#"{"type":"event","id":"a\"b","cursor":"x-_1","event":{"id":1.50}}"#);
    }

    #[test]
    fn a_delta_is_json_whatever_is_in_it() {
        let nobody = OccupancyOut::default();
        let text = r#"{"type":"delta","id":"a\"b","vehicles":[],"occupancy":{"enter":[],"leave":[]}}"#;
        assert_eq!(delta("a\"b", ALL, &[], &[], &nobody), text);
        let (geofence_id, vehicle_id) = (GeofenceId(Uuid::nil()), VehicleId(Uuid::max()));
        let left = OccupancyOut { leave: vec![LeaveOut { geofence_id, vehicle_id }], ..nobody };
        let text = delta("b", ALL, &[], &[vehicle_id], &left);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["removes"], serde_json::json!([vehicle_id]));
        assert_eq!(value["occupancy"]["leave"][0]["geofenceId"], serde_json::json!(geofence_id));
    }
}
