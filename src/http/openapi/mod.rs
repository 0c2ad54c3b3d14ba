//! The description of the interface, OpenAPI 3.1, put together from the route table.

use std::sync::LazyLock;

use serde_json::{Value, json};
use utoipa::OpenApi;

use super::problem::ProblemBody;
use super::query::MAX_PAGE;
use super::routes::{self, Access, Route};
use crate::domain::assignment::AssignmentState;
use crate::domain::paging::DEFAULT_LIMIT;

mod bodies;

/// The description, as it is served.
pub static TEXT: LazyLock<String> = LazyLock::new(|| document().to_string());

/// Schemas that no handler's body leads to.
#[derive(OpenApi)]
#[openapi(components(schemas(ProblemBody, AssignmentState)))]
struct Shared;

/// The description.
#[must_use]
pub fn document() -> Value {
    let mut api = routes::described();
    api.merge(Shared::openapi());
    api.info.title = "Waypost".to_owned();
    api.info.version = env!("CARGO_PKG_VERSION").to_owned();
    api.info.description = Some(INTRODUCTION.to_owned());
    let mut document = serde_json::to_value(api).unwrap_or_default();
    document["components"]["securitySchemes"] = json!({
        "bearer": { "type": "http", "scheme": "bearer", "bearerFormat": "JWT" },
        "tracker": { "type": "http", "scheme": "bearer", "description": "A tracker's own token" },
    });
    bodies::say_what_may_be_left_out(&mut document);
    for route in routes::TABLE.iter() {
        let pointer = format!("/paths/{}/{}", route.path.replace('/', "~1"), route.method.to_lowercase());
        // A page for people is not described.
        let Some(operation) = document.pointer_mut(&pointer) else { continue };
        describe(operation, route);
    }
    document
}

/// What the route table knows of an operation.
fn describe(operation: &mut Value, route: &Route) {
    operation["security"] = match route.access {
        Access::Open => json!([]),
        Access::Either => json!([{}, { "bearer": [] }]),
        Access::SignedIn => json!([{ "bearer": [] }]),
        Access::Tracker => json!([{ "tracker": [] }]),
    };
    // Not by index, which would give an operation without parameters a null.
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    parameters.into_iter().flatten().for_each(bound);
    operation["responses"]["default"] = json!({
        "description": "Any refusal; /problems explains the codes",
        "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } },
    });
    if matches!(route.method, "PUT" | "DELETE") && !route.path.contains("activate") {
        let if_match = json!({ "name": "If-Match", "in": "header", "required": false,
            "schema": { "type": "string" }, "description": "The ETag it must still have, else 412" });
        if let Some(parameters) = operation["parameters"].as_array_mut() {
            parameters.push(if_match);
        }
    }
}

/// What lists take, the same on every route.
fn bound(parameter: &mut Value) {
    let bounds = match parameter["name"].as_str() {
        Some("page") => json!({ "type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 1 }),
        // A greater one is taken for the greatest, not refused.
        Some("limit") => json!({ "type": "integer", "minimum": 1, "default": DEFAULT_LIMIT }),
        _ => return,
    };
    parameter["schema"] = bounds;
}

const INTRODUCTION: &str = "Real-time fleet tracking: positions in, geofence events out.\n\n\
Members are camelCase with units in their names, times RFC 3339 (`Z`, milliseconds), ids UUIDs. \
Lists are `{data, pagination}`. A PUT merges: absent = unchanged, null = cleared. Single resources carry an \
`ETag`; `If-Match` guards a change. Every refusal is `application/problem+json` with a `code` that \
`/problems` explains. Platform operators name the organization they act in by `organizationId`.";
