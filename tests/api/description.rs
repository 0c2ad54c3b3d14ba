//! The description agrees with what is served; every code has its page.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use waypost::domain::account::Role;
use waypost::http::code::Code;
use waypost::http::route::Access;
use waypost::http::routes::TABLE;
use waypost_actors::model::{Cause, Motion};

use crate::drivers::driver;
use crate::harness::{circle, organization, with_app};

const METHODS: [&str; 4] = ["get", "post", "put", "delete"];

#[test]
fn the_description_lists_exactly_the_mounted_routes() {
    with_app(async |app| {
        let document = app.get("/openapi.json", "").await.ok(200);
        assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
        let mut described = BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for method in METHODS.iter().filter(|method| item.get(*method).is_some()) {
                described.insert((method.to_uppercase(), path.clone()));
            }
        }
        // The rest are pages for people, and inputs that speak other programs' protocols.
        let for_programs = |path: &str| {
            path.starts_with("/v1/")
                || ["/healthz", "/readyz", "/openapi.json", "/s/{token}/vehicles"].contains(&path)
        };
        let mounted: BTreeSet<(String, String)> = TABLE
            .iter()
            .filter(|route| for_programs(route.path))
            .map(|route| (route.method.to_owned(), route.path.to_owned()))
            .collect();
        assert_eq!(described, mounted);
        app
    });
}

#[test]
fn the_committed_description_is_the_one_served() {
    let committed: Value = serde_json::from_str(include_str!("../../docs/openapi.json")).unwrap();
    let served = waypost::http::routes::document();
    let both =
        committed["paths"].as_object().unwrap().keys().chain(served["paths"].as_object().unwrap().keys());
    let differing: BTreeSet<&String> =
        both.filter(|path| committed["paths"][*path] != served["paths"][*path]).collect();
    assert!(
        committed == served,
        "the interface has changed, at {differing:?} or in its schemas; if it should: cargo run -- openapi > docs/openapi.json"
    );
}

#[test]
fn every_reference_of_the_description_leads_somewhere() {
    with_app(async |app| {
        let document = app.get("/openapi.json", "").await.ok(200);
        let mut references = Vec::new();
        collect(&document, &mut references);
        assert!(references.len() > 50, "{}", references.len());
        for reference in references {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
        app
    });
}

#[test]
fn words_and_bounds_are_described_as_they_are_taken() {
    with_app(async |app| {
        let document = app.get("/openapi.json", "").await.ok(200);
        let words = |name: &str| {
            let words = document["components"]["schemas"][name]["enum"].as_array().unwrap();
            words.iter().map(|word| word.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(words("Role"), Role::WORDS.iter().map(|(word, _)| *word).collect::<Vec<_>>());
        let motions = [Motion::Moving, Motion::Stopped, Motion::Unknown].map(|motion| json!(motion));
        assert_eq!(words("Motion"), motions.map(|motion| motion.as_str().unwrap().to_owned()));
        let schemas = &document["components"]["schemas"];
        for (schema, member) in [("Event", "analytics"), ("Visit", "analytics"), ("LiveVehicle", "motion")] {
            assert!(schemas[schema]["properties"].get(member).is_some(), "{schema}.{member}");
        }
        assert_eq!(schemas["Analytics"]["properties"].as_object().unwrap().len(), 11);
        assert_eq!(words("Cause"), Cause::WORDS.iter().map(|(word, _)| *word).collect::<Vec<_>>());
        let parameters = document["paths"]["/v1/vehicles"]["get"]["parameters"].as_array().unwrap();
        let null =
            |item: &Value| METHODS.iter().any(|method| item[method].get("parameters") == Some(&Value::Null));
        assert!(!document["paths"].as_object().unwrap().values().any(null));
        let page = parameters.iter().find(|parameter| parameter["name"] == "page").unwrap();
        assert_eq!((&page["schema"]["minimum"], &page["schema"]["default"]), (&json!(1), &json!(1)));
        app
    });
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), value.as_str()) {
                    ("$ref", Some(reference)) => references.push(reference.to_owned()),
                    _ => collect(value, references),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        _ => {}
    }
}

#[test]
fn routes_for_signed_in_callers_refuse_others_and_the_rest_does_not() {
    with_app(async |app| {
        // These requests bring credentials of their own.
        let own = ["/v1/positions", "/v1/ws/tracker", "/v1/ws/live", "/v1/events/stream"];
        for route in TABLE.iter().filter(|route| !own.contains(&route.path) && !route.path.starts_with("/in"))
        {
            let path = route.path.replace("{code}", "notFound");
            let path = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
            let said = app.send(route.method, &path.collect::<Vec<_>>().join("/"), &[], "").await;
            match route.access {
                Access::SignedIn | Access::May(_) | Access::OneselfOr(_) | Access::Tracker => {
                    drop(said.problem(401, "unauthenticated"))
                }
                Access::Open | Access::Either(_) => {
                    assert_ne!(said.body["code"], "unauthenticated", "{}", route.path)
                }
            }
        }
        app
    });
}

#[test]
fn every_code_has_a_page() {
    with_app(async |app| {
        for code in Code::ALL {
            let said = app.get(&format!("/problems/{}", code.as_str()), "").await;
            assert_eq!((said.status, said.header("content-type")), (200, Some("text/html; charset=utf-8")));
            let page = String::from_utf8(said.bytes).unwrap();
            assert!(page.contains(code.row().title) && page.contains(code.as_str()));
        }
        app.get("/problems/nonsense", "").await.problem(404, "notFound");
        let all = String::from_utf8(app.get("/problems", "").await.bytes).unwrap();
        assert!(Code::ALL.iter().all(|code| all.contains(code.as_str())));
        app
    });
}

#[test]
fn the_docs_page_needs_no_other_host() {
    with_app(async |app| {
        let page = app.get("/docs", "").await;
        let page = String::from_utf8(page.bytes).unwrap();
        assert!(!page.contains("http://") && !page.contains("https://"), "{page}");
        let links: Vec<&str> = page.split('"').filter(|part| part.starts_with("/assets/")).collect();
        assert_eq!(links.len(), 2, "its script and its style: {page}");
        for link in links {
            // Without an Accept-Encoding it is unpacked.
            let said = app.get(link, "").await;
            assert_eq!((said.status, said.header("content-encoding")), (200, None), "{link}");
            let is_script = link.ends_with(".js");
            let part = if is_script { "/openapi.json" } else { ".swagger-ui" };
            assert!(String::from_utf8_lossy(&said.bytes).contains(part), "{link}");
        }
        app
    });
}

#[test]
fn only_what_must_be_there_is_required_of_a_body() {
    with_app(async |app| {
        let document = app.get("/openapi.json", "").await.ok(200);
        let schemas = &document["components"]["schemas"];
        let part = |of: &Value, name: &str| {
            let named = of["properties"][name]["$ref"].as_str().unwrap().trim_start_matches('#');
            document.pointer(named).unwrap().clone()
        };
        let create = &schemas["CreateVehicleBody"];
        assert_eq!(create["required"], json!(["name"]), "{create}");
        assert_eq!(part(create, "tracking").get("required"), None, "{create}");
        assert_eq!(create["additionalProperties"], json!(false));
        let update = &schemas["UpdateVehicleBody"];
        assert!(part(update, "tracking")["properties"].get("intervalSeconds").is_some(), "{update}");
        assert_eq!((update.get("required"), part(update, "tracking").get("required")), (None, None));
        assert_eq!(update["properties"]["id"]["readOnly"], json!(true));
        app
    });
}

/// Members that a POST may leave out and that then come from elsewhere: the caller, the organization, the name, now.
const FROM_ELSEWHERE: [&str; 6] =
    ["effectiveFrom", "lock", "organizationId", "rules", "slug", "subscription"];

#[test]
fn what_a_post_leaves_out_gets_the_described_default() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let document = waypost::http::routes::document();
        for (path, schema, token, body) in [
            ("/v1/drivers", "CreateDriverBody", &org.org_admin, driver("Ruiz", None)),
            ("/v1/geofences", "CreateGeofenceBody", &org.org_admin, circle("Depot")),
            ("/v1/organizations", "CreateOrganizationBody", &app.root, organization("north")),
            ("/v1/trackers", "CreateTrackerBody", &org.org_admin, json!({ "uniqueId": "imei-1" })),
            ("/v1/vehicles", "CreateVehicleBody", &org.org_admin, json!({ "name": "bus" })),
        ] {
            let made = app.post(path, token, body.clone()).await.ok(201);
            let members = document["components"]["schemas"][schema]["properties"].as_object().unwrap();
            let mut defaults = serde_json::Map::new();
            for (name, member) in members.iter().filter(|(name, _)| body.get(name).is_none()) {
                match member.get("default") {
                    Some(default) => {
                        assert_eq!(made[name], *default, "{path} {name}");
                        defaults.insert(name.clone(), default.clone());
                    }
                    None if FROM_ELSEWHERE.contains(&name.as_str()) => {}
                    None => assert!(made[name].is_null(), "{path} {name}: {} by no default", made[name]),
                }
            }
            assert!(!defaults.is_empty(), "{path}");
            // What is sent is held against the description too.
            let mut again = body;
            again.as_object_mut().unwrap().extend(defaults);
            for unique in ["uniqueId", "slug", "contactEmail", "name"] {
                if let Some(text) = again[unique].as_str().map(|text| format!("second-{text}")) {
                    again[unique] = json!(text);
                }
            }
            if let Some(admin) = again.get_mut("admin") {
                admin["email"] = json!("second@example.org");
            }
            app.post(path, token, again).await.ok(201);
        }
        app
    });
}
