//! Client generators can read the whole description: it contains nothing that they merge, rename or refuse.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use waypost::http::routes;

use crate::harness::{text, with_app};

const METHODS: [&str; 4] = ["get", "post", "put", "delete"];

#[test]
fn generators_can_read_the_description() {
    assert_eq!(faults(&routes::document()), [""; 0]);
}

#[test]
fn every_rule_sees_what_breaks_it() {
    let broken = |pointer: &str, value: Value| {
        let mut document = routes::document();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        document.pointer_mut(parent).unwrap()[name.replace("~1", "/")] = value;
        faults(&document).join("\n")
    };
    let named = "/components/schemas/Health";
    assert!(broken(named, json!({ "allOf": [] })).contains("allOf"));
    assert!(broken(named, json!({ "prefixItems": [{}], "items": false })).contains("items"));
    assert!(broken(named, json!({ "oneOf": [{ "properties": {} }, {}] })).contains("no name"));
    assert!(broken("/components/schemas/Unread", json!({ "type": "string" })).contains("Unread"));
    assert!(broken("/components/responses/Unread", json!({})).contains("Unread"));
    let operation = "/paths/~1v1~1vehicles/get";
    assert!(broken(&format!("{operation}/tags"), json!(["unknown"])).contains("group"));
    assert!(broken(&format!("{operation}/description"), json!("")).contains("description"));
    assert!(broken(&format!("{operation}/responses"), json!({ "200": {} })).contains("refusal"));
    assert!(broken("/servers", json!([])).contains("servers"));
    let created = "/paths/~1v1~1vehicles/post/responses/201/links";
    assert!(broken(created, json!({})).contains("links"));
}

#[test]
fn of_several_media_types_json_is_the_first() {
    let text = routes::DESCRIPTION.text.as_str();
    assert!(text.contains(r#""application/json":"#) && text.contains(r#","application/geo+json":"#));
    assert!(!text.contains(r#","application/json":"#), "another media type comes before application/json");
}

/// What a generator or a linter would trip over.
fn faults(document: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    if document["servers"].as_array().is_none_or(Vec::is_empty) {
        faults.push("there are no servers".to_owned());
    }
    schemas(document, "", &mut faults);
    unread(document, &mut faults);
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in METHODS.iter().filter(|method| item.get(*method).is_some()) {
            operation(document, path, method, &mut faults);
        }
    }
    faults
}

fn schemas(value: &Value, at: &str, faults: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            if value["allOf"].is_array() {
                faults.push(format!("{at} is put together by allOf"));
            }
            if value.get("items") == Some(&json!(false))
                || (value["prefixItems"].is_array() && value["maxItems"].is_null())
            {
                faults.push(format!("{at} is a tuple that ends in items: false"));
            }
            let has_objects = value["oneOf"]
                .as_array()
                .is_some_and(|of| of.iter().any(|one| one["properties"].is_object()));
            if has_objects {
                faults.push(format!("{at} may be an object that has no name"));
            }
            for (name, member) in members {
                schemas(member, &format!("{at}/{name}"), faults);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| schemas(item, at, faults)),
        _ => {}
    }
}

/// Components that nothing refers to.
fn unread(document: &Value, faults: &mut Vec<String>) {
    let text = document.to_string();
    for kind in ["schemas", "responses"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            if !text.contains(&format!("\"#/components/{kind}/{name}\"")) {
                faults.push(format!("nothing leads to {name}"));
            }
        }
    }
}

fn operation(document: &Value, path: &str, method: &str, faults: &mut Vec<String>) {
    let operation = &document["paths"][path][method];
    let mut fault = |what: &str| faults.push(format!("{method} {path} {what}"));
    let groups: BTreeSet<&str> =
        document["tags"].as_array().unwrap().iter().filter_map(|tag| tag["name"].as_str()).collect();
    let tags = operation["tags"].as_array().unwrap();
    if tags.is_empty() || !tags.iter().all(|tag| groups.contains(tag.as_str().unwrap())) {
        fault("is in no group that the document describes");
    }
    for words in ["summary", "description", "operationId"] {
        if operation[words].as_str().is_none_or(str::is_empty) {
            fault(&format!("has no {words}"));
        }
    }
    let responses = operation["responses"].as_object().unwrap();
    if path.starts_with("/v1/") && !responses.keys().any(|status| status.starts_with('4')) {
        fault("names no refusal");
    }
    let makes = responses.get("201").filter(|_| document["paths"].get(format!("{path}/{{id}}")).is_some());
    if makes.is_some_and(|created| created["links"].as_object().is_none_or(Map::is_empty)) {
        fault("has no links to what can be done with what it makes");
    }
}

#[test]
fn the_examples_of_bodies_work() {
    with_app(async |app| {
        let org = app.org("examples").await;
        let document = routes::document();
        let example = |path: &str| {
            document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["example"].clone()
        };
        let mut tried = 0;
        for (path, item) in document["paths"].as_object().unwrap() {
            let body = example(path);
            if body.is_null() || path.ends_with("/login") {
                continue;
            }
            tried += 1;
            let caller = match path.as_str() {
                "/v1/organizations" => app.root.clone(),
                // A sign-up: others name scopes too.
                "/v1/system-users" => String::new(),
                "/v1/positions" => {
                    let body = json!({ "name": "Example", "tracker": { "uniqueId": "examples" } });
                    text(&app.post("/v1/vehicles", &org.org_admin, body).await.ok(201)["tracker"]["token"])
                }
                _ => org.org_admin.clone(),
            };
            let said = app.post(path, &caller, body).await;
            let made: u16 = if item["post"]["responses"].get("201").is_some() { 201 } else { 200 };
            let answer = said.ok(made);
            assert_eq!(answer.get("rejected").unwrap_or(&json!([])), &json!([]), "{path}");
        }
        assert!(tried > 6, "{tried}");
        app
    });
}
