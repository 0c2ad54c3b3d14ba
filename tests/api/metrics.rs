//! What operators see: metrics, liveness and readiness, on a listener of their own.

use std::collections::BTreeSet;

use serde_json::json;
use waypost::config::AdminListen;

use crate::harness::{App, circle, text, with_app};
use crate::sockets::{hear, opened, say};

/// Every metric that docs/operations.md names.
fn promised() -> BTreeSet<String> {
    let page = include_str!("../../docs/operations.md");
    let words = page.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("waypost_")).map(str::to_owned).collect()
}

/// Every series of a page, without labels and values.
fn series(page: &str) -> BTreeSet<String> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    let values = lines.filter_map(|line| line.split(['{', ' ']).next());
    // A histogram goes by the common name of its parts.
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" histogram"));
    values.chain(types).map(str::to_owned).collect()
}

#[test]
fn the_page_is_whole_and_says_what_the_documentation_promises() {
    with_app(async |app| {
        let (status, _, page) = app.operator_get("/metrics").await;
        assert_eq!(status, 200);
        let (there, promised) = (series(&page), promised());
        assert!(promised.len() > 25, "{promised:?}");
        let missing: Vec<_> = promised.difference(&there).collect();
        assert!(missing.is_empty(), "promised and not there: {missing:?}");
        let is_part = |name: &&String| ["_bucket", "_count", "_sum"].iter().any(|end| name.ends_with(end));
        let untold: Vec<_> = there.difference(&promised).filter(|name| !is_part(name)).collect();
        assert!(untold.is_empty(), "there and not documented: {untold:?}");
        // Each has its help and its type once.
        for what in ["# HELP ", "# TYPE "] {
            let told: Vec<&str> =
                page.lines().filter_map(|line| line.strip_prefix(what)?.split(' ').next()).collect();
            assert_eq!(told.len(), told.iter().collect::<BTreeSet<_>>().len(), "{told:?}");
        }
        app
    });
}

/// What Prometheus sends.
const PROMETHEUS: &str = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
    text/plain;version=0.0.4;q=0.5,*/*;q=0.1";

#[test]
fn a_scraper_gets_the_format_that_it_asks_for() {
    with_app(async |app| {
        let open_metrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        let text = "text/plain; version=0.0.4; charset=utf-8";
        let accepts = [
            (PROMETHEUS, open_metrics),
            ("application/openmetrics-text", open_metrics),
            ("text/plain", text),
            ("text/plain, application/openmetrics-text;q=0.5", text),
            ("*/*", text),
        ];
        for (accept, kind) in accepts {
            let (status, told, page) = app.operator_accepts("/metrics", accept).await;
            assert_eq!((status, told.as_str()), (200, kind), "{accept}");
            assert_eq!(page.ends_with("# EOF\n"), kind == open_metrics, "{accept}");
            // In one format a family ends where its samples' suffix begins, in the other both have one name.
            let family = if kind == open_metrics { "waypost_panics" } else { "waypost_panics_total" };
            for line in [format!("# HELP {family} "), format!("# TYPE {family} counter\n")] {
                assert!(page.contains(&line), "{accept} {line}");
            }
            assert!(page.contains("\nwaypost_panics_total "), "{accept}");
        }
        app
    });
}

#[test]
fn it_says_whether_the_server_lives_and_is_ready_and_nothing_else() {
    with_app(async |app| {
        assert_eq!(app.operator_get("/healthz").await.0, 200);
        assert_eq!(app.operator_get("/readyz").await.0, 200);
        for path in ["/v1/vehicles", "/", "/docs"] {
            assert_eq!(app.operator_get(path).await.0, 404, "{path}");
        }
        // Nor do clients see the figures.
        app.get("/metrics", "").await.problem(404, "notFound");
        assert_eq!((app.metric("waypost_ready").await, app.metric("waypost_store_up").await), (1.0, 1.0));
        assert_eq!(app.metric("waypost_standby").await, 0.0);
        app
    });
}

#[test]
fn what_happens_is_counted() {
    with_app(async |app| {
        let org = app.org("counted").await;
        let body = json!({ "name": "Bus", "tracker": { "uniqueId": "imei-9" }, "tracking": { "maxSpeedKmh": null } });
        let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
        let token = text(&made["tracker"]["token"]);
        app.post("/v1/geofences", &org.org_admin, circle("Stop")).await.ok(201);
        let snapshot = app.metric("waypost_fence_snapshot_version").await;
        assert!(snapshot >= 1.0);

        let at = app.context.clock.now().as_millis();
        let item =
            |n: i64| json!({ "recordedAt": at - 60_000 + n * 1_000, "latitude": 30.0, "longitude": -97.0 });
        let items: Vec<_> = (0..7).map(item).collect();
        app.post("/v1/positions", &token, json!({ "items": items })).await.ok(200);
        assert_eq!(app.metric("waypost_queue_offered_total{queue=\"fixes\"}").await, 7.0);
        assert_eq!(app.metric("waypost_queue_accepted_total{queue=\"writes\"}").await, 1.0);
        assert_eq!(app.metric("waypost_commit_seconds_count").await, 1.0);
        assert!(app.metric("waypost_commit_rows_sum").await >= 7.0);
        assert!(app.metric("waypost_newest_fix_timestamp_seconds").await > 1.7e9);
        assert_eq!(app.metric("waypost_vehicle_actors").await, 1.0);
        assert_eq!(app.metric("waypost_fixes_on_their_way").await, 0.0);
        assert_eq!(app.metric("waypost_fixes_room_used").await, 0.0);
        app
    });
}

#[test]
fn open_sockets_are_counted_by_kind() {
    with_app(async |app| {
        let org = app.org("sockets").await;
        let (_, program) = app.system_user(&org.org_admin, &["positions:ingest"]).await;
        let mut fleet = opened(&app, "/v1/ws/tracker", &program).await.unwrap();
        say(&mut fleet, &json!({ "type": "hello" })).await;
        hear(&mut fleet).await;
        assert_eq!(app.metric("waypost_sockets{kind=\"fleet\"}").await, 1.0);
        assert_eq!(app.metric("waypost_sockets{kind=\"tracker\"}").await, 0.0);
        assert_eq!(app.metric("waypost_sockets{kind=\"dispatcher\"}").await, 0.0);
        app
    });
}

#[test]
fn it_can_be_switched_off() {
    actix_rt::System::new().block_on(async {
        let app = App::start_with(|settings| settings.admin_listen = AdminListen::Off).await;
        assert_eq!(app.admin_url, "");
        app.stop().await;
    });
}
