//! Drivers: what their keeper does with them, and what others see of them.

use serde_json::{Value, json};

use crate::harness::{App, Said, on_each_engine, text, with_app};

/// The body of a new driver.
pub(crate) fn driver(last_name: &str, license: Option<&str>) -> Value {
    let license = license.map(|number| json!({ "number": number, "country": "DE" }));
    json!({ "firstName": "Ana", "lastName": last_name, "license": license })
}

/// A new driver's path.
pub(crate) async fn made(app: &App, token: &str, body: Value) -> String {
    format!("/v1/drivers/{}", text(&app.post("/v1/drivers", token, body).await.ok(201)["id"]))
}

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
fn a_driver_is_made_read_changed_and_deleted() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let body = json!({ "firstName": " Ana ", "lastName": "Ruiz", "email": "ana@example.org", "phone": "+49 1",
            "employeeCode": "E7", "dateOfBirth": "1990-01-31",
            "license": { "number": "b-07 x", "country": "DE", "categories": ["B", "CE"], "expiresAt": "2026-05-20" },
            "documents": [{ "type": "hazmat", "expiresAt": "2027-01-01" }, { "type": "other", "note": "n" }] });
        let said = app.post("/v1/drivers", &org.org_admin, body).await;
        let made = said.ok(201);
        let path = text(&json!(said.header("location")));
        assert_eq!((&made["firstName"], &made["status"]), (&json!("Ana"), &json!("active")));
        assert_eq!((&made["licenseStatus"], &made["masked"]), (&json!("expiring"), &json!(false)));
        assert_eq!((&made["lock"], &made["currentVehicles"]), (&json!({ "locked": false }), &json!([])));
        let read = app.get(&path, &org.viewer).await;
        assert_eq!((read.ok(200), read.header("etag")), (made.clone(), said.header("etag")));
        let kept = text(&made["documents"][1]["id"]);
        let change = json!({ "email": null, "license": { "expiresAt": "2026-04-30" },
            "documents": [{ "id": kept, "type": "other", "note": "m" }, { "type": "training" }] });
        let changed = app.put(&path, &org.org_admin, change).await.ok(200);
        assert_eq!((changed.get("email"), &changed["licenseStatus"]), (None, &json!("expired")));
        assert_eq!(changed["license"]["number"], "b-07 x");
        assert_eq!(changed["documents"][0], json!({ "id": kept, "type": "other", "note": "m" }));
        assert_ne!(changed["documents"][1]["id"], made["documents"][0]["id"]);
        let back = app.put(&path, &org.org_admin, changed.clone()).await.ok(200);
        assert_eq!(back, changed, "what was read may be sent back");
        let bare = app.put(&path, &org.org_admin, json!({ "license": null })).await.ok(200);
        assert_eq!((bare.get("license"), &bare["licenseStatus"]), (None, &json!("missing")));
        app.delete(&path, &org.org_admin).await.ok(204);
        app.delete(&path, &org.org_admin).await.problem(404, "notFound");
        app.get(&path, &org.org_admin).await.problem(404, "notFound");
        app
    });
}

#[test]
fn everything_wrong_is_told_at_once() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let body = json!({ "lastName": "", "dateOfBirth": "2026-05-02", "licence": {}, "status": "gone",
            "license": { "number": "--", "country": "de", "categories": "B" },
            "documents": [{ "id": "0190a000-0000-7000-8000-000000000000", "type": "other" }] });
        let said = app.post("/v1/drivers", &org.org_admin, body).await;
        said.problem(422, "validationFailed");
        let mut pointers = said.pointers();
        pointers.sort_unstable();
        assert_eq!(
            pointers,
            [
                "/dateOfBirth",
                "/documents/0/id",
                "/firstName",
                "/lastName",
                "/licence",
                "/license/categories",
                "/license/country",
                "/license/number",
                "/status",
            ]
        );
        let path = made(&app, &org.org_admin, driver("Ruiz", None)).await;
        let said =
            app.put(&path, &org.org_admin, json!({ "lock": { "locked": true }, "lastName": null })).await;
        said.problem(422, "validationFailed");
        assert_eq!(said.pointers(), ["/lock", "/lastName"]);
        for body in [json!([1]), json!("x"), json!({ "documents": 7 }), json!({ "documents": [7] })] {
            app.put(&path, &org.org_admin, body).await.problem(422, "validationFailed");
        }
        for (query, code) in [
            ("", "invalidParameter"),
            ("?licenseNumber=--", "invalidParameter"),
            ("?licenseNumber=1&country=Germany", "invalidParameter"),
            ("?licenseNumber=1&state=BW", "unknownParameter"),
        ] {
            app.get(&format!("/v1/drivers/search{query}"), &org.viewer).await.problem(400, code);
        }
        app.get("/v1/drivers?sort=license", &org.viewer).await.problem(400, "unknownSortKey");
        app.get("/v1/drivers?locked=maybe", &org.viewer).await.problem(400, "invalidParameter");
        app.get("/v1/drivers/nonsense", &org.viewer).await.problem(404, "notFound");
        app
    });
}

#[test]
fn the_list_has_pages_filters_and_an_order() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        for (name, license, expires) in [
            ("Adams", Some("A 1"), Some("2026-04-30")),
            ("Baker", Some("A 2"), Some("2026-05-01")),
            ("Clark", Some("A 3"), Some("2026-06-01")),
            ("Davis", Some("A 4"), None),
            ("Évora", None, None),
        ] {
            let mut body = driver(name, license);
            if let Some(day) = expires {
                body["license"]["expiresAt"] = json!(day);
            }
            app.post("/v1/drivers", &org.org_admin, body).await.ok(201);
        }
        let names = async |query: &str| {
            let body = app.get(&format!("/v1/drivers?{query}"), &org.viewer).await.ok(200);
            let data = body["data"].as_array().unwrap().clone();
            data.iter().map(|item| text(&item["lastName"])).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names("").await, "Évora Davis Clark Baker Adams");
        assert_eq!(names("sort=lastName&limit=2&page=2").await, "Clark Davis");
        assert_eq!(names("sort=-licenseExpiresAt,-lastName").await, "Évora Davis Clark Baker Adams");
        assert_eq!(names("licenseStatus=expired").await, "Adams");
        assert_eq!(names("licenseStatus=expiring").await, "Baker");
        assert_eq!(names("licenseStatus=valid&sort=lastName").await, "Clark Davis");
        assert_eq!(names("licenseStatus=missing,expired&sort=lastName").await, "Adams Évora");
        assert_eq!(names("q=%C3%89VORA").await, "Évora");
        assert_eq!(names("q=a2").await, "Baker");
        assert_eq!(names("status=suspended").await, "");
        assert_eq!(names("locked=true").await, "");
        assert_eq!(names("assigned=true").await, "");
        assert_eq!(names("assigned=false&locked=false&sort=firstName,lastName&limit=1").await, "Adams");
        // In Kiritimati it is the 2nd of May already.
        let settings = json!({ "settings": { "timezone": "Pacific/Kiritimati" } });
        let path = format!("/v1/organizations/organization/{}", org.id);
        app.put(&path, &org.org_admin, settings).await.ok(200);
        assert_eq!(names("licenseStatus=expired&sort=lastName").await, "Adams Baker");
        app
    });
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
        for query in ["ab12", "ab1234", "ab123&country=AT", "b123", "%25", "ab123&page=2"] {
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
            app.send(method, &path, &headers, body.to_string()).await
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

#[test]
fn roles_decide_who_writes_locks_and_assigns() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let path = made(&app, &org.org_admin, driver("Ruiz", Some("L1"))).await;
        let vehicle = app.post("/v1/vehicles", &org.org_admin, json!({ "name": "x" })).await.ok(201);
        let (assign, body) = (format!("{path}/assign-vehicle"), json!({ "vehicleId": vehicle["id"] }));
        let pair = format!("{path}/vehicles/{}", text(&vehicle["id"]));
        for token in [&org.dispatcher, &org.viewer] {
            app.post("/v1/drivers", token, driver("No", None)).await.problem(403, "forbidden");
            app.put(&path, token, nothing()).await.problem(403, "forbidden");
            app.delete(&path, token).await.problem(403, "forbidden");
            app.post(&format!("{path}/lock"), token, nothing()).await.problem(403, "forbidden");
            app.post(&format!("{path}/unlock"), token, nothing()).await.problem(403, "forbidden");
            app.get(&path, token).await.ok(200);
            app.get("/v1/drivers/search?licenseNumber=L1", token).await.ok(200);
        }
        app.post(&assign, &org.viewer, body.clone()).await.problem(403, "forbidden");
        app.post(&assign, &org.dispatcher, body).await.ok(200);
        app.delete(&pair, &org.viewer).await.problem(403, "forbidden");
        app.delete(&pair, &org.dispatcher).await.ok(204);
        app
    });
}

#[test]
fn operators_name_the_organization() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        app.post("/v1/drivers", &app.root, driver("Ruiz", None)).await.problem(422, "organizationRequired");
        let mut body = driver("Ruiz", Some("L1"));
        body["organizationId"] = json!(org.id);
        let path = made(&app, &app.root, body).await;
        app.get(&path, &app.root).await.problem(422, "organizationRequired");
        let here = format!("organizationId={}", org.id);
        app.get(&format!("{path}?{here}"), &app.root).await.ok(200);
        app.get(&format!("/v1/drivers/search?licenseNumber=L1&{here}"), &app.root).await.ok(200);
        app.post(&format!("{path}/lock"), &app.root, json!({})).await.problem(422, "organizationRequired");
        let named = json!({ "organizationId": org.id });
        let locked = app.post(&format!("{path}/lock"), &app.root, named.clone()).await.ok(200);
        assert_eq!(locked["lock"]["organizationId"], json!(org.id));
        let freed = app.post(&format!("{path}/unlock"), &app.root, named).await.ok(200);
        assert_eq!(freed["lock"], json!({ "locked": false }));
        app
    });
}

#[test]
fn if_match_guards_a_change() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let said = app.post("/v1/drivers", &org.org_admin, driver("Ruiz", None)).await;
        let (path, etag) = (text(&json!(said.header("location"))), said.header("etag").unwrap().to_owned());
        app.put(&path, &org.org_admin, json!({ "lastName": "Diaz" })).await.ok(200);
        let bearer = format!("Bearer {}", org.org_admin);
        for (method, body) in [("PUT", json!({ "lastName": "X" })), ("DELETE", nothing())] {
            let headers = [
                ("authorization", bearer.as_str()),
                ("content-type", "application/json"),
                ("if-match", etag.as_str()),
            ];
            app.send(method, &path, &headers, body.to_string()).await.problem(412, "preconditionFailed");
        }
        app
    });
}

#[test]
fn a_plan_limits_the_drivers_an_organization_keeps() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("rival").await);
        let path = format!("/v1/organizations/organization/{}", org.id);
        let limit = json!({ "subscription": { "limits": { "drivers": 1 } } });
        app.put(&path, &app.root, limit).await.ok(200);
        let first = made(&app, &org.org_admin, driver("One", None)).await;
        app.post("/v1/drivers", &org.org_admin, driver("Two", None)).await.problem(403, "planLimitReached");
        app.post(&format!("{first}/lock"), &org.org_admin, nothing()).await.ok(200);
        let foreign = made(&app, &other.org_admin, driver("Else", Some("E1"))).await;
        app.post(&format!("{foreign}/lock"), &org.org_admin, nothing())
            .await
            .problem(403, "planLimitReached");
        let usage = app.get(&path, &org.viewer).await.ok(200)["subscription"]["usage"].clone();
        assert_eq!(usage["drivers"], 1);
        app.delete(&first, &org.org_admin).await.ok(204);
        app.post(&format!("{foreign}/lock"), &org.org_admin, nothing()).await.ok(200);
        app
    });
}
