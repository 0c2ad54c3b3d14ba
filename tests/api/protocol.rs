//! What holds for every route: problems, headers, methods, encodings, parameters.

use std::io::Write;

use serde_json::json;

use crate::harness::{circle, with_app};

#[test]
fn the_frameworks_own_refusals_are_problems() {
    with_app(async |app| {
        let bearer = format!("Bearer {}", app.root);
        let typed = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        app.get("/v1/nothing", "").await.problem(404, "notFound");
        app.get("/v1/vehicles/not-a-uuid", &app.root).await.problem(404, "notFound");
        let wrong_method = app.send("PATCH", "/v1/vehicles", &[], "").await;
        wrong_method.problem(405, "methodNotAllowed");
        assert_eq!(wrong_method.header("allow"), Some("GET, HEAD, OPTIONS, POST"));
        let broken = app.send("POST", "/v1/organizations", &typed, "{\n \"name\": oops }").await;
        assert!(broken.problem(400, "malformedJson")["detail"].as_str().unwrap().contains("line 2 column"));
        let untyped = app.send("POST", "/v1/organizations", &typed[..1], "{}").await;
        untyped.problem(415, "unsupportedMediaType");
        let large = format!("\"{}\"", "x".repeat(64 * 1024 - 1));
        let said = app.send("POST", "/v1/organizations", &typed, large).await;
        said.problem(413, "payloadTooLarge");
        let fits = format!("\"{}\"", "x".repeat(64 * 1024 - 2));
        app.send("POST", "/v1/organizations", &typed, fits).await.problem(422, "validationFailed");
        app
    });
}

#[test]
fn nobody_gets_far_without_a_token() {
    with_app(async |app| {
        for token in ["", "nonsense"] {
            // Not even far enough to find that the body is broken.
            let bearer = format!("Bearer {token}");
            let said = app.send("POST", "/v1/vehicles", &[("authorization", &bearer)], "{").await;
            said.problem(401, "unauthenticated");
        }
        app
    });
}

#[test]
fn head_options_and_trailing_slashes_work() {
    with_app(async |app| {
        let get = app.get("/healthz", "").await;
        let head = app.send("HEAD", "/healthz", &[], "").await;
        assert_eq!((head.status, head.bytes.len()), (200, 0));
        assert_eq!(head.header("content-length"), get.header("content-length"));
        let options = app.send("OPTIONS", "/v1/geofences", &[], "").await;
        options.ok(204);
        assert_eq!(options.header("allow"), Some("GET, HEAD, OPTIONS, POST"));
        app.get("/v1/vehicles/?organizationId=x", "").await.problem(401, "unauthenticated");
        app.get("/healthz/", "").await.ok(200);
        app.get("/readyz", "").await.ok(200);
        app
    });
}

#[test]
fn request_ids_come_back_and_are_made() {
    with_app(async |app| {
        let given = app.send("GET", "/v1/nothing", &[("x-request-id", "abc-123")], "").await;
        assert_eq!(given.problem(404, "notFound")["requestId"], "abc-123");
        for bad in ["a b", &"x".repeat(65)] {
            let said = app.send("GET", "/healthz", &[("x-request-id", bad)], "").await;
            let made = said.header("x-request-id").unwrap();
            assert_eq!((made.len(), made == bad), (36, false));
        }
        app
    });
}

#[test]
fn every_answer_carries_the_security_headers() {
    with_app(async |app| {
        for path in ["/healthz", "/v1/nothing", "/v1/vehicles", "/problems", "/docs"] {
            let said = app.get(path, "").await;
            assert_eq!(said.header("x-content-type-options"), Some("nosniff"), "{path}");
            assert_eq!(said.header("referrer-policy"), Some("no-referrer"), "{path}");
            let policy = said.header("content-security-policy").unwrap();
            assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
            assert_eq!(said.header("server"), None);
        }
        app
    });
}

/// A browser puts the headers of a 304 in place of those it has kept.
#[test]
fn a_page_that_is_still_good_keeps_its_policy() {
    with_app(async |app| {
        let first = app.get("/", "").await;
        let tag = first.header("etag").unwrap();
        let again = app.send("GET", "/", &[("if-none-match", tag)], "").await;
        assert_eq!(again.status, 304);
        for name in ["content-security-policy", "cache-control", "etag"] {
            assert_eq!(again.header(name), first.header(name), "{name}");
        }
        app
    });
}

#[test]
fn answers_are_compressed_and_bodies_unpacked() {
    with_app(async |app| {
        for encoding in ["gzip", "br", "zstd"] {
            let said = app.send("GET", "/openapi.json", &[("accept-encoding", encoding)], "").await;
            assert_eq!((said.status, said.header("content-encoding")), (200, Some(encoding)));
        }
        let org = app.org("packed").await;
        let bearer = format!("Bearer {}", org.org_admin);
        let packed = |body: &[u8]| {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            packer.write_all(body).unwrap();
            packer.finish().unwrap()
        };
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("content-encoding", "gzip"),
        ];
        let body = packed(circle("zip").to_string().as_bytes());
        app.send("POST", "/v1/geofences", &headers, body).await.ok(201);
        // A bomb: small on the wire, large unpacked.
        let bomb = packed(format!("\"{}\"", "x".repeat(5 << 20)).as_bytes());
        assert!(bomb.len() < 64 * 1024);
        app.send("POST", "/v1/geofences", &headers, bomb).await.problem(413, "payloadTooLarge");
        let odd = [headers[0], headers[1], ("content-encoding", "lzma")];
        app.send("POST", "/v1/geofences", &odd, "x").await.problem(415, "unsupportedMediaType");
        app.send("POST", "/v1/geofences", &headers, "not gzip").await.problem(400, "malformedRequest");
        app
    });
}

#[test]
fn unknown_and_broken_parameters_are_all_told() {
    with_app(async |app| {
        let org = app.org("asking").await;
        let said = app.get("/v1/vehicles?statuss=active&limit=0&page=x&status=flying", &org.viewer).await;
        let problem = said.problem(400, "unknownParameter");
        assert_eq!(said.pointers(), ["?statuss", "?status", "?page", "?limit"]);
        assert_eq!(problem["errors"][0]["detail"], "is not known here; did you mean status?");
        let said = app.get("/v1/vehicles?limit=0", &org.viewer).await;
        said.problem(400, "invalidParameter");
        let said = app.get("/v1/vehicles?sort=-nmae", &org.viewer).await;
        let detail = said.problem(400, "unknownSortKey")["detail"].to_string();
        assert!(detail.contains("name, plate, createdAt, updatedAt, status"), "{detail}");
        let said = app.post("/v1/vehicles?x=1", &org.org_admin, json!({ "name": "a" })).await;
        said.problem(400, "unknownParameter");
        app
    });
}
