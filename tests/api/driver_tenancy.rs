//! What one organization learns of another's drivers: a stub where the driver is offered, names and licence from
//! its own lock on, and never what another one wrote.

use serde_json::{Value, json};

use crate::drivers::{driver, made, offered};
use crate::harness::{App, Said, on_each_engine, text};

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
        let path = made(&app, &org.org_admin, offered("Ruiz", Some("ab-12 3"))).await;
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

/// The result of a search for a licence number.
async fn search(app: &App, token: &str, query: &str) -> Value {
    let body = app.get(&format!("/v1/drivers/search?licenseNumber={query}"), token).await.ok(200);
    assert_eq!(body["pagination"]["totalItems"], body["data"].as_array().unwrap().len());
    body["data"].clone()
}

#[test]
fn a_search_finds_ones_own_and_masked_those_who_are_offered() {
    on_each_engine(async |app| {
        let (org, other, third) = (app.org("fleet").await, app.org("rival").await, app.org("third").await);
        let path = made(&app, &org.org_admin, driver("Ruiz", Some("ab-12 3"))).await;
        let id = path.rsplit('/').next().unwrap().to_owned();
        let own = search(&app, &org.viewer, "AB123").await;
        assert_eq!((&own[0]["lastName"], &own[0]["masked"]), (&json!("Ruiz"), &json!(false)));
        assert_eq!(search(&app, &other.viewer, "ab123").await, json!([]), "a new driver is not offered");
        app.post(&format!("{path}/unlock"), &org.org_admin, nothing()).await.ok(200);
        let stub = json!([{ "id": id, "masked": true, "firstName": "A***", "lastName": "R***",
            "license": { "country": "DE" }, "lock": { "locked": false } }]);
        assert_eq!(search(&app, &other.viewer, "ab%20123&country=de").await, stub);
        assert_eq!(search(&app, &other.viewer, "ab123").await, stub);
        for query in ["ab12", "ab1234", "ab123&country=AT", "b123", "%25a", "ab123&page=2"] {
            let path = format!("/v1/drivers/search?licenseNumber={query}");
            assert_eq!(app.get(&path, &other.viewer).await.ok(200)["data"], json!([]), "{query}");
        }
        app.get(&path, &other.viewer).await.problem(404, "notFound");
        app.post(&format!("{path}/lock"), &other.org_admin, nothing()).await.ok(200);
        assert_eq!(
            search(&app, &other.viewer, "ab123").await[0]["license"]["number"],
            "ab-12 3",
            "the holder"
        );
        let creator = search(&app, &org.viewer, "ab123").await;
        assert_eq!((&creator[0]["kept"], creator[0].get("license")), (&json!(false), None), "the creator");
        assert_eq!(search(&app, &third.viewer, "ab123").await, json!([]), "anybody else");
        app
    });
}

/// A driver with every detail on record.
fn whole() -> Value {
    json!({ "firstName": "Ana", "lastName": "Ruiz", "dateOfBirth": "1990-01-31", "email": "ana@example.org",
        "phone": "+49 PHONE", "employeeCode": "E-SEVEN", "notes": "insulin at noon",
        "license": { "number": "AB 123", "country": "DE" },
        "documents": [{ "type": "medicalCertificate", "number": "DIAB-1", "note": "check yearly" }] })
}

/// Checks that an answer contains nothing of [`whole`] beyond names and licence.
#[track_caller]
fn assert_empty_profile(said: &Value) {
    let shown = said.to_string();
    for secret in ["ana@", "PHONE", "SEVEN", "insulin", "DIAB", "check yearly", "medical"] {
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
}

#[test]
fn a_stranger_reads_nothing_that_another_organization_wrote_and_deletes_nothing() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("rival").await);
        let path = made(&app, &org.org_admin, whole()).await;
        let (lock, unlock) = (format!("{path}/lock"), format!("{path}/unlock"));
        app.post(&lock, &other.org_admin, nothing()).await.problem(409, "driverLocked");
        app.delete(&path, &other.org_admin).await.problem(404, "notFound");
        app.post(&unlock, &org.org_admin, nothing()).await.ok(200);
        app.delete(&path, &other.org_admin).await.problem(404, "notFound");
        let locked = app.post(&lock, &other.org_admin, json!({ "reason": "hired" })).await.ok(200);
        assert_eq!((&locked["lastName"], &locked["license"]["number"]), (&json!("Ruiz"), &json!("AB 123")));
        assert_eq!((&locked["documents"], &locked["lock"]["reason"]), (&json!([]), &json!("hired")));
        assert!(!locked.to_string().contains(&org.id), "who made the driver is not told: {locked}");
        let list = app.get("/v1/drivers", &other.viewer).await.ok(200);
        let found = search(&app, &other.viewer, "AB123").await;
        let audit = app.get("/v1/audit?resource=driver", &other.org_admin).await.ok(200);
        let by_text = app.get("/v1/drivers?q=e-seven", &other.viewer).await.ok(200)["data"].clone();
        assert_eq!(by_text, json!([]), "nor is it searched");
        for said in [&locked, &app.get(&path, &other.viewer).await.ok(200), &list, &found, &audit] {
            assert_empty_profile(said);
        }
        // Its own data is its own, too.
        let change = json!({ "email": "rival@example.org", "notes": "late", "status": "suspended" });
        app.put(&path, &other.org_admin, change).await.ok(200);
        let own = app.get(&path, &org.viewer).await.ok(200);
        assert_eq!((&own["email"], &own["status"]), (&json!("ana@example.org"), &json!("active")));
        assert_eq!(
            (&own["documents"][0]["number"], &own["notes"]),
            (&json!("DIAB-1"), &json!("insulin at noon"))
        );
        assert_eq!(own["lock"], json!({ "locked": true }), "not who holds the driver, why, or since when");
        app.delete(&path, &other.org_admin).await.ok(204);
        app.get(&path, &other.org_admin).await.problem(404, "notFound");
        let back = app.get(&path, &org.viewer).await.ok(200);
        assert_eq!((&back["kept"], &back["lock"]), (&json!(true), &json!({ "locked": false })));
        assert_eq!((&back["license"]["number"], &back["phone"]), (&json!("AB 123"), &json!("+49 PHONE")));
        // Locked again, it starts over.
        let again = app.post(&lock, &other.org_admin, nothing()).await.ok(200);
        assert_eq!((again.get("email"), again.get("notes")), (None, None));
        assert_eq!((&again["status"], again.get("deletedAt")), (&json!("active"), None));
        app
    });
}

#[test]
fn each_organization_with_a_profile_is_told_what_was_done_to_the_driver_and_not_by_whom() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("rival").await);
        let path = made(&app, &org.org_admin, whole()).await;
        app.post(&format!("{path}/unlock"), &org.org_admin, nothing()).await.ok(200);
        app.post(&format!("{path}/lock"), &other.org_admin, json!({ "reason": "hired" })).await.ok(200);
        app.put(&path, &other.org_admin, json!({ "notes": "theirs alone" })).await.ok(200);
        let change =
            json!({ "lastName": "Diaz", "license": { "expiresAt": "2033-03-03" }, "notes": "still theirs" });
        app.put(&path, &other.org_admin, change).await.ok(200);
        app.post(&format!("{path}/unlock"), &other.org_admin, nothing()).await.ok(200);
        app.put(&path, &org.org_admin, json!({ "firstName": "Eva" })).await.ok(200);
        app.delete(&path, &other.org_admin).await.ok(204);
        let id = path.rsplit('/').next().unwrap();
        let told = async |token: &str| {
            let said = app.get(&format!("/v1/audit?resource=driver&resourceId={id}"), token).await.ok(200);
            said["data"].as_array().unwrap().clone()
        };
        let words = |entries: &[Value]| -> Vec<String> {
            let word = |entry: &Value| format!("{} {}", text(&entry["action"]), text(&entry["actorRole"]));
            entries.iter().map(word).collect()
        };
        let mine = told(&org.org_admin).await;
        assert_eq!(
            words(&mine),
            [
                "delete otherOrganization",
                "update orgAdmin",
                "unlock otherOrganization",
                "update otherOrganization",
                "lock otherOrganization",
                "unlock orgAdmin",
                "create orgAdmin",
            ]
        );
        let theirs = told(&other.org_admin).await;
        assert_eq!(
            words(&theirs),
            [
                "delete orgAdmin",
                "update otherOrganization",
                "unlock orgAdmin",
                "update orgAdmin",
                "update orgAdmin",
                "lock orgAdmin",
            ]
        );
        assert_eq!(
            (&mine[3]["before"], &mine[3]["after"]),
            (&json!({ "lastName": "Ruiz" }), &json!({ "lastName": "Diaz" }))
        );
        let me = app.get("/v1/auth/me", &other.org_admin).await.ok(200);
        for entry in mine.iter().filter(|entry| entry["actorRole"] == "otherOrganization") {
            let shown = entry.to_string();
            for secret in ["theirs", "hired", "2033-03-03", &other.id, me["id"].as_str().unwrap()] {
                assert!(!shown.contains(secret), "{secret}: {shown}");
            }
            assert!(entry["requestId"].is_null(), "{shown}");
        }
        app
    });
}

#[test]
fn who_has_a_profile_and_does_not_keep_the_driver_has_that_and_the_name() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("rival").await);
        let path = made(&app, &org.org_admin, whole()).await;
        let (lock, unlock, assign) =
            (format!("{path}/lock"), format!("{path}/unlock"), format!("{path}/assign-vehicle"));
        app.post(&unlock, &org.org_admin, nothing()).await.ok(200);
        app.post(&lock, &other.org_admin, nothing()).await.ok(200);
        app.put(&path, &other.org_admin, json!({ "license": { "number": "XY 987" } })).await.ok(200);
        let bus =
            app.post("/v1/vehicles", &org.org_admin, json!({ "name": "bus" })).await.ok(201)["id"].clone();
        let wish = json!({ "vehicleId": bus });
        let shown = app.get(&path, &org.viewer).await.ok(200);
        let hidden = (shown.get("license"), shown.get("dateOfBirth"), shown.get("licenseStatus"));
        assert_eq!((&shown["lastName"], hidden), (&json!("Ruiz"), (None, None, None)));
        // No part of the licence can be guessed, nor its status.
        let found = async |query: &str| {
            app.get(&format!("/v1/drivers?{query}"), &org.viewer).await.ok(200)["pagination"]["totalItems"]
                .clone()
        };
        assert_eq!((found("q=987").await, found("q=ana@").await), (json!(0), json!(1)));
        for status in ["valid", "missing", "expired", "expiring"] {
            assert_eq!(found(&format!("licenseStatus={status}")).await, 0, "{status}");
        }
        assert_eq!((found("kept=true").await, found("kept=false&locked=true").await), (json!(0), json!(1)));
        // Nor whether the driver drives for the holder.
        let theirs = app.post("/v1/vehicles", &other.org_admin, json!({ "name": "van" })).await.ok(201);
        app.post(&assign, &other.dispatcher, json!({ "vehicleId": theirs["id"] })).await.ok(200);
        assert_eq!((found("assigned=true").await, found("assigned=false").await), (json!(0), json!(1)));

        app.put(&path, &org.org_admin, json!({ "phone": "+49 2", "lastName": "Ruiz" })).await.ok(200);
        for change in [json!({ "lastName": "X" }), json!({ "license": { "number": "1", "country": "DE" } })] {
            app.put(&path, &org.org_admin, change).await.problem(409, "driverLocked");
        }
        app.post(&unlock, &org.org_admin, nothing()).await.problem(409, "driverLocked");
        app.post(&assign, &org.dispatcher, wish.clone()).await.problem(409, "driverLocked");
        app.post(&unlock, &other.org_admin, nothing()).await.ok(200);
        // Now the other organization has a profile and nothing more.
        let left = app.get(&path, &other.viewer).await.ok(200);
        assert_eq!((&left["kept"], left.get("license")), (&json!(false), None));
        app.put(&path, &other.org_admin, json!({ "lastName": "X" })).await.problem(409, "driverNotHeld");
        let foreign = json!({ "vehicleId": theirs["id"] });
        app.post(&assign, &other.dispatcher, foreign).await.problem(409, "driverNotHeld");
        app.put(&path, &org.org_admin, json!({ "lastName": "Diaz" })).await.ok(200);
        app.post(&assign, &org.dispatcher, wish).await.ok(200);
        app.post(&lock, &other.org_admin, nothing()).await.problem(409, "driverAssignedElsewhere");
        app
    });
}

#[test]
fn the_person_goes_with_the_last_profile() {
    on_each_engine(async |app| {
        let (org, other, third) = (app.org("fleet").await, app.org("rival").await, app.org("third").await);
        let path = made(&app, &org.org_admin, offered("Ruiz", Some("L1"))).await;
        let (lock, unlock) = (format!("{path}/lock"), format!("{path}/unlock"));
        app.post(&lock, &other.org_admin, nothing()).await.ok(200);
        app.post(&unlock, &other.org_admin, nothing()).await.ok(200);
        app.delete(&path, &org.org_admin).await.ok(204);
        let anew = async || app.post("/v1/drivers", &third.org_admin, driver("Ruiz", Some("L1"))).await;
        anew().await.problem(409, "licenseTaken");
        // The organization that made the driver has no more right to them than any other.
        app.put(&path, &org.org_admin, nothing()).await.problem(404, "notFound");
        assert_eq!(search(&app, &org.viewer, "L1").await[0]["masked"], true);
        assert_eq!(app.get(&path, &other.viewer).await.ok(200)["kept"], false);
        app.delete(&path, &other.org_admin).await.ok(204);
        app.post(&lock, &other.org_admin, nothing()).await.problem(404, "notFound");
        assert_eq!(search(&app, &org.viewer, "L1").await, json!([]));
        anew().await.ok(201);
        app
    });
}

#[test]
fn another_organizations_driver_and_none_answer_alike_everywhere() {
    on_each_engine(async |app| {
        let (own, other) = (app.org("own").await, app.org("other").await);
        let free = made(&app, &other.org_admin, offered("Free", Some("F1"))).await;
        let held = made(&app, &other.org_admin, driver("Held", Some("H1"))).await;
        let gone = made(&app, &own.org_admin, driver("Gone", Some("G1"))).await;
        app.delete(&gone, &own.org_admin).await.ok(204);
        let vehicle = async |token: &str| {
            text(&app.post("/v1/vehicles", token, json!({ "name": "x" })).await.ok(201)["id"])
        };
        let (mine, theirs) = (vehicle(&own.org_admin).await, vehicle(&other.org_admin).await);
        let body = json!({ "vehicleId": theirs });
        let open = app.post(&format!("{held}/assign-vehicle"), &other.org_admin, body).await.ok(200);
        let assignment = text(&open["id"]);
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
            ("GET", "/vehicles?state=past&from=2026-01-01T00:00:00Z".to_owned(), nothing()),
            ("DELETE", format!("/vehicles/{mine}"), nothing()),
            ("DELETE", format!("/vehicles/{theirs}"), nothing()),
            ("PUT", format!("/vehicles/{theirs}/assignments/{assignment}"), nothing()),
            ("DELETE", format!("/vehicles/{theirs}/assignments/{assignment}"), nothing()),
        ];
        let bearer = format!("Bearer {}", own.org_admin);
        let send = async |method: &str, path: String, body: &Value| {
            let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
            let body = if matches!(method, "GET" | "DELETE") { String::new() } else { body.to_string() };
            app.send(method, &path, &headers, body).await
        };
        let vehicles = format!("/v1/vehicles/{theirs}/drivers");
        let none =
            send("GET", vehicles.replace(&theirs, "0190a000-0000-7000-8000-000000000000"), &nothing()).await;
        assert_alike(&send("GET", vehicles, &nothing()).await, &none, "who drove a vehicle");
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
