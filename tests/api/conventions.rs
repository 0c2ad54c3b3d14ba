//! The conventions, on every route of the table.

use std::collections::BTreeMap;

use serde_json::json;
use waypost::http::routes::TABLE;

use crate::harness::{App, Said, circle, text, with_app};

/// A path without ids and tokens that there are.
fn filled(path: &str) -> String {
    let part = |part: &'static str| {
        if part.starts_with('{') { "01a1faea-5ddc-7008-8434-f2bff1d0b5a1" } else { part }
    };
    let path: &'static str = String::leak(path.to_owned());
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// The methods of each path that programs call.
fn paths() -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut paths: BTreeMap<&'static str, Vec<&'static str>> = BTreeMap::new();
    for route in TABLE.iter().filter(|route| route.path.starts_with("/v1/")) {
        paths.entry(route.path).or_default().push(route.method);
    }
    paths
}

async fn as_root(app: &App, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Said {
    let bearer = format!("Bearer {}", app.root);
    let headers: Vec<(&str, &str)> =
        headers.iter().copied().chain([("authorization", bearer.as_str())]).collect();
    app.send(method, path, &headers, body).await
}

#[test]
fn every_path_tells_its_methods_and_refuses_others() {
    with_app(async |app| {
        for (template, methods) in paths() {
            let path = filled(template);
            let options = as_root(&app, "OPTIONS", &path, &[], "").await;
            assert_eq!(options.status, 204, "{path}");
            let allow = options.header("allow").unwrap().to_owned();
            let mut words: Vec<&str> = allow.split(", ").collect();
            words.retain(|word| !["OPTIONS", "HEAD"].contains(word));
            let fixed = |method: &&str| methods.contains(method);
            assert!(
                methods.iter().all(|method| words.contains(method)) && words.iter().any(fixed),
                "{path}: {allow}"
            );
            let patch = as_root(&app, "PATCH", &path, &[], "").await;
            patch.problem(405, "methodNotAllowed");
            assert_eq!(patch.header("allow"), Some(allow.as_str()), "{path}");
        }
        app
    });
}

#[test]
fn every_route_answers_with_a_slash_and_its_request_id_and_as_head() {
    with_app(async |app| {
        // A stream does not end; who may not open it is refused like by other routes.
        for (template, methods) in paths().into_iter().filter(|(path, _)| *path != "/v1/events/stream") {
            // A socket cannot be opened by a plain request: refused alike, by its own words.
            for method in methods {
                let path = filled(template);
                let id = [("x-request-id", "convention-1"), ("content-type", "application/json")];
                let plain = as_root(&app, method, &path, &id, "{").await;
                assert_eq!(plain.header("x-request-id"), Some("convention-1"), "{method} {path}");
                let slashed = as_root(&app, method, &format!("{path}/"), &id, "{").await;
                assert_eq!(plain.status, slashed.status, "{method} {path}/");
                if method == "GET" {
                    let head = as_root(&app, "HEAD", &path, &id, "").await;
                    assert_eq!((head.status, head.bytes.len()), (plain.status, 0), "HEAD {path}");
                }
            }
        }
        app
    });
}

#[test]
fn every_route_refuses_a_parameter_it_does_not_know() {
    with_app(async |app| {
        let sockets = ["/v1/ws/tracker", "/v1/ws/live"];
        for route in
            TABLE.iter().filter(|route| route.path.starts_with("/v1/") && !sockets.contains(&route.path))
        {
            let path = format!("{}?surprise=1", filled(route.path));
            let body = if route.path.ends_with("/import") {
                r#"{"type":"FeatureCollection","features":[]}"#
            } else {
                "{}"
            };
            let said =
                as_root(&app, route.method, &path, &[("content-type", "application/json")], body).await;
            said.problem(400, "unknownParameter");
            assert!(said.pointers().contains(&"?surprise"), "{path}");
        }
        app
    });
}

#[test]
fn every_body_is_refused_alike_when_it_is_none() {
    with_app(async |app| {
        let document = waypost::http::routes::document();
        let mut seen = 0;
        for route in
            TABLE.iter().filter(|route| route.path.starts_with("/v1/") && route.path != "/v1/positions")
        {
            let pointer = format!(
                "/paths/{}/{}/requestBody/content/application~1json",
                route.path.replace('/', "~1"),
                route.method.to_lowercase()
            );
            if document.pointer(&pointer).is_none() {
                continue;
            }
            seen += 1;
            let path = filled(route.path);
            let json = [("content-type", "application/json")];
            as_root(&app, route.method, &path, &json, "{\n oops").await.problem(400, "malformedJson");
            as_root(&app, route.method, &path, &[("content-type", "text/plain")], "{}")
                .await
                .problem(415, "unsupportedMediaType");
            let large = format!("\"{}\"", "x".repeat(16 << 20));
            as_root(&app, route.method, &path, &json, &large).await.problem(413, "payloadTooLarge");
            let lied = [json[0], ("content-encoding", "gzip")];
            as_root(&app, route.method, &path, &lied, "not packed").await.problem(400, "malformedRequest");
            // A PUT first looks up what is to be changed, as does who makes something for another thing.
            let listed = as_root(&app, route.method, &path, &json, "[]").await;
            assert!(
                listed.status == 422 || route.path.contains('{') && listed.status == 404,
                "{path}: {}",
                listed.status
            );
        }
        assert!(seen > 15, "{seen}");
        app
    });
}

/// Path, then body, then query: a client that fixes one fault after the other meets them in this order on every
/// route.
#[test]
fn of_several_faults_the_same_is_told_first_on_every_route() {
    with_app(async |app| {
        let document = waypost::http::routes::document();
        let json = [("content-type", "application/json")];
        let (mut ids, mut bodies) = (0, 0);
        for route in
            TABLE.iter().filter(|route| route.path.starts_with("/v1/") && route.path != "/v1/positions")
        {
            let path = filled(route.path);
            if route.path.ends_with("d}") {
                ids += 1;
                let nowhere = format!("{}?surprise=1", path.rsplit_once('/').unwrap().0.to_owned() + "/17");
                as_root(&app, route.method, &nowhere, &json, "{}").await.problem(404, "notFound");
            }
            let place = route.path.replace('/', "~1");
            let pointer = format!(
                "/paths/{place}/{}/requestBody/content/application~1json",
                route.method.to_lowercase()
            );
            if document.pointer(&pointer).is_some() {
                bodies += 1;
                let path = format!("{path}?surprise=1");
                as_root(&app, route.method, &path, &json, "{").await.problem(400, "malformedJson");
            }
        }
        assert!(ids > 15 && bodies > 15, "{ids} {bodies}");
        app
    });
}

#[test]
fn a_resource_that_is_as_known_is_not_sent_again() {
    with_app(async |app| {
        let org = app.org("thrifty").await;
        let vehicle = app.post("/v1/vehicles", &org.org_admin, json!({ "name": "Bus" })).await.ok(201);
        let tracker = app.post("/v1/trackers", &org.org_admin, json!({ "uniqueId": "i" })).await.ok(201);
        let fence = app.post("/v1/geofences", &org.org_admin, circle("Depot")).await.ok(201);
        let body = json!({ "firstName": "Ana", "lastName": "Ruiz" });
        let driver = app.post("/v1/drivers", &org.org_admin, body).await.ok(201);
        let bearer = format!("Bearer {}", org.viewer);
        let get = async |path: &str, known: &str| {
            app.send("GET", path, &[("authorization", &bearer), ("if-none-match", known)], "").await
        };
        for path in [
            format!("/v1/trackers/{}", text(&tracker["id"])),
            format!("/v1/trackers/{}?organizationId={}", text(&tracker["id"]), org.id),
        ] {
            let tag = app.get(&path, &org.viewer).await.header("etag").unwrap().to_owned();
            for known in [tag.clone(), format!("\"x\", W/{tag}"), "*".to_owned()] {
                let said = get(&path, &known).await;
                assert_eq!(
                    (said.status, said.bytes.len(), said.header("etag")),
                    (304, 0, Some(tag.as_str())),
                    "{path}"
                );
            }
            assert_eq!(get(&path, "\"other\"").await.status, 200);
        }
        // Including where it is, who drives it, how many are inside and how many there are.
        let me = app.get("/v1/auth/me", &org.viewer).await.ok(200);
        for path in [
            format!("/v1/vehicles/{}", text(&vehicle["id"])),
            format!("/v1/vehicles/{}?include=none", text(&vehicle["id"])),
            format!("/v1/drivers/{}", text(&driver["id"])),
            format!("/v1/geofences/{}", text(&fence["id"])),
            format!("/v1/organizations/organization/{}", org.id),
            format!("/v1/users/{}", text(&me["id"])),
        ] {
            let tag = app.get(&path, &org.viewer).await.header("etag").unwrap().to_owned();
            assert_eq!(get(&path, &tag).await.status, 304, "{path}");
        }
        // Derived members change what a reader sees, but guard no change of the resource.
        let path = format!("/v1/organizations/organization/{}", org.id);
        let tag = app.get(&path, &org.viewer).await.header("etag").unwrap().to_owned();
        app.post("/v1/vehicles", &org.org_admin, json!({ "name": "Tram" })).await.ok(201);
        assert_eq!(get(&path, &tag).await.status, 200);
        let of_admin = format!("Bearer {}", org.org_admin);
        let headers = [
            ("authorization", of_admin.as_str()),
            ("content-type", "application/json"),
            ("if-match", tag.as_str()),
        ];
        app.send("PUT", &path, &headers, json!({ "name": "Thriftier" }).to_string()).await.ok(200);
        app.send("PUT", &path, &headers, json!({ "name": "Thrifty" }).to_string())
            .await
            .problem(412, "preconditionFailed");
        app
    });
}

#[test]
fn lists_link_to_their_other_pages() {
    with_app(async |app| {
        let org = app.org("paged").await;
        for name in ["a", "b", "c"] {
            app.post("/v1/vehicles", &org.org_admin, json!({ "name": name })).await.ok(201);
        }
        let said = app.get("/v1/vehicles?limit=1&page=2&sort=name", &org.viewer).await;
        let link = said.header("link").unwrap();
        for (rel, page) in [("first", 1), ("prev", 1), ("next", 3), ("last", 3)] {
            assert!(
                link.contains(&format!("</v1/vehicles?limit=1&sort=name&page={page}>; rel=\"{rel}\"")),
                "{link}"
            );
        }
        app
    });
}
