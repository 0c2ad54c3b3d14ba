//! The log of geofence events, and which vehicles are inside.

use serde_json::{Value, json};
use uuid::Uuid;
use waypost::clock::new_id;
use waypost::store::time::Time;
use waypost_actors::model::Timestamp;

use crate::harness::{App, Org, START, circle, text, with_app};

struct Seen {
    org: Org,
    other: Org,
    vehicle: String,
    geofence: String,
}

/// Writes an event as the track writer would.
async fn write(app: &App, org: &Org, vehicle: &str, geofence: &str, sequence: i64, row: &Row) -> Uuid {
    let id = new_id();
    app.context
        .db
        .write()
        .sql(
            "insert into records (id, sequence, kind, status, revision, visit_id, organization_id, vehicle_id, \
             geofence_id, geofence_version, occurred_at, time_uncertainty_seconds, detected_at, origin, cause, \
             inferred, latitude, longitude, fix_recorded_at, fix_latitude, fix_longitude, fix_speed_kmh, confirmed_at) values \
             ($1, $2, $3, $4, 1, $5, $6, $7, $8, 1, $9, 0.5, $9, $10, 'crossing', $11, 1.5, 2.5, $9, 1.5, 2.5, 36.0, $9)",
        )
        .bind(id)
        .bind(sequence)
        .bind(row.kind)
        .bind(row.status)
        .bind(row.visit)
        .bind(org.id.parse::<Uuid>().unwrap())
        .bind(vehicle.parse::<Uuid>().unwrap())
        .bind(geofence.parse::<Uuid>().unwrap())
        .bind(Time(at(row.minute)))
        .bind(row.origin)
        .bind(row.inferred)
        .run()
        .await
        .unwrap();
    id
}

struct Row {
    kind: &'static str,
    status: &'static str,
    origin: &'static str,
    inferred: bool,
    minute: i64,
    visit: Uuid,
}

fn at(minute: i64) -> Timestamp {
    START.plus_seconds(minute as f64 * 60.0)
}

/// Two organizations; in the first, entry and exit of one visit, a retracted entry, a late entry.
async fn seen(app: &App) -> Seen {
    let (org, other) = (app.org("seen").await, app.org("other").await);
    let mut ids = Vec::new();
    for owner in [&org, &other] {
        let vehicle = app.post("/v1/vehicles", &owner.org_admin, json!({ "name": "Bus" })).await.ok(201);
        let geofence = app.post("/v1/geofences", &owner.org_admin, circle("Depot")).await.ok(201);
        ids.push((text(&vehicle["id"]), text(&geofence["id"])));
    }
    let visit = new_id();
    let row = Row { kind: "entry", status: "active", origin: "live", inferred: false, minute: 0, visit };
    let rows = [
        Row { ..row },
        Row { kind: "exit", minute: 10, ..row },
        Row { status: "retracted", minute: 20, visit: new_id(), ..row },
        Row { origin: "backfill", inferred: true, minute: 5, visit: new_id(), ..row },
    ];
    for (i, row) in rows.iter().enumerate() {
        write(app, &org, &ids[0].0, &ids[0].1, i as i64 + 1, row).await;
    }
    write(app, &other, &ids[1].0, &ids[1].1, 5, &Row { visit: new_id(), ..row }).await;
    app.context
        .db
        .write()
        .sql(
            "insert into visit (id, organization_id, vehicle_id, geofence_id, entry_event_id, entered_at, exited_at) \
             values ($1, $2, $3, $4, $1, $5, $6)",
        )
        .bind(visit)
        .bind(org.id.parse::<Uuid>().unwrap())
        .bind(ids[0].0.parse::<Uuid>().unwrap())
        .bind(ids[0].1.parse::<Uuid>().unwrap())
        .bind(Time(at(0)))
        .bind(Time(at(10)))
        .run()
        .await
        .unwrap();
    let (vehicle, geofence) = ids.swap_remove(0);
    Seen { org, other, vehicle, geofence }
}

fn sequences(body: &Value) -> Vec<i64> {
    body["data"].as_array().unwrap().iter().map(|item| item["sequence"].as_i64().unwrap()).collect()
}

#[test]
fn the_log_is_browsed_and_filtered() {
    with_app(async |app| {
        let seen = seen(&app).await;
        let list = async |query: &str| {
            let body = app.get(&format!("/v1/geofence-events?{query}"), &seen.org.viewer).await.ok(200);
            sequences(&body)
        };
        assert_eq!(list("").await, [2, 4, 1], "the newest happening first, retracted ones left out");
        assert_eq!(list("sort=occurredAt").await, [1, 4, 2]);
        assert_eq!(list("sort=%2BoccurredAt").await, [1, 4, 2]);
        assert_eq!(list("sort=sequence").await, [1, 2, 3, 4], "the feed tells of everything");
        assert_eq!(list("status=retracted").await, [3]);
        assert_eq!(list("type=exit,dwell").await, [2]);
        assert_eq!(list("origin=backfill").await, [4]);
        assert_eq!(list("inferred=true").await, [4]);
        assert_eq!(list("from=2026-05-01T12:05:00Z&to=2026-05-01T12:10:00Z").await, [4]);
        assert_eq!(list("from=2026-05-01T14:05:00%2B02:00").await, [2, 4]);
        assert_eq!(list("minDurationSeconds=600&sort=occurredAt").await, [1, 2]);
        assert_eq!(list("minDurationSeconds=600.5").await, Vec::<i64>::new());
        assert_eq!(list(&format!("vehicleId={}", seen.vehicle)).await, [2, 4, 1]);
        assert_eq!(list(&format!("geofenceId={}", new_id())).await, Vec::<i64>::new());
        assert_eq!(list(&format!("driverId={}", new_id())).await, Vec::<i64>::new());
        assert_eq!(list("cause=initial").await, Vec::<i64>::new());
        let said = app.get("/v1/geofence-events?type=leave&from=today", &seen.org.viewer).await;
        said.problem(400, "invalidParameter");
        assert_eq!(said.pointers(), ["?type", "?from"]);
        app
    });
}

#[test]
fn an_event_tells_everything_and_only_to_its_own() {
    with_app(async |app| {
        let seen = seen(&app).await;
        let listed = app.get("/v1/geofence-events?type=exit", &seen.org.viewer).await.ok(200);
        let event = &listed["data"][0];
        let path = format!("/v1/geofence-events/{}", text(&event["id"]));
        assert_eq!(&app.get(&path, &seen.org.viewer).await.ok(200), event);
        assert_eq!((&event["vehicleName"], &event["geofenceName"]), (&json!("Bus"), &json!("Depot")));
        assert_eq!(event["occurredAt"], "2026-05-01T12:10:00.000Z");
        assert_eq!(event["location"], json!({ "latitude": 1.5, "longitude": 2.5 }));
        assert_eq!((&event["fix"]["speedKmh"], event.get("driverId")), (&json!(36.0), None));
        app.get(&path, &seen.other.viewer).await.problem(404, "notFound");
        app
    });
}

#[test]
fn cursors_go_on_and_are_only_ours() {
    with_app(async |app| {
        let seen = seen(&app).await;
        let first = app.get("/v1/geofence-events?limit=2", &seen.org.viewer).await;
        let body = first.ok(200);
        assert_eq!((sequences(&body), &body["pagination"]["hasNextPage"]), (vec![2, 4], &json!(true)));
        let cursor = text(&body["pagination"]["endCursor"]);
        let next = format!("/v1/geofence-events?limit=2&after={cursor}");
        assert_eq!(first.header("link"), Some(format!("<{next}>; rel=\"next\"").as_str()));
        let rest = app.get(&next, &seen.org.viewer).await;
        let body = rest.ok(200);
        assert_eq!((sequences(&body), &body["pagination"]["hasNextPage"]), (vec![1], &json!(false)));
        assert_eq!(rest.header("link"), None);
        let mut broken = cursor.clone().into_bytes();
        broken[3] = if broken[3] == b'A' { b'B' } else { b'A' };
        let broken = String::from_utf8(broken).unwrap();
        for (path, token) in [
            (format!("/v1/geofence-events?after={broken}"), &seen.org.viewer),
            (format!("/v1/geofence-events?after={cursor}"), &seen.other.viewer),
            (format!("/v1/geofence-events?sort=sequence&after={cursor}"), &seen.org.viewer),
            ("/v1/geofence-events?after=x".to_owned(), &seen.org.viewer),
        ] {
            app.get(&path, token).await.problem(400, "invalidCursor");
        }
        app
    });
}

#[test]
fn the_feed_goes_on_where_it_ended() {
    with_app(async |app| {
        let seen = seen(&app).await;
        let all = app.get("/v1/geofence-events?sort=sequence", &seen.org.viewer).await.ok(200);
        let cursor = text(&all["pagination"]["endCursor"]);
        let path = format!("/v1/geofence-events?sort=sequence&after={cursor}");
        let empty = app.get(&path, &seen.org.viewer).await.ok(200);
        assert_eq!((sequences(&empty), text(&empty["pagination"]["endCursor"])), (vec![], cursor));
        let row = Row {
            kind: "exit",
            status: "active",
            origin: "live",
            inferred: false,
            minute: -60,
            visit: new_id(),
        };
        write(&app, &seen.org, &seen.vehicle, &seen.geofence, 6, &row).await;
        assert_eq!(sequences(&app.get(&path, &seen.org.viewer).await.ok(200)), [6], "late, and still told");
        app
    });
}

#[test]
fn a_vehicles_events_outlive_it() {
    with_app(async |app| {
        let seen = seen(&app).await;
        let path = format!("/v1/geofence-events/vehicle/{}", seen.vehicle);
        app.delete(&format!("/v1/vehicles/{}", seen.vehicle), &seen.org.org_admin).await.ok(204);
        assert_eq!(sequences(&app.get(&path, &seen.org.viewer).await.ok(200)), [2, 4, 1]);
        app.get(&path, &seen.other.viewer).await.problem(404, "notFound");
        let said = app.get(&format!("{path}?vehicleId={}", seen.vehicle), &seen.org.viewer).await;
        said.problem(400, "unknownParameter");
        app
    });
}

#[test]
fn who_is_inside_needs_a_fence_of_ones_own() {
    with_app(async |app| {
        let seen = seen(&app).await;
        let path = format!("/v1/geofence-events/geofence/{}/vehicles", seen.geofence);
        let body = app.get(&path, &seen.org.viewer).await.ok(200);
        assert_eq!(body["data"], json!([]));
        assert_eq!(body["pagination"], json!({ "endCursor": null, "hasNextPage": false }));
        assert!(text(&body["asOf"]).starts_with("2026-05-01T12:00:00"));
        app.get(&path, &seen.other.viewer).await.problem(404, "notFound");
        app.get(&format!("{path}?after=x"), &seen.org.viewer).await.problem(400, "invalidCursor");
        app
    });
}
