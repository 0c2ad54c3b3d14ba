//! Answers to caches and browsers, and to a phone app that mistakes the page for an endpoint.

use serde_json::json;

use crate::harness::{App, Said, text, with_app};

async fn get(app: &App, path: &str, headers: &[(&str, &str)]) -> Said {
    let bearer = format!("Bearer {}", app.root);
    let headers: Vec<(&str, &str)> =
        [("authorization", bearer.as_str())].iter().chain(headers).copied().collect();
    app.send("GET", path, &headers, "").await
}

#[test]
fn each_packing_is_a_representation_of_its_own() {
    with_app(async |app| {
        let org = app.org("packed").await;
        let corner = |i: i32| (f64::from(i) / 100.0 * std::f64::consts::TAU).sin_cos();
        let vertices =
            (0..100).map(corner).map(|(y, x)| json!({ "latitude": 50.0 + y, "longitude": 10.0 + x }));
        let shape = json!({ "type": "polygon", "vertices": vertices.collect::<Vec<_>>() });
        let fence = json!({ "name": "Depot", "shape": shape });
        let fence = app.post("/v1/geofences", &org.org_admin, fence).await.ok(201);
        let path = format!("/v1/geofences/{}?organizationId={}", text(&fence["id"]), org.id);
        for path in ["/openapi.json", path.as_str()] {
            let plain = get(&app, path, &[]).await;
            assert_eq!((plain.status, plain.header("content-encoding")), (200, None), "{path}");
            let mut tags = vec![plain.header("etag").unwrap().to_owned()];
            for coding in ["gzip", "br", "zstd"] {
                let accepted = ("accept-encoding", coding);
                let packed = get(&app, path, &[accepted]).await;
                assert_eq!(packed.header("content-encoding"), Some(coding), "{path}");
                tags.push(packed.header("etag").unwrap().to_owned());
                for said in [&plain, &packed] {
                    assert!(said.header("vary").unwrap().contains("accept-encoding"), "{path}, {coding}");
                }
                let tag = tags.last().unwrap().as_str();
                let known = get(&app, path, &[accepted, ("if-none-match", tag)]).await;
                assert_eq!((known.status, known.header("etag")), (304, Some(tag)), "{path}, {coding}");
                assert!(known.header("vary").unwrap().contains("accept-encoding"), "{path}, {coding}");
            }
            tags.sort();
            tags.dedup();
            assert_eq!(tags.len(), 4, "{path}: {tags:?}");
        }
        let packed = get(&app, &path, &[("accept-encoding", "gzip")]).await;
        let bearer = format!("Bearer {}", org.org_admin);
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("if-match", packed.header("etag").unwrap()),
        ];
        app.send("PUT", &path, &headers, json!({ "name": "Yard" }).to_string()).await.ok(200);
        app.send("PUT", &path, &headers, json!({ "name": "Depot" }).to_string())
            .await
            .problem(412, "preconditionFailed");
        app
    });
}

#[test]
fn small_answers_are_not_packed() {
    with_app(async |app| {
        for path in ["/healthz", "/v1/auth/me"] {
            let said = get(&app, path, &[("accept-encoding", "gzip, br, zstd")]).await;
            assert_eq!((said.status, said.header("content-encoding")), (200, None), "{path}");
            assert!(said.header("vary").unwrap().contains("accept-encoding"), "{path}");
        }
        app
    });
}

#[test]
fn the_description_and_its_page_are_kept_and_asked_for_again() {
    with_app(async |app| {
        for path in ["/openapi.json", "/docs"] {
            let said = get(&app, path, &[]).await;
            assert_eq!(said.header("cache-control"), Some("no-cache"), "{path}");
            let known = get(&app, path, &[("if-none-match", said.header("etag").unwrap())]).await;
            assert_eq!((known.status, known.bytes.len()), (304, 0), "{path}");
        }
        app
    });
}

#[test]
fn a_browser_is_told_to_keep_to_https_where_there_is_https() {
    actix_rt::System::new().block_on(async {
        for (public_url, told) in
            [("https://fleet.example.org", Some("max-age=31536000")), ("http://localhost", None)]
        {
            let app = App::start_with(|settings| settings.public_url = Some(public_url.into())).await;
            for path in ["/", "/healthz", "/v1/vehicles"] {
                let said = get(&app, path, &[]).await;
                assert_eq!(said.header("strict-transport-security"), told, "{path}");
                assert_eq!(said.header("cross-origin-opener-policy"), Some("same-origin"), "{path}");
                assert!(
                    said.header("permissions-policy").is_some_and(|policy| policy.contains("geolocation=()"))
                );
            }
            app.stop().await;
        }
    });
}

#[test]
fn an_app_that_reports_to_the_page_is_told_where_to() {
    with_app(async |app| {
        let osmand = "id=imei-1001&lat=52.5&lon=13.4&timestamp=1777636800&speed=10";
        let got = get(&app, &format!("/?{osmand}"), &[]).await.problem(400, "unknownParameter");
        assert!(text(&got["detail"]).contains("/v1/positions"), "{got}");
        for path in [format!("/?{osmand}"), "/".to_owned()] {
            let posted = app.send("POST", &path, &[], "").await.problem(405, "methodNotAllowed");
            assert!(text(&posted["detail"]).contains("/v1/positions"), "{posted}");
        }
        for path in ["/pub", "/log", "/v1/ingest/osmand"] {
            app.send("POST", path, &[], "").await.problem(404, "notFound");
        }
        app
    });
}

#[test]
fn a_limit_beyond_the_greatest_is_refused() {
    with_app(async |app| {
        let org = app.org("limited").await;
        for (path, most) in [
            ("/v1/vehicles?", 1000),
            ("/v1/vehicles/unassigned-active?", 1000),
            ("/v1/vehicles?include=live&", 200),
            ("/v1/vehicles?asOf=2026-05-01T12:00:00Z&", 200),
            ("/v1/trackers?", 200),
            ("/v1/geofence-events?", 200),
            ("/v1/fuel?", 1000),
        ] {
            app.get(&format!("{path}limit={most}"), &org.viewer).await.ok(200);
            let said = app.get(&format!("{path}limit={}", most + 1), &org.viewer).await;
            said.problem(400, "invalidParameter");
            assert_eq!(said.pointers(), ["?limit"], "{path}");
        }
        app
    });
}

#[test]
fn the_map_is_served_by_parts_of_its_file() {
    actix_rt::System::new().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map.pmtiles");
        let content: String = (0..20_000).map(|line| format!("{line:05}\n")).collect();
        std::fs::write(&path, &content).unwrap();
        let app = App::start_with(|settings| settings.map_pmtiles = Some(path.clone())).await;
        let part = async |range: &str| app.send("GET", "/map.pmtiles", &[("range", range)], "").await;
        for (range, from, to) in [
            ("bytes=0-6", 0, 6),
            ("bytes=5-99999", 5, 99_999),
            ("bytes=119999-", 119_999, 119_999),
            ("bytes=-70000", 50_000, 119_999),
            ("bytes=0-999999", 0, 119_999),
        ] {
            let said = part(range).await;
            assert_eq!(said.status, 206, "{range}");
            assert_eq!(said.header("content-range"), Some(format!("bytes {from}-{to}/120000").as_str()));
            assert!(said.bytes == content.as_bytes()[from..=to], "{range}: {} bytes", said.bytes.len());
        }
        part("bytes=120000-").await.problem(400, "malformedRequest");
        // How long the whole is, and that it is to be had in parts, without any of it.
        let no_range: &[(&str, &str)] = &[];
        for headers in [no_range, &[("range", "bytes=0-6")]] {
            let head = app.send("HEAD", "/map.pmtiles", headers, "").await;
            assert_eq!((head.status, head.bytes.len()), (200, 0));
            assert_eq!(head.header("content-length"), Some("120000"));
            assert_eq!(head.header("accept-ranges"), Some("bytes"));
            assert_eq!(head.header("etag"), part("bytes=0-6").await.header("etag"));
        }
        std::fs::remove_file(&path).unwrap();
        part("bytes=0-6").await.problem(500, "internal");
        app.stop().await;
    });
}
