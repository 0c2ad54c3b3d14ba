//! The last touch of the document: nothing in it that nothing leads to, and the media type that clients read first.

use std::collections::HashSet;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::flat::each_inside;

/// The media type for generators that support only one.
const FIRST: &str = "application/json";

/// Drops unreferenced components of a kind.
pub(super) fn drop_unused(document: &mut Value) {
    loop {
        let mut used = HashSet::new();
        each_inside(document, &mut |value| {
            used.extend(value.get("$ref").and_then(Value::as_str).map(str::to_owned));
        });
        let mut dropped = false;
        for kind in ["schemas", "responses"] {
            let Some(components) = document["components"][kind].as_object_mut() else { continue };
            let before = components.len();
            components.retain(|name, _| used.contains(&format!("#/components/{kind}/{name}")));
            dropped |= components.len() < before;
        }
        if !dropped {
            return;
        }
    }
}

/// Serializes a document: of several media types `application/json` comes first, the others by name.
#[derive(Clone, Copy, Debug)]
pub struct Written<'v>(pub &'v Value);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                let first = members.get_key_value(FIRST);
                let rest = members.iter().filter(|(name, _)| *name != FIRST);
                for (name, value) in first.into_iter().chain(rest) {
                    map.serialize_entry(name, &Written(value))?;
                }
                map.end()
            }
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(&Written(item))?;
                }
                list.end()
            }
            value => value.serialize(serializer),
        }
    }
}
