//! What one organization learns of another's drivers: a stub where the interface says so, else nothing.

use serde_json::{Value, json};

use crate::drivers::{driver, made};
use crate::harness::{Said, on_each_engine, text};

/// An empty body by its JSON.
fn nothing() -> Value {
    json!({})
}

/// Checks that two refusals are the same but for the path.
#[track_caller]
fn assert_alike(one: &Said, other: &Said, what: &str) {
    let mut bodies = [one.problem(404, "notFound"), other.problem(404, "notFound")];
    for body in &mut bodies {
        body["instance"] = json!(null);
        body["requestId"] = json!(null);
    }
    assert_eq!(bodies[0], bodies[1], "{what}");
    let kept = |said: &Said| {
        let mut names: Vec<(String, String)> = said.headers.clone();
        names.retain(|(name, _)| !["x-request-id", "date", "content-length"].contains(&name.as_str()));
        names.sort();
        names
    };
    assert_eq!(kept(one), kept(other), "{what}");
}

#[test]
fn a_licence_is_unique_in_its_country_and_the_refusal_tells_nothing_more() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("rival").await);
        let path = made(&app, &org.org_admin, driver("Ruiz", Some("ab-12 3"))).await;
        let refused = async |token: &str| {
            let mut said = app
                .post("/v1/drivers", token, driver("Else", Some("AB 123")))
                .await
                .problem(409, "licenseTaken");
            said["requestId"] = json!(null);
            said
        };
        let (own, foreign) = (refused(&org.org_admin).await, refused(&other.org_admin).await);
        assert_eq!(own, foreign);
        app.post(&format!("{path}/lock"), &org.org_admin, nothing()).await.ok(200);
        assert_eq!(refused(&other.org_admin).await, own, "nor whether they can be found");
        let mut elsewhere = driver("Else", Some("AB 123"));
        elsewhere["license"]["country"] = json!("AT");
        let second = made(&app, &other.org_admin, elsewhere).await;
        let change = json!({ "license": { "country": "DE" } });
        app.put(&second, &other.org_admin, change.clone()).await.problem(409, "licenseTaken");
        app.delete(&path, &org.org_admin).await.ok(204);
        app.put(&second, &other.org_admin, change).await.ok(200);
        app
    });
}

#[test]
fn a_search_finds_ones_own_whole_and_free_ones_masked() {
    on_each_engine(async |app| {
        let (org, other, third) = (app.org("fleet").await, app.org("rival").await, app.org("third").await);
        let path = made(&app, &org.org_admin, driver("Ruiz", Some("ab-12 3"))).await;
        let id = path.rsplit('/').next().unwrap().to_owned();
        let search = async |token: &str, query: &str| {
            let body = app.get(&format!("/v1/drivers/search?licenseNumber={query}"), token).await.ok(200);
            assert_eq!(body["pagination"]["totalItems"], body["data"].as_array().unwrap().len());
            body["data"].clone()
        };
        let own = search(&org.viewer, "AB123").await;
        assert_eq!((&own[0]["lastName"], &own[0]["masked"]), (&json!("Ruiz"), &json!(false)));
        let stub = |locked: bool| {
            json!({ "id": id, "masked": true, "firstName": "A***", "lastName": "R***",
                "license": { "country": "DE" }, "lock": { "locked": locked } })
        };
        assert_eq!(search(&other.viewer, "ab%20123&country=de").await, json!([stub(false)]));
        assert_eq!(search(&other.viewer, "ab123").await, json!([stub(false)]));
        for query in ["ab12", "ab1234", "ab123&country=AT", "b123", "%25a", "ab123&page=2"] {
            let body =
                app.get(&format!("/v1/drivers/search?licenseNumber={query}"), &other.viewer).await.ok(200);
            assert_eq!(body["data"], json!([]), "{query}");
        }
        app.post(&format!("{path}/lock"), &other.org_admin, nothing()).await.ok(200);
        assert_eq!(search(&other.viewer, "ab123").await[0]["lastName"], "Ruiz", "the holder");
        assert_eq!(search(&org.viewer, "ab123").await, json!([stub(true)]), "the creator");
        assert_eq!(search(&third.viewer, "ab123").await, json!([]), "anybody else");
        app.delete(&path, &other.org_admin).await.ok(204);
        assert_eq!(search(&org.viewer, "ab123").await, json!([]));
        app
    });
}

#[test]
fn the_keeper_does_everything_and_the_creator_of_a_locked_driver_sees_a_stub() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("rival").await);
        let path = made(&app, &org.org_admin, driver("Ruiz", Some("ab-12 3"))).await;
        let count = async |token: &str| {
            app.get("/v1/drivers", token).await.ok(200)["pagination"]["totalItems"].as_i64().unwrap()
        };
        assert_eq!((count(&org.viewer).await, count(&other.viewer).await), (1, 0));
        let locked =
            app.post(&format!("{path}/lock"), &other.org_admin, json!({ "reason": "hired" })).await.ok(200);
        assert_eq!((&locked["lastName"], &locked["lock"]["reason"]), (&json!("Ruiz"), &json!("hired")));
        assert!(!locked.to_string().contains(&org.id), "who made the driver is not told: {locked}");
        assert_eq!((count(&org.viewer).await, count(&other.viewer).await), (0, 1));
        app.put(&path, &other.org_admin, json!({ "lastName": "Diaz" })).await.ok(200);
        let stub = app.get(&path, &org.viewer).await.ok(200);
        assert_eq!((&stub["masked"], &stub["lastName"]), (&json!(true), &json!("D***")));
        let shown = stub.to_string();
        assert!(!shown.contains(&other.id) && !shown.contains("hired") && !shown.contains("12"), "{shown}");
        app.put(&path, &org.org_admin, json!({ "lastName": "X" })).await.problem(409, "driverLocked");
        app.delete(&path, &org.org_admin).await.problem(409, "driverLocked");
        app.post(&format!("{path}/unlock"), &org.org_admin, nothing()).await.problem(409, "driverLocked");
        let freed = app.post(&format!("{path}/unlock"), &other.org_admin, nothing()).await.ok(200);
        assert_eq!((&freed["masked"], &freed["lock"]), (&json!(true), &json!({ "locked": false })));
        assert_eq!((count(&org.viewer).await, count(&other.viewer).await), (1, 0));
        app.put(&path, &org.org_admin, json!({ "lastName": "Ruiz" })).await.ok(200);
        app.get(&path, &other.org_admin).await.problem(404, "notFound");
        app
    });
}

#[test]
fn another_organizations_driver_and_none_answer_alike_everywhere() {
    on_each_engine(async |app| {
        let (own, other) = (app.org("own").await, app.org("other").await);
        let free = made(&app, &other.org_admin, driver("Free", Some("F1"))).await;
        let held = made(&app, &other.org_admin, driver("Held", Some("H1"))).await;
        app.post(&format!("{held}/lock"), &other.org_admin, nothing()).await.ok(200);
        let gone = made(&app, &own.org_admin, driver("Gone", Some("G1"))).await;
        app.delete(&gone, &own.org_admin).await.ok(204);
        let vehicle = async |token: &str| {
            text(&app.post("/v1/vehicles", token, json!({ "name": "x" })).await.ok(201)["id"])
        };
        let (mine, theirs) = (vehicle(&own.org_admin).await, vehicle(&other.org_admin).await);
        let body = json!({ "vehicleId": theirs });
        app.post(&format!("{held}/assign-vehicle"), &other.org_admin, body).await.ok(200);
        let missing = "/v1/drivers/0190a000-0000-7000-8000-000000000000".to_owned();
        let calls = [
            ("GET", String::new(), nothing()),
            ("PUT", String::new(), nothing()),
            ("PUT", String::new(), json!({ "license": { "number": "H1", "country": "DE" } })),
            ("DELETE", String::new(), nothing()),
            ("POST", "/unlock".to_owned(), nothing()),
            ("POST", "/assign-vehicle".to_owned(), json!({ "vehicleId": mine })),
            ("POST", "/assign-vehicle".to_owned(), json!({ "vehicleId": theirs, "force": true })),
            ("GET", "/vehicles".to_owned(), nothing()),
            ("DELETE", format!("/vehicles/{mine}"), nothing()),
            ("DELETE", format!("/vehicles/{theirs}"), nothing()),
        ];
        let bearer = format!("Bearer {}", own.org_admin);
        let send = async |method: &str, path: String, body: &Value| {
            let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
            let body = if matches!(method, "GET" | "DELETE") { String::new() } else { body.to_string() };
            app.send(method, &path, &headers, body).await
        };
        for (method, tail, body) in &calls {
            let none = send(method, format!("{missing}{tail}"), body).await;
            for there in [&free, &held, &gone] {
                let said = send(method, format!("{there}{tail}"), body).await;
                assert_alike(&said, &none, &format!("{method} {tail} {body}"));
            }
        }
        let none = send("POST", format!("{missing}/lock"), &nothing()).await;
        assert_alike(&send("POST", format!("{gone}/lock"), &nothing()).await, &none, "lock");
        let named = json!({ "organizationId": other.id });
        let nobody = json!({ "organizationId": "0190a000-0000-7000-8000-000000000000" });
        for (tail, base) in
            [("", "/v1/drivers".to_owned()), ("/lock", free.clone()), ("/unlock", held.clone())]
        {
            let there = send("POST", format!("{base}{tail}"), &named).await;
            assert_alike(&there, &send("POST", format!("{base}{tail}"), &nobody).await, tail);
        }
        // A vehicle in the body, the driver one's own.
        let mate = made(&app, &own.org_admin, driver("Mate", None)).await;
        let assign = async |vehicle: &str| {
            send("POST", format!("{mate}/assign-vehicle"), &json!({ "vehicleId": vehicle })).await
        };
        let none = assign("0190a000-0000-7000-8000-000000000000").await;
        assert_alike(&assign(&theirs).await, &none, "a vehicle in the body");
        for list in ["/v1/vehicles", "/v1/geofence-events"] {
            let held =
                app.get(&format!("{list}?driverId={}", held.rsplit('/').next().unwrap()), &own.viewer).await;
            assert_eq!(held.ok(200)["data"], json!([]), "{list}");
        }
        for query in ["", "?q=h1", "?locked=true", "?assigned=true"] {
            let found = app.get(&format!("/v1/drivers{query}"), &own.viewer).await.ok(200);
            assert!(!found.to_string().contains("Held") && !found.to_string().contains("Free"), "{found}");
        }
        app
    });
}
