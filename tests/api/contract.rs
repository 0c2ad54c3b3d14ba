//! Every exchange of these tests is checked against the OpenAPI document: the status is described, the body is as
//! described, a refusal's code is named, and the description allows what the server accepts.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::harness::Said;

static DOCUMENT: LazyLock<Value> = LazyLock::new(waypost::http::routes::document);
static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

/// Panics if an exchange is not as described.
#[track_caller]
pub(crate) fn check(method: &str, target: &str, content_type: Option<&str>, body: &[u8], said: &Said) {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let is_bodiless = method == "HEAD" || matches!(said.status, 204 | 304);
    let kind = said.header("content-type").map(|kind| kind.split(';').next().unwrap_or_default().to_owned());
    let place = format!("{method} {target} answered {}", said.status);
    if said.status >= 400 && !is_bodiless && kind.as_deref() != Some("text/html") {
        assert_eq!(kind.as_deref(), Some("application/problem+json"), "{place}");
        valid("/components/schemas/Problem", &said.body, &place);
    }
    let method = if method == "HEAD" { "get".to_owned() } else { method.to_lowercase() };
    let Some((template, operation)) = operation(path.trim_end_matches('/'), &method) else { return };
    let at = format!("/paths/{}/{method}", template.replace('/', "~1"));
    let status = said.status.to_string();
    let known = operation["responses"].get(&status).map(|_| status.as_str());
    let known = known.or((said.status >= 500).then_some("default"));
    let known = known.unwrap_or_else(|| panic!("{place} {}, which {template} does not describe", said.body));
    if said.status >= 400 && known != "default" && !is_bodiless {
        names_code(&operation["responses"][known], &said.body, &place);
    }
    if said.status < 400 && !is_bodiless && said.status != 101 {
        if operation["responses"][known].get("content").is_none() {
            assert!(said.bytes.is_empty(), "{place} with a body, which {template} does not describe");
            return taken(&at, template, content_type, body, said, &place);
        }
        let kind = kind.unwrap_or_else(|| panic!("{place} without a type"));
        let content = format!("{at}/responses/{known}/content/{}", kind.replace('/', "~1"));
        assert!(
            DOCUMENT.pointer(&content).is_some(),
            "{place} with {kind}, which {template} does not describe"
        );
        if said.header("content-encoding").is_none() {
            let schema = format!("{content}/schema");
            match kind.as_str() {
                "text/csv" | "application/octet-stream" => {}
                "application/x-ndjson" => {
                    for line in String::from_utf8_lossy(&said.bytes).lines() {
                        valid(&schema, &serde_json::from_str(line).unwrap(), &place);
                    }
                }
                _ => valid(&schema, &said.body, &place),
            }
        }
    }
    taken(&at, template, content_type, body, said, &place);
}

/// Checks that the response of a refusal names its code.
#[track_caller]
fn names_code(response: &Value, problem: &Value, place: &str) {
    let named = response["$ref"].as_str().and_then(|named| DOCUMENT.pointer(named.trim_start_matches('#')));
    let words = named.unwrap_or(response)["description"].as_str().unwrap_or_default();
    let code = problem["code"].as_str().unwrap_or_default();
    assert!(
        words.contains(&format!("`{code}`")),
        "{place} with {code}, which its response does not name: {words}"
    );
}

/// Checks that a request the server accepted is as described.
#[track_caller]
fn taken(at: &str, template: &str, content_type: Option<&str>, body: &[u8], said: &Said, place: &str) {
    if (200..300).contains(&said.status)
        && template != "/v1/positions" // a 200 may name items that it refused
        && let Ok(body) = serde_json::from_slice::<Value>(body)
        && let Some(kind) = content_type
    {
        let sent = format!("{at}/requestBody/content/{}/schema", kind.replace('/', "~1"));
        if DOCUMENT.pointer(&sent).is_some() {
            valid(&sent, &body, &format!("{place}, having taken"));
        }
    }
}

/// The described operation of a path: the template with most fixed words.
fn operation(path: &str, method: &str) -> Option<(&'static str, &'static Value)> {
    let fits = |template: &str| {
        let (mine, theirs): (Vec<&str>, Vec<&str>) =
            (path.split('/').collect(), template.split('/').collect());
        mine.len() == theirs.len() && mine.iter().zip(&theirs).all(|(m, t)| t.starts_with('{') || m == t)
    };
    let paths = DOCUMENT["paths"].as_object().expect("a document");
    let found = paths.iter().filter(|(template, item)| fits(template) && item.get(method).is_some());
    let found = found.min_by_key(|(template, _)| template.matches('{').count());
    found.map(|(template, item)| (template.as_str(), &item[method]))
}

#[track_caller]
fn valid(pointer: &str, value: &Value, place: &str) {
    let validator = validator(pointer);
    let errors: Vec<String> = validator
        .iter_errors(value)
        .take(5)
        .map(|error| format!("{} {error}", error.instance_path()))
        .collect();
    assert!(
        errors.is_empty(),
        "{place} {value}\nwhich is not as {pointer} describes:\n{}",
        errors.join("\n")
    );
}

fn validator(pointer: &str) -> Arc<Validator> {
    let mut validators = VALIDATORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let made = validators.entry(pointer.to_owned()).or_insert_with(|| {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "components": DOCUMENT["components"],
            "allOf": [DOCUMENT.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is described"))],
        });
        let made = jsonschema::options().should_validate_formats(true).build(&schema);
        Arc::new(made.unwrap_or_else(|error| panic!("{pointer} is no schema: {error}")))
    });
    Arc::clone(made)
}
