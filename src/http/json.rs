//! JSON from clients: parsed with limits on its depth and on the number of its values, and checked for characters
//! that no client's text needs and that the stores treat differently.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::code::Code;
use super::problem::Problem;
use crate::domain::field::{FieldError, MOST_ERRORS};

/// The deepest nesting of a body.
pub const MAX_DEPTH: usize = 32;
/// Most values in a body, of all kinds: a geofence of 30,000 vertices has a little over 90,000.
pub const MAX_VALUES: usize = 100_000;

/// Parses JSON; an error names its line and column.
pub fn parse(body: &[u8]) -> Result<Value, Problem> {
    let bounds = Bounds { values_left: Cell::new(MAX_VALUES), is_full: Cell::new(false) };
    let mut reader = serde_json::Deserializer::from_slice(body);
    let parsed = Bounded { bounds: &bounds, levels_left: MAX_DEPTH }.deserialize(&mut reader);
    let value = parsed.and_then(|value| reader.end().map(|()| value)).map_err(|error| {
        let code = if bounds.is_full.get() { Code::PayloadTooLarge } else { Code::MalformedJson };
        Problem::new(code).detail(error.to_string())
    })?;
    let mut errors = Vec::new();
    refuse_controls(&value, &mut String::new(), &mut errors);
    match errors.first() {
        None => Ok(value),
        Some(first) => {
            let detail = format!("{} {}", first.pointer, first.detail);
            Err(Problem::new(Code::ValidationFailed).detail(detail).errors(errors))
        }
    }
}

/// Whether a text has a control character other than line breaks and tabs, which no client's text needs. PostgreSQL
/// does not accept NUL, SQLite does.
#[must_use]
pub fn has_controls(text: &str) -> bool {
    text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
}

fn refuse_controls(value: &Value, at: &mut String, errors: &mut Vec<FieldError>) {
    let mut refuse = |pointer: &str, text: &str| {
        if has_controls(text) && errors.len() < MOST_ERRORS {
            errors.push(FieldError::new(pointer, "characters", "must not have control characters"));
        }
    };
    match value {
        Value::String(text) => refuse(at, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate().filter(|(_, item)| may_have_text(item)) {
                below(at, &index.to_string(), |at| refuse_controls(item, at, errors));
            }
        }
        Value::Object(members) => {
            members.keys().for_each(|name| refuse(at, name));
            for (name, member) in members.iter().filter(|(_, member)| may_have_text(member)) {
                let name = name.replace('~', "~0").replace('/', "~1");
                below(at, &name, |at| refuse_controls(member, at, errors));
            }
        }
        _ => {}
    }
}

const fn may_have_text(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Array(_) | Value::Object(_))
}

fn below(at: &mut String, name: &str, look: impl FnOnce(&mut String)) {
    let length = at.len();
    at.push('/');
    at.push_str(name);
    look(at);
    at.truncate(length);
}

struct Bounds {
    values_left: Cell<usize>,
    is_full: Cell<bool>,
}

#[derive(Clone, Copy)]
struct Bounded<'b> {
    bounds: &'b Bounds,
    levels_left: usize,
}

impl Bounded<'_> {
    fn inside<E: serde::de::Error>(self) -> Result<Self, E> {
        match self.levels_left.checked_sub(1) {
            Some(levels_left) => Ok(Self { levels_left, ..self }),
            None => Err(E::custom(format_args!("nested deeper than {MAX_DEPTH} levels"))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.bounds.values_left.get().checked_sub(1) {
            Some(left) => self.bounds.values_left.set(left),
            None => {
                self.bounds.is_full.set(true);
                return Err(D::Error::custom(format_args!("more than {MAX_VALUES} values")));
            }
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let (inside, mut items) = (self.inside()?, Vec::new());
        while let Some(item) = list.next_element_seed(inside)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let (inside, mut members) = (self.inside()?, Map::new());
        while let Some(name) = object.next_key::<String>()? {
            members.insert(name, object.next_value_seed(inside)?);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_reads_what_serde_reads() {
        let text =
            r#" {"a":[1,-2,2.5,1e300,"x\u00e9",null,true,{}],"b":{"c":[]},"a2":18446744073709551615} "#;
        assert_eq!(parse(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn broken_json_is_placed() {
        for broken in ["{\n  \"name\": oops\n}", "{\n  \"name\": 1}\nx"] {
            let problem = parse(broken.as_bytes()).unwrap_err();
            assert_eq!(problem.code(), Code::MalformedJson);
            assert!(problem.to_string().contains("line"), "{problem}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
        let deep = parse(nested(MAX_DEPTH + 1).as_bytes()).unwrap_err();
        assert!(deep.to_string().contains("deeper than 32"), "{deep}");
    }

    #[test]
    fn values_are_counted() {
        let list = |items: usize| format!("[{}0]", "0,".repeat(items - 1));
        assert!(parse(list(MAX_VALUES - 1).as_bytes()).is_ok());
        assert_eq!(parse(list(MAX_VALUES).as_bytes()).unwrap_err().code(), Code::PayloadTooLarge);
        let objects = format!("[{}{{}}]", r#"{"":0},"#.repeat(MAX_VALUES));
        assert_eq!(parse(objects.as_bytes()).unwrap_err().code(), Code::PayloadTooLarge);
    }

    #[test]
    fn control_characters_are_refused_where_they_are() {
        let refused = |value: Value| {
            let problem = parse(value.to_string().as_bytes()).unwrap_err();
            assert_eq!(problem.code(), Code::ValidationFailed);
            problem.pointers()
        };
        assert_eq!(refused(json!({ "a": { "b/c": ["", "x\u{0}"] } })), ["/a/b~1c/1"]);
        assert_eq!(refused(json!({ "a": { "n\u{7}": 1 } })), ["/a"]);
        assert_eq!(refused(json!("\u{7f}")), [""]);
        assert!(parse(br#"{"note":"two\r\n\tlines"}"#).is_ok());
    }
}
