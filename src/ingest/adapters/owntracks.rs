//! OwnTracks over HTTP, one JSON object a request; also Colota's template of it. Speeds are km/h; Android sends 0 for an
//! accuracy or a course that it does not know.

use std::borrow::Cow;

use serde::Deserialize;
use waypost_actors::model::NewAttributes;
use waypost_actors::tracking::Reported;

use super::adapter::Adapter;
use super::fields::Fields;
use super::parsed::{Message, Parsed, Request, Words};
use super::shape::Shape;
use super::units::accuracy_meters;
use super::{instant, json};
use crate::domain::tracker::SpeedUnit;
use crate::ingest::decode::{BadFrame, BadItem, Item};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "owntracks",
    // A card has a picture in it.
    body_bytes: 1024 * 1024,
    is_meant,
    parse,
    kept: |_| Words::json("[]"),
};

/// The user of topics that the Android app makes up for HTTP.
const NO_USER: &str = "http";

#[derive(Deserialize)]
struct Sent<'a> {
    #[serde(rename = "_type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default, deserialize_with = "json::text")]
    topic: Option<String>,
    #[serde(default, deserialize_with = "json::text")]
    tid: Option<String>,
    #[serde(default, deserialize_with = "json::number")]
    tst: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    lat: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    lon: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    acc: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    alt: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    vel: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    cog: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    odometer: Option<f64>,
    #[serde(default, deserialize_with = "json::flag")]
    ign: Option<bool>,
    #[serde(default, deserialize_with = "json::number")]
    batt: Option<f64>,
    /// 1 unplugged, 2 charging, 3 full; 0 is not known.
    #[serde(default, deserialize_with = "json::number")]
    bs: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    rpm: Option<f64>,
    /// Volts of the vehicle, and of the device's own battery.
    #[serde(default, deserialize_with = "json::number")]
    uext: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    ubatt: Option<f64>,
}

/// An empty body is one of its messages.
fn is_meant(_: &Request, shape: &Shape<'_>) -> bool {
    match shape {
        Shape::Object(members) => members.kind.is_some(),
        Shape::List(_) => false,
        Shape::Fields(fields) => fields.is_silent(),
    }
}

fn parse(request: &Request) -> Result<Parsed<'_>, BadFrame> {
    if request.body.trim_ascii().is_empty() {
        return Ok(Parsed::one(Ok(Message::Contact(device(request, None)))));
    }
    let sent: Sent<'_> = json::read(&request.body)?;
    // Others who send its form say metres per second.
    let assumed_speed = Some(SpeedUnit::KilometersPerHour);
    Ok(Parsed { assumed_speed, ..Parsed::one(message(request, sent)) })
}

fn message<'a>(request: &'a Request, sent: Sent<'_>) -> Result<Message<'a>, BadItem> {
    let tracker = device(request, Some(&sent));
    match &*sent.kind {
        "location" => {}
        "encrypted" => {
            return Err(BadItem::new("encrypted: switch the secret off in the app, https keeps it private")
                .of(tracker));
        }
        _ => return Ok(Message::Contact(tracker)),
    }
    let (Some(latitude), Some(longitude)) = (sent.lat, sent.lon) else {
        return Err(BadItem::new("lat or lon is missing or no number").of(tracker));
    };
    let reported = Reported {
        latitude,
        longitude,
        speed_kmh: sent.vel,
        heading_degrees: sent.cog.filter(|course| *course != 0.0),
        altitude_meters: sent.alt,
        accuracy_meters: accuracy_meters(sent.acc),
        odometer_km: sent.odometer,
        ignition: sent.ign,
        ..Reported::default()
    };
    let mut carried = NewAttributes::default();
    carried.note("batteryPercent", sent.batt);
    carried.note("charging", sent.bs.filter(|state| *state > 0.0).map(|state| state >= 2.0));
    carried.note("engineRpm", sent.rpm);
    carried.note("externalVolts", sent.uext);
    carried.note("batteryVolts", sent.ubatt);
    let recorded_at = sent.tst.map_or_else(|| Err("tst is missing".to_owned()), instant::number);
    Ok(Message::Position(Box::new(Item::of(tracker, recorded_at, reported, carried))))
}

/// The device, by what the Recorder goes by: headers, query, topic; else the two letters of `tid`.
fn device<'a>(request: &'a Request, sent: Option<&Sent<'_>>) -> Option<Cow<'a, str>> {
    let headers = request.limit_names.as_ref().map(|(user, device)| format!("{user}/{device}"));
    let in_query = || {
        let fields = Fields::of(request);
        Some(format!("{}/{}", fields.get(&["u"])?, fields.get(&["d"])?))
    };
    let topic = || {
        let (user, device) = sent?.topic.as_deref()?.strip_prefix("owntracks/")?.split_once('/')?;
        (user != NO_USER).then(|| format!("{user}/{device}"))
    };
    let tid = || sent?.tid.clone();
    headers.or_else(in_query).or_else(topic).or_else(tid).map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_names_itself_in_four_ways() {
        let body = r#"{"_type":"location","lat":1,"lon":2,"tst":1795334400,"topic":"owntracks/jane/phone","tid":"JJ"}"#;
        let made_up =
            r#"{"_type":"location","lat":1,"lon":2,"tst":1795334400,"topic":"owntracks/http/JJ","tid":"JJ"}"#;
        let name = |request: Request| {
            parse(&request).unwrap().into_owned().items.remove(0).unwrap().tracker.unwrap()
        };
        let headers = Some(("ann".to_owned(), "tablet".to_owned()));
        assert_eq!(name(Request { limit_names: headers, ..Request::of(body) }), "ann/tablet");
        assert_eq!(name(Request { query: "u=bob&d=old".to_owned(), ..Request::of(body) }), "bob/old");
        assert_eq!(name(Request::of(body)), "jane/phone");
        assert_eq!(name(Request::of(made_up)), "JJ");
    }

    #[test]
    fn the_battery_is_kept() {
        let of = |more: &str| {
            let body = format!(r#"{{"_type":"location","lat":1,"lon":2,"tst":1795334400{more}}}"#);
            let item = parse(&Request::of(body.leak())).unwrap().into_owned().items.remove(0).unwrap();
            item.attributes.map(|carried| carried.as_json().to_owned())
        };
        assert_eq!(of(r#","batt":87,"bs":1"#).as_deref(), Some(r#"{"batteryPercent":87,"charging":false}"#));
        assert_eq!(
            of(r#","uext":13.8,"rpm":900"#).as_deref(),
            Some(r#"{"engineRpm":900,"externalVolts":13.8}"#)
        );
        // −1 and the like are no battery.
        assert_eq!(of(r#","batt":-1,"bs":0"#), None);
    }

    #[test]
    fn what_is_no_place_is_a_sign_of_life() {
        for body in ["", " ", r#"{"_type":"lwt","tst":1}"#, r#"{"_type":"waypoints","waypoints":[]}"#] {
            let request = Request::of(body);
            let parsed = parse(&request).unwrap();
            assert_eq!((parsed.items.len(), parsed.contacts.len()), (0, 1), "{body}");
        }
    }
}
