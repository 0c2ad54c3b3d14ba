//! What dispatchers find of refuels and drains.

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;
use waypost::clock::new_id;
use waypost::store::fuel_verdict;
use waypost::store::time::Time;
use waypost_actors::tracking::{AlertRule, alert_id};
use waypost_test_support::eventually;

use crate::harness::{App, on_each_engine, text};

/// A drain of 40 litres a minute ago, put into the store.
pub(crate) async fn drain(app: &App, organization: &str, vehicle: &str) -> String {
    let detail = json!({ "levelBeforeLiters": 60.0, "levelAfterLiters": 20.0, "volumeLiters": 40.0, "geofenceIds": [],
        "motion": "stopped", "confidence": 0.9, "calibrationVersion": 1 });
    record(app, new_id(), "drain", (organization, vehicle), detail).await
}

async fn record(
    app: &App,
    id: Uuid,
    kind: &'static str,
    (organization, vehicle): (&str, &str),
    detail: Value,
) -> String {
    let insert = "insert into records (id, sequence, kind, status, revision, organization_id, vehicle_id, confirmed_at, \
        occurred_at, detected_at, origin, ended_at, cause, detail) select $1, coalesce(max(sequence), 0) + 1, $2, 'active', 1, \
        $3, $4, $5, $5, $5, 'live', $6, $7, $8 from records";
    let is_alert = kind == "alert";
    let at = Time(app.context.clock.now().plus_seconds(-60.0));
    let stmt =
        app.context.db.write().sql(insert).bind(id).bind(kind).bind(organization.parse::<Uuid>().unwrap());
    let stmt = stmt.bind(vehicle.parse::<Uuid>().unwrap()).bind(at).bind((!is_alert).then_some(at));
    stmt.bind(is_alert.then_some("drain")).bind(detail.to_string()).run().await.unwrap();
    id.to_string()
}

#[test]
fn a_drain_is_judged_once_for_all_and_its_alert_is_seen() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fuelled").await, app.org("other").await);
        let vehicle =
            text(&app.post("/v1/vehicles", &org.org_admin, json!({ "name": "bus" })).await.ok(201)["id"]);
        let id = drain(&app, &org.id, &vehicle).await;
        let alert = alert_id(AlertRule::Drain, id.parse().unwrap());
        let detail = json!({ "causeId": id, "volumeLiters": 40.0 });
        record(&app, alert.into(), "alert", (&org.id, &vehicle), detail).await;
        let path = format!("/v1/fuel/events/{id}");
        let verdict = format!("{path}/verdict");
        let before = app.get(&path, &org.viewer).await;
        assert_eq!((before.ok(200)["id"].clone(), before.body.get("verdict")), (json!(id), None));

        let said = app.put(&verdict, &org.dispatcher, json!({ "outcome": "stolen" })).await;
        said.problem(422, "validationFailed");
        assert_eq!(said.pointers(), ["/outcome"]);
        app.put(&verdict, &org.dispatcher, json!({ "note": "?" })).await.problem(422, "validationFailed");
        let confirmed = json!({ "outcome": "confirmed", "note": "The cap was broken." });
        app.put(&verdict, &org.viewer, confirmed.clone()).await.problem(403, "forbidden");
        app.put(&verdict, &other.dispatcher, confirmed.clone()).await.problem(404, "notFound");

        let judged = app.put(&verdict, &org.dispatcher, confirmed.clone()).await.ok(200);
        let by = app.get("/v1/auth/me", &org.dispatcher).await.ok(200);
        assert_eq!(judged["verdict"]["outcome"], "confirmed");
        assert_eq!(judged["verdict"]["decidedBy"]["id"], by["id"]);
        assert_eq!(judged["verdict"]["decidedAt"], "2026-05-01T12:00:00.000Z");
        assert_eq!(app.get(&path, &org.viewer).await.ok(200), judged);
        let listed = app.get("/v1/fuel/events?type=drain", &org.viewer).await.ok(200);
        assert_eq!(listed["data"], json!([judged]));
        assert_eq!(app.get(&path, &other.viewer).await.status, 404);
        let seen = app.get(&format!("/v1/alerts/{}", alert.0), &org.viewer).await.ok(200);
        assert_eq!((&seen["open"], &seen["verdict"]), (&json!(false), &judged["verdict"]));
        assert_eq!(seen["acknowledgedBy"]["id"], by["id"]);
        assert_eq!(app.get("/v1/alerts", &org.viewer).await.ok(200)["data"], json!([seen]));

        // The same once more is the first one's; another one replaces it, and leaves the note.
        assert_eq!(app.put(&verdict, &org.org_admin, confirmed).await.ok(200), judged);
        let stale =
            [("authorization", format!("Bearer {}", org.org_admin)), ("if-match", "\"x\"".to_owned())];
        let mut headers: Vec<(&str, &str)> =
            stale.iter().map(|(name, value)| (*name, value.as_str())).collect();
        headers.push(("content-type", "application/json"));
        app.send("PUT", &verdict, &headers, r#"{"outcome":"unsure"}"#)
            .await
            .problem(412, "preconditionFailed");
        let rejected = app.put(&verdict, &org.org_admin, json!({ "outcome": "rejected" })).await.ok(200);
        assert_eq!(
            (&rejected["verdict"]["outcome"], &rejected["verdict"]["note"]),
            (&json!("rejected"), &json!("The cap was broken."))
        );
        let audit = app.get("/v1/audit?resource=fuelEvent", &org.org_admin).await.ok(200);
        let entries = audit["data"].as_array().unwrap();
        let actions: Vec<&Value> = entries.iter().map(|entry| &entry["action"]).collect();
        assert_eq!(actions, ["judge", "judge"]);
        assert_eq!(entries[0]["before"]["verdict"]["outcome"], "confirmed");
        eventually(Duration::from_secs(30), async || {
            let changes = app.get("/v1/changes?resource=alert", &org.viewer).await.ok(200);
            (changes["data"].as_array().unwrap().len() == 2).then_some(())
        })
        .await;
        app
    });
}

#[test]
fn what_was_found_goes_with_the_event_and_nothing_is_found_of_what_never_was() {
    on_each_engine(async |app| {
        let org = app.org("fuelled").await;
        let vehicle =
            text(&app.post("/v1/vehicles", &org.org_admin, json!({ "name": "bus" })).await.ok(201)["id"]);
        let (kept, gone) = (drain(&app, &org.id, &vehicle).await, drain(&app, &org.id, &vehicle).await);
        for id in [&kept, &gone] {
            let path = format!("/v1/fuel/events/{id}/verdict");
            app.put(&path, &org.dispatcher, json!({ "outcome": "unsure" })).await.ok(200);
        }
        let db = &app.context.db;
        let uuid = |id: &str| id.parse::<Uuid>().unwrap();
        db.write().sql("delete from records where id = $1").bind(uuid(&gone)).run().await.unwrap();
        assert_eq!(fuel_verdict::forget(db, 10).await.unwrap(), 1);
        assert_eq!(fuel_verdict::forget(db, 10).await.unwrap(), 0);
        let update = "update records set status = 'retracted' where id = $1";
        db.write().sql(update).bind(uuid(&kept)).run().await.unwrap();
        let path = format!("/v1/fuel/events/{kept}/verdict");
        let again = json!({ "outcome": "confirmed" });
        app.put(&path, &org.dispatcher, again).await.problem(409, "invalidTransition");
        let organization = format!("/v1/organizations/organization/{}", org.id);
        app.delete(&organization, &app.root).await.ok(204);
        let left: i64 = db.read().sql("select count(*) from fuel_verdict").scalar().await.unwrap();
        assert_eq!(left, 0);
        app
    });
}
