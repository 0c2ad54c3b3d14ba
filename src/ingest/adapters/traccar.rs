//! A Traccar server with `forward.type=json`: the devices of all its protocols, one position a request. Speeds are knots.
//!
//! `valid: false` and `outdated: true` mark the last known place with a new time, which is no fix.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};
use waypost_actors::model::{AttributeValue, FuelReading, NewAttributes};
use waypost_actors::tracking::Reported;

use super::adapter::Adapter;
use super::carried::{alarm, in_a_row, note_others};
use super::parsed::{Message, Parsed, Request, Words};
use super::shape::Shape;
use super::units::{KMH_PER_KNOT, accuracy_meters};
use super::{instant, json};
use crate::ingest::decode::{BadFrame, BadItem, Item};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "traccar",
    body_bytes: 256 * 1024,
    // Its events have a device and may lack a position.
    is_meant: |_, shape| matches!(shape, Shape::Object(members) if members.device.is_some() || members.position.is_some()),
    parse,
    kept: |_| Words::NONE,
};

const METERS_PER_KILOMETER: f64 = 1000.0;

#[derive(Deserialize)]
struct Forwarded {
    position: Option<Position>,
    device: Option<Device>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Device {
    #[serde(default, deserialize_with = "json::text")]
    unique_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Position {
    #[serde(default, deserialize_with = "json::flag")]
    valid: Option<bool>,
    #[serde(default, deserialize_with = "json::flag")]
    outdated: Option<bool>,
    #[serde(default, deserialize_with = "json::text")]
    fix_time: Option<String>,
    #[serde(default, deserialize_with = "json::number")]
    latitude: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    longitude: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    altitude: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    speed: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    course: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    accuracy: Option<f64>,
    #[serde(default)]
    attributes: json::Scalars,
}

/// Names that are read, or that say nothing of the vehicle.
const READ: [&str; 18] = [
    "odometer",
    "ignition",
    "fuelLevel",
    "fuel",
    "fuelUsed",
    "batteryLevel",
    "power",
    "battery",
    "charge",
    "sat",
    "hdop",
    "alarm",
    "driverUniqueId",
    "rpm",
    "coolantTemp",
    "distance",
    "raw",
    "priority",
];

/// Names of temperatures; those behind one that is missing keep their own.
const TEMPERATURES: [&str; 4] = ["temp1", "temp2", "temp3", "temp4"];

/// What devices say beside a position: metres, per cent, litres, volts.
struct Said<'a>(&'a Map<String, Value>);

impl Said<'_> {
    fn number(&self, name: &str) -> Option<f64> {
        let number = match self.0.get(name)? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        number.filter(|number| number.is_finite())
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.0.get(name)?.as_bool()
    }

    fn carried(&self) -> NewAttributes {
        let text = |name: &str| self.0.get(name).and_then(json::as_text);
        let mut carried = NewAttributes::default();
        carried.note("batteryPercent", self.number("batteryLevel"));
        carried.note("charging", self.flag("charge"));
        carried.note("externalVolts", self.number("power"));
        carried.note("batteryVolts", self.number("battery"));
        carried.note("satellites", self.number("sat"));
        carried.note("hdop", self.number("hdop"));
        carried.note("alarm", text("alarm").as_deref().map(alarm));
        carried.note("driverCard", text("driverUniqueId").as_deref());
        carried.note("engineRpm", self.number("rpm"));
        carried.note("coolantCelsius", self.number("coolantTemp"));
        let (temperatures, of_temperatures) = in_a_row(&TEMPERATURES, |name| self.number(name));
        carried.note("temperatureCelsius", Some(AttributeValue::Numbers(temperatures)));
        note_others(&mut carried, self.0, |name| READ.contains(&name) || of_temperatures.contains(&name));
        carried
    }
}

fn parse(request: &Request) -> Result<Parsed<'_>, BadFrame> {
    Ok(Parsed::one(message(json::read(&request.body)?)))
}

fn message(sent: Forwarded) -> Result<Message<'static>, BadItem> {
    if sent.device.is_none() && sent.position.is_none() {
        return Err(BadItem::new("there is neither position nor device"));
    }
    let tracker = sent.device.and_then(|device| device.unique_id).map(Cow::Owned);
    let is_fix = |position: &Position| position.valid != Some(false) && position.outdated != Some(true);
    let Some(position) = sent.position.filter(is_fix) else { return Ok(Message::Contact(tracker)) };
    let (Some(latitude), Some(longitude)) = (position.latitude, position.longitude) else {
        return Err(BadItem::new("position lacks latitude or longitude").of(tracker));
    };
    let said = Said(&position.attributes.0);
    let (level, carried) = (said.number("fuelLevel"), said.carried());
    let reported = Reported {
        latitude,
        longitude,
        speed_kmh: position.speed.map(|speed| speed * KMH_PER_KNOT),
        heading_degrees: position.course,
        altitude_meters: position.altitude,
        accuracy_meters: accuracy_meters(position.accuracy),
        odometer_km: said.number("odometer").map(|meters| meters / METERS_PER_KILOMETER),
        ignition: said.flag("ignition"),
        fuel: level.map(FuelReading::Percent).or_else(|| said.number("fuel").map(FuelReading::Liters)),
        fuel_cumulative: said.number("fuelUsed"),
    };
    let recorded_at = instant::text(position.fix_time.as_deref().unwrap_or_default());
    Ok(Message::Position(Box::new(Item::of(tracker, recorded_at, reported, carried))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORWARDED: &str = r#"{"position":{"id":7,"protocol":"h02","fixTime":"2026-11-22T08:00:00.000+00:00","outdated":false,
        "valid":true,"latitude":48.1,"longitude":11.5,"altitude":519.0,"speed":10.0,"course":271.0,"accuracy":0.0,
        "attributes":{"odometer":2656224.0,"ignition":true,"fuelLevel":40,"fuelUsed":12.5,"batteryLevel":87,"power":13.8,
        "alarm":"tampering,general","driverUniqueId":"01AB","io239":1,"motion":true,"totalDistance":12.5}},
        "device":{"id":3,"uniqueId":"864717003283581","attributes":{}}}"#;

    #[test]
    fn units_and_what_is_not_known() {
        let request = Request::of(FORWARDED);
        let item = parse(&request).unwrap().items.remove(0).unwrap();
        let expected = Reported {
            latitude: 48.1,
            longitude: 11.5,
            speed_kmh: Some(18.52),
            heading_degrees: Some(271.0),
            altitude_meters: Some(519.0),
            accuracy_meters: None,
            odometer_km: Some(2656.224),
            ignition: Some(true),
            fuel: Some(FuelReading::Percent(40.0)),
            fuel_cumulative: Some(12.5),
        };
        assert_eq!(
            item.attributes.as_ref().unwrap().as_json(),
            r#"{"alarm":"tamper","batteryPercent":87,"driverCard":"01AB","externalVolts":13.8,"io239":1,"motion":true,"totalDistance":12.5}"#
        );
        assert_eq!((item.reported, item.tracker.as_deref()), (expected, Some("864717003283581")));
    }

    #[test]
    fn the_last_known_place_is_no_fix() {
        for (was, is) in [("\"valid\":true", "\"valid\":false"), ("\"outdated\":false", "\"outdated\":true")]
        {
            let request = Request::of(FORWARDED.replace(was, is).leak());
            let parsed = parse(&request).unwrap();
            assert_eq!((parsed.items.len(), parsed.contacts.len()), (0, 1), "{is}");
        }
    }
}
