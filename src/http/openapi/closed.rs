//! Request bodies as strict as the server: every object whole in one place and closed, texts with something in them.

use serde_json::{Map, Value, json};

use super::bodies::reference;

/// A text that is not blank and has no control characters.
const TEXT: &str = "^[^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f][^\\x00-\\x1f\\x7f-\\x9f]*$";

/// A schema with its parts put together and every object closed.
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
        properties
            .values_mut()
            .for_each(|property| *property = nullable_if_it_has_a_default(closed(property, schemas)));
        members.insert("additionalProperties".to_owned(), json!(false));
    }
    let is_free_text = members.contains_key("minLength")
        && !["pattern", "format", "enum"].iter().any(|known| members.contains_key(*known));
    if is_free_text {
        members.insert("pattern".to_owned(), json!(TEXT));
    }
    schema
}

/// `null` turns a rule off; rules are what has defaults.
fn nullable_if_it_has_a_default(mut member: Value) -> Value {
    if member.get("default").is_some()
        && let Some(kind) = member["type"].as_str()
    {
        member["type"] = json!([kind, "null"]);
    }
    member
}

/// An object's schema without references and with its parts (`allOf`) put together; words and ids stay references.
pub(super) fn resolved(schema: &Value, schemas: &Value) -> Value {
    if let Some(target) = reference(schema).map(|name| &schemas[name]) {
        let is_object =
            ["properties", "allOf", "oneOf", "items"].iter().any(|part| target.get(part).is_some());
        if !is_object {
            return schema.clone();
        }
        let mut target = resolved(target, schemas);
        if let Some(description) = schema.get("description") {
            target["description"] = description.clone();
        }
        return target;
    }
    let Some(parts) = schema.get("allOf").and_then(Value::as_array) else { return schema.clone() };
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for part in parts.iter().map(|part| resolved(part, schemas)) {
        properties.extend(part["properties"].as_object().cloned().unwrap_or_default());
        required.extend(part["required"].as_array().cloned().unwrap_or_default());
    }
    let mut whole = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        whole["required"] = json!(required);
    }
    if let Some(description) = schema.get("description") {
        whole["description"] = description.clone();
    }
    whole
}
