//! Who drives what, and who drove it when.

use futures_util::future::join;
use serde_json::{Value, json};

use crate::drivers::{driver, made};
use crate::harness::{App, Org, Said, circle, on_each_engine, text};

/// The number of times that two requests come at once.
const ROUNDS: usize = 200;

/// A vehicle's id.
async fn vehicle(app: &App, org: &Org, name: &str) -> String {
    text(&app.post("/v1/vehicles", &org.org_admin, json!({ "name": name })).await.ok(201)["id"])
}

/// Two drivers, by their paths, and a vehicle's id.
async fn two_drivers_and_a_bus(app: &App, org: &Org) -> ([String; 2], String) {
    let drivers = [
        made(app, &org.org_admin, driver("One", None)).await,
        made(app, &org.org_admin, driver("Two", None)).await,
    ];
    (drivers, vehicle(app, org, "bus").await)
}

/// The answer to a dispatcher who gives a driver a vehicle.
async fn assigned(app: &App, org: &Org, driver: &str, wish: Value) -> Said {
    app.post(&format!("{driver}/assign-vehicle"), &org.dispatcher, wish).await
}

async fn set(app: &App, org: &Org, assignment: Value) {
    let path = format!("/v1/organizations/organization/{}", org.id);
    app.put(&path, &org.org_admin, json!({ "settings": { "assignment": assignment } })).await.ok(200);
}

#[test]
fn a_vehicle_is_given_taken_and_remembered() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let path = made(&app, &org.org_admin, driver("Ruiz", None)).await;
        let bus = vehicle(&app, &org, "bus").await;
        let assign = format!("{path}/assign-vehicle");
        let said = app.post(&assign, &org.dispatcher, json!({ "vehicleId": bus })).await;
        let open = said.ok(200);
        assert_eq!(
            (&open["vehicleId"], open.get("endedAt"), open.get("endReason")),
            (&json!(bus), None, None)
        );
        assert_eq!(open["organizationId"], json!(org.id));
        let again = app.post(&assign, &org.dispatcher, json!({ "vehicleId": bus, "force": true })).await;
        assert_eq!(again.ok(200), open, "assigned already is as good");
        let seen = app.get(&path, &org.viewer).await.ok(200);
        assert_eq!(
            (&seen["currentVehicles"][0]["id"], &seen["currentVehicles"][0]["name"]),
            (&json!(bus), &json!("bus"))
        );
        let driven = app.get(&format!("/v1/vehicles/{bus}"), &org.viewer).await.ok(200);
        assert_eq!(
            (&driven["driver"]["lastName"], &driven["driver"]["startedAt"]),
            (&json!("Ruiz"), &open["startedAt"])
        );
        let listed = app.get("/v1/vehicles", &org.viewer).await.ok(200);
        assert_eq!(listed["data"][0]["driver"], driven["driver"]);
        for scopes in [&["vehicles:read"][..], &["vehicles:read", "drivers:read"]] {
            let (_, token) = app.system_user(&org.org_admin, scopes).await;
            let one = app.get(&format!("/v1/vehicles/{bus}"), &token).await.ok(200);
            let listed = app.get("/v1/vehicles", &token).await.ok(200);
            for vehicle in [&one, &listed["data"][0]] {
                assert_eq!(vehicle.get("driver").is_some(), scopes.len() > 1, "{scopes:?}: {vehicle}");
            }
        }
        let mine = format!("/v1/vehicles?driverId={}", path.rsplit('/').next().unwrap());
        let (_, blind) = app.system_user(&org.org_admin, &["vehicles:read"]).await;
        app.get(&mine, &blind).await.problem(403, "forbidden");
        assert_eq!(app.get(&mine, &org.viewer).await.ok(200)["pagination"]["totalItems"], 1);
        let changed = app.put(&format!("/v1/vehicles/{bus}"), &org.org_admin, driven.clone()).await.ok(200);
        assert_eq!(changed["driver"], driven["driver"], "it may be sent back, and says nothing");
        let pair = format!("{path}/vehicles/{bus}");
        let bearer = format!("Bearer {}", org.dispatcher);
        let headers = [("authorization", bearer.as_str()), ("if-match", "\"other\"")];
        app.send("DELETE", &pair, &headers, "").await.problem(412, "preconditionFailed");
        app.delete(&pair, &org.dispatcher).await.ok(204);
        app.delete(&pair, &org.dispatcher).await.problem(404, "notFound");
        app.post(&assign, &org.dispatcher, json!({ "vehicleId": bus })).await.ok(200);
        let states = async |state: &str| {
            let body = app.get(&format!("{path}/vehicles?{state}"), &org.viewer).await.ok(200);
            let data = body["data"].as_array().unwrap().clone();
            data.iter()
                .map(|item| item["endReason"].as_str().unwrap_or("open").to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(states("").await, ["open", "unassigned"]);
        assert_eq!(states("state=all&sort=startedAt").await, ["unassigned", "open"]);
        assert_eq!(states("state=current").await, ["open"]);
        assert_eq!(states("state=past").await, ["unassigned"]);
        app.get(&format!("{path}/vehicles?state=future"), &org.viewer).await.problem(400, "invalidParameter");
        app.get(&format!("{path}/vehicles?sort=name"), &org.viewer).await.problem(400, "unknownSortKey");
        app.get(&format!("{path}/vehicles?from=x"), &org.viewer).await.problem(400, "invalidParameter");
        let past = app.get(&format!("{path}/vehicles?state=past"), &org.viewer).await.ok(200);
        assert_eq!(
            (&past["data"][0]["id"], &past["data"][0]["vehicle"]["name"]),
            (&open["id"], &json!("bus"))
        );
        assert!(past["data"][0]["endedBy"].is_string());
        app
    });
}

#[test]
fn a_vehicle_has_one_driver_unless_forced() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let ([one, two], bus) = two_drivers_and_a_bus(&app, &org).await;
        let wish = json!({ "vehicleId": bus });
        assigned(&app, &org, &one, wish.clone()).await.ok(200);
        let said = assigned(&app, &org, &two, wish).await;
        let detail = text(&said.problem(409, "vehicleAlreadyAssigned")["detail"]);
        assert!(detail.contains(one.rsplit('/').next().unwrap()), "{detail}");
        let forced = json!({ "vehicleId": bus, "force": true });
        let taken = assigned(&app, &org, &two, forced).await.ok(200);
        let past = app.get(&format!("{one}/vehicles"), &org.viewer).await.ok(200)["data"][0].clone();
        assert_eq!((&past["endReason"], &past["endedAt"]), (&json!("reassigned"), &taken["startedAt"]));
        let driven = app.get(&format!("/v1/vehicles/{bus}"), &org.viewer).await.ok(200);
        assert_eq!(driven["driver"]["lastName"], "Two");
        app
    });
}

#[test]
fn a_start_may_lie_back_as_far_as_history_allows() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let ([one, two], bus) = two_drivers_and_a_bus(&app, &org).await;
        let assign = async |path: &str, start: &str, force: bool| {
            let wish = json!({ "vehicleId": bus, "startedAt": start, "force": force });
            assigned(&app, &org, path, wish).await
        };
        let ahead = assign(&one, "2026-05-01T12:05:00Z", false).await;
        ahead.problem(422, "validationFailed");
        assert_eq!(ahead.pointers(), ["/startedAt"]);
        let open = assign(&one, "2026-04-01T08:00:00+02:00", false).await.ok(200);
        assert_eq!(open["startedAt"], "2026-04-01T06:00:00.000Z");
        // It would have begun before the one it replaces, of which nothing would be left.
        assign(&two, "2026-03-01T00:00:00Z", true).await.problem(409, "assignmentOverlaps");
        let taken = assign(&two, "2026-04-10T00:00:00Z", true).await.ok(200);
        assert_eq!(taken["startedAt"], "2026-04-10T00:00:00.000Z");
        let past = app.get(&format!("{one}/vehicles"), &org.viewer).await.ok(200)["data"][0].clone();
        assert_eq!(past["endedAt"], "2026-04-10T00:00:00.000Z");
        app.delete(&format!("{two}/vehicles/{bus}"), &org.dispatcher).await.ok(204);
        for back in ["2026-03-01T00:00:00Z", "2026-04-05T00:00:00Z", "2026-04-20T00:00:00Z"] {
            for force in [false, true] {
                let said = assign(&one, back, force).await;
                let detail = text(&said.problem(409, "assignmentOverlaps")["detail"]);
                assert!(detail.contains("2026-05-01T12:00"), "{detail}");
            }
        }
        // A device whose clock is a little fast starts now.
        assert!(
            text(&assign(&one, "2026-05-01T12:00:30Z", false).await.ok(200)["startedAt"])
                .starts_with("2026-05-01T12:00:0")
        );
        app
    });
}

#[test]
fn what_stands_in_the_way_is_told() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let mut body = driver("Ruiz", Some("L1"));
        body["license"]["expiresAt"] = json!("2026-04-30");
        let path = made(&app, &org.org_admin, body).await;
        let (bus, van) = (vehicle(&app, &org, "bus").await, vehicle(&app, &org, "van").await);
        let assign = async |vehicle: &str| assigned(&app, &org, &path, json!({ "vehicleId": vehicle })).await;
        set(&app, &org, json!({ "blockOnExpiredLicense": true, "maxOpenVehiclesPerDriver": 1 })).await;
        assign(&bus).await.problem(409, "licenseExpired");
        app.put(&path, &org.org_admin, json!({ "license": { "expiresAt": "2026-05-01" } })).await.ok(200);
        assign(&bus).await.ok(200);
        assert!(text(&assign(&van).await.problem(409, "openVehicleLimitReached")["detail"]).contains('1'));
        assign(&bus).await.ok(200);
        set(&app, &org, json!({ "maxOpenVehiclesPerDriver": null })).await;
        app.put(&format!("/v1/vehicles/{van}"), &org.org_admin, json!({ "status": "maintenance" }))
            .await
            .ok(200);
        assign(&van).await.problem(409, "vehicleNotActive");
        app.put(&format!("/v1/vehicles/{van}"), &org.org_admin, json!({ "status": "active" })).await.ok(200);
        app.put(&path, &org.org_admin, json!({ "status": "suspended" })).await.ok(200);
        assign(&van).await.problem(409, "driverNotActive");
        for (wish, pointer) in [
            (json!({}), "/vehicleId"),
            (json!({ "vehicleId": "x" }), "/vehicleId"),
            (json!({ "vehicleId": van, "force": "yes" }), "/force"),
            (json!({ "vehicleId": van, "startedAt": "yesterday" }), "/startedAt"),
            (json!({ "vehicleId": van, "started_at": null }), "/started_at"),
        ] {
            let said = assigned(&app, &org, &path, wish).await;
            said.problem(422, "validationFailed");
            assert_eq!(said.pointers(), [pointer]);
        }
        app
    });
}

#[test]
fn deleting_driver_or_vehicle_ends_assignments() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let ([one, two], bus) = two_drivers_and_a_bus(&app, &org).await;
        let van = vehicle(&app, &org, "van").await;
        for (path, vehicle) in [(&one, &bus), (&two, &van)] {
            let wish = json!({ "vehicleId": vehicle });
            assigned(&app, &org, path, wish).await.ok(200);
        }
        app.delete(&format!("/v1/vehicles/{bus}"), &org.org_admin).await.ok(204);
        let seen = app.get(&one, &org.viewer).await.ok(200);
        assert_eq!(seen["currentVehicles"], json!([]));
        let past = app.get(&format!("{one}/vehicles"), &org.viewer).await.ok(200)["data"][0].clone();
        assert_eq!((&past["endReason"], &past["vehicle"]["name"]), (&json!("vehicleDeleted"), &json!("bus")));
        app.delete(&two, &org.org_admin).await.ok(204);
        app.get(&format!("{two}/vehicles"), &org.viewer).await.problem(404, "notFound");
        let kept = app.get(&format!("{two}/vehicles?includeDeleted=true"), &org.viewer).await.ok(200);
        assert_eq!(
            (&kept["data"][0]["endReason"], &kept["data"][0]["vehicle"]["name"]),
            (&json!("driverDeleted"), &json!("van"))
        );
        let drove = app.get(&format!("/v1/vehicles/{van}/drivers"), &org.viewer).await.ok(200);
        assert_eq!(drove["data"][0]["driver"]["lastName"], "Two", "the vehicle remembers");
        app.get(&format!("/v1/vehicles/{bus}/drivers"), &org.viewer).await.problem(404, "notFound");
        let drove =
            app.get(&format!("/v1/vehicles/{bus}/drivers?includeDeleted=true"), &org.viewer).await.ok(200);
        assert_eq!(drove["data"][0]["driver"]["lastName"], "One");
        let free = app.get("/v1/vehicles/unassigned-active", &org.viewer).await.ok(200);
        assert_eq!((&free["data"][0]["id"], &free["pagination"]["totalItems"]), (&json!(van), &json!(1)));
        let wish = json!({ "vehicleId": van });
        assigned(&app, &org, &one, wish).await.ok(200);
        app
    });
}

#[test]
fn vehicles_in_use_that_nobody_drives_are_listed() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let path = made(&app, &org.org_admin, driver("Ruiz", None)).await;
        let (bus, van) = (vehicle(&app, &org, "bus").await, vehicle(&app, &org, "van").await);
        vehicle(&app, &org, "car").await;
        let foreign = app.org("rival").await;
        vehicle(&app, &foreign, "foreign").await;
        app.put(&format!("/v1/vehicles/{van}"), &org.org_admin, json!({ "status": "inactive" }))
            .await
            .ok(200);
        let names = async |query: &str| {
            let body = app.get(&format!("/v1/vehicles/unassigned-active{query}"), &org.viewer).await.ok(200);
            let data = body["data"].as_array().unwrap().clone();
            data.iter().map(|item| text(&item["name"])).collect::<Vec<_>>()
        };
        assert_eq!(names("?sort=name").await, ["bus", "car"]);
        assigned(&app, &org, &path, json!({ "vehicleId": bus })).await.ok(200);
        assert_eq!(names("").await, ["car"]);
        assert_eq!(names("?q=bus").await, Vec::<String>::new());
        app.get("/v1/vehicles/unassigned-active?status=active", &org.viewer)
            .await
            .problem(400, "unknownParameter");
        let live = app.get("/v1/vehicles/unassigned-active?include=live", &org.viewer).await.ok(200);
        assert_eq!(live["data"][0]["live"]["state"], "offline");
        app
    });
}

#[test]
fn of_two_assignments_of_one_vehicle_at_once_one_stands() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let (paths, bus) = two_drivers_and_a_bus(&app, &org).await;
        let assign = async |path: &str| assigned(&app, &org, path, json!({ "vehicleId": bus })).await;
        for round in 0..ROUNDS {
            let (first, second) = (&paths[round % 2], &paths[1 - round % 2]);
            let (a, b) = join(assign(first), assign(second)).await;
            let (won, lost, winner) = if a.status == 200 { (a, b, first) } else { (b, a, second) };
            won.ok(200);
            lost.problem(409, "vehicleAlreadyAssigned");
            app.delete(&format!("{winner}/vehicles/{bus}"), &org.dispatcher).await.ok(204);
        }
        app
    });
}

#[test]
fn of_two_vehicles_for_one_driver_at_once_the_limit_lets_one_through() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        set(&app, &org, json!({ "maxOpenVehiclesPerDriver": 1 })).await;
        let path = made(&app, &org.org_admin, driver("Ruiz", None)).await;
        let vehicles = [vehicle(&app, &org, "bus").await, vehicle(&app, &org, "van").await];
        let assign = async |vehicle: &str| assigned(&app, &org, &path, json!({ "vehicleId": vehicle })).await;
        for _ in 0..ROUNDS / 4 {
            let (a, b) = join(assign(&vehicles[0]), assign(&vehicles[1])).await;
            let (lost, winner) = if a.status == 200 { (b, &vehicles[0]) } else { (a, &vehicles[1]) };
            lost.problem(409, "openVehicleLimitReached");
            app.delete(&format!("{path}/vehicles/{winner}"), &org.dispatcher).await.ok(204);
        }
        app
    });
}

#[test]
fn who_is_inside_a_fence_is_told_with_the_driver() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let body = json!({ "name": "bus", "tracker": { "uniqueId": "bus" } });
        let bus = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
        let fence = app.post("/v1/geofences", &org.org_admin, circle("Depot")).await.ok(201);
        let fix = json!({ "recordedAt": "2026-05-01T12:00:01Z", "latitude": 30.27, "longitude": -97.74 });
        app.post("/v1/positions", &text(&bus["tracker"]["token"]), json!({ "items": [fix] })).await.ok(200);
        let path = made(&app, &org.org_admin, driver("Ruiz", None)).await;
        let inside = format!("/v1/geofence-events/geofence/{}/vehicles", text(&fence["id"]));
        let driver = async || app.get(&inside, &org.viewer).await.ok(200)["data"][0].get("driver").cloned();
        assert_eq!(driver().await, None);
        let wish = json!({ "vehicleId": bus["id"] });
        assigned(&app, &org, &path, wish).await.ok(200);
        assert_eq!(driver().await.unwrap()["lastName"], "Ruiz");
        app
    });
}
