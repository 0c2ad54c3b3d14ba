//! From bytes to items. Pure. An error in one item costs that item only; an error in the frame costs the frame, and
//! its message names the place.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;

use super::ignored_members::{IgnoredMember, unknown_beside_items};
pub use super::item::{BadItem, Item};
use super::unreadable;
use super::wire::Text;

/// Most items in a frame.
pub const MAX_ITEMS: usize = 500;

/// A message of a client on the socket.
#[derive(Debug)]
pub enum Heard<'a> {
    /// It introduces itself.
    Hello {
        /// Names the client's run, across whose connections `seq` continues.
        boot_id: Option<String>,
    },
    /// It reports positions.
    Positions(Positions<'a>),
}

/// Positions as they were reported.
#[derive(Debug)]
pub struct Positions<'a> {
    /// The items, in their order; none if there are more than may be and one of them is wrong.
    pub items: Vec<Result<Item<'a>, BadItem>>,
    /// How many there are.
    pub many: usize,
    /// What stood beside them and is not known.
    pub ignored: Vec<IgnoredMember>,
}

impl<'a> From<Vec<Result<Item<'a>, BadItem>>> for Positions<'a> {
    fn from(items: Vec<Result<Item<'a>, BadItem>>) -> Self {
        Self { many: items.len(), items, ignored: Vec::new() }
    }
}

/// A frame that cannot be understood, for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadFrame(pub String);

/// Nearly every frame: positions without an error and nothing else, which takes one pass.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PositionsFrame<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    items: GoodItems<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frame<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    items: Option<&'a RawValue>,
    #[serde(borrow)]
    boot_id: Option<Text<'a>>,
}

/// The members of a frame.
const FRAME_MEMBERS: [&str; 3] = ["type", "items", "bootId"];

/// The body of a request.
#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    items: &'a RawValue,
}

/// The same with nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainBody<'a> {
    #[serde(borrow)]
    items: &'a RawValue,
}

/// Reads one text frame of the tracker socket.
pub fn frame(text: &str) -> Result<Heard<'_>, BadFrame> {
    if let Ok(PositionsFrame { kind, items: GoodItems(items) }) = serde_json::from_str(text)
        && kind == "positions"
    {
        return Ok(Heard::Positions(items.into()));
    }
    let frame: Frame<'_> = unreadable::read(text.as_bytes())
        .map_err(|why| BadFrame(format!("the frame is not a JSON object with a type: {why}")))?;
    match (&*frame.kind, frame.items) {
        ("positions", Some(list)) => {
            let ignored = unknown_beside_items(text.as_bytes(), &FRAME_MEMBERS);
            Ok(Heard::Positions(Positions { ignored, ..items(list.get())? }))
        }
        ("positions", None) => Err(BadFrame("a positions frame needs items".to_owned())),
        ("hello", _) => Ok(Heard::Hello { boot_id: frame.boot_id.map(|Text(boot)| boot.into_owned()) }),
        (other, _) => Err(BadFrame(format!("unknown type {other:?}; known are hello and positions"))),
    }
}

/// Reads the body of a request; `None` if it is no object with items.
pub fn body(bytes: &[u8]) -> Option<Result<Positions<'_>, BadFrame>> {
    if let Ok(PlainBody { items: list }) = serde_json::from_slice(bytes) {
        return Some(items(list.get()));
    }
    let Body { items: list } = serde_json::from_slice(bytes).ok()?;
    let ignored = unknown_beside_items(bytes, &["items"]);
    Some(items(list.get()).map(|read| Positions { ignored, ..read }))
}

/// Reads a JSON list of items: all at once or, after an error, one by one to find the bad ones.
fn items(list: &str) -> Result<Positions<'_>, BadFrame> {
    if let Ok(GoodItems(items)) = serde_json::from_str(list) {
        return Ok(items.into());
    }
    let raw: Vec<&RawValue> =
        unreadable::read(list.as_bytes()).map_err(|why| BadFrame(format!("items is not a list: {why}")))?;
    let many = raw.len();
    if many > MAX_ITEMS {
        // To say what is wrong with each would take hundreds of times the room of the list, for a frame that is refused.
        return Ok(Positions { items: Vec::new(), many, ignored: Vec::new() });
    }
    let items: Vec<_> = raw.into_iter().map(|item| read_item(item.get())).collect();
    Ok(items.into())
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
                while let Some(item) = list.next_element()? {
                    items.push(Ok(item));
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
    unreadable::read(text.as_bytes()).map_err(|why| {
        let seq = serde_json::from_str::<Numbered>(text).ok().and_then(|numbered| numbered.seq);
        BadItem { seq, ..BadItem::new(why + &spelling_hint(text)) }
    })
}

/// A hint for an item with a member that is not in camelCase.
fn spelling_hint(item: &str) -> String {
    let members: BTreeMap<String, de::IgnoredAny> = serde_json::from_str(item).unwrap_or_default();
    members
        .keys()
        .find(|name| name.contains('_'))
        .map_or_else(String::new, |name| format!("; {name} is not known: names are written like recordedAt"))
}

#[cfg(test)]
mod tests {
    use waypost_actors::model::FuelReading;

    use super::*;

    fn positions(items: &str) -> Vec<Result<Item<'static>, BadItem>> {
        let text = format!(r#"{{"type":"positions","items":{items}}}"#);
        match frame(text.leak()).unwrap() {
            Heard::Positions(Positions { items, .. }) => items,
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
        assert_eq!(detail(0), r#"latitude: must be a number, and is string "x""#);
        assert_eq!(detail(1), "latitude: is required: degrees north, from -90 to 90");
        assert!(items[2].as_ref().unwrap().recorded_at.as_ref().unwrap_err().contains("yesterday"));
        let seconds = items[3].as_ref().unwrap().recorded_at.clone().unwrap_err();
        assert_eq!(
            seconds,
            "recordedAt 1 looks like seconds since 1970; send milliseconds (1000) or an RFC 3339 text"
        );
        assert!(detail(4).starts_with("must be an object with recordedAt"));
    }

    #[test]
    fn of_more_items_than_may_be_none_that_is_wrong_is_read() {
        let list = |many: usize| format!("[{}]", vec!["0"; many].join(","));
        assert_eq!(positions(&list(MAX_ITEMS)).len(), MAX_ITEMS);
        let text = format!(r#"{{"type":"positions","items":{}}}"#, list(100_000));
        let Ok(Heard::Positions(read)) = frame(&text) else { panic!("positions") };
        assert_eq!((read.items.len(), read.many), (0, 100_000));
        let text = format!(r#"{{"items":{},"more":1}}"#, list(MAX_ITEMS + 1));
        let Some(Ok(read)) = body(text.as_bytes()) else { panic!("positions") };
        assert_eq!((read.items.len(), read.many, read.ignored.len()), (0, MAX_ITEMS + 1, 1));
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
