//! Optional members of request bodies. The types describe a whole resource; a POST merges with defaults and a PUT
//! with what is stored, so members of members may be absent, and in a PUT all members. A client may send back with a
//! PUT what it got.

use serde_json::{Map, Value, json};

use super::closed::{PART, closed, resolved};
use super::flat::{each_inside, refer, reference};
use crate::domain::body::Body;
use crate::domain::driver::CreateDriver;
use crate::domain::geofence::CreateGeofence;
use crate::domain::organization::CreateOrganization;
use crate::domain::tracker::CreateTracker;
use crate::domain::vehicle::CreateVehicle;

/// The body of a verdict on a refuel or drain.
const VERDICT_BODY: &str = "JudgeFuelEventBody";
/// The methods that take bodies.
const METHODS: [(&str, bool); 2] = [("post", true), ("put", false)];

/// Gives each body of a POST or PUT a schema of its own, which requires only what must be present.
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
            let mut body = lenient(schema, &schemas, keeps_required);
            *schema = refer(&name);
            // Devices may send more than we know.
            if name != "CreatePositionsBody" {
                body = closed(&body, &schemas);
            }
            if !keeps_required {
                // A verdict is answered with the event that it is about.
                let of_verdict = (name == VERDICT_BODY).then(|| refer("FuelVerdict"));
                let answered = operation.pointer("/responses/200/content/application~1json/schema");
                let answered = of_verdict.as_ref().or(answered).unwrap_or(&Value::Null);
                add_read_only(&mut body, answered, &schemas);
            }
            name_parts(&mut body, &name, &schemas, &mut own);
            add_defaults(&mut body, defaults(&name));
            own.insert(name, body);
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

/// What a POST may leave out, with the values it gets then, by the declaration of its body.
fn defaults(body_name: &str) -> Map<String, Value> {
    match body_name {
        "CreateDriverBody" => CreateDriver::defaults(),
        "CreateGeofenceBody" => CreateGeofence::defaults(),
        "CreateOrganizationBody" => CreateOrganization::defaults(),
        "CreateTrackerBody" => CreateTracker::defaults(),
        "CreateVehicleBody" => CreateVehicle::defaults(),
        _ => Map::new(),
    }
}

fn add_defaults(body: &mut Value, defaults: Map<String, Value>) {
    let Some(members) = body.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (name, default) in defaults {
        if let Some(member) = members.get_mut(&name) {
            member["default"] = default;
        }
    }
}

/// The members that only the server writes.
fn add_read_only(body: &mut Value, resource: &Value, schemas: &Value) {
    let resource = resolved(resource, schemas);
    let members = body.get_mut("properties").and_then(Value::as_object_mut);
    let (Some(members), Some(shown)) = (members, resource["properties"].as_object()) else { return };
    for (name, shown) in shown {
        match members.get_mut(name) {
            Some(member) => add_read_only(member, shown, schemas),
            None => {
                let read_only = json!({ "readOnly": true, "description": "As it was read; of no effect" });
                members.insert(name.clone(), read_only);
            }
        }
    }
}

/// Names the objects inside a body, so that bodies with equal parts share them.
fn name_parts(body: &mut Value, body_name: &str, schemas: &Value, named: &mut Map<String, Value>) {
    take_name(body);
    each_inside(body, &mut |part| {
        let Some(of) = take_name(part) else { return };
        let described = part.as_object_mut().and_then(|part| part.remove("description"));
        if let Some(description) = schemas[&of].get("description") {
            part["description"] = description.clone();
        }
        let usual = format!("{}In", of.trim_end_matches("In"));
        let names = [usual, format!("{body_name}{of}")];
        let is_free = |name: &&String| named.get(*name).is_none_or(|known| known == part);
        let Some(name) = names.iter().find(is_free) else { return };
        let mut reference = refer(name);
        if let Some(described) = described {
            reference["description"] = described;
        }
        named.insert(name.clone(), std::mem::replace(part, reference));
    });
}

/// Takes the name of the schema that an object was made from.
fn take_name(part: &mut Value) -> Option<String> {
    if !part.get(PART)?.is_string() {
        return None; // a member of this name
    }
    let name = part.as_object_mut()?.remove(PART)?;
    name.as_str().map(str::to_owned)
}

fn lenient(schema: &Value, schemas: &Value, keeps_required: bool) -> Value {
    if let Some(name) = reference(schema) {
        let target = &schemas[name];
        let merges = target.get("properties").is_some();
        if !merges {
            return schema.clone();
        }
        let mut part = lenient(target, schemas, keeps_required);
        part[PART] = json!(name);
        return part;
    }
    let mut schema = schema.clone();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(|property| *property = lenient_member(property, schemas));
    }
    if let Some(members) = schema.as_object_mut().filter(|_| !keeps_required) {
        members.remove("required");
    }
    schema
}

/// A member: one that is merged may be partial. A type that only bodies have (its name ends in `In`) is required
/// whole.
fn lenient_member(member: &Value, schemas: &Value) -> Value {
    match reference(member) {
        Some(name) if name.ends_with("In") => member.clone(),
        Some(_) => lenient(member, schemas, false),
        None => {
            let mut member = member.clone();
            // An object that may be null.
            if let Some(parts) = member.get_mut("oneOf").and_then(Value::as_array_mut) {
                parts.iter_mut().for_each(|part| *part = lenient_member(part, schemas));
            }
            member
        }
    }
}
