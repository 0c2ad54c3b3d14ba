//! Who may report at `/in`: where a credential may stand, what it opens, and that it is never written down.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use waypost::config::{Rate, Secret};

use crate::harness::{App, PASSWORD, ROOT, text, with_app};
use crate::inputs::{positions, vehicle};

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")))
}

#[test]
fn a_trackers_token_is_taken_wherever_an_app_can_put_it_and_no_other_one() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let (vehicle, token) = vehicle(&app, &org, "phone").await;
        let unknown = format!("wpt_{}", "x".repeat(43));
        let person = &org.org_admin;
        for (number, token) in [&token, &unknown, person].into_iter().enumerate() {
            let (bearer, password) = (format!("Bearer {token}"), basic("anybody", token));
            let query =
                |minute: usize| format!("lat=48.1&lon=11.5&timestamp={}", 1_777_629_600 + 60 * minute);
            let tries: [(String, Option<&str>); 6] = [
                (format!("/in/{token}?{}", query(1)), None),
                (format!("/in/{token}/osmand/anything/else?{}", query(2)), None),
                (format!("/in?{}", query(3)), Some(&bearer)),
                (format!("/in/osmand?{}", query(4)), Some(&password)),
                (format!("/in?{}&token={token}", query(5)), None),
                (format!("/in/osmand?token={token}&{}", query(6)), None),
            ];
            for (path, authorization) in tries {
                let header = authorization.map(|value| ("authorization", value));
                for method in ["GET", "POST"] {
                    let said = app.send(method, &path, header.as_slice(), "").await;
                    match number {
                        0 => assert_eq!((said.status, said.bytes.len()), (200, 0), "{path}"),
                        1 => drop(said.problem(401, "invalidToken")),
                        // A person may not report; as a Bearer, an access token is at least known.
                        _ => assert!([401, 403].contains(&said.status), "{path}: {}", said.status),
                    }
                    assert!(!String::from_utf8_lossy(&said.bytes).contains(token.as_str()), "{path}");
                }
            }
        }
        assert_eq!(positions(&app, &org, &vehicle).await.len(), 6);
        app.send("GET", "/in", &[], "").await.problem(401, "unauthenticated");
        app.send("POST", "/in/owntracks", &[("authorization", &basic("a", ""))], "{")
            .await
            .problem(401, "unauthenticated");
        app
    });
}

/// Every line that the server writes meanwhile is read by `watch`.
#[test]
fn a_mistyped_path_repeats_no_token() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let (_, token) = vehicle(&app, &org, "phone").await;
        for path in [
            "/in/TOKEN",
            "/in/TOKEN/osmand",
            "/inn/TOKEN",
            "/TOKEN",
            "/in//TOKEN",
            "/v1/in/TOKEN",
            "/in/TOKEN/TOKEN",
        ] {
            for method in ["PATCH", "DELETE", "PUT", "GET"] {
                let said = app.send(method, &path.replace("TOKEN", &token), &[], "").await;
                assert!(
                    !String::from_utf8_lossy(&said.bytes).contains(&token),
                    "{method} {path}: {}",
                    said.body
                );
            }
        }
        let long = format!("/in/{token}?{}", "a&".repeat(9000));
        let said = app.send("GET", &long, &[], "").await;
        assert_eq!(said.problem(414, "uriTooLong")["instance"], "/in/{token}");
        app
    });
}

#[test]
fn a_system_user_reports_for_the_fleet_and_each_device_names_itself() {
    with_app(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("other").await);
        let names = ["605630", "jane/phone", "48241179", "864717003283581"];
        let mut vehicles = Vec::new();
        for name in names {
            vehicles.push(vehicle(&app, &org, name).await.0);
        }
        let (foreign, _) = vehicle(&app, &other, "foreign").await;
        let (_, gateway) = app.system_user(&org.org_admin, &["positions:ingest"]).await;
        let bearer = format!("Bearer {gateway}");
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        let at = 1_777_629_600;
        let flespi = json!([
            { "ident": "605630", "timestamp": at, "position.latitude": 48.1, "position.longitude": 11.5 },
            { "ident": "605630", "timestamp": at + 60, "position.latitude": 48.2, "position.longitude": 11.5 },
            { "ident": "foreign", "timestamp": at, "position.latitude": 48.1, "position.longitude": 11.5 },
            { "ident": "nobody", "timestamp": at, "position.latitude": 48.1, "position.longitude": 11.5 },
            { "timestamp": at, "position.latitude": 48.1, "position.longitude": 11.5 }]);
        let owntracks = json!({ "_type": "location", "lat": 48.1, "lon": 11.5, "tst": at, "topic": "owntracks/jane/phone" });
        let client = json!({ "location": { "timestamp": "2026-05-01T10:00:00Z", "coords": { "latitude": 48.1, "longitude": 11.5 } },
            "device_id": 48241179 });
        let traccar = json!({ "position": { "fixTime": "2026-05-01T10:00:00.000+00:00", "latitude": 48.1, "longitude": 11.5 },
            "device": { "uniqueId": "864717003283581" } });
        for body in [&flespi, &owntracks, &client, &traccar] {
            let said = app.send("POST", "/in", &headers, body.to_string()).await;
            assert_eq!(said.status, 200, "{}", said.body);
        }
        for (vehicle, count) in vehicles.iter().zip([2, 1, 1, 1]) {
            assert_eq!(positions(&app, &org, vehicle).await.len(), count);
        }
        assert_eq!(positions(&app, &other, &foreign).await.len(), 0);
        let (_, reader) = app.system_user(&org.org_admin, &["positions:read"]).await;
        let bearer = format!("Bearer {reader}");
        app.send("POST", "/in", &[("authorization", &bearer)], "{}").await.problem(403, "forbidden");
        app
    });
}

#[test]
fn a_gateway_asks_the_store_for_no_device_that_reported_before() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let (bus, _) = vehicle(&app, &org, "605630").await;
        let (_, gateway) = app.system_user(&org.org_admin, &["positions:ingest"]).await;
        let bearer = format!("Bearer {gateway}");
        let report = async |minute: i64| {
            let query = format!("/in?id=605630&lat=48.1&lon=11.5&timestamp={}", 1_777_629_600 + 60 * minute);
            assert_eq!(app.send("GET", &query, &[("authorization", &bearer)], "").await.status, 200);
        };
        report(1).await;
        // Written behind the server's back, which is not allowed: what the server keeps in memory is not updated.
        app.context.db.write().sql("update tracker set status = 'disabled'").run().await.unwrap();
        report(2).await;
        assert_eq!(positions(&app, &org, &bus).await.len(), 2);
        vehicle(&app, &org, "another").await;
        report(3).await;
        assert_eq!(positions(&app, &org, &bus).await.len(), 2, "a change makes it be looked up again");
        app
    });
}

/// Some apps delete on a 4xx, and none of them takes a 503 for an end.
#[test]
fn who_reports_too_often_is_asked_to_wait() {
    actix_rt::System::new().block_on(async {
        let app = App::start_with(|settings| {
            settings.admin_email = Some(ROOT.into());
            settings.admin_password = Some(Secret::new(PASSWORD.into()));
            settings.rate_limit_ingest = Some(Rate { count: 2, per: Duration::from_secs(3600) });
        })
        .await;
        let path = format!("/in/wpt_{}?lat=1&lon=2", "x".repeat(43));
        for _ in 0..2 {
            app.send("GET", &path, &[], "").await.problem(401, "invalidToken");
        }
        let said = app.send("GET", &path, &[], "").await;
        said.problem(503, "busy");
        let wait: u64 = text(&json!(said.header("retry-after"))).parse().unwrap();
        assert!(wait >= 1);
        app.stop().await;
    });
}
