//! The members of an item, as the tracker socket and `POST /v1/positions` take them. Pure.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;
use waypost_actors::model::{FuelReading, Timestamp};
use waypost_actors::tracking::Reported;

use super::ignored_members::{IgnoredMember, MOST_UNKNOWN, read_attributes, unknown_member};
use super::item::Item;

/// What an item is told that lacks one of these.
const NO_TIME: &str = "recordedAt: is required: an RFC 3339 text, or milliseconds since 1970";
const NO_LATITUDE: &str = "latitude: is required: degrees north, from -90 to 90";
const NO_LONGITUDE: &str = "longitude: is required: degrees east, from -180 to 180";

/// A text borrowed from the input unless it has escapes; an `Option<Cow<str>>` would always be copied by serde.
#[derive(Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// The name of a member, borrowed unless it has escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_borrowed_str<E: de::Error>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(name)))
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        // An identifier, by which an error names its place.
        deserializer.deserialize_identifier(Visitor)
    }
}

/// An item as sent.
#[derive(Default)]
pub(super) struct Wire<'a> {
    seq: Option<i64>,
    tracker_id: Option<Text<'a>>,
    unique_id: Option<Text<'a>>,
    recorded_at: Option<Instant<'a>>,
    latitude: Option<f64>,
    longitude: Option<f64>,
    speed_kmh: Option<f64>,
    heading_degrees: Option<f64>,
    altitude_meters: Option<f64>,
    accuracy_meters: Option<f64>,
    odometer_km: Option<f64>,
    ignition: Option<bool>,
    fuel: Option<Fuel>,
    attributes: Option<&'a RawValue>,
    unknown: Vec<Cow<'a, str>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Wire<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Wire<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with recordedAt, latitude and longitude")
            }
            fn visit_map<M: de::MapAccess<'de>>(self, mut members: M) -> Result<Self::Value, M::Error> {
                let mut wire = Wire::default();
                while let Some(name) = members.next_key::<Name<'de>>()? {
                    wire.read(name, &mut members)?;
                }
                Ok(wire)
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

impl<'de> Wire<'de> {
    /// Reads the value of one member.
    fn read<M: de::MapAccess<'de>>(&mut self, Name(name): Name<'de>, from: &mut M) -> Result<(), M::Error> {
        fn once<'de, T, M>(name: &'static str, into: &mut Option<T>, from: &mut M) -> Result<(), M::Error>
        where
            Option<T>: Deserialize<'de>,
            M: de::MapAccess<'de>,
        {
            match into {
                Some(_) => Err(de::Error::duplicate_field(name)),
                None => {
                    *into = from.next_value()?;
                    Ok(())
                }
            }
        }
        match &*name {
            "seq" => once("seq", &mut self.seq, from),
            "trackerId" => once("trackerId", &mut self.tracker_id, from),
            "uniqueId" => once("uniqueId", &mut self.unique_id, from),
            "recordedAt" if self.recorded_at.is_some() => Err(de::Error::duplicate_field("recordedAt")),
            "latitude" if self.latitude.is_some() => Err(de::Error::duplicate_field("latitude")),
            "longitude" if self.longitude.is_some() => Err(de::Error::duplicate_field("longitude")),
            "recordedAt" => {
                self.recorded_at = Some(from.next_value()?);
                Ok(())
            }
            "latitude" => {
                self.latitude = Some(from.next_value()?);
                Ok(())
            }
            "longitude" => {
                self.longitude = Some(from.next_value()?);
                Ok(())
            }
            "speedKmh" => once("speedKmh", &mut self.speed_kmh, from),
            "headingDegrees" => once("headingDegrees", &mut self.heading_degrees, from),
            "altitudeMeters" => once("altitudeMeters", &mut self.altitude_meters, from),
            "accuracyMeters" => once("accuracyMeters", &mut self.accuracy_meters, from),
            "odometerKm" => once("odometerKm", &mut self.odometer_km, from),
            "ignition" => once("ignition", &mut self.ignition, from),
            "fuel" => once("fuel", &mut self.fuel, from),
            "attributes" => once("attributes", &mut self.attributes, from),
            _ => {
                if self.unknown.len() < MOST_UNKNOWN {
                    self.unknown.push(name);
                }
                from.next_value::<de::IgnoredAny>().map(|_| ())
            }
        }
    }

    /// The item, or which member is missing.
    fn into_item<E: de::Error>(self) -> Result<Item<'de>, E> {
        let recorded_at = self.recorded_at.ok_or_else(|| E::custom(NO_TIME))?.read();
        let mut ignored: Vec<IgnoredMember> = self.unknown.iter().map(|name| unknown_member(name)).collect();
        let attributes = self.attributes.and_then(|sent| read_attributes(sent.get(), &mut ignored));
        Ok(Item {
            seq: self.seq,
            tracker: self.tracker_id.or(self.unique_id).map(|Text(name)| name),
            recorded_at,
            reported: Reported {
                latitude: self.latitude.ok_or_else(|| E::custom(NO_LATITUDE))?,
                longitude: self.longitude.ok_or_else(|| E::custom(NO_LONGITUDE))?,
                speed_kmh: self.speed_kmh,
                heading_degrees: self.heading_degrees,
                altitude_meters: self.altitude_meters,
                accuracy_meters: self.accuracy_meters,
                odometer_km: self.odometer_km,
                ignition: self.ignition,
                fuel: self.fuel.as_ref().and_then(Fuel::level),
                fuel_cumulative: self.fuel.and_then(|fuel| fuel.cumulative),
            },
            attributes,
            ignored,
        })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Item<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Wire::deserialize(deserializer)?.into_item()
    }
}

/// Readings of the fuel sensor: a level in one unit, a counter, or both.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Fuel {
    percent: Option<f64>,
    liters: Option<f64>,
    raw: Option<f64>,
    cumulative: Option<f64>,
}

impl Fuel {
    /// If two units are given, the one that [`Fix::merge`](waypost_actors::model::Fix::merge) would keep.
    fn level(&self) -> Option<FuelReading> {
        let liters = || self.liters.map(FuelReading::Liters);
        let raw = || self.raw.map(FuelReading::Raw);
        self.percent.map(FuelReading::Percent).or_else(liters).or_else(raw)
    }
}

/// Milliseconds below this are before March 1973, when nothing had a tracker; as seconds they last until 5138.
const LOOKS_LIKE_SECONDS: i64 = 100_000_000_000;

/// RFC 3339 text or milliseconds since 1970.
pub(super) enum Instant<'a> {
    Text(Cow<'a, str>),
    Millis(i64),
}

impl Instant<'_> {
    fn read(&self) -> Result<Timestamp, String> {
        match self {
            Self::Text(text) => {
                Timestamp::parse(text).map_err(|error| format!("recordedAt {text:?} is {error}"))
            }
            Self::Millis(millis) if (0..LOOKS_LIKE_SECONDS).contains(millis) => Err(format!(
                "recordedAt {millis} looks like seconds since 1970; send milliseconds ({millis}000) or an RFC 3339 text"
            )),
            Self::Millis(millis) => Timestamp::from_millis(*millis)
                .map_err(|_| format!("recordedAt {millis} is out of range: milliseconds since 1970")),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Instant<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Instant<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 text or a whole number of milliseconds since 1970")
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Instant::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Instant::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_i64<E: de::Error>(self, millis: i64) -> Result<Self::Value, E> {
                Ok(Instant::Millis(millis))
            }
            fn visit_u64<E: de::Error>(self, millis: u64) -> Result<Self::Value, E> {
                Ok(Instant::Millis(i64::try_from(millis).unwrap_or(i64::MAX)))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
