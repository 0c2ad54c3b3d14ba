//! From bytes to items. Pure. An error in one item costs that item only; an error in the frame costs the frame, and
//! its message names the place.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;
use waypost_actors::model::{FuelReading, Timestamp};
use waypost_actors::tracking::Reported;

/// A position item as sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Item<'a> {
    /// The client's own increasing number.
    pub seq: Option<i64>,
    /// The tracker it names, if any, by id or unique id.
    pub tracker: Option<Cow<'a, str>>,
    /// When it was recorded, or why that could not be read.
    pub recorded_at: Result<Timestamp, String>,
    /// The report itself.
    pub reported: Reported,
}

/// An item that cannot be read, with its place in the frame and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadItem {
    /// The client's number, if it could be read.
    pub seq: Option<i64>,
    /// The problem, naming the member.
    pub detail: String,
}

/// A message of a client on the socket.
#[derive(Debug)]
pub enum Heard<'a> {
    /// It introduces itself.
    Hello {
        /// Names the client's run, across whose connections `seq` continues.
        boot_id: Option<String>,
    },
    /// It reports positions.
    Positions(Vec<Result<Item<'a>, BadItem>>),
}

/// A frame that cannot be understood, for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadFrame(pub String);

/// A text borrowed from the input unless it has escapes; an `Option<Cow<str>>` would always be copied by serde.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frame<'a, I> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    items: Option<I>,
    #[serde(borrow)]
    boot_id: Option<Text<'a>>,
}

/// Reads one text frame of the tracker socket.
pub fn frame(text: &str) -> Result<Heard<'_>, BadFrame> {
    // Nearly every frame is positions without an error, which takes one pass.
    if let Ok(Frame { kind, items: Some(GoodItems(items)), .. }) = serde_json::from_str(text)
        && kind == "positions"
    {
        return Ok(Heard::Positions(items));
    }
    let frame: Frame<'_, &RawValue> = serde_json::from_str(text)
        .map_err(|error| BadFrame(format!("the frame is not a JSON object with a type: {error}")))?;
    match (&*frame.kind, frame.items) {
        ("positions", Some(list)) => items(list.get()).map(Heard::Positions),
        ("positions", None) => Err(BadFrame("a positions frame needs items".to_owned())),
        ("hello", _) => Ok(Heard::Hello { boot_id: frame.boot_id.map(|Text(boot)| boot.into_owned()) }),
        (other, _) => Err(BadFrame(format!("unknown type {other:?}; known are hello and positions"))),
    }
}

/// Reads a JSON list of items: all at once or, after an error, one by one to find the bad ones.
pub fn items(list: &str) -> Result<Vec<Result<Item<'_>, BadItem>>, BadFrame> {
    if let Ok(GoodItems(items)) = serde_json::from_str(list) {
        return Ok(items);
    }
    let raw: Vec<&RawValue> =
        serde_json::from_str(list).map_err(|error| BadFrame(format!("items is not a list: {error}")))?;
    Ok(raw.into_iter().map(|item| read_item(item.get())).collect())
}

/// Items without an error.
struct GoodItems<'a>(Vec<Result<Item<'a>, BadItem>>);

impl<'de: 'a, 'a> Deserialize<'de> for GoodItems<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = GoodItems<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of items")
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(wire) = list.next_element::<Wire<'de>>()? {
                    items.push(Ok(wire.into()));
                }
                Ok(GoodItems(items))
            }
        }
        deserializer.deserialize_seq(Visitor)
    }
}

fn read_item(text: &str) -> Result<Item<'_>, BadItem> {
    #[derive(Deserialize)]
    struct Numbered {
        seq: Option<i64>,
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize::<_, Wire<'_>>(&mut reader).map(Item::from).map_err(|error| {
        let seq = serde_json::from_str::<Numbered>(text).ok().and_then(|numbered| numbered.seq);
        let path = error.path().to_string();
        let why = error.into_inner().to_string();
        let why = why.split(" at line ").next().unwrap_or_default();
        let detail = if path == "." { why.to_owned() } else { format!("{path}: {why}") };
        BadItem { seq, detail: detail + &spelling_hint(text) }
    })
}

/// A hint for an item with a member that is not in camelCase.
fn spelling_hint(item: &str) -> String {
    let members: serde_json::Map<String, serde_json::Value> = serde_json::from_str(item).unwrap_or_default();
    members
        .keys()
        .find(|name| name.contains('_'))
        .map_or_else(String::new, |name| format!("; {name} is not known: names are written like recordedAt"))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    seq: Option<i64>,
    #[serde(borrow)]
    tracker_id: Option<Text<'a>>,
    #[serde(borrow)]
    unique_id: Option<Text<'a>>,
    #[serde(borrow)]
    recorded_at: Instant<'a>,
    latitude: f64,
    longitude: f64,
    speed_kmh: Option<f64>,
    heading_degrees: Option<f64>,
    altitude_meters: Option<f64>,
    accuracy_meters: Option<f64>,
    odometer_km: Option<f64>,
    ignition: Option<bool>,
    fuel: Option<Fuel>,
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

impl<'a> From<Wire<'a>> for Item<'a> {
    fn from(wire: Wire<'a>) -> Self {
        Self {
            seq: wire.seq,
            tracker: wire.tracker_id.or(wire.unique_id).map(|Text(name)| name),
            recorded_at: wire.recorded_at.read(),
            reported: Reported {
                latitude: wire.latitude,
                longitude: wire.longitude,
                speed_kmh: wire.speed_kmh,
                heading_degrees: wire.heading_degrees,
                altitude_meters: wire.altitude_meters,
                accuracy_meters: wire.accuracy_meters,
                odometer_km: wire.odometer_km,
                ignition: wire.ignition,
                fuel: wire.fuel.as_ref().and_then(Fuel::level),
                fuel_cumulative: wire.fuel.and_then(|fuel| fuel.cumulative),
            },
        }
    }
}

/// Milliseconds below this are before March 1973, when nothing had a tracker; as seconds they last until 5138.
const LOOKS_LIKE_SECONDS: i64 = 100_000_000_000;

/// RFC 3339 text or milliseconds since 1970.
enum Instant<'a> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(items: &str) -> Vec<Result<Item<'static>, BadItem>> {
        let text = format!(r#"{{"type":"positions","items":{items}}}"#);
        match frame(text.leak()).unwrap() {
            Heard::Positions(items) => items,
            Heard::Hello { .. } => panic!("positions"),
        }
    }

    #[test]
    fn items_in_both_kinds_of_time() {
        let items = positions(
            r#"[{"seq":1,"recordedAt":"2026-01-01T00:00:00Z","latitude":1,"longitude":2.5,"fuel":{"percent":40}},
                {"seq":2,"recordedAt":1767225600000,"latitude":1,"longitude":2.5,"unheardOf":[1]}]"#,
        );
        let [Ok(first), Ok(second)] = &items[..] else { panic!("{items:?}") };
        assert_eq!(first.recorded_at, second.recorded_at);
        assert_eq!(first.reported.fuel, Some(FuelReading::Percent(40.0)));
        assert_eq!((first.seq, second.reported.longitude), (Some(1), 2.5));
    }

    #[test]
    fn a_wrong_item_is_named_and_the_others_stand() {
        let items = positions(
            r#"[{"seq":1,"recordedAt":"2026-01-01T00:00:00Z","latitude":"x","longitude":2},
                {"seq":2,"recordedAt":"2026-01-01T00:00:00Z","longitude":2},
                {"seq":3,"recordedAt":"yesterday","latitude":1,"longitude":2},
                {"seq":4,"recordedAt":1,"latitude":1,"longitude":2}, 5]"#,
        );
        let detail = |index: usize| items[index].as_ref().unwrap_err().detail.clone();
        assert_eq!(items[0].as_ref().unwrap_err().seq, Some(1));
        assert_eq!(detail(0), "latitude: invalid type: string \"x\", expected f64");
        assert_eq!(detail(1), "missing field `latitude`");
        assert!(items[2].as_ref().unwrap().recorded_at.as_ref().unwrap_err().contains("yesterday"));
        let seconds = items[3].as_ref().unwrap().recorded_at.clone().unwrap_err();
        assert_eq!(
            seconds,
            "recordedAt 1 looks like seconds since 1970; send milliseconds (1000) or an RFC 3339 text"
        );
        assert!(detail(4).starts_with("invalid type"));
    }

    #[test]
    fn frames_that_are_none() {
        for (text, part) in [
            ("{", "not a JSON object"),
            ("[]", "not a JSON object"),
            (r#"{"items":[]}"#, "missing field `type`"),
            (r#"{"type":"positions"}"#, "needs items"),
            (r#"{"type":"positions","items":7}"#, "not a list"),
            (r#"{"type":"dance"}"#, "unknown type \"dance\""),
            (r#"{"type":"positions","items":[{"latitude":NaN}]}"#, "not a JSON object"),
        ] {
            let error = frame(text).map(|_| ()).unwrap_err().0;
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
