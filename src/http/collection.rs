//! A GeoJSON FeatureCollection whose features are parsed one at a time, because all at once take twenty times the
//! memory of their text.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use actix_web::web::Bytes;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::code::Code;
use super::json;
use super::problem::Problem;
use crate::domain::field::FieldError;
use crate::domain::members::escaped;

/// Most features of a collection.
const MAX_FEATURES: usize = 1_000;
/// Further members a collection may have, which are ignored.
const ALSO_KNOWN: [&str; 4] = ["bbox", "name", "crs", "pagination"];

/// A collection, with the position of each feature in its text.
#[derive(Clone, Debug)]
pub struct Collection {
    text: Bytes,
    features: Vec<Range<usize>>,
}

impl Collection {
    /// Reads a collection; its features are only checked to be JSON.
    pub(super) fn read(text: Bytes) -> Result<Self, Problem> {
        let whole = text_of(&text)?;
        // JSON that is not an object is reported as being of the wrong form.
        if !whole.trim_start().starts_with('{') {
            parsed::<&RawValue>(whole)?;
            return Err(invalid("/type", "must be FeatureCollection".to_owned()));
        }
        let mut reader = serde_json::Deserializer::from_str(whole);
        let members = reader.deserialize_map(Members::default()).map_err(malformed)?;
        reader.end().map_err(malformed)?;
        if members.kind.is_none_or(|kind| kind.get() != "\"FeatureCollection\"") {
            return Err(invalid("/type", "must be FeatureCollection".to_owned()));
        }
        if let Some(name) = members.unknown {
            return Err(invalid(&format!("/{}", escaped(&name)), "is not known".to_owned()));
        }
        let list = members.features.map(RawValue::get).filter(|list| list.starts_with('['));
        let list = list.ok_or_else(|| invalid("/features", "must be a list".to_owned()))?;
        let found = serde_json::Deserializer::from_str(list).deserialize_seq(Texts).map_err(malformed)?;
        if found.count > MAX_FEATURES {
            let detail = format!("must have at most {MAX_FEATURES} items, this one has {}", found.count);
            return Err(invalid("/features", detail));
        }
        let place = |feature: &&RawValue| {
            let from = feature.get().as_ptr() as usize - whole.as_ptr() as usize;
            from..from + feature.get().len()
        };
        let features = found.texts.iter().map(place).collect();
        Ok(Self { features, text })
    }

    /// The number of features.
    #[must_use]
    pub fn len(&self) -> usize {
        self.features.len()
    }

    /// Parses one feature.
    pub fn feature(&self, index: usize) -> Result<Value, Problem> {
        json::parse(&self.text[self.features[index].clone()])
    }
}

#[derive(Default)]
struct Members<'t> {
    kind: Option<&'t RawValue>,
    features: Option<&'t RawValue>,
    unknown: Option<String>,
}

impl<'t> Visitor<'t> for Members<'t> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a FeatureCollection")
    }

    fn visit_map<A: MapAccess<'t>>(mut self, mut object: A) -> Result<Self, A::Error> {
        while let Some(name) = object.next_key::<Cow<'t, str>>()? {
            match &*name {
                "type" => self.kind = Some(object.next_value()?),
                "features" => self.features = Some(object.next_value()?),
                other => {
                    if self.unknown.is_none() && !ALSO_KNOWN.contains(&other) {
                        self.unknown = Some(name.into_owned());
                    }
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(self)
    }
}

struct Texts;

struct Found<'t> {
    texts: Vec<&'t RawValue>,
    count: usize,
}

impl<'t> Visitor<'t> for Texts {
    type Value = Found<'t>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut list: A) -> Result<Found<'t>, A::Error> {
        let mut texts = Vec::new();
        while texts.len() < MAX_FEATURES {
            match list.next_element()? {
                Some(text) => texts.push(text),
                None => return Ok(Found { count: texts.len(), texts }),
            }
        }
        let mut count = texts.len();
        while list.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(Found { texts, count })
    }
}

fn text_of(text: &[u8]) -> Result<&str, Problem> {
    std::str::from_utf8(text).map_err(|error| Problem::new(Code::MalformedJson).detail(error.to_string()))
}

fn parsed<'t, T: serde::Deserialize<'t>>(text: &'t str) -> Result<T, Problem> {
    serde_json::from_str(text).map_err(malformed)
}

fn malformed(error: serde_json::Error) -> Problem {
    Problem::new(Code::MalformedJson).detail(error.to_string())
}

fn invalid(pointer: &str, detail: String) -> Problem {
    let error = FieldError::new(pointer, "value", detail.clone());
    Problem::new(Code::ValidationFailed).detail(format!("{pointer} {detail}")).errors(vec![error])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Collection, Problem> {
        Collection::read(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn features_are_where_they_stand() {
        let read = read(r#" {"bbox":[1],"features":[ {"a":1}, 2,"x" ],"type":"FeatureCollection"}"#).unwrap();
        let features: Vec<Value> = (0..read.len()).map(|index| read.feature(index).unwrap()).collect();
        assert_eq!(features, [serde_json::json!({ "a": 1 }), 2.into(), "x".into()]);
    }

    #[test]
    fn what_is_no_collection_says_why() {
        let cases = [
            ("{", Code::MalformedJson, ""),
            ("[1", Code::MalformedJson, ""),
            ("{} x", Code::MalformedJson, ""),
            ("[]", Code::ValidationFailed, "/type"),
            ("null", Code::ValidationFailed, "/type"),
            ("{}", Code::ValidationFailed, "/type"),
            (r#"{"type":"FeatureCollection"}"#, Code::ValidationFailed, "/features"),
            (r#"{"type":"FeatureCollection","features":{}}"#, Code::ValidationFailed, "/features"),
            (r#"{"type":"FeatureCollection","features":[],"x":1,"y":2}"#, Code::ValidationFailed, "/x"),
        ];
        for (text, code, pointer) in cases {
            let problem = read(text).unwrap_err();
            assert_eq!(problem.code(), code, "{text}");
            assert!(pointer.is_empty() || problem.pointers() == [pointer], "{text}");
        }
        let many = format!(r#"{{"type":"FeatureCollection","features":[{}1]}}"#, "1,".repeat(MAX_FEATURES));
        assert!(read(&many).unwrap_err().to_string().contains("this one has 1001"));
    }
}
