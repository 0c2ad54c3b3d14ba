//! The refusals of each operation, by status with their codes. Those shared by all routes of a kind follow from the
//! route table and the operation's parameters; those of a single route are named by its handler, as codes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::http::code::Code;
use crate::http::receive::LARGE_FROM_BYTES;
use crate::http::route::{Access, Route};

/// Adds an operation's refusals, once its parameters are complete.
pub(super) fn name(operation: &mut Value, route: &Route) {
    let codes = of_its_kind(operation, route).into_iter().chain(of_its_own(operation));
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in codes {
        let known = by_status.entry(code.row().status).or_default();
        if !known.contains(&code) {
            known.push(code);
        }
    }
    for (status, codes) in by_status {
        operation["responses"][status.to_string()] = match codes.as_slice() {
            [one] => json!({ "$ref": format!("#/components/responses/{}", component(*one)) }),
            several => several_codes(status, several),
        };
    }
    operation["responses"]["default"] = json!({ "$ref": "#/components/responses/Refused" });
}

/// A response for each code, and one for codes that nothing names.
pub(super) fn components() -> Value {
    let mut responses = json!({ "Refused": response(0, "Any other refusal; /problems explains the codes") });
    for code in Code::ALL {
        let row = code.row();
        let description = format!("`{}`: {}. {}", row.code, row.title, row.explanation);
        responses[component(*code)] = response(row.status, &description);
    }
    responses
}

/// Refusals that all routes with the same parameters share.
fn of_its_kind(operation: &Value, route: &Route) -> Vec<Code> {
    let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    let takes = |name: &str| parameters.iter().any(|parameter| parameter["name"] == name);
    let has_query = parameters.iter().any(|parameter| parameter["in"] == "query");
    let has_id = parameters.iter().any(|p| p["in"] == "path" && p["name"] != "token");
    let is_versioned = route.path.starts_with("/v1/");
    let names_organization = takes("organizationId") || (takes("Idempotency-Key") && takes_body(operation));
    let changes = route.method != "GET" && !matches!(route.access, Access::Open | Access::Tracker);
    let kinds: [(bool, &[Code]); 15] = [
        (is_versioned, &[Code::MalformedRequest, Code::UnknownParameter, Code::TooManyRequests]),
        // Also for unknown parameters, because of their characters.
        (is_versioned || has_query, &[Code::InvalidParameter, Code::UriTooLong]),
        (route.body_bytes > LARGE_FROM_BYTES, &[Code::Busy]),
        (takes("sort"), &[Code::UnknownSortKey]),
        (takes("after"), &[Code::InvalidCursor]),
        (route.access != Access::Open, &[Code::Unauthenticated]),
        (route.access == Access::Tracker, &[Code::InvalidToken, Code::TrackerDisabled]),
        (
            route.access != Access::Open,
            &[Code::Forbidden, Code::OrganizationInactive, Code::NoOrganization, Code::EmailNotVerified],
        ),
        (changes, &[Code::SubscriptionInactive]),
        (has_id || names_organization, &[Code::NotFound]),
        (names_organization, &[Code::OrganizationRequired]),
        (
            takes_body(operation),
            &[
                Code::MalformedJson,
                Code::RequestTimeout,
                Code::PayloadTooLarge,
                Code::UnsupportedMediaType,
                Code::ValidationFailed,
            ],
        ),
        // Valid instants may still make no valid period, or lie in the future.
        (takes("from") || takes("asOf"), &[Code::ValidationFailed]),
        (takes("If-Match"), &[Code::PreconditionFailed]),
        (takes("Idempotency-Key"), &[Code::IdempotencyKeyInUse, Code::IdempotencyKeyReused]),
    ];
    kinds.iter().filter(|(refuses, _)| *refuses).flat_map(|(_, codes)| codes.iter().copied()).collect()
}

fn takes_body(operation: &Value) -> bool {
    operation.get("requestBody").is_some()
}

/// Refusals that a handler names: `(status = 409, description = "driverLocked, licenseTaken")`.
fn of_its_own(operation: &Value) -> Vec<Code> {
    let responses = operation["responses"].as_object().into_iter().flatten();
    let refusals = responses.filter(|(status, _)| status.starts_with(['4', '5']));
    let words =
        refusals.flat_map(|(_, response)| response["description"].as_str().unwrap_or_default().split(", "));
    words.map(|word| Code::from_word(word).expect("handlers name codes of the table")).collect()
}

fn several_codes(status: u16, codes: &[Code]) -> Value {
    let lines = codes.iter().map(|code| format!("`{}`: {}.", code.as_str(), code.row().title));
    response(status, &lines.collect::<Vec<_>>().join(" "))
}

fn response(status: u16, description: &str) -> Value {
    let mut response = json!({
        "description": description,
        "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } },
    });
    if matches!(status, 429 | 503) {
        response["headers"]["Retry-After"] =
            json!({ "description": "Seconds", "schema": { "type": "integer", "minimum": 0 } });
    }
    response
}

/// `driverLocked` as `DriverLocked`.
fn component(code: Code) -> String {
    let (first, rest) = code.as_str().split_at(1);
    first.to_uppercase() + rest
}
