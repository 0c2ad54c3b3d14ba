//! Schemas in a form that client generators accept: every object complete in one place, under one name.
//!
//! Flattened members arrive as `allOf`, lists repeat their items, tuples end in `items: false`: generators merge,
//! rename or refuse these.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

const SCHEMAS: &str = "#/components/schemas/";

/// Converts every schema of a document to that form.
pub(super) fn flatten(document: &mut Value) {
    refer_to_named(document);
    let before = document["components"]["schemas"].clone();
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        let mut variants = Map::new();
        for (name, schema) in schemas.iter_mut() {
            name_variants(name, schema, &before, &mut variants);
        }
        schemas.extend(variants);
    }
    each_inside(document, &mut |value| {
        if list(value, "allOf").is_some() {
            let whole = objects(value, &before).pop();
            *value = whole.map(|(_, whole)| whole).unwrap_or_default();
        }
        say_length(value);
    });
}

/// The name of the schema that a reference points to.
pub(super) fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(SCHEMAS)
}

/// A reference to a named schema.
pub(super) fn refer(name: &str) -> Value {
    json!({ "$ref": format!("{SCHEMAS}{name}") })
}

/// Calls `visit` on all parts of a value and on the value itself, innermost first.
pub(super) fn each_inside(value: &mut Value, visit: &mut impl FnMut(&mut Value)) {
    match value {
        Value::Object(members) => members.values_mut().for_each(|member| each_inside(member, visit)),
        Value::Array(items) => items.iter_mut().for_each(|item| each_inside(item, visit)),
        _ => return,
    }
    visit(value);
}

/// Replaces every inlined copy of a named object by a reference.
fn refer_to_named(document: &mut Value) {
    let schemas = document["components"]["schemas"].as_object().cloned().unwrap_or_default();
    let is_object = |schema: &Value| ["properties", "allOf"].iter().any(|part| schema.get(part).is_some());
    let objects = schemas.into_iter().filter(|(_, schema)| is_object(schema));
    let names: HashMap<String, String> = objects.map(|(name, schema)| (schema.to_string(), name)).collect();
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.values_mut().for_each(|schema| refer_inside(schema, &names));
    }
    refer_inside(&mut document["paths"], &names);
}

fn refer_inside(value: &mut Value, names: &HashMap<String, String>) {
    let parts: Vec<&mut Value> = match value {
        Value::Object(members) => members.values_mut().collect(),
        Value::Array(items) => items.iter_mut().collect(),
        _ => return,
    };
    for part in parts {
        match names.get(&part.to_string()) {
            Some(name) => *part = refer(name),
            None => refer_inside(part, names),
        }
    }
}

/// Names each of a schema's alternative objects.
fn name_variants(name: &str, schema: &mut Value, schemas: &Value, named: &mut Map<String, Value>) {
    let is_plain = |option: &Value| list(option, "allOf").is_none();
    if list(schema, "oneOf").map_or(is_plain(schema), |options| options.iter().all(is_plain)) {
        return;
    }
    let variants = objects(schema, schemas);
    if variants.len() < 2 {
        return;
    }
    let mut references = Vec::with_capacity(variants.len());
    for (variant, whole) in variants {
        references.push(refer(&format!("{name}{variant}")));
        named.insert(format!("{name}{variant}"), whole);
    }
    *schema = json!({ "oneOf": references, "description": schema["description"] });
}

/// The alternatives of a schema as complete objects, each with the names of the schemas it is made of.
fn objects(schema: &Value, schemas: &Value) -> Vec<(String, Value)> {
    if let Some(name) = reference(schema) {
        let mut found = objects(&schemas[name], schemas);
        if let [(only, _)] = found.as_mut_slice() {
            name.clone_into(only);
        }
        return found;
    }
    if let Some(options) = list(schema, "oneOf") {
        return options.iter().flat_map(|option| objects(option, schemas)).collect();
    }
    let Some(parts) = list(schema, "allOf") else { return vec![(String::new(), schema.clone())] };
    let mut empty = json!({ "type": "object", "properties": {} });
    if let Some(description) = schema.get("description") {
        empty["description"] = description.clone();
    }
    parts.iter().fold(vec![(String::new(), empty)], |wholes, part| {
        let options = objects(part, schemas);
        wholes.iter().flat_map(|whole| options.iter().map(|option| joined(whole, option))).collect()
    })
}

fn joined(whole: &(String, Value), part: &(String, Value)) -> (String, Value) {
    let (name, mut whole) = (format!("{}{}", whole.0, part.0), whole.1.clone());
    if let (Some(members), Some(more)) =
        (whole["properties"].as_object_mut(), part.1["properties"].as_object())
    {
        members.extend(more.clone());
    }
    for member in list(&part.1, "required").into_iter().flatten() {
        let required = &mut whole["required"];
        match required.as_array_mut() {
            Some(required) if required.contains(member) => {}
            Some(required) => required.push(member.clone()),
            None => *required = json!([member]),
        }
    }
    (name, whole)
}

/// Expresses a tuple's length in keywords that generators know; the types of its items stay.
fn say_length(schema: &mut Value) {
    if let Some(length) = list(schema, "prefixItems").map(Vec::len) {
        schema["items"] = json!({});
        schema["minItems"] = json!(length);
        schema["maxItems"] = json!(length);
    }
}

fn list<'v>(schema: &'v Value, name: &str) -> Option<&'v Vec<Value>> {
    schema.get(name)?.as_array()
}
