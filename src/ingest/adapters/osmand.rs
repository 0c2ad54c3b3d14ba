//! The form of the OsmAnd app, which Traccar's clients, GPSLogger, PhoneTrack and a Traccar server with
//! `forward.type=url` speak too; and the JSON of Traccar Client 9 and of Colota.
//!
//! `speed` is in knots, as Traccar's clients send it; who fills in a template writes `speed_kmh` or `speed_ms`.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use waypost_actors::model::NewAttributes;
use waypost_actors::tracking::Reported;

use super::adapter::Adapter;
use super::carried::{alarm, percent_of_level, plain};
use super::fields::Fields;
use super::parsed::{Message, Parsed, Request, Words};
use super::units::{KMH_PER_KNOT, KMH_PER_METER_PER_SECOND, accuracy_meters};
use super::{instant, json};
use crate::domain::tracker::SpeedUnit;
use crate::ingest::decode::{BadFrame, BadItem, Item};

/// Names of speeds whose unit they say; `vel` is what Colota sends in its own form, in m/s.
const SPEEDS_WITH_UNIT: [&str; 3] = ["speed_kmh", "speed_ms", "vel"];

pub(super) const ADAPTER: Adapter =
    Adapter { name: "osmand", body_bytes: 256 * 1024, is_meant: |_, _| true, parse, kept: |_| Words::NONE };

/// Names that are read, or that are no attributes.
const READ: [&str; 48] = [
    "id",
    "deviceid",
    "device_id",
    "valid",
    "timestamp",
    "tst",
    "time",
    "location",
    "lat",
    "lon",
    "latitude",
    "longitude",
    "loc",
    "long",
    "gprmc",
    "speed",
    "speed_kmh",
    "speed_ms",
    "vel",
    "bearing",
    "heading",
    "bear",
    "altitude",
    "alt",
    "accuracy",
    "acc",
    "ignition",
    "batt",
    "battery",
    "bat",
    "charge",
    "sat",
    "satellites",
    "hdop",
    "alarm",
    "driverUniqueId",
    "rpm",
    "power",
    "notificationToken",
    "cell",
    "wifi",
    "token",
    "u",
    "d",
    "tid",
    "useragent",
    "_type",
    "bs",
];

/// Names of positions in forms that are not read: with one of them, a report without `lat` is no heartbeat.
const OTHER_POSITIONS: [&str; 7] = ["gprmc", "loc", "lat", "lon", "long", "latitude", "longitude"];

fn parse(request: &Request) -> Result<Parsed<'_>, BadFrame> {
    let body = request.body.trim_ascii_start();
    match body.first() {
        Some(b'{') => {
            let Placed { location } = json::read(body)?;
            if location.is_some_and(|location| location.get().starts_with('{')) {
                return Ok(Parsed::one(of_client_9(json::read(body)?)));
            }
            Ok(of_one(&Fields::of_object(&json::read(body)?), request))
        }
        Some(b'[') => {
            let list: json::List<'_> = json::read(body)?;
            let mut parsed = Parsed::default();
            list.0.iter().for_each(|sent| parsed.add(of_text(sent.get(), request)));
            Ok(parsed)
        }
        Some(b'<') => Err(BadFrame("the body is neither a form nor JSON".to_owned())),
        _ => Ok(of_one(&Fields::of(request), request)),
    }
}

/// A single report. Those of a list come from Traccar's own clients, whose unit is known.
fn of_one(fields: &Fields<'_>, request: &Request) -> Parsed<'static> {
    let is_open = fields.has(&SPEEDS_WITH_UNIT).is_none();
    Parsed { assumed_speed: is_open.then_some(SpeedUnit::Knots), ..Parsed::one(of_fields(fields, request)) }
}

fn of_text(object: &str, request: &Request) -> Result<Message<'static>, BadItem> {
    let members: json::Scalars = json::read_one(object)?;
    of_fields(&Fields::of_object(&members), request)
}

fn of_fields(fields: &Fields<'_>, request: &Request) -> Result<Message<'static>, BadItem> {
    if fields.are_too_many() {
        return Err(BadItem::new(format!("more than {} fields", json::MOST_MEMBERS)));
    }
    let name = fields.get(&["id", "deviceid", "device_id"]).map(|name| Cow::Owned(name.to_owned()));
    let is_fix = fields.get(&["valid"]).is_none_or(|valid| !["false", "0"].contains(&valid));
    if !is_fix {
        return Ok(Message::Contact(name));
    }
    let Some((latitude, longitude)) = place(fields).map_err(|bad| bad.of(name.clone()))? else {
        // A heartbeat says something that is known; a request that says nothing is one too.
        let is_heartbeat = fields.is_silent() || fields.has(&READ).is_some();
        let unknown = "nothing of it is known: a report has lat, lon and timestamp, a heartbeat an id";
        return is_heartbeat.then_some(Message::Contact(name)).ok_or_else(|| BadItem::new(unknown));
    };
    let recorded_at = match fields.get(&["timestamp", "tst", "time"]) {
        Some(time) => instant::text(time),
        None => Ok(request.received_at),
    };
    let speed_kmh = speed_kmh(fields);
    // Apps that do not know the course send 0, as some do for north; who stands has none.
    let stands = speed_kmh.is_none_or(|speed| speed == 0.0);
    let heading = fields.number(&["bearing", "heading", "bear"]).filter(|course| *course != 0.0 || !stands);
    let reported = Reported {
        latitude,
        longitude,
        speed_kmh,
        heading_degrees: heading,
        altitude_meters: fields.number(&["altitude", "alt"]),
        accuracy_meters: accuracy_meters(fields.number(&["accuracy", "acc"])),
        ignition: fields.get(&["ignition"]).and_then(|ignition| ignition.parse().ok()),
        ..Reported::default()
    };
    Ok(Message::Position(Box::new(Item::of(name, recorded_at, reported, carried(fields)))))
}

/// What a form says beside the position; of other names, all that are said to be no part of it.
fn carried(fields: &Fields<'_>) -> NewAttributes {
    let mut carried = NewAttributes::default();
    carried.note("batteryPercent", fields.number(&["batt", "battery", "bat"]));
    carried.note("charging", fields.get(&["charge"]).and_then(|charge| charge.parse::<bool>().ok()));
    carried.note("satellites", fields.number(&["sat", "satellites"]));
    carried.note("hdop", fields.number(&["hdop"]));
    carried.note("alarm", fields.get(&["alarm"]).map(alarm));
    carried.note("driverCard", fields.get(&["driverUniqueId"]));
    carried.note("engineRpm", fields.number(&["rpm"]));
    carried.note("externalVolts", fields.number(&["power"]));
    for (name, value) in fields.others(&READ) {
        carried.note(name, Some(plain(value)));
    }
    carried
}

/// Latitude and longitude; `None` if there is no word of them.
fn place(fields: &Fields<'_>) -> Result<Option<(f64, f64)>, BadItem> {
    let both = match fields.get(&["location"]) {
        Some(both) => both.split_once(',').ok_or_else(|| BadItem::new("location is not like 60.0,30.0"))?,
        None => match (fields.get(&["lat"]), fields.get(&["lon"])) {
            (None, None) => {
                return match fields.has(&OTHER_POSITIONS) {
                    None => Ok(None),
                    Some(name) => {
                        Err(BadItem::new(format!("{name} cannot be read: send numbers as lat and lon")))
                    }
                };
            }
            (latitude, longitude) => (latitude.unwrap_or_default(), longitude.unwrap_or_default()),
        },
    };
    let number = |name: &str, sent: &str| {
        let number: Option<f64> = sent.trim().parse().ok();
        number.ok_or_else(|| BadItem::new(format!("{name} is {sent:?} and no number")))
    };
    Ok(Some((number("lat", both.0)?, number("lon", both.1)?)))
}

fn speed_kmh(fields: &Fields<'_>) -> Option<f64> {
    let [kilometers, per_second, colota] = SPEEDS_WITH_UNIT;
    let meters = || Some(fields.number(&[per_second, colota])? * KMH_PER_METER_PER_SECOND);
    let knots = || Some(fields.number(&["speed"])? * KMH_PER_KNOT);
    fields.number(&[kilometers]).or_else(meters).or_else(knots)
}

/// Where the JSON of an object has its place.
#[derive(Deserialize)]
struct Placed<'a> {
    #[serde(borrow)]
    location: Option<&'a RawValue>,
}

/// The JSON of Traccar Client 9: m/s, and −1 for what it does not know.
#[derive(Deserialize)]
struct Client9 {
    location: Location,
    #[serde(default, deserialize_with = "json::text")]
    device_id: Option<String>,
}

#[derive(Deserialize)]
struct Location {
    battery: Option<Battery>,
    #[serde(default, deserialize_with = "json::text")]
    timestamp: Option<String>,
    coords: Option<Coordinates>,
    #[serde(default, deserialize_with = "json::text")]
    alarm: Option<String>,
    #[serde(default)]
    extras: json::Scalars,
}

#[derive(Deserialize)]
struct Battery {
    /// 0 to 1; −1 where it is not known.
    #[serde(default, deserialize_with = "json::number")]
    level: Option<f64>,
    #[serde(default, deserialize_with = "json::flag")]
    is_charging: Option<bool>,
}

#[derive(Deserialize)]
struct Coordinates {
    #[serde(default, deserialize_with = "json::number")]
    latitude: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    longitude: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    speed: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    heading: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    altitude: Option<f64>,
    #[serde(default, deserialize_with = "json::number")]
    accuracy: Option<f64>,
}

fn of_client_9(sent: Client9) -> Result<Message<'static>, BadItem> {
    let tracker = sent.device_id.map(Cow::Owned);
    let Some(coordinates) = sent.location.coords else { return Ok(Message::Contact(tracker)) };
    let (Some(latitude), Some(longitude)) = (coordinates.latitude, coordinates.longitude) else {
        return Err(BadItem::new("location.coords lacks latitude or longitude").of(tracker));
    };
    let reported = Reported {
        latitude,
        longitude,
        speed_kmh: coordinates.speed.map(|speed| speed * KMH_PER_METER_PER_SECOND),
        heading_degrees: coordinates.heading,
        altitude_meters: coordinates.altitude,
        accuracy_meters: accuracy_meters(coordinates.accuracy),
        ..Reported::default()
    };
    let mut carried = NewAttributes::default();
    if let Some(battery) = sent.location.battery {
        carried.note("batteryPercent", percent_of_level(battery.level));
        carried.note("charging", battery.is_charging);
    }
    // That of its SOS button.
    let sos = || sent.location.extras.0.get("alarm").and_then(json::as_text);
    carried.note("alarm", sent.location.alarm.clone().or_else(sos).as_deref().map(alarm));
    let recorded_at = instant::text(sent.location.timestamp.as_deref().unwrap_or_default());
    Ok(Message::Position(Box::new(Item::of(tracker, recorded_at, reported, carried))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str, body: &'static str) -> Result<Option<Reported>, String> {
        let request = Request { query: query.to_owned(), ..Request::of(body) };
        let parsed = parse(&request).map_err(|bad| bad.0)?;
        match parsed.items.into_iter().next() {
            None => Ok(None),
            Some(Ok(item)) => Ok(Some(item.reported)),
            Some(Err(bad)) => Err(bad.detail),
        }
    }

    #[test]
    fn speed_has_the_unit_of_its_name() {
        for (query, kmh) in [
            ("speed=40", Some(74.08)),
            ("speed_kmh=40&speed=1", Some(40.0)),
            ("speed_ms=10", Some(36.0)),
            ("speed=fast", None),
            ("", None),
        ] {
            let read = read(&format!("lat=1&lon=2&{query}"), "").unwrap().unwrap();
            assert_eq!(read.speed_kmh, kmh, "{query}");
        }
    }

    #[test]
    fn what_else_is_said_is_kept_but_no_credential() {
        let of = |query: &str, body: &'static str| {
            let request = Request { query: query.to_owned(), ..Request::of(body) };
            let item = parse(&request).unwrap().items.remove(0).unwrap();
            item.attributes.map(|carried| carried.as_json().to_owned())
        };
        assert_eq!(
            of("id=1&lat=1&lon=2&batt=87.0&charge=true&alarm=sos&sat=9&rpm=933&fuel=24&door=open&api_key=x&a%20b=1", "").as_deref(),
            Some(
                r#"{"alarm":"sos","batteryPercent":87,"charging":true,"door":"open","engineRpm":933,"fuel":24,"satellites":9}"#
            )
        );
        assert_eq!(of("lat=1&lon=2&speed=3", ""), None);
        let client_9 = r#"{"location":{"timestamp":"2025-06-15T13:45:12.862Z","coords":{"latitude":37.4,"longitude":-122},
            "battery":{"level":0.5,"is_charging":false}},"device_id":"4"}"#;
        assert_eq!(of("", client_9).as_deref(), Some(r#"{"batteryPercent":50,"charging":false}"#));
        for (sos, alarm) in [
            (r#""extras":{"alarm":"sos"}"#, Some(r#"{"alarm":"sos"}"#)),
            (r#""extras":{},"alarm":"sos""#, Some(r#"{"alarm":"sos"}"#)),
            (r#""extras":null"#, None),
        ] {
            let sent = format!(
                r#"{{"location":{{"coords":{{"latitude":1,"longitude":2}},{sos}}},"device_id":"4"}}"#
            );
            assert_eq!(of("", sent.leak()).as_deref(), alarm, "{sos}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        let of = |query: &str| read(query, "").unwrap().unwrap();
        let standing = of("lat=1&lon=2&speed=0.0&bearing=0.0&accuracy=0.0");
        assert_eq!((standing.heading_degrees, standing.accuracy_meters), (None, None));
        assert_eq!(of("lat=1&lon=2&speed=5&bearing=0").heading_degrees, Some(0.0));
        assert_eq!(of("lat=1&lon=2&speed=5&bearing=511").heading_degrees, None);
    }

    #[test]
    fn a_heartbeat_is_no_fix_and_a_misspelt_position_is_no_heartbeat() {
        for query in ["id=1&batt=5", "id=1&notificationToken=x", "lat=1&lon=2&valid=false", "cell=257,02,16"]
        {
            assert_eq!(read(query, ""), Ok(None), "{query}");
        }
        for query in [
            "lat=1",
            "lat=x&lon=2",
            "Lat=1&Long=2",
            "latitude=1&longitude=2",
            "gprmc=$GPRMC,1",
            "location=1",
            "lat=&lon=",
        ] {
            assert!(read(query, "").is_err(), "{query}");
        }
        assert!(read("", "<messageList/>").is_err());
        assert_eq!(read("", r#"{"location":{"extras":{"heartbeat":true}},"device_id":"1"}"#), Ok(None));
    }
}
