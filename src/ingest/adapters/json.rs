//! Members of JSON as clients really send them: numbers as text, ids as numbers. What is neither counts as not sent,
//! because a fix is worth more than a member of it. What is no scalar is passed over without being built, so that a
//! request costs little more memory than its bytes, whatever it says.

use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::parsed::MOST_MESSAGES;
use crate::ingest::decode::{BadFrame, BadItem};
use crate::ingest::unreadable;

/// Most members that one message may have.
pub(super) const MOST_MEMBERS: usize = 1_000;

/// A scalar; `None` for null, lists and objects.
#[derive(Debug, Default)]
pub(super) struct Scalar(pub(super) Option<Value>);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of;
        impl<'de> Visitor<'de> for Of {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }
            fn visit_unit<E>(self) -> Result<Scalar, E> {
                Ok(Scalar(None))
            }
            fn visit_bool<E>(self, flag: bool) -> Result<Scalar, E> {
                Ok(Scalar(Some(flag.into())))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
                Ok(Scalar(Some(number.into())))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
                Ok(Scalar(Some(number.into())))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
                Ok(Scalar(Some(number.into())))
            }
            fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar(Some(text.into())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Scalar, A::Error> {
                IgnoredAny.visit_seq(list).map(|_| Scalar(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Scalar, A::Error> {
                IgnoredAny.visit_map(object).map(|_| Scalar(None))
            }
        }
        deserializer.deserialize_any(Of)
    }
}

/// The scalars among an object's members, by name; none of null or a list.
#[derive(Debug, Default)]
pub(super) struct Scalars(pub(super) Map<String, Value>);

impl<'de> Deserialize<'de> for Scalars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Scalars;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Scalars, A::Error> {
                let mut members = Map::new();
                while let Some((name, Scalar(value))) = object.next_entry::<String, Scalar>()? {
                    members.extend(value.map(|value| (name, value)));
                    if members.len() > MOST_MEMBERS {
                        return Err(A::Error::custom(format_args!("more than {MOST_MEMBERS} members")));
                    }
                }
                Ok(Scalars(members))
            }
            fn visit_unit<E>(self) -> Result<Scalars, E> {
                Ok(Scalars::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Scalars, A::Error> {
                IgnoredAny.visit_seq(list).map(|_| Scalars::default())
            }
        }
        deserializer.deserialize_any(Members)
    }
}

/// A finite number, or a text of one.
pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let sent = match Scalar::deserialize(deserializer)?.0 {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    Ok(sent.filter(|number| number.is_finite()))
}

/// A text that is not empty, or a number as text.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Scalar::deserialize(deserializer)?.0.as_ref().and_then(as_text))
}

/// Whether something is said to be true or false.
pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    Ok(Scalar::deserialize(deserializer)?.0.and_then(|sent| sent.as_bool()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_object_only_scalars_are_kept_and_only_so_many() {
        let sent = br#"{"a":1,"b":"x","c":null,"d":[{"":0}],"e":{"f":[1]},"g":true,"a":2}"#;
        let Scalars(members) = read(sent).unwrap();
        assert_eq!(Value::Object(members), serde_json::json!({ "a": 2, "b": "x", "g": true }));
        for none in ["null", "[1]"] {
            assert!(read::<Scalars>(none.as_bytes()).unwrap().0.is_empty(), "{none}");
        }
        let object = |members: usize| {
            let members: Vec<String> = (0..members).map(|n| format!("\"m{n}\":{n},\"n{n}\":[{n}]")).collect();
            format!("{{{}}}", members.join(","))
        };
        assert_eq!(read::<Scalars>(object(MOST_MEMBERS).as_bytes()).unwrap().0.len(), MOST_MEMBERS);
        let refused = read::<Scalars>(object(MOST_MEMBERS + 1).as_bytes()).unwrap_err();
        assert!(refused.0.contains("more than 1000 members"), "{refused}");
    }
}
