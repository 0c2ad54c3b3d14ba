//! The description of the interface, OpenAPI 3.1, put together from the route table.

use serde_json::{Value, json};
use utoipa::openapi::OpenApi;
use waypost_actors::tracking::RecordKind;

use super::fuel_periods::{DEFAULT_POINTS, MAX_POINTS, MIN_POINTS};
use super::problem::ProblemBody;
use super::query::MAX_PAGE;
use super::route::{Access, Route};
use crate::domain::assignment::AssignmentState;
use crate::domain::fuel::RawFormat;
use crate::domain::fuel_chart::ChartFormat;
use crate::domain::organization_settings::Usage;
use crate::domain::paging::{
    DEFAULT_LIMIT, DEFAULT_LONG_LIMIT, MAX_LIMIT, MAX_LONG_LIMIT, MAX_VEHICLES_LIMIT,
};
use crate::ops::etag;

mod bodies;
mod closed;
mod examples;
mod flat;
mod links;
mod refusals;
mod served;
mod words;

pub use served::Written;

/// Lists with a higher default limit than others.
const LONG: [&str; 3] = ["/v1/fuel", "/v1/positions", "/v1/vehicles/{id}/positions"];
/// Lists of vehicles, of which more come at a time than of other lists.
const OF_VEHICLES: [&str; 2] = ["/v1/vehicles", "/v1/vehicles/unassigned-active"];

/// The description as served, with its ETag.
pub struct Description {
    /// The document, as JSON.
    pub text: String,
    /// Changes with the text.
    pub etag: String,
}

impl Description {
    /// A document, ready to be served.
    #[must_use]
    pub fn of(document: &Value) -> Self {
        let text = serde_json::to_string(&Written(document)).unwrap_or_default();
        let etag = etag::of(&text.as_str());
        Self { text, etag }
    }
}

/// Schemas that no handler's body refers to.
#[derive(utoipa::OpenApi)]
#[openapi(components(schemas(ProblemBody, AssignmentState, Usage, ChartFormat, RawFormat, RecordKind)))]
struct Shared;

/// Describes the routes of a table; `api` holds the declarations of their handlers.
#[must_use]
pub fn document(mut api: OpenApi, table: &[Route]) -> Value {
    api.merge(<Shared as utoipa::OpenApi>::openapi());
    api.info.title = "Waypost".to_owned();
    api.info.version = env!("CARGO_PKG_VERSION").to_owned();
    api.info.description = Some(words::INTRODUCTION.to_owned());
    let mut document = serde_json::to_value(api).unwrap_or_default();
    document["info"]["contact"] = json!({ "name": "Who runs this server" });
    document["servers"] = json!([{ "url": "/" }]);
    document["tags"] = words::tags();
    document["components"]["securitySchemes"] = json!({
        "bearer": { "type": "http", "scheme": "bearer", "bearerFormat": "JWT" },
        "tracker": { "type": "http", "scheme": "bearer", "description": "A tracker's own token" },
    });
    document["components"]["responses"] = refusals::components();
    flat::flatten(&mut document);
    add_what_types_do_not_say(&mut document);
    bodies::say_what_may_be_left_out(&mut document);
    for route in table {
        let pointer = format!("/paths/{}/{}", route.path.replace('/', "~1"), route.method.to_lowercase());
        // Pages for people are not described.
        let Some(operation) = document.pointer_mut(&pointer) else { continue };
        describe(operation, route);
        words::part(operation, route);
        refusals::name(operation, route);
    }
    links::add(&mut document);
    served::drop_unused(&mut document);
    document
}

/// Members that handlers add to a resource or leave out of it.
fn add_what_types_do_not_say(document: &mut Value) {
    let schemas = &mut document["components"]["schemas"];
    schemas["Subscription"]["properties"]["usage"] =
        json!({ "$ref": "#/components/schemas/Usage", "readOnly": true });
    // Their defaults let the derive think that an answer may leave rules out.
    if let Some(rules) = schemas["Rules"]["properties"].as_object() {
        schemas["Rules"]["required"] = json!(rules.keys().collect::<Vec<_>>());
    }
    // Tells apart the two forms in which a driver is shown.
    for (name, masked) in [("OwnDriver", false), ("DriverStub", true)] {
        schemas[name]["properties"]["masked"]["const"] = json!(masked);
    }
    // `geometry=none` leaves the shape out of a list.
    let mut listed = schemas["GeofenceOut"].clone();
    if let Some(required) = listed["required"].as_array_mut() {
        required.retain(|name| name != "shape");
    }
    schemas["GeofenceListed"] = listed;
    schemas["PageOf_GeofenceOut"]["properties"]["data"]["items"] = flat::refer("GeofenceListed");
}

/// Adds what the route table knows of an operation.
fn describe(operation: &mut Value, route: &Route) {
    operation["security"] = match route.access {
        Access::Open => json!([]),
        Access::Either(_) => json!([{}, { "bearer": [] }]),
        Access::SignedIn | Access::May(_) | Access::OneselfOr(_) => json!([{ "bearer": [] }]),
        Access::Tracker => json!([{ "tracker": [] }, { "bearer": [] }]),
    };
    if let Some(example) = operation["operationId"].as_str().and_then(examples::body) {
        operation["requestBody"]["content"]["application/json"]["example"] = example;
    }
    if route.method == "POST" && !matches!(route.access, Access::Open | Access::Tracker) {
        add_parameter(
            operation,
            json!({ "name": "Idempotency-Key", "in": "header", "required": false,
            "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]*$" },
            "description": "Best a UUID. Within 24 hours the same key and request get the first one's answer, marked \
            Idempotency-Replayed; with another body it is 422, while the first is under way 409" }),
        );
    }
    let is_list =
        operation["parameters"].as_array().is_some_and(|all| all.iter().any(|one| one["name"] == "limit"));
    if route.method == "GET" && (route.path.ends_with('}') && !is_list || route.path == "/openapi.json") {
        operation["responses"]["304"] = json!({ "description": "As If-None-Match knows it" });
        add_parameter(
            operation,
            json!({ "name": "If-None-Match", "in": "header", "required": false,
            "schema": { "type": "string" }, "description": "An ETag; 304 while it holds" }),
        );
    }
    // Indexing would add a null to an operation without parameters.
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    let limits = match route.path {
        path if LONG.contains(&path) => (DEFAULT_LONG_LIMIT, MAX_LONG_LIMIT),
        path if OF_VEHICLES.contains(&path) => (DEFAULT_LIMIT, MAX_VEHICLES_LIMIT),
        _ => (DEFAULT_LIMIT, MAX_LIMIT),
    };
    parameters.into_iter().flatten().for_each(|parameter| bound(parameter, limits));
    if matches!(route.method, "PUT" | "DELETE") && !route.path.contains("activate") {
        let if_match = json!({ "name": "If-Match", "in": "header", "required": false,
            "schema": { "type": "string" }, "description": "The ETag it must still have, else 412" });
        add_parameter(operation, if_match);
    }
}

fn add_parameter(operation: &mut Value, parameter: Value) {
    match operation.get_mut("parameters").and_then(Value::as_array_mut) {
        Some(parameters) => parameters.push(parameter),
        None => operation["parameters"] = json!([parameter]),
    }
}

/// Sets the bounds of list parameters, which are the same on every route except for the limit by default and at most.
fn bound(parameter: &mut Value, (usual, most): (i64, i64)) {
    let bounds = match parameter["name"].as_str() {
        Some("page") => json!({ "type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 1 }),
        Some("q") => json!({ "type": "string", "maxLength": 200 }),
        Some("include") => json!({ "type": "string", "enum": ["live", "none"] }),
        Some("geometry") => json!({ "type": "string", "enum": ["full", "none"] }),
        Some("bbox") => json!({ "type": "string", "pattern": numbers(4) }),
        Some("near") => json!({ "type": "string", "pattern": numbers(3) }),
        Some("sort") => match (sort_keys(parameter), parameter["description"].as_str()) {
            (Some(pattern), _) => json!({ "type": "string", "pattern": pattern }),
            (None, words) => {
                let words = words.unwrap_or_default().replace(" (default)", "").replace(" or ", ", ");
                json!({ "type": "string", "enum": words.split(", ").collect::<Vec<_>>() })
            }
        },
        Some("licenseNumber") => json!({ "type": "string", "maxLength": 32, "pattern": "[A-Za-z0-9]" }),
        Some("country") => json!({ "type": "string", "pattern": "^[A-Za-z]{2}$" }),
        Some("points") => {
            json!({ "type": "integer", "minimum": MIN_POINTS, "maximum": MAX_POINTS, "default": DEFAULT_POINTS })
        }
        Some("limit") => json!({ "type": "integer", "minimum": 1, "maximum": most, "default": usual }),
        _ => return,
    };
    parameter["schema"] = bounds;
}

/// The pattern of `count` numbers separated by commas.
fn numbers(count: usize) -> String {
    format!("^{}$", vec!["-?[0-9]+(\\.[0-9]+)?"; count].join(","))
}

/// The pattern of a sort by any of the keys at the start of a description: `name, createdAt; - for descending`.
fn sort_keys(parameter: &Value) -> Option<String> {
    let keys = parameter["description"].as_str()?.strip_suffix("; - for descending")?.replace(", ", "|");
    Some(format!("^-?({keys})(,-?({keys}))*$"))
}
