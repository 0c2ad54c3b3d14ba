//! Deletions with all that was recorded: who may, what is left, and that whoever follows the log goes on.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use uuid::Uuid;
use waypost::store::sql::Engine;
use waypost_test_support::eventually;

use crate::driver_files::driver_with_file;
use crate::drivers::{driver, made, offered};
use crate::feed_rights::{hear, subscribe};
use crate::harness::{ANSWER_WITHIN, App, Org, circle, on_each_engine, text, with_app};
use crate::sockets::{opened, say};

/// 2026-05-01T11:00:00Z, an hour before the clock starts.
const ELEVEN: i64 = 1_777_633_200_000;

/// A vehicle with a tracker: its path, its id and the tracker's token.
async fn vehicle(app: &App, org: &Org, name: &str) -> (String, Uuid, String) {
    let body = json!({ "name": name, "tracker": { "uniqueId": format!("{name}-{}", org.id) },
        "fuel": { "tankCapacityLiters": 400 } });
    let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
    let id = text(&made["id"]);
    (format!("/v1/vehicles/{id}"), id.parse().unwrap(), text(&made["tracker"]["token"]))
}

async fn fence(app: &App, org: &Org) {
    let mut depot = circle("Depot");
    (depot["effectiveFrom"], depot["rules"]) = (Value::Null, json!({ "exitMarginMeters": 0 }));
    app.post("/v1/geofences", &org.org_admin, depot).await.ok(201);
}

/// Reports that the vehicle enters the depot and leaves it, from a minute after eleven on.
async fn cross(app: &App, token: &str, minute: i64) {
    let place = |(second, latitude): (i64, f64)| {
        json!({ "recordedAt": ELEVEN + (minute * 60 + second) * 1000, "latitude": latitude, "longitude": -97.74,
            "speedKmh": 40, "ignition": true, "fuel": { "percent": 40 } })
    };
    let items: Vec<Value> = [(0, 30.27), (20, 30.275), (40, 30.28)].map(place).to_vec();
    let said = app.post("/v1/positions", token, json!({ "items": items })).await.ok(200);
    assert_eq!(said["accepted"], 3, "{said}");
}

/// Rows of a table about a vehicle.
async fn rows(app: &App, table: &str, vehicle: Uuid) -> i64 {
    let count = format!("select count(*) from {table} where vehicle_id = $1");
    app.context.db.read().sql(AssertSqlSafe(count)).bind(vehicle).scalar().await.unwrap()
}

/// Rows of the fix log that name a vehicle.
async fn logged(app: &App, vehicle: Uuid) -> i64 {
    let count = match app.context.db.engine() {
        Engine::Sqlite => "select count(*) from fix_log where instr(fixes, $1) > 0",
        Engine::Postgres => "select count(*) from fix_log where position(uuid_send($1) in fixes) > 0",
    };
    app.context.db.read().sql(count).bind(vehicle).scalar().await.unwrap()
}

/// Waits until nothing waits to be deleted.
async fn until_purged(app: &App) {
    let waiting = "select (select count(*) from vehicle where purge_asked_at is not null and purged_at is null) \
        + (select count(*) from organization where purge_asked_at is not null and purged_at is null)";
    let waiting = async || app.context.db.read().sql(waiting).scalar::<i64>().await.unwrap() == 0;
    eventually(ANSWER_WITHIN, waiting).await;
}

/// Tables with what was recorded of a vehicle that reports.
const TABLES: [&str; 5] = ["records", "visit", "fuel_log", "vehicle_state", "position_chunk"];

/// The newest audit entries of a thing: actions, with what was before and after.
async fn audit(app: &App, token: &str, query: &str) -> Vec<(Value, bool, Value)> {
    let found = app.get(&format!("/v1/audit?action=delete&{query}"), token).await.ok(200);
    let told = |entry: &Value| (entry["action"].clone(), entry["before"].is_object(), entry["after"].clone());
    found["data"].as_array().unwrap().iter().map(told).collect()
}

#[test]
fn a_purged_vehicle_leaves_nothing_in_the_log_or_the_tables() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("other").await);
        fence(&app, &org).await;
        let (path, id, token) = vehicle(&app, &org, "gone").await;
        let (staying, stays, second) = vehicle(&app, &org, "stays").await;
        for token in [&token, &second] {
            cross(&app, token, 10).await;
        }
        let purge = format!("{path}?purge=true");
        for refused in ["maybe", "1", ""] {
            let said = app.delete(&format!("{path}?purge={refused}"), &org.org_admin).await;
            said.problem(400, "invalidParameter");
            assert_eq!(said.pointers(), ["?purge"]);
        }
        app.delete(&purge, &org.viewer).await.problem(403, "forbidden");
        app.delete(&purge, &org.dispatcher).await.problem(403, "forbidden");
        app.delete(&purge, &other.org_admin).await.problem(404, "notFound");
        app.context.track.save_states().await.unwrap();
        cross(&app, &token, 20).await;
        // What comes late has its past corrected, which nobody waits for.
        cross(&app, &token, 5).await;
        assert!(logged(&app, id).await > 0);
        for table in TABLES {
            assert!(rows(&app, table, id).await > 0 && rows(&app, table, stays).await > 0, "{table}");
        }
        app.delete(&purge, &org.org_admin).await.ok(204);
        until_purged(&app).await;
        assert_eq!(logged(&app, id).await, 0);
        for table in TABLES {
            assert!(rows(&app, table, id).await == 0 && rows(&app, table, stays).await > 0, "{table}");
        }
        let listed = app.get("/v1/events?limit=200", &org.viewer).await.ok(200);
        let listed = listed["data"].as_array().unwrap();
        assert!(!listed.is_empty() && listed.iter().all(|event| event["vehicleId"] == json!(stays)));
        app.get(&staying, &org.viewer).await.ok(200);
        app.get(&path, &org.viewer).await.problem(404, "notFound");
        // It reports on: nothing comes back.
        let item = json!({ "recordedAt": ELEVEN + 1_500_000, "latitude": 30.27, "longitude": -97.74 });
        let said = app.post("/v1/positions", &token, json!({ "items": [item] })).await;
        assert!(said.body["accepted"].as_i64().unwrap_or_default() == 0, "{}", said.body);

        app.delete(&path, &org.org_admin).await.problem(404, "notFound");
        app.delete(&purge, &org.org_admin).await.ok(204);
        app.delete(&purge, &org.viewer).await.problem(403, "forbidden");
        app.delete(&purge, &other.org_admin).await.problem(404, "notFound");
        let unknown = format!("/v1/vehicles/{}?purge=true", Uuid::nil());
        app.delete(&unknown, &org.org_admin).await.problem(404, "notFound");
        until_purged(&app).await;
        let (delete, purged) = (json!("delete"), json!({ "purge": true }));
        assert_eq!(
            audit(&app, &org.org_admin, &format!("resourceId={id}")).await,
            [(delete.clone(), false, purged.clone()), (delete, true, purged)]
        );
        for table in ["installation", "out_of_service", "fuel_calibration"] {
            assert!(rows(&app, table, id).await > 0, "{table} stays");
        }
        app
    });
}

#[test]
fn what_was_deleted_before_is_purged_too() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        fence(&app, &org).await;
        let (path, id, token) = vehicle(&app, &org, "gone").await;
        cross(&app, &token, 10).await;
        app.delete(&path, &org.org_admin).await.ok(204);
        app.context.track.save_states().await.unwrap();
        for table in TABLES {
            assert!(rows(&app, table, id).await > 0, "{table}");
        }
        app.delete(&format!("{path}?purge=false"), &org.org_admin).await.problem(404, "notFound");
        app.delete(&format!("{path}?purge=true"), &org.org_admin).await.ok(204);
        until_purged(&app).await;
        for table in TABLES {
            assert_eq!(rows(&app, table, id).await, 0, "{table}");
        }
        app
    });
}

#[test]
fn whoever_follows_the_log_goes_on_behind_what_is_gone() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        fence(&app, &org).await;
        let (path, _, first) = vehicle(&app, &org, "gone").await;
        let (_, stays, second) = vehicle(&app, &org, "stays").await;
        let mut socket = opened(&app, "/v1/ws/live", &org.viewer).await.unwrap();
        let topics = ["events"];
        subscribe(&mut socket, &topics, json!({})).await;
        cross(&app, &first, 10).await;
        let cursor = hear(&mut socket, &["event"]).await["cursor"].clone();
        drop(socket);
        let listed = app.get("/v1/events?sort=sequence&limit=1", &org.viewer).await.ok(200);
        let after = text(&listed["pagination"]["endCursor"]);
        // What the cursors wait for next goes, and what they have seen.
        cross(&app, &first, 20).await;
        cross(&app, &second, 20).await;
        cross(&app, &first, 30).await;
        app.delete(&format!("{path}?purge=true"), &org.org_admin).await.ok(204);
        until_purged(&app).await;

        let mut socket = opened(&app, "/v1/ws/live", &org.viewer).await.unwrap();
        let asked = json!({ "type": "subscribe", "id": "a", "topics": topics, "cursor": cursor,
            "minIntervalMs": 0 });
        say(&mut socket, &asked).await;
        let subscribed = hear(&mut socket, &["subscribed", "reset", "error"]).await;
        assert_eq!((&subscribed["type"], &subscribed["mode"]), (&json!("subscribed"), &json!("resumed")));
        let path = format!("/v1/events?sort=sequence&after={after}");
        let listed = app.get(&path, &org.viewer).await.ok(200)["data"].clone();
        let listed = listed.as_array().unwrap();
        assert!(listed.len() > 1, "{listed:?}");
        for event in listed {
            let told = hear(&mut socket, &["event", "reset", "error"]).await;
            assert_eq!((&told["event"]["id"], &event["vehicleId"]), (&event["id"], &json!(stays)), "{told}");
        }
        cross(&app, &second, 40).await;
        let told = hear(&mut socket, &["event", "reset", "error"]).await;
        let number = |event: &Value| event["sequence"].as_i64().unwrap();
        assert!(listed.iter().all(|event| number(event) < number(&told["event"])), "{told}");
        app
    });
}

#[test]
fn a_purged_driver_leaves_an_id() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("other").await);
        let mut body = driver("Ruiz", Some("AB 123"));
        (body["cards"], body["notes"], body["email"]) =
            (json!(["C1"]), json!("nights"), json!("a@example.org"));
        let path = made(&app, &org.org_admin, body).await;
        let (vehicle, ..) = vehicle(&app, &org, "bus").await;
        let driver_id = path.rsplit('/').next().unwrap().to_owned();
        let assigned = json!({ "vehicleId": vehicle.rsplit('/').next().unwrap() });
        app.post(&format!("{path}/assign-vehicle"), &org.org_admin, assigned).await.ok(200);
        app.delete(&format!("{path}?purge=yes"), &org.org_admin).await.problem(400, "invalidParameter");
        app.delete(&format!("{path}?purge=true"), &org.viewer).await.problem(403, "forbidden");
        app.delete(&format!("{path}?purge=true"), &other.org_admin).await.problem(404, "notFound");
        // Deleted first, and purged later: with what a plain deletion leaves.
        app.delete(&path, &org.org_admin).await.ok(204);
        app.delete(&format!("{path}?purge=true"), &other.org_admin).await.problem(404, "notFound");
        app.delete(&format!("{path}?purge=true"), &org.org_admin).await.ok(204);
        app.delete(&format!("{path}?purge=true"), &org.org_admin).await.ok(204);
        app.delete(&path, &org.org_admin).await.problem(404, "notFound");
        let left = app.get(&format!("{path}?includeDeleted=true"), &org.viewer).await.ok(200);
        assert_eq!((&left["firstName"], &left["lastName"]), (&json!("Deleted"), &json!("driver")));
        for said in ["Ruiz", "Ana", "AB 123", "C1", "nights", "example.org"] {
            assert!(!left.to_string().contains(said), "{said}: {left}");
        }
        let drove = app.get(&format!("{vehicle}/drivers"), &org.viewer).await.ok(200);
        let who = &drove["data"][0]["driver"];
        assert_eq!((&who["id"], &who["lastName"]), (&json!(driver_id), &json!("driver")), "{drove}");
        let told: Vec<bool> = audit(&app, &org.org_admin, &format!("resourceId={driver_id}"))
            .await
            .into_iter()
            .map(|(_, _, after)| after == json!({ "purge": true }))
            .collect();
        assert_eq!(told, [true, true, false]);
        let count = "select (select count(*) from card_holding) + (select count(*) from driver_card) \
            + (select count(*) from driver where license is not null or license_key is not null)";
        assert_eq!(app.context.db.read().sql(count).scalar::<i64>().await.unwrap(), 0);
        // Its licence may be entered anew, as after a plain deletion.
        made(&app, &org.org_admin, driver("Again", Some("AB 123"))).await;
        app
    });
}

#[test]
fn a_purged_profile_leaves_the_person_to_others() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("other").await);
        let mut body = offered("Ruiz", Some("AB 123"));
        body["notes"] = json!("nights");
        let path = made(&app, &org.org_admin, body).await;
        app.post(&format!("{path}/lock"), &other.org_admin, json!({})).await.ok(200);
        let (file, _) = driver_with_file(&app, &org.org_admin).await;
        app.delete(&format!("{path}?purge=true"), &org.org_admin).await.ok(204);
        app.delete(&format!("/v1/drivers/{file}?purge=true"), &org.org_admin).await.ok(204);
        let kept = app.get(&path, &other.viewer).await.ok(200);
        assert_eq!((&kept["lastName"], &kept["license"]["number"]), (&json!("Ruiz"), &json!("AB 123")));
        let left = app.get(&format!("{path}?includeDeleted=true"), &org.viewer).await.ok(200);
        assert!(left.get("notes").is_none(), "{left}");
        // The last profile takes the person with it.
        app.delete(&format!("{path}?purge=true"), &other.org_admin).await.ok(204);
        let left = app.get(&format!("{path}?includeDeleted=true"), &other.viewer).await.ok(200);
        assert_eq!(left["lastName"], "driver");
        let parts = "select count(*) from driver_file_part";
        let parts = async || app.context.db.read().sql(parts).scalar::<i64>().await.unwrap() == 0;
        eventually(Duration::from_secs(60), parts).await;
        app
    });
}

#[test]
fn a_purged_organization_leaves_its_row() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("other").await);
        let mut vehicles = Vec::new();
        for org in [&org, &other] {
            fence(&app, org).await;
            made(&app, &org.org_admin, driver("Ruiz", None)).await;
            let (first, second) = (vehicle(&app, org, "one").await, vehicle(&app, org, "two").await);
            cross(&app, &first.2, 10).await;
            cross(&app, &second.2, 10).await;
            // One was deleted before.
            app.delete(&second.0, &org.org_admin).await.ok(204);
            vehicles.push([first.1, second.1]);
        }
        let path = format!("/v1/organizations/organization/{}", org.id);
        let purge = format!("{path}?purge=true");
        app.delete(&purge, &org.org_admin).await.problem(403, "forbidden");
        app.delete(&format!("{path}?purge=all"), &app.root).await.problem(400, "invalidParameter");
        app.delete(&purge, &app.root).await.ok(204);
        app.delete(&path, &app.root).await.problem(404, "notFound");
        app.delete(&purge, &app.root).await.ok(204);
        let unknown = format!("/v1/organizations/organization/{}?purge=true", Uuid::nil());
        app.delete(&unknown, &app.root).await.problem(404, "notFound");
        until_purged(&app).await;
        app.context.track.save_states().await.unwrap();
        for table in TABLES {
            for [first, second] in &vehicles[..1] {
                assert_eq!(rows(&app, table, *first).await + rows(&app, table, *second).await, 0, "{table}");
            }
            for id in vehicles[1] {
                assert!(rows(&app, table, id).await > 0, "{table}");
            }
        }
        let count = async |select: &str, of: &Org| {
            let id: Uuid = of.id.parse().unwrap();
            app.context
                .db
                .read()
                .sql(AssertSqlSafe(select.to_owned()))
                .bind(id)
                .scalar::<i64>()
                .await
                .unwrap()
        };
        for (select, kept) in [
            ("select count(*) from geofence where organization_id = $1", 1),
            (
                "select count(*) from geofence_version v join geofence g on g.id = v.geofence_id where g.organization_id = $1",
                1,
            ),
            ("select count(*) from driver where last_name = 'Ruiz' and creator_organization_id = $1", 1),
        ] {
            assert_eq!((count(select, &org).await, count(select, &other).await), (0, kept), "{select}");
        }
        let stays = "select count(*) from organization where status = 'deleted' and id = $1";
        assert_eq!(count(stays, &org).await, 1);
        let told = "select before is not null, cast(after as text) from audit where action = 'delete' \
            and resource = 'organization' and resource_id = $1 order by id desc";
        let told = app.context.db.read().sql(told).bind(org.id.parse::<Uuid>().unwrap());
        let told: Vec<(bool, String)> = told.all().await.unwrap();
        let told: Vec<(bool, Value)> =
            told.into_iter().map(|(before, after)| (before, serde_json::from_str(&after).unwrap())).collect();
        assert_eq!(told, [(false, json!({ "purge": true })), (true, json!({ "purge": true }))]);
        app
    });
}

#[test]
fn an_organization_that_was_deleted_before_is_purged_by_operators_alone() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let path = format!("/v1/organizations/organization/{}", org.id);
        app.delete(&path, &app.root).await.ok(204);
        app.delete(&format!("{path}?purge=true"), &org.org_admin).await.problem(401, "unauthenticated");
        app.delete(&format!("{path}?purge=true"), &app.root).await.ok(204);
        until_purged(&app).await;
        app
    });
}
