//! Changes reach the live core in their order: an older one never comes last.

use std::time::Duration;

use futures_util::future::{join, join3};
use serde_json::{Value, json};
use waypost_actors::model::VehicleId;
use waypost_actors::watch::Audience;

use crate::harness::{App, circle, text, with_app};

/// Waits until a column of a row has a value: then the change is committed.
async fn committed(app: &App, path: &str, name: Option<&str>) {
    let seen = async {
        loop {
            let said = app.get(path, &app.root).await;
            match name {
                Some(name) if said.body["name"] == name => return,
                None if said.status == 404 => return,
                _ => tokio::task::yield_now().await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), seen).await.expect("the change is committed");
}

async fn report(app: &App, token: &str, recorded_at: &str, latitude: f64) {
    let fix = json!({ "recordedAt": recorded_at, "latitude": latitude, "longitude": -97.74 });
    app.post("/v1/positions", token, json!({ "items": [fix] })).await.ok(200);
}

#[test]
fn a_change_that_is_told_late_does_not_bring_a_deleted_vehicle_back() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let made = app.post("/v1/vehicles", &org.org_admin, json!({ "name": "a" })).await.ok(201);
        let id: VehicleId = text(&made["id"]).parse::<uuid::Uuid>().unwrap().into();
        let path = format!("/v1/vehicles/{id}");
        let seen = format!("{path}?organizationId={}", org.id);
        // Both are committed before either may reach the live core.
        let turn = app.context.keyed_lock.lock(id.0).await;
        let change = app.put(&path, &org.org_admin, json!({ "name": "b" }));
        let delete = async {
            committed(&app, &seen, Some("b")).await;
            app.delete(&path, &org.org_admin).await
        };
        let release = async {
            committed(&app, &seen, None).await;
            drop(turn);
        };
        let (changed, deleted, ()) = join3(change, delete, release).await;
        changed.ok(200);
        deleted.ok(204);
        assert_eq!(app.context.live.vehicle(id).await.unwrap(), None);
        app
    });
}

#[test]
fn names_that_are_told_late_are_told_as_they_are() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let body = json!({ "name": "a", "tracker": { "uniqueId": "imei-1" } });
        let vehicle = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
        let mut body = circle("a");
        body["effectiveFrom"] = Value::Null;
        let fence = app.post("/v1/geofences", &org.org_admin, body).await.ok(201);
        for (what, made) in [("vehicles", &vehicle), ("geofences", &fence)] {
            let id: uuid::Uuid = text(&made["id"]).parse().unwrap();
            let path = format!("/v1/{what}/{id}");
            let seen = format!("{path}?organizationId={}", org.id);
            let turn = app.context.keyed_lock.lock(id).await;
            let first = app.put(&path, &org.org_admin, json!({ "name": "b" }));
            let second = async {
                committed(&app, &seen, Some("b")).await;
                let put = app.put(&path, &org.org_admin, json!({ "name": "c" }));
                let release = async {
                    committed(&app, &seen, Some("c")).await;
                    drop(turn);
                };
                join(put, release).await.0
            };
            let (first, second) = join(first, second).await;
            first.ok(200);
            second.ok(200);
        }
        let mut watch = app.context.live.watch(Audience::Everyone).await.unwrap();
        let token = text(&vehicle["tracker"]["token"]);
        report(&app, &token, "2026-05-01T11:58:00Z", 30.28).await;
        report(&app, &token, "2026-05-01T11:59:00Z", 30.27).await;
        let event = loop {
            let update = watch.updates.recv().await.unwrap();
            if let Some(committed) = update.records.first() {
                break committed.record.clone();
            }
        };
        let fence = event.geofence().expect("a crossing").geofence_name.as_str();
        assert_eq!((event.vehicle_name.as_str(), fence), ("c", "c"));
        app
    });
}

#[test]
fn two_versions_of_a_geofence_are_both_told() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let made = app.post("/v1/geofences", &org.org_admin, circle("Depot")).await.ok(201);
        let id: uuid::Uuid = text(&made["id"]).parse().unwrap();
        let path = format!("/v1/geofences/{id}");
        let seen = format!("{path}?organizationId={}", org.id);
        let turn = app.context.keyed_lock.lock(id).await;
        let first =
            app.put(&path, &org.org_admin, json!({ "name": "b", "rules": { "exitMarginMeters": 30.0 } }));
        let second = async {
            committed(&app, &seen, Some("b")).await;
            let put =
                app.put(&path, &org.org_admin, json!({ "name": "c", "rules": { "exitMarginMeters": 40.0 } }));
            let release = async {
                committed(&app, &seen, Some("c")).await;
                drop(turn);
            };
            join(put, release).await.0
        };
        let (first, second) = join(first, second).await;
        assert_eq!(first.ok(200)["version"], 2);
        assert_eq!(second.ok(200)["version"], 3);
        let left = app.context.db.read().sql("select count(*) from geofence_version where not settled");
        assert_eq!(left.scalar::<i64>().await.unwrap(), 0);
        app
    });
}
