//! flespi's streams: by HTTP lists of flat objects, by MQTT one of them; their names and units are the same for every
//! protocol it knows. Speeds are km/h; `position.valid: false` is no fix.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use waypost_actors::tracking::Reported;

use super::adapter::Adapter;
use super::parsed::{Message, Parsed, Request, Words, bad};
use super::shape::Shape;
use super::{instant, json};
use crate::ingest::decode::{BadFrame, BadItem, Item};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "flespi",
    body_bytes: 4 * 1024 * 1024,
    is_meant: |_, shape| matches!(shape, Shape::List(members) if members.ident.is_some()),
    parse,
    kept: |_| Words::NONE,
};

#[derive(Deserialize)]
struct Sent {
    #[serde(default, deserialize_with = "json::text")]
    ident: Option<String>,
    #[serde(default, deserialize_with = "json::number")]
    timestamp: Option<f64>,
    #[serde(default, rename = "position.valid", deserialize_with = "json::flag")]
    valid: Option<bool>,
    #[serde(default, rename = "position.latitude", deserialize_with = "json::number")]
    latitude: Option<f64>,
    #[serde(default, rename = "position.longitude", deserialize_with = "json::number")]
    longitude: Option<f64>,
    #[serde(default, rename = "position.altitude", deserialize_with = "json::number")]
    altitude: Option<f64>,
    #[serde(default, rename = "position.speed", deserialize_with = "json::number")]
    speed: Option<f64>,
    #[serde(default, rename = "position.direction", deserialize_with = "json::number")]
    direction: Option<f64>,
    #[serde(default, rename = "vehicle.mileage", deserialize_with = "json::number")]
    mileage: Option<f64>,
    #[serde(default, rename = "engine.ignition.status", deserialize_with = "json::flag")]
    ignition: Option<bool>,
}

fn parse(request: &Request) -> Result<Parsed<'_>, BadFrame> {
    if request.body.trim_ascii_start().starts_with(b"{") {
        return Ok(Parsed::one(message(json::read::<&RawValue>(&request.body)?.get())));
    }
    let list: json::List<'_> = json::read(&request.body)?;
    let mut parsed = Parsed::default();
    list.0.iter().for_each(|sent| parsed.add(message(sent.get())));
    Ok(parsed)
}

fn message(sent: &str) -> Result<Message<'static>, BadItem> {
    let sent: Sent = serde_json::from_str(sent).map_err(|error| bad(error.to_string()))?;
    let tracker = sent.ident.map(Cow::Owned);
    let (Some(latitude), Some(longitude)) = (sent.latitude, sent.longitude) else {
        return Ok(Message::Contact(tracker));
    };
    if sent.valid == Some(false) {
        return Ok(Message::Contact(tracker));
    }
    let reported = Reported {
        latitude,
        longitude,
        speed_kmh: sent.speed,
        heading_degrees: sent.direction,
        altitude_meters: sent.altitude,
        odometer_km: sent.mileage,
        ignition: sent.ignition,
        ..Reported::default()
    };
    let recorded_at = sent.timestamp.map_or_else(|| Err("timestamp is missing".to_owned()), instant::number);
    Ok(Message::Position(Box::new(Item { seq: None, tracker, recorded_at, reported })))
}
