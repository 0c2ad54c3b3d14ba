//! Vehicles.

use serde_json::{Value, json};
use waypost::store::time::Time;
use waypost_actors::model::Timestamp;

use crate::harness::{text, with_app};

const VIN: &str = "WDB9061331N123456";

#[test]
fn a_vehicle_is_made_read_changed_and_deleted() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let body = json!({ "name": " Bus 1 ", "plate": { "number": "M-AB 12", "country": "DE" }, "vin": VIN,
            "tracking": { "maxSpeedKmh": null } });
        let said = app.post("/v1/vehicles", &org.org_admin, body).await;
        let made = said.ok(201);
        let path = text(&json!(said.header("location")));
        assert_eq!((&made["name"], &made["status"]), (&json!("Bus 1"), &json!("active")));
        assert_eq!(made["tracking"]["maxSpeedKmh"], Value::Null);
        assert_eq!(made["tracking"]["maxAccuracyMeters"], 200.0);
        assert_eq!(made["organizationId"], json!(org.id));
        let read = app.get(&path, &org.viewer).await;
        let mut plain = read.ok(200);
        assert_eq!(plain["live"]["state"], "offline");
        assert_eq!(read.resource_tag(), said.resource_tag(), "live is no part of what If-Match looks at");
        plain.as_object_mut().unwrap().remove("live");
        assert_eq!(plain, made);
        assert_eq!(app.get(&format!("{path}?include=none"), &org.viewer).await.ok(200), made);
        let change = json!({ "make": "MAN", "vin": null, "tracking": { "intervalSeconds": 5 } });
        let changed = app.put(&path, &org.org_admin, change).await.ok(200);
        assert_eq!((&changed["make"], changed.get("vin")), (&json!("MAN"), None));
        assert_eq!(changed["plate"], made["plate"]);
        assert_eq!(changed["tracking"]["stoppedIntervalSeconds"], 300);
        assert!(text(&changed["updatedAt"]) >= text(&made["updatedAt"]));
        app.delete(&path, &org.org_admin).await.ok(204);
        app.delete(&path, &org.org_admin).await.problem(404, "notFound");
        app.get(&path, &org.viewer).await.problem(404, "notFound");
        app
    });
}

#[test]
fn everything_wrong_is_told_at_once() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let body = json!({ "plate": { "number": "--" }, "vin": "SHORT", "year": "old", "category": "ufo",
            "fuel": null, "tracking": { "intervalSeconds": 0, "trakcerId": 1 }, "tracker": { "uniqueId": "a b" } });
        let said = app.post("/v1/vehicles", &org.org_admin, body).await;
        said.problem(422, "validationFailed");
        let mut pointers = said.pointers();
        pointers.sort_unstable();
        assert_eq!(
            pointers,
            [
                "/category",
                "/fuel",
                "/name",
                "/plate/number",
                "/tracker/uniqueId",
                "/tracking/intervalSeconds",
                "/tracking/trakcerId",
                "/vin",
                "/year",
            ]
        );
        let said = app.post("/v1/vehicles", &org.org_admin, json!([1])).await;
        said.problem(422, "validationFailed");
        app
    });
}

#[test]
fn plate_and_vin_are_unique_among_those_not_deleted() {
    with_app(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("rival").await);
        let body =
            |plate: &str, vin: Option<&str>| json!({ "name": "x", "plate": { "number": plate }, "vin": vin });
        let made = app.post("/v1/vehicles", &org.org_admin, body("M-AB 12", Some(VIN))).await.ok(201);
        let said = app.post("/v1/vehicles", &org.org_admin, body("mab12", None)).await;
        said.problem(409, "plateTaken");
        let said = app.post("/v1/vehicles", &org.org_admin, body("other", Some(VIN))).await;
        said.problem(409, "vinTaken");
        app.post("/v1/vehicles", &other.org_admin, body("M-AB 12", Some(VIN))).await.ok(201);
        let second = app.post("/v1/vehicles", &org.org_admin, body("B 1", None)).await.ok(201);
        let path = format!("/v1/vehicles/{}", text(&second["id"]));
        app.put(&path, &org.org_admin, json!({ "vin": VIN })).await.problem(409, "vinTaken");
        app.delete(&format!("/v1/vehicles/{}", text(&made["id"])), &org.org_admin).await.ok(204);
        app.put(&path, &org.org_admin, json!({ "vin": VIN })).await.ok(200);
        app
    });
}

#[test]
fn another_organizations_vehicle_and_none_answer_alike() {
    with_app(async |app| {
        let (own, other) = (app.org("own").await, app.org("other").await);
        let made = app.post("/v1/vehicles", &other.org_admin, json!({ "name": "x" })).await.ok(201);
        let foreign = format!("/v1/vehicles/{}", text(&made["id"]));
        let missing = "/v1/vehicles/0190a000-0000-7000-8000-000000000000".to_owned();
        let calls = [("GET", "viewer"), ("PUT", "orgAdmin"), ("DELETE", "orgAdmin")];
        for (method, role) in calls {
            let token = if role == "viewer" { &own.viewer } else { &own.org_admin };
            let bearer = format!("Bearer {token}");
            let headers = [
                ("authorization", bearer.as_str()),
                ("content-type", "application/json"),
                ("x-request-id", "x"),
            ];
            let there = app.send(method, &foreign, &headers, "{}").await;
            let gone = app.send(method, &missing, &headers, "{}").await;
            let mut bodies = [there.problem(404, "notFound"), gone.problem(404, "notFound")];
            bodies.iter_mut().for_each(|body| body["instance"] = json!(null));
            assert_eq!(bodies[0], bodies[1]);
        }
        let named = format!("/v1/vehicles?organizationId={}", other.id);
        app.get(&named, &own.viewer).await.problem(404, "notFound");
        let body = json!({ "name": "x", "organizationId": other.id });
        app.post("/v1/vehicles", &own.org_admin, body).await.problem(404, "notFound");
        assert_eq!(app.get("/v1/vehicles", &own.viewer).await.ok(200)["data"], json!([]));
        app
    });
}

#[test]
fn operators_name_the_organization() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let said = app.post("/v1/vehicles", &app.root, json!({ "name": "x" })).await;
        said.problem(422, "organizationRequired");
        let body = json!({ "name": "x", "organizationId": "0190a000-0000-7000-8000-000000000000" });
        app.post("/v1/vehicles", &app.root, body).await.problem(404, "notFound");
        let body = json!({ "name": "x", "organizationId": "nonsense" });
        let said = app.post("/v1/vehicles", &app.root, body).await;
        said.problem(422, "validationFailed");
        assert_eq!(said.pointers(), ["/organizationId"]);
        let body = json!({ "name": "x", "organizationId": org.id });
        let made = app.post("/v1/vehicles", &app.root, body).await.ok(201);
        let path = format!("/v1/vehicles/{}", text(&made["id"]));
        app.get(&path, &app.root).await.problem(422, "organizationRequired");
        app.get(&format!("{path}?organizationId={}", org.id), &app.root).await.ok(200);
        app
    });
}

#[test]
fn roles_decide_who_writes() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let made = app.post("/v1/vehicles", &org.org_admin, json!({ "name": "x" })).await.ok(201);
        let path = format!("/v1/vehicles/{}", text(&made["id"]));
        for token in [&org.dispatcher, &org.viewer] {
            app.post("/v1/vehicles", token, json!({ "name": "y" })).await.problem(403, "forbidden");
            app.put(&path, token, json!({ "name": "y" })).await.problem(403, "forbidden");
            app.delete(&path, token).await.problem(403, "forbidden");
            app.get(&path, token).await.ok(200);
        }
        app
    });
}

#[test]
fn if_match_guards_a_change() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let said = app.post("/v1/vehicles", &org.org_admin, json!({ "name": "x" })).await;
        let path = text(&json!(said.header("location")));
        let etag = said.header("etag").unwrap().to_owned();
        let bearer = format!("Bearer {}", org.org_admin);
        let put = async |tag: &str, body: Value| {
            let headers =
                [("authorization", bearer.as_str()), ("content-type", "application/json"), ("if-match", tag)];
            app.send("PUT", &path, &headers, body.to_string()).await
        };
        put("\"other\"", json!({ "name": "y" })).await.problem(412, "preconditionFailed");
        let changed = put(&format!("\"other\", {etag}"), json!({ "name": "y" })).await;
        assert_eq!(changed.ok(200)["name"], "y");
        put(&etag, json!({ "name": "z" })).await.problem(412, "preconditionFailed");
        put(&etag, json!({ "name": "y" })).await.ok(200); // a retry of what is done already
        put("*", json!({ "name": "z" })).await.ok(200);
        let headers = [("authorization", bearer.as_str()), ("if-match", etag.as_str())];
        app.send("DELETE", &path, &headers, "").await.problem(412, "preconditionFailed");
        app
    });
}

#[test]
fn what_was_read_may_be_sent_back_and_read_only_members_may_not_change() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let said = app.post("/v1/vehicles", &org.org_admin, json!({ "name": "x" })).await;
        let path = text(&json!(said.header("location")));
        let mut read = app.get(&path, &org.org_admin).await.ok(200);
        read["name"] = json!("y");
        assert_eq!(app.put(&path, &org.org_admin, read).await.ok(200)["name"], "y");
        let said = app.put(&path, &org.org_admin, json!({ "id": "other", "nmae": "z" })).await;
        said.problem(422, "validationFailed");
        assert_eq!(said.pointers(), ["/id", "/nmae"]);
        app
    });
}

#[test]
fn lists_have_pages_links_sorting_search_and_live() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        for (name, plate) in
            [("Ärger 1", Some("B 1")), ("bus 2", Some("C 1")), ("bus 3", None), ("100% bus", Some("A 1"))]
        {
            let plate = plate.map(|number| json!({ "country": "SE", "number": number }));
            let body = json!({ "name": name, "category": "bus", "plate": plate });
            app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
        }
        let names = |body: &Value| {
            let data = body["data"].as_array().unwrap().clone();
            data.iter().map(|item| text(&item["name"])).collect::<Vec<_>>()
        };
        let said = app.get("/v1/vehicles?sort=name&limit=3&category=bus", &org.viewer).await;
        let body = said.ok(200);
        assert_eq!(names(&body), ["100% bus", "bus 2", "bus 3"]);
        assert_eq!(body["pagination"], json!({ "page": 1, "limit": 3, "totalItems": 4, "totalPages": 2 }));
        let link = said.header("link").unwrap();
        assert!(
            link.contains("</v1/vehicles?sort=name&limit=3&category=bus&page=2>; rel=\"next\""),
            "{link}"
        );
        assert!(!link.contains("prev"), "{link}");
        let by_plate = app.get("/v1/vehicles?sort=plate", &org.viewer).await.ok(200);
        assert_eq!(names(&by_plate), ["bus 3", "100% bus", "Ärger 1", "bus 2"]);
        let second = app.get("/v1/vehicles?sort=name&limit=3&page=2", &org.viewer).await;
        assert_eq!(names(&second.ok(200)), ["Ärger 1"]);
        assert!(second.header("link").unwrap().contains("page=1>; rel=\"prev\""));
        assert_eq!(names(&app.get("/v1/vehicles?q=%C3%84RGER", &org.viewer).await.ok(200)), ["Ärger 1"]);
        assert_eq!(names(&app.get("/v1/vehicles?q=0%25", &org.viewer).await.ok(200)), ["100% bus"]);
        assert_eq!(names(&app.get("/v1/vehicles?q=_", &org.viewer).await.ok(200)), Vec::<String>::new());
        let newest = app.get("/v1/vehicles?limit=200", &org.viewer).await.ok(200);
        assert_eq!((names(&newest)[0].as_str(), &newest["pagination"]["limit"]), ("100% bus", &json!(200)));
        assert_eq!(newest["data"][0].get("live"), None);
        let live = app.get("/v1/vehicles?include=live", &org.viewer).await.ok(200);
        assert_eq!(live["data"][3]["live"]["geofences"], json!([]));
        app
    });
}

#[test]
fn when_a_vehicle_is_out_of_service_is_written_down() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let spans = async |path: &str| {
            let vehicle: uuid::Uuid = path.rsplit('/').next().unwrap().parse().unwrap();
            let sql = "select began_at, ended_at from out_of_service where vehicle_id = $1 order by began_at";
            let rows = app.context.db.read().sql(sql).bind(vehicle).all::<(Time, Option<Time>)>();
            rows.await.unwrap()
        };
        let made = app.post("/v1/vehicles", &org.org_admin, json!({ "name": "x" })).await;
        let path = text(&json!(made.header("location")));
        let put = async |status: &str| {
            app.pass(10);
            let changed = app.put(&path, &org.org_admin, json!({ "status": status })).await.ok(200);
            Time(Timestamp::parse(&text(&changed["updatedAt"])).unwrap())
        };
        let millis = |spans: Vec<(Time, Option<Time>)>| -> Vec<(i64, Option<i64>)> {
            spans.iter().map(|(from, to)| (from.0.as_millis(), to.map(|to| to.0.as_millis()))).collect()
        };
        assert_eq!(spans(&path).await, []);
        put("maintenance").await;
        assert_eq!(spans(&path).await, [], "in the workshop is in service");
        let out = put("inactive").await.0.as_millis();
        put("decommissioned").await;
        assert_eq!(millis(spans(&path).await), [(out, None)], "from one to the other is the same absence");
        let back = put("active").await.0.as_millis();
        assert_eq!(millis(spans(&path).await), [(out, Some(back))]);
        app.pass(10);
        app.put(&path, &org.org_admin, json!({ "name": "y" })).await.ok(200);
        app.delete(&path, &org.org_admin).await.ok(204);
        let both = spans(&path).await;
        assert_eq!((both.len(), both[1].1), (2, None), "deleted is out for ever");
        assert!(both[1].0.0.as_millis() >= back + 10_000);
        let idle =
            app.post("/v1/vehicles", &org.org_admin, json!({ "name": "z", "status": "inactive" })).await;
        let path = text(&json!(idle.header("location")));
        assert_eq!(spans(&path).await.len(), 1, "it may begin so");
        app
    });
}
