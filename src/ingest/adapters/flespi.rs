//! flespi's streams: by HTTP lists of flat objects, by MQTT one of them; their names and units are the same for every
//! protocol it knows. Speeds are km/h; `position.valid: false` is no fix.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use waypost_actors::model::{AttributeValue, NewAttributes};
use waypost_actors::tracking::Reported;

use super::adapter::Adapter;
use super::carried::{in_a_row, note_others};
use super::parsed::{Message, Parsed, Request, Words};
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

/// Names of flespi's that have another here.
const RENAMED: [(&str, &str); 10] = [
    ("battery.level", "batteryPercent"),
    ("external.powersource.voltage", "externalVolts"),
    ("position.satellites", "satellites"),
    ("position.hdop", "hdop"),
    ("engine.rpm", "engineRpm"),
    ("engine.coolant.temperature", "coolantCelsius"),
    ("alarm.type", "alarm"),
    ("ibutton.code", "driverCard"),
    ("rfid.code", "driverCard"),
    ("battery.voltage", "batteryVolts"),
];
/// What says who sends by which way, or is read as a member of the fix.
const NOT_KEPT: [&str; 9] = [
    "ident",
    "timestamp",
    "position.",
    "channel.",
    "device.",
    "protocol.",
    "server.",
    "vehicle.mileage",
    "peer",
];
const TEMPERATURES: [&str; 4] =
    ["sensor.temperature.1", "sensor.temperature.2", "sensor.temperature.3", "sensor.temperature.4"];
const INPUTS: [&str; 4] = ["din.1", "din.2", "din.3", "din.4"];

fn carried(sent: &Map<String, Value>) -> NewAttributes {
    let mut carried = NewAttributes::default();
    for (name, ours) in RENAMED {
        match sent.get(name) {
            Some(Value::Number(number)) => carried.note(ours, number.as_f64()),
            // An empty one says nothing; of a card it would mean that none is there.
            Some(Value::String(text)) if !text.is_empty() => carried.note(ours, Some(text.as_str())),
            _ => {}
        }
    }
    let (temperatures, of_temperatures) = in_a_row(&TEMPERATURES, |name| sent.get(name)?.as_f64());
    let (inputs, of_inputs) = in_a_row(&INPUTS, |name| sent.get(name)?.as_bool());
    carried.note("temperatureCelsius", Some(AttributeValue::Numbers(temperatures)));
    carried.note("inputs", Some(AttributeValue::Flags(inputs)));
    let is_read = |name: &str| {
        NOT_KEPT.iter().any(|part| name.starts_with(part))
            || name == "engine.ignition.status"
            || RENAMED.iter().any(|(known, _)| *known == name)
            || of_temperatures.contains(&name)
            || of_inputs.contains(&name)
    };
    note_others(&mut carried, sent, is_read);
    carried
}

fn message(sent: &str) -> Result<Message<'static>, BadItem> {
    let all = sent;
    let sent: Sent = json::read_one(all)?;
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
    let json::Scalars(members) = json::read_one(all)?;
    let carried = carried(&members);
    let recorded_at = sent.timestamp.map_or_else(|| Err("timestamp is missing".to_owned()), instant::number);
    Ok(Message::Position(Box::new(Item::of(tracker, recorded_at, reported, carried))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried_of(members: &str) -> String {
        let sent = format!(
            r#"{{"ident":"605630","timestamp":1506956075,"position.latitude":53.9,"position.longitude":27.4,{members}}}"#
        );
        message(&sent)
            .map(|message| match message {
                Message::Position(item) => {
                    item.attributes.map_or_else(String::new, |kept| kept.as_json().to_owned())
                }
                Message::Contact(_) => "a contact".to_owned(),
            })
            .unwrap()
    }

    #[test]
    fn an_empty_code_is_no_card_that_was_taken_out() {
        assert_eq!(carried_of(r#""ibutton.code":"01AB","rfid.code":"""#), r#"{"driverCard":"01AB"}"#);
        assert_eq!(carried_of(r#""ibutton.code":"""#), "");
    }

    #[test]
    fn sensors_behind_a_missing_one_keep_their_own_names() {
        assert_eq!(
            carried_of(r#""din.1":true,"din.3":false,"sensor.temperature.2":4"#),
            r#"{"din.3":false,"inputs":[true],"sensor.temperature.2":4}"#
        );
    }

    #[test]
    fn its_parameters_are_kept_by_our_names_or_their_own() {
        let request = Request::of(
            r#"[{"ident":"605630","timestamp":1506956075,"position.latitude":53.9,"position.longitude":27.4,"position.satellites":10,
                "position.valid":true,"battery.level":87,"external.powersource.voltage":13.8,"din.1":true,"din.2":false,
                "sensor.temperature.1":-4.5,"ibutton.code":"01AB","gsm.signal.level":60,"channel.id":7,"engine.ignition.status":true}]"#,
        );
        let item = parse(&request).unwrap().into_owned().items.remove(0).unwrap();
        assert_eq!(
            item.attributes.unwrap().as_json(),
            r#"{"batteryPercent":87,"driverCard":"01AB","externalVolts":13.8,"gsm.signal.level":60,"inputs":[true,false],"satellites":10,"temperatureCelsius":[-4.5]}"#
        );
    }
}
