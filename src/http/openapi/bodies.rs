//! What may be left out of request bodies. The types say what a whole resource is; a POST merges with
//! defaults and a PUT with what is there, so members of members may be absent, and of a PUT all.

use serde_json::{Map, Value, json};

/// The methods that take bodies.
const METHODS: [(&str, bool); 2] = [("post", true), ("put", false)];

/// Gives each body of a POST or PUT a schema of its own, in which only what must be there is required.
pub(super) fn say_what_may_be_left_out(document: &mut Value) {
    let schemas = document["components"]["schemas"].clone();
    let mut own = Map::new();
    let Some(paths) = document["paths"].as_object_mut() else { return };
    for item in paths.values_mut() {
        for (method, keeps_required) in METHODS {
            let Some(operation) = item.get_mut(method) else { continue };
            let name = body_name(operation["operationId"].as_str().unwrap_or_default());
            let Some(schema) = operation.pointer_mut("/requestBody/content/application~1json/schema") else {
                continue;
            };
            own.insert(name.clone(), lenient(schema, &schemas, keeps_required));
            *schema = json!({ "$ref": format!("#/components/schemas/{name}") });
        }
    }
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.extend(own);
    }
}

/// `create_vehicle` as `CreateVehicleBody`.
fn body_name(operation: &str) -> String {
    let words = operation.split('_').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_uppercase() + rest
    });
    words.collect::<String>() + "Body"
}

fn lenient(schema: &Value, schemas: &Value, keeps_required: bool) -> Value {
    if let Some(name) = reference(schema) {
        let target = &schemas[name];
        let merges = target.get("properties").is_some() || target.get("allOf").is_some();
        return if merges { lenient(target, schemas, keeps_required) } else { schema.clone() };
    }
    let mut schema = schema.clone();
    if let Some(parts) = schema.get_mut("allOf").and_then(Value::as_array_mut) {
        parts.iter_mut().for_each(|part| *part = lenient(part, schemas, keeps_required));
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(|property| *property = lenient_member(property, schemas));
    }
    if let Some(members) = schema.as_object_mut().filter(|_| !keeps_required) {
        members.remove("required");
    }
    schema
}

/// A member: what merges may be in part. What only a body has (its name ends in `In`) comes whole.
fn lenient_member(member: &Value, schemas: &Value) -> Value {
    match reference(member) {
        Some(name) if name.ends_with("In") => member.clone(),
        Some(_) => lenient(member, schemas, false),
        None => member.clone(),
    }
}

fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/components/schemas/")
}
