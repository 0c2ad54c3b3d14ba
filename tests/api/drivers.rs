//! Drivers: what their keeper does with them.

use serde_json::{Value, json};

use crate::harness::{App, on_each_engine, text, with_app};

/// The body of a new driver.
pub(crate) fn driver(last_name: &str, license: Option<&str>) -> Value {
    let license = license.map(|number| json!({ "number": number, "country": "DE" }));
    json!({ "firstName": "Ana", "lastName": last_name, "license": license })
}

/// The body of a new driver whom any organization may lock.
pub(crate) fn offered(last_name: &str, license: Option<&str>) -> Value {
    let mut body = driver(last_name, license);
    body["lock"] = json!(false);
    body
}

/// A new driver's path.
pub(crate) async fn made(app: &App, token: &str, body: Value) -> String {
    format!("/v1/drivers/{}", text(&app.post("/v1/drivers", token, body).await.ok(201)["id"]))
}

/// An empty body by its JSON.
fn nothing() -> Value {
    json!({})
}

#[test]
fn a_driver_is_made_read_changed_and_deleted() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let body = json!({ "firstName": " Ana ", "lastName": "Ruiz", "email": "ana@example.org", "phone": "+49 1",
            "employeeCode": "E7", "notes": "nights only", "dateOfBirth": "1990-01-31",
            "license": { "number": "b-07 x", "country": "DE", "categories": ["B", "CE"], "expiresAt": "2026-05-20" },
            "documents": [{ "type": "hazmat", "expiresAt": "2027-01-01" }, { "type": "other", "note": "n" }] });
        let said = app.post("/v1/drivers", &org.org_admin, body).await;
        let made = said.ok(201);
        let path = text(&json!(said.header("location")));
        assert_eq!((&made["firstName"], &made["status"]), (&json!("Ana"), &json!("active")));
        assert_eq!((&made["licenseStatus"], &made["masked"]), (&json!("expiring"), &json!(false)));
        let lock = json!({ "locked": true, "organizationId": org.id, "lockedAt": made["createdAt"] });
        assert_eq!(
            (&made["lock"], &made["kept"], &made["currentVehicles"]),
            (&lock, &json!(true), &json!([]))
        );
        let read = app.get(&path, &org.viewer).await;
        assert_eq!((read.ok(200), read.resource_tag()), (made.clone(), said.resource_tag()));
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
        let gone = app.get(&format!("{path}?includeDeleted=true"), &org.viewer).await.ok(200);
        assert_eq!((&gone["lastName"], &gone["notes"]), (&json!("Ruiz"), &json!("nights only")));
        assert_eq!((&gone["kept"], gone["deletedAt"].is_string()), (&json!(false), true));
        assert_eq!((&gone["lock"], gone.get("dateOfBirth")), (&json!({ "locked": false }), None));
        let count = async |query: &str| {
            let list = app.get(&format!("/v1/drivers{query}"), &org.viewer).await.ok(200);
            list["pagination"]["totalItems"].clone()
        };
        assert_eq!((count("").await, count("?includeDeleted=true").await), (json!(0), json!(1)));
        app
    });
}

#[test]
fn everything_wrong_is_told_at_once() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let body = json!({ "lastName": "", "dateOfBirth": "2026-05-02", "licence": {}, "status": "gone", "lock": "yes",
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
                "/lock",
                "/status",
            ]
        );
        let path = made(&app, &org.org_admin, driver("Ruiz", None)).await;
        let said =
            app.put(&path, &org.org_admin, json!({ "lock": { "locked": false }, "lastName": null })).await;
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
            let mut body = offered(name, license);
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
        assert_eq!(names("kept=false").await, "");
        assert_eq!(names("kept=true&limit=1").await, "Évora");
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
        let freed = app.post(&format!("{path}/unlock"), &app.root, named.clone()).await.ok(200);
        assert_eq!(freed["lock"], json!({ "locked": false }));
        let locked = app.post(&format!("{path}/lock"), &app.root, named).await.ok(200);
        assert_eq!(locked["lock"]["organizationId"], json!(org.id));
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
        let foreign = made(&app, &other.org_admin, offered("Else", Some("E1"))).await;
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
