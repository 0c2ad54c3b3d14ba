//! Members of JSON as clients really send them: numbers as text, ids as numbers. What is neither counts as not sent,
//! because a fix is worth more than a member of it.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::parsed::MOST_MESSAGES;
use crate::ingest::decode::{BadFrame, BadItem};
use crate::ingest::unreadable;

/// A finite number, or a text of one.
pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let sent = match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    Ok(sent.filter(|number| number.is_finite()))
}

/// A text that is not empty, or a number as text.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(as_text(&Value::deserialize(deserializer)?))
}

/// Whether something is said to be true or false.
pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_bool())
}

/// A scalar as text; `None` for an empty one.
pub(super) fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// The texts of a list's members, as many as a request may have and one more.
#[derive(Debug, Default)]
pub(super) struct List<'a>(pub(super) Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for List<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = List<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = list.next_element()? {
                    if members.len() <= MOST_MESSAGES {
                        members.push(member);
                    }
                }
                Ok(List(members))
            }
        }
        deserializer.deserialize_seq(Members)
    }
}

/// Reads a whole body.
pub(super) fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, BadFrame> {
    unreadable::read(body).map_err(|why| BadFrame(format!("the body cannot be read: {why}")))
}

/// Reads one message of a body.
pub(super) fn read_one<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, BadItem> {
    unreadable::read(text.as_bytes()).map_err(BadItem::new)
}
