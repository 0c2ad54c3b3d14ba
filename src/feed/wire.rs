//! Vehicles and events as the feed writes them.

use std::sync::Arc;

use serde::Serialize;
use waypost_actors::live::LiveFuel;
use waypost_actors::model::{Fix, GeofenceId, Motion, OrganizationId, Timestamp, VehicleId, VisitId};
use waypost_actors::tracking::VehicleState;
use waypost_actors::watch::VehicleUpdate;

/// A vehicle as it is now.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VehicleOut<'a> {
    vehicle_id: VehicleId,
    organization_id: OrganizationId,
    position: Option<&'a Fix>,
    motion: Motion,
    /// Whether what is said of the vehicle is committed.
    durable: bool,
    geofence_ids: Vec<GeofenceId>,
    /// Absent for a vehicle that never reported any.
    #[serde(skip_serializing_if = "Option::is_none")]
    fuel: Option<LiveFuel>,
}

/// A vehicle that is or went inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InsideOut {
    pub(super) geofence_id: GeofenceId,
    pub(super) vehicle_id: VehicleId,
    pub(super) visit_id: VisitId,
    pub(super) entered_at: Timestamp,
}

/// A vehicle that went out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LeftOut {
    pub(super) geofence_id: GeofenceId,
    pub(super) vehicle_id: VehicleId,
}

/// Who went in and out since the last delta.
#[derive(Debug, Default, Serialize)]
pub(super) struct OccupancyOut {
    pub(super) enter: Vec<InsideOut>,
    pub(super) leave: Vec<LeftOut>,
}

/// A vehicle's JSON.
pub(super) fn vehicle(id: VehicleId, organization: OrganizationId, state: &VehicleState) -> String {
    let out = VehicleOut {
        vehicle_id: id,
        organization_id: organization,
        position: state.last.as_ref(),
        motion: state.trail.motion,
        durable: true,
        geofence_ids: state.open_stays().map(|stay| stay.geofence_id).collect(),
        fuel: LiveFuel::of(id, state),
    };
    json(&out)
}

/// Who a vehicle's state says is inside what.
pub(super) fn inside(id: VehicleId, state: &VehicleState) -> impl Iterator<Item = InsideOut> {
    state.open_stays().map(move |stay| InsideOut {
        geofence_id: stay.geofence_id,
        vehicle_id: id,
        visit_id: stay.visit_id,
        entered_at: stay.entered_at,
    })
}

/// A delta's message. Its vehicles are encoded once for all who watch, and only put together here: most of what
/// a server says is this.
pub(super) fn delta(
    id: &str,
    vehicles: &[Arc<VehicleUpdate>],
    removes: &[VehicleId],
    occupancy: &OccupancyOut,
) -> String {
    let encode = |u: &VehicleUpdate| vehicle(u.vehicle_id, u.organization_id, &u.state);
    let length: usize = vehicles.iter().map(|update| update.encoded(encode).len() + 1).sum();
    let mut text = String::with_capacity(length + 128);
    text.push_str(r#"{"type":"delta","id":"#);
    text.push_str(&json(&id));
    text.push_str(r#","vehicles":["#);
    for (number, update) in vehicles.iter().enumerate() {
        if number > 0 {
            text.push(',');
        }
        text.push_str(update.encoded(encode));
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

/// JSON of our own types.
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

    use super::*;

    #[test]
    fn a_delta_is_json_whatever_is_in_it() {
        let nobody = OccupancyOut::default();
        let text = r#"{"type":"delta","id":"a\"b","vehicles":[],"occupancy":{"enter":[],"leave":[]}}"#;
        assert_eq!(delta("a\"b", &[], &[], &nobody), text);
        let (geofence_id, vehicle_id) = (GeofenceId(Uuid::nil()), VehicleId(Uuid::max()));
        let left = OccupancyOut { leave: vec![LeftOut { geofence_id, vehicle_id }], ..nobody };
        let text = delta("b", &[], &[vehicle_id], &left);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["removes"], serde_json::json!([vehicle_id]));
        assert_eq!(value["occupancy"]["leave"][0]["geofenceId"], serde_json::json!(geofence_id));
    }
}
