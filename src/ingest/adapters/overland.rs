//! Overland (iOS): batches of GeoJSON features; also Colota's template of it. Speeds are m/s, −1 is "not known".

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use waypost_actors::model::NewAttributes;
use waypost_actors::tracking::Reported;

use super::adapter::Adapter;
use super::carried::percent_of_level;
use super::parsed::{Message, Parsed, Request, Words};
use super::shape::Shape;
use super::units::{KMH_PER_METER_PER_SECOND, accuracy_meters};
use super::{instant, json};
use crate::ingest::decode::{BadFrame, BadItem, Item};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "overland",
    // 1,000 features of some 600 bytes, three times over.
    body_bytes: 2 * 1024 * 1024,
    is_meant: |_, shape| matches!(shape, Shape::Object(members) if members.locations.is_some()),
    parse,
    // Only this very body clears the app's cache.
    kept: |_| Words::json(r#"{"result":"ok"}"#),
};

#[derive(Deserialize)]
struct Batch<'a> {
    #[serde(borrow)]
    locations: json::List<'a>,
    /// Whose features those are that do not say it themselves.
    #[serde(default, deserialize_with = "json::text")]
    device_id: Option<String>,
}

#[derive(Deserialize)]
struct Feature {
    geometry: Option<Geometry>,
    properties: Properties,
}

#[derive(Deserialize)]
struct Geometry {
    coordinates: Point,
}

/// Longitude and latitude: the first two members of a list, where they are numbers.
#[derive(Default)]
struct Point(Option<f64>, Option<f64>);

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Point;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Point, A::Error> {
                let mut number =
                    || Ok(list.next_element::<json::Scalar>()?.and_then(|scalar| scalar.0?.as_f64()));
                let point = Point(number()?, number()?);
                IgnoredAny.visit_seq(list).map(|_| point)
            }
        }
        deserializer.deserialize_seq(Members)
    }
}

#[derive(Deserialize)]
struct Properties {
    #[serde(default, deserialize_with = "json::text")]
    timestamp: Option<String>,
    /// Of events that are no fixes: a visit, the app's start.
    #[serde(default, deserialize_with = "json::text")]
    action: Option<String>,
    /// `trip`, for the summary of one.
    #[serde(default, rename = "type", deserialize_with = "json::text")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "json::text")]
    device_id: Option<String>,
    #[serde(default, deserialize_with = "json::number")]
    speed: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    course: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    altitude: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    vertical_accuracy: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    horizontal_accuracy: Option<f64>,
    /// 0 to 1; −1 where it is not known.
    #[serde(default, deserialize_with = "json::number")]
    battery_level: Option<f64>,
    #[serde(default, deserialize_with = "json::text")]
    battery_state: Option<String>,
}

fn parse(request: &Request) -> Result<Parsed<'_>, BadFrame> {
    let batch: Batch<'_> = json::read(&request.body)?;
    let mut parsed = Parsed::default();
    for feature in &batch.locations.0 {
        parsed.add(message(feature.get(), batch.device_id.as_deref()));
    }
    Ok(parsed)
}

fn message(feature: &str, named: Option<&str>) -> Result<Message<'static>, BadItem> {
    let feature: Feature = json::read_one(feature)?;
    let sent = feature.properties;
    let tracker = sent.device_id.or_else(|| named.map(str::to_owned)).map(Cow::Owned);
    if sent.action.is_some() || sent.kind.as_deref() == Some("trip") {
        return Ok(Message::Contact(tracker));
    }
    let point = feature.geometry.map(|geometry| geometry.coordinates).unwrap_or_default();
    let Point(Some(longitude), Some(latitude)) = point else {
        return Err(BadItem::new("geometry.coordinates are not two numbers").of(tracker));
    };
    let reported = Reported {
        latitude,
        longitude,
        speed_kmh: sent.speed.map(|speed| speed * KMH_PER_METER_PER_SECOND),
        heading_degrees: sent.course,
        altitude_meters: sent.altitude.filter(|_| sent.vertical_accuracy.is_none_or(|meters| meters >= 0.0)),
        accuracy_meters: accuracy_meters(sent.horizontal_accuracy),
        ..Reported::default()
    };
    let mut carried = NewAttributes::default();
    carried.note("batteryPercent", percent_of_level(sent.battery_level));
    let state = sent.battery_state.as_deref().filter(|state| *state != "unknown");
    carried.note("charging", state.map(|state| state == "charging" || state == "full"));
    let recorded_at = instant::text(sent.timestamp.as_deref().unwrap_or_default());
    Ok(Message::Position(Box::new(Item::of(tracker, recorded_at, reported, carried))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_costs_only_itself_and_what_is_no_fix_is_passed_over() {
        let request = Request::of(
            r#"{"locations":[
                {"geometry":{"coordinates":[-122.03,37.33]},"properties":{"timestamp":"2015-10-01T08:00:00-0700","altitude":0,
                 "speed":4,"course":-1,"horizontal_accuracy":30,"vertical_accuracy":-1,"battery_state":"charging","battery_level":0.8,"device_id":"bus7"}},
                {"geometry":{"coordinates":[1]},"properties":{}},
                7,
                {"geometry":null,"properties":{"action":"visit","device_id":"bus7"}},
                {"geometry":{"coordinates":[1,2]},"properties":{"type":"trip"}}],"current":{},"trip":{},"device_id":"phone"}"#,
        );
        let parsed = parse(&request).unwrap();
        assert_eq!((parsed.items.len(), parsed.contacts.len()), (3, 2));
        assert_eq!(
            parsed.contacts,
            [Some("bus7".into()), Some("phone".into())],
            "its own name before that of all"
        );
        let item = parsed.items[0].as_ref().unwrap();
        assert_eq!(item.recorded_at.as_ref().unwrap().to_string(), "2015-10-01T15:00:00.000Z");
        let carried = item.attributes.as_ref().map(|carried| carried.as_json());
        assert_eq!(carried, Some(r#"{"batteryPercent":80,"charging":true}"#));
        let reported = item.reported;
        assert_eq!((reported.latitude, reported.longitude), (37.33, -122.03));
        assert_eq!((reported.speed_kmh, reported.altitude_meters), (Some(14.4), None));
        assert!(parsed.items[1].is_err() && parsed.items[2].is_err());
    }
}
