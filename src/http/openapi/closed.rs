//! Request bodies as strict as the server: every object complete in one place and closed, and texts not blank.

use serde_json::{Value, json};

use super::flat::reference;

/// A text that is not blank and has no control characters.
const TEXT: &str = "^[^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f][^\\x00-\\x1f\\x7f-\\x9f]*$";

/// Where an object copied from a named schema keeps that name until it gets its own.
pub(super) const PART: &str = "title";

/// A schema with its parts merged and every object closed.
pub(super) fn closed(schema: &Value, schemas: &Value) -> Value {
    let mut schema = resolved(schema, schemas);
    let Some(members) = schema.as_object_mut() else { return schema };
    for name in ["oneOf", "anyOf"] {
        if let Some(parts) = members.get_mut(name).and_then(Value::as_array_mut) {
            parts.iter_mut().for_each(|part| *part = closed(part, schemas));
        }
    }
    if let Some(items) = members.get_mut("items") {
        *items = closed(items, schemas);
    }
    if let Some(properties) = members.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(|property| *property = off_by_null(closed(property, schemas)));
        members.insert("additionalProperties".to_owned(), json!(false));
    }
    let is_free_text = members.contains_key("minLength")
        && !["pattern", "format", "enum"].iter().any(|known| members.contains_key(*known));
    if is_free_text {
        members.insert("pattern".to_owned(), json!(TEXT));
    }
    schema
}

/// Rules are the members whose type has defaults, and `null` turns a rule off. The defaults are not those of a body:
/// a fence's rules come from its organization, and a PUT keeps what is stored.
fn off_by_null(mut member: Value) -> Value {
    if member.as_object_mut().is_some_and(|member| member.remove("default").is_some())
        && let Some(kind) = member["type"].as_str()
    {
        member["type"] = json!([kind, "null"]);
    }
    member
}

/// The object a reference points to; references to words and ids remain.
pub(super) fn resolved(schema: &Value, schemas: &Value) -> Value {
    let Some(name) = reference(schema) else { return schema.clone() };
    let mut target = schemas[name].clone();
    if !["properties", "oneOf", "items"].iter().any(|part| target.get(part).is_some()) {
        return schema.clone();
    }
    target[PART] = json!(name);
    if let Some(description) = schema.get("description") {
        target["description"] = description.clone();
    }
    target
}
