//! Links that show where vehicles are, without an account: until a time, until they arrive, or until they are revoked.

use futures_util::future::join;
use serde_json::{Value, json};
use waypost::config::Settings;
use waypost::domain::account::Role;
use waypost::ops::retention::enforce;
use waypost_test_support::eventually;

use crate::bare::DEADLINE;
use crate::harness::{App, Org, circle, on_each_engine, text, with_app};

/// A link of one vehicle that lasts a month.
pub(crate) fn of(vehicle: &str) -> Value {
    json!({ "vehicleIds": [vehicle], "endsAt": "2026-06-01T00:00:00Z" })
}

/// A vehicle with its tracker's token.
async fn vehicle(app: &App, org: &Org, name: &str) -> (String, String) {
    let body = json!({ "name": name, "plate": { "number": name }, "tracker": { "uniqueId": name.replace(' ', "-") } });
    let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
    (text(&made["id"]), text(&made["tracker"]["token"]))
}

/// Reports where a tracker was, some seconds after the start.
async fn report(app: &App, token: &str, seconds: i64, latitude: f64) {
    let recorded_at = 1_777_636_800_000_i64 + seconds * 1000;
    let fix =
        json!({ "recordedAt": recorded_at, "latitude": latitude, "longitude": -97.74, "speedKmh": 36.0 });
    let said = app.post("/v1/positions", token, json!({ "items": [fix] })).await;
    assert_eq!(said.ok(200)["stored"], 1);
}

/// Makes a link of some vehicles that lasts an hour; its path and that of what it shows.
async fn share(app: &App, token: &str, more: Value) -> (String, String) {
    let mut body = json!({ "endsAt": "2026-05-01T13:00:00Z" });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let made = app.post("/v1/shares", token, body).await.ok(201);
    (format!("/v1/shares/{}", text(&made["id"])), format!("/s/{}/vehicles", text(&made["token"])))
}

/// The names that a link shows.
async fn names(app: &App, shown: &str) -> Vec<String> {
    let body = app.get(shown, "").await.ok(200);
    body["vehicles"].as_array().unwrap().iter().map(|vehicle| text(&vehicle["name"])).collect()
}

#[test]
fn whoever_has_a_link_sees_its_vehicles_and_nothing_else_until_it_ends() {
    on_each_engine(async |app| {
        let org = app.org("own").await;
        let (bus, tracker) = vehicle(&app, &org, "Bus 7").await;
        let (car, _) = vehicle(&app, &org, "A car").await;
        vehicle(&app, &org, "not shared").await;
        report(&app, &tracker, 0, 30.25).await;
        let body = json!({ "name": "Customer", "vehicleIds": [bus, car], "endsAt": "2026-05-01T13:00:00Z" });
        let said = app.post("/v1/shares", &org.dispatcher, body).await;
        let made = said.ok(201);
        let (id, token) = (text(&made["id"]), text(&made["token"]));
        assert_eq!(said.header("location"), Some(format!("/v1/shares/{id}").as_str()));
        assert_eq!(made["url"], Value::Null, "how people reach the server is not set");
        let listed = app.get("/v1/shares", &org.org_admin).await.ok(200);
        let mut without = made.clone();
        without.as_object_mut().unwrap().retain(|name, _| name != "token" && name != "url");
        assert_eq!(listed["data"], json!([without]), "without its token");
        assert_eq!((&made["open"], &made["name"]), (&json!(true), &json!("Customer")));

        let path = format!("/s/{token}/vehicles");
        let said = app.send("GET", &path, &[], "").await;
        let shown = said.ok(200);
        let position = json!({ "latitude": 30.25, "longitude": -97.74 });
        let heard = text(&shown["vehicles"][1]["lastHeardAt"]);
        assert!(heard.starts_with("2026-05-01T12:00:"), "{heard}");
        let vehicles = json!([{ "name": "A car", "motion": "unknown" },
            { "name": "Bus 7", "position": position, "motion": "moving", "lastHeardAt": heard }]);
        assert_eq!((&shown["vehicles"], &shown["endsAt"]), (&vehicles, &json!("2026-05-01T13:00:00.000Z")));
        assert_eq!(said.header("cache-control"), Some("no-store"));
        assert_eq!(said.header("referrer-policy"), Some("no-referrer"));

        app.delete(&format!("/v1/vehicles/{car}"), &org.org_admin).await.ok(204);
        assert_eq!(names(&app, &path).await, ["Bus 7"], "deleted vehicles drop out");
        let listed = app.get("/v1/shares", &org.org_admin).await.ok(200);
        assert_eq!(listed["data"][0]["vehicles"], json!([{ "vehicleId": bus }]));

        app.pass(3600);
        let over = app.send("GET", &path, &[], "").await;
        assert_eq!(over.problem(410, "shareOver")["instance"], "/s/{token}/vehicles", "no token is told");
        app.send("GET", "/s/wpf_unknown/vehicles", &[], "").await.problem(404, "notFound");
        // Whoever was signed in before is not any more.
        let admin = app.account(Role::OrgAdmin, Some(&org.id)).await;
        let admin = app.sign_in(admin).await;
        let list = async |query: &str| {
            let listed = app.get(&format!("/v1/shares?{query}"), &admin).await.ok(200);
            listed["pagination"]["totalItems"].clone()
        };
        let foreign = format!("vehicleId={car}&open=false");
        for (query, number) in [("open=true", 0), ("open=false", 1), (foreign.as_str(), 1), ("", 1)] {
            assert_eq!(list(query).await, number, "{query}");
        }
        enforce(&app.context).await.unwrap();
        assert_eq!(list("").await, 1, "it stays in the list for a while");
        app.pass(30 * 86_400);
        enforce(&app.context).await.unwrap();
        let root = app.account(Role::SuperAdmin, None).await;
        let root = app.sign_in(root).await;
        let listed = app.get(&format!("/v1/shares?organizationId={}", org.id), &root).await.ok(200);
        assert_eq!(listed["data"], json!([]));
        app
    });
}

#[test]
fn a_vehicle_that_is_not_heard_of_is_not_said_to_move() {
    with_app(async |app| {
        let org = app.org("own").await;
        let (bus, tracker) = vehicle(&app, &org, "Bus 7").await;
        report(&app, &tracker, 0, 30.25).await;
        let (_, shown) = share(&app, &org.dispatcher, json!({ "vehicleIds": [bus] })).await;
        let motion = async || app.get(&shown, "").await.ok(200)["vehicles"][0]["motion"].clone();
        assert_eq!(motion().await, "moving");
        let settings = json!({ "settings": { "staleAfterSeconds": 30 } });
        app.put(&format!("/v1/organizations/organization/{}", org.id), &org.org_admin, settings)
            .await
            .ok(200);
        app.pass(31);
        eventually(DEADLINE, async || motion().await == "unknown").await;
        app
    });
}

#[test]
fn a_vehicle_that_arrives_is_not_shown_any_more_for_good() {
    on_each_engine(async |app| {
        let org = app.org("own").await;
        let ((bus, one), (car, other)) = (vehicle(&app, &org, "Bus").await, vehicle(&app, &org, "Car").await);
        let mut fence = circle("Depot");
        fence["effectiveFrom"] = Value::Null;
        fence["rules"] = json!({ "exitMarginMeters": 0, "minInsideSeconds": 0, "minOutsideSeconds": 0,
            "inferPassages": false, "holdWhileStanding": false });
        let fence = text(&app.post("/v1/geofences", &org.org_admin, fence).await.ok(201)["id"]);
        // One is in the depot as the link is made.
        report(&app, &one, 0, 30.28).await;
        report(&app, &other, 0, 30.27).await;
        app.pass(60);
        let vehicles = json!({ "vehicleIds": [bus, car], "geofenceId": fence });
        let (own, shown) = share(&app, &org.org_admin, vehicles).await;
        let (_, without) = share(&app, &org.org_admin, json!({ "vehicleIds": [bus] })).await;
        assert_eq!(names(&app, &shown).await, ["Bus", "Car"]);
        app.pass(240);
        report(&app, &one, 120, 30.27).await;
        assert_eq!(names(&app, &shown).await, ["Car"]);
        let listed = app.get("/v1/shares?sort=createdAt", &org.org_admin).await.ok(200);
        let first = &listed["data"][0];
        let arrived: Vec<bool> =
            first["vehicles"].as_array().unwrap().iter().map(|one| one["arrivedAt"].is_string()).collect();
        assert_eq!((arrived, &first["open"]), (vec![true, false], &json!(true)));
        report(&app, &other, 180, 30.28).await;
        report(&app, &other, 240, 30.27).await;
        app.send("GET", &shown, &[], "").await.problem(410, "shareOver");
        assert_eq!(names(&app, &without).await, ["Bus"], "another link goes on");
        assert_eq!(
            app.get("/v1/shares?open=true", &org.org_admin).await.ok(200)["data"].as_array().unwrap().len(),
            1
        );

        // What took it off the page may be gone by retention; it stays off.
        enforce(&app.context).await.unwrap();
        app.context.db.write().sql("delete from visit").run().await.unwrap();
        app.context.db.write().sql("delete from records").run().await.unwrap();
        app.send("GET", &shown, &[], "").await.problem(410, "shareOver");
        app.delete(&own, &org.org_admin).await.ok(204);
        app
    });
}

#[test]
fn a_revoked_link_is_unknown_and_the_audit_remembers_it() {
    with_app(async |app| {
        let (org, foreign) = (app.org("own").await, app.org("foreign").await);
        let (bus, _) = vehicle(&app, &org, "Bus").await;
        let (own, shown) = share(&app, &org.dispatcher, json!({ "vehicleIds": [bus] })).await;
        assert_eq!(names(&app, &shown).await, ["Bus"]);
        app.delete(&own, &foreign.org_admin).await.problem(404, "notFound");
        assert_eq!(app.get("/v1/shares", &foreign.org_admin).await.ok(200)["data"], json!([]));
        app.delete(&own, &org.dispatcher).await.ok(204);
        app.send("GET", &shown, &[], "").await.problem(404, "notFound");
        app.delete(&own, &org.dispatcher).await.problem(404, "notFound");
        let audit = app.get("/v1/audit?resource=share", &org.org_admin).await.ok(200);
        let done: Vec<String> =
            audit["data"].as_array().unwrap().iter().map(|entry| text(&entry["action"])).collect();
        assert_eq!(done, ["delete", "create"]);
        let token = shown.split('/').nth(2).unwrap();
        assert!(!audit.to_string().contains(token), "nobody is shown the token");
        app
    });
}

#[test]
fn a_link_is_revoked_once_by_the_tag_that_it_was_made_with() {
    on_each_engine(async |app| {
        let org = app.org("own").await;
        let (bus, _) = vehicle(&app, &org, "Bus").await;
        let (car, _) = vehicle(&app, &org, "Car").await;
        let body = json!({ "vehicleIds": [car, bus], "endsAt": "2026-05-01T13:00:00Z" });
        let made = app.post("/v1/shares", &org.dispatcher, body).await;
        let own = format!("/v1/shares/{}", text(&made.ok(201)["id"]));
        let bearer = format!("Bearer {}", org.dispatcher);
        let headers = [("authorization", bearer.as_str()), ("if-match", made.header("etag").unwrap())];
        app.send("DELETE", &own, &headers, "").await.ok(204);
        for _ in 0..20 {
            let (own, _) = share(&app, &org.dispatcher, json!({ "vehicleIds": [bus] })).await;
            let said = join(app.delete(&own, &org.dispatcher), app.delete(&own, &org.dispatcher)).await;
            let mut statuses = [said.0.status, said.1.status];
            statuses.sort_unstable();
            assert_eq!(statuses, [204, 404]);
        }
        app
    });
}

#[test]
fn a_link_of_an_organization_that_is_not_active_shows_nothing() {
    with_app(async |app| {
        let org = app.org("own").await;
        let (bus, _) = vehicle(&app, &org, "Bus").await;
        let (_, shown) = share(&app, &org.org_admin, json!({ "vehicleIds": [bus] })).await;
        let organization = format!("/v1/organizations/organization/{}", org.id);
        app.put(&organization, &app.root, json!({ "status": "inactive" })).await.ok(200);
        app.send("GET", &shown, &[], "").await.problem(410, "shareOver");
        app.put(&organization, &app.root, json!({ "status": "active" })).await.ok(200);
        assert_eq!(names(&app, &shown).await, ["Bus"]);
        app.delete(&organization, &app.root).await.ok(204);
        app.send("GET", &shown, &[], "").await.problem(404, "notFound");
        app
    });
}

#[test]
fn what_cannot_be_shared_is_refused_with_every_reason() {
    with_app(async |app| {
        let (org, foreign) = (app.org("own").await, app.org("foreign").await);
        let (own, _) = vehicle(&app, &org, "Bus").await;
        let (other, _) = vehicle(&app, &foreign, "Other").await;
        let fence = text(&app.post("/v1/geofences", &foreign.org_admin, circle("Depot")).await.ok(201)["id"]);
        let refused = async |body: Value| {
            let said = app.post("/v1/shares", &org.org_admin, body).await;
            let errors = said.problem(422, "validationFailed")["errors"].as_array().unwrap().clone();
            errors.iter().map(|one| (text(&one["pointer"]), text(&one["code"]))).collect::<Vec<_>>()
        };
        let at = |pointer: &str, code: &str| (pointer.to_owned(), code.to_owned());
        let hour = "2026-05-01T13:00:00Z";
        let body = json!({ "vehicleIds": [own, other], "geofenceId": fence, "endsAt": hour });
        assert_eq!(refused(body).await, [at("/vehicleIds/1", "notFound"), at("/geofenceId", "notFound")]);
        for ends_at in ["2026-05-01T11:59:59Z", "2026-07-30T12:10:00Z"] {
            let body = json!({ "vehicleIds": [own], "endsAt": ends_at });
            assert_eq!(refused(body).await, [at("/endsAt", "range")], "{ends_at}");
        }
        let both = refused(json!({ "vehicleIds": [] })).await;
        assert_eq!(both, [at("/vehicleIds", "length"), at("/endsAt", "required")]);
        for _ in 0..200 {
            share(&app, &org.org_admin, json!({ "vehicleIds": [own] })).await;
        }
        let body = json!({ "vehicleIds": [own], "endsAt": hour });
        app.post("/v1/shares", &org.org_admin, body.clone()).await.problem(409, "shareLimitReached");
        app.pass(3600);
        let mut body = body;
        body["endsAt"] = json!("2026-05-01T14:00:00Z");
        let root = app.account(Role::OrgAdmin, Some(&org.id)).await;
        let again = app.sign_in(root).await;
        app.post("/v1/shares", &again, body).await.ok(201);
        app
    });
}

#[test]
fn a_new_link_is_told_whole_where_the_server_knows_its_address() {
    actix_rt::System::new().block_on(async {
        let set = |settings: &mut Settings| settings.public_url = Some("https://fleet.example.org/".into());
        let app = App::start_with_root(set).await;
        let org = app.org("own").await;
        let (bus, _) = vehicle(&app, &org, "Bus").await;
        let body = json!({ "vehicleIds": [bus], "endsAt": "2026-05-01T13:00:00Z" });
        let made = app.post("/v1/shares", &org.org_admin, body).await.ok(201);
        assert_eq!(text(&made["url"]), format!("https://fleet.example.org/s/{}", text(&made["token"])));
        app.stop().await;
    });
}
