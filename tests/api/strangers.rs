//! What a request may cost: every route of the table under each kind of abuse, while a tracker reports.

use std::cell::Cell;
use std::io::Write;
use std::rc::Rc;
use std::sync::LazyLock;

use futures_util::future::join_all;
use serde_json::{Value, json};
use waypost::domain::account::Role;
use waypost::http::code::Code;
use waypost::http::route::{Access, Route, SMALL_BYTES};
use waypost::http::routes::TABLE;
use waypost::store::open::Location;
use waypost_client::socket;
use waypost_test_support::{Launch, Program, eventually};

use crate::bare::{Answer, DEADLINE, exchange, post, request};
use crate::harness::{App, PASSWORD, ROOT, circle, on_each_engine, organization, text, with_app};
use crate::sockets::{hear, opened, say};

/// What all of it together may add to the memory of a debug build; without bounds it would be gigabytes.
const MORE_MEMORY: u64 = 96 << 20;
/// The size that the bombs unpack to: more than any route takes.
const UNPACKED: usize = 20 << 20;

/// Most bytes of a body that is as large as its route takes.
const MOST_SENT: usize = 4 << 20;

type BodyOf = Box<dyn Fn(&Route) -> Vec<u8>>;

/// What is wrong with a request, and the answer of a route that reads a body.
struct Abuse {
    name: &'static str,
    headers: Vec<(&'static str, String)>,
    body: BodyOf,
    query: String,
    answers: &'static [Code],
}

fn abuse(
    name: &'static str,
    headers: &[(&'static str, &str)],
    body: Vec<u8>,
    query: &str,
    answers: &'static [Code],
) -> Abuse {
    Abuse {
        name,
        headers: headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
        body: Box::new(move |_| body.clone()),
        query: query.to_owned(),
        answers,
    }
}

/// Bodies as large as a route takes: objects where only a scalar is looked for, and names without a value.
fn full_bodies() -> [Abuse; 2] {
    let nested: &[Code] = &[
        Code::ValidationFailed,
        Code::NotFound,
        Code::OrganizationRequired,
        Code::PayloadTooLarge,
        Code::Busy,
    ];
    let fields: &[Code] = &[Code::MalformedJson, Code::Busy];
    [
        Abuse {
            body: Box::new(|route| {
                let many = "{\"\":0},".repeat(route.body_bytes.min(MOST_SENT) / 7 - 20);
                format!("[{{\"ident\":\"imei-1\",\"position.latitude\":[{many}0]}}]").into_bytes()
            }),
            ..abuse("nested", &[], Vec::new(), "", nested)
        },
        Abuse {
            body: Box::new(|route| "a&".repeat(route.body_bytes.min(MOST_SENT) / 2).into_bytes()),
            ..abuse("fields", &[], Vec::new(), "", fields)
        },
    ]
}

fn abuses() -> Vec<Abuse> {
    let plain = vec![b' '; UNPACKED];
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&plain).unwrap();
    let mut br = Vec::new();
    let params = brotli::enc::BrotliEncoderParams { quality: 1, lgwin: 22, ..Default::default() };
    brotli::BrotliCompress(&mut &plain[..], &mut br, &params).unwrap();
    let zstd = zstd::encode_all(&plain[..], 1).unwrap();
    let bomb = |coding: &'static str, body| {
        let answers: &[Code] = &[Code::PayloadTooLarge, Code::UnsupportedMediaType];
        abuse(coding, &[("content-encoding", coding)], body, "", answers)
    };
    let controls = json!({ "email": "a\u{0}@b.c", "password": "p\u{0}", "name": "\u{1}", "type": "FeatureCollection",
        "features": [], "items": [{ "uniqueId": "\u{0}" }] });
    vec![
        // First, because it is cheap: it loads into memory what every request needs.
        abuse(
            "coded",
            &[("content-encoding", "compress")],
            b"{}".to_vec(),
            "",
            &[Code::UnsupportedMediaType],
        ),
        bomb("gzip", gzip.finish().unwrap()),
        bomb("br", br),
        bomb("zstd", zstd),
        abuse("announced", &[("content-length", "16777217")], Vec::new(), "", &[Code::PayloadTooLarge]),
        Abuse {
            body: Box::new(|route: &Route| {
                let piece = format!("1000\r\n{}\r\n", " ".repeat(4096));
                piece.repeat(route.body_bytes / 4096 + 1).into_bytes()
            }),
            ..abuse("endless", &[("transfer-encoding", "chunked")], Vec::new(), "", &[Code::PayloadTooLarge])
        },
        abuse(
            "deep",
            &[],
            "[".repeat(60_000).into_bytes(),
            "",
            &[Code::MalformedJson, Code::ValidationFailed],
        ),
        abuse(
            "many",
            &[],
            format!("[{}0]", "{\"\":0},".repeat(9000)).into_bytes(),
            "",
            &[Code::ValidationFailed, Code::NotFound, Code::OrganizationRequired],
        ),
        abuse("controls", &[], controls.to_string().into_bytes(), "", &[Code::ValidationFailed]),
        abuse("queried", &[], b"{}".to_vec(), "q=%00", &[Code::InvalidParameter]),
        abuse("long", &[], b"{}".to_vec(), &"a&".repeat(9000), &[Code::UriTooLong]),
        abuse("slow", &[("content-length", "100")], b"{".to_vec(), "", &[Code::RequestTimeout]),
        abuse(
            "dripping",
            &[("transfer-encoding", "chunked")],
            b"1\r\n{\r\n".to_vec(),
            "",
            &[Code::RequestTimeout],
        ),
    ]
}

/// Whether the description says that a route reads a body; forms of pages do too.
fn reads_json(route: &Route) -> bool {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(waypost::http::routes::document);
    let at = format!("/paths/{}/{}/requestBody", route.path.replace('/', "~1"), route.method.to_lowercase());
    DOCUMENT.pointer(&at).is_some()
}

#[test]
fn every_route_bounds_what_a_request_costs_while_a_tracker_reports() {
    actix_rt::System::new().block_on(async {
        let directory = tempfile::tempdir().unwrap();
        let mut launch =
            Launch::new(env!("CARGO_BIN_EXE_waypost"), Location::Embedded(directory.path().into()));
        // Or freed bodies of each thread would be measured too, as long as the allocator keeps them.
        launch.settings.push(("MIMALLOC_PURGE_DELAY".to_owned(), "0".to_owned()));
        let server = Program::start(&launch).await;
        let address = server.url().strip_prefix("http://").unwrap().to_owned();
        let root = post(&address, "/v1/auth/login", "", json!({ "email": ROOT, "password": PASSWORD })).await;
        let root = text(&root["accessToken"]);
        let made = post(&address, "/v1/organizations", &root, organization("abused")).await;
        let id = text(&made["id"]);
        let bearer = format!("Bearer {root}");
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        exchange(&address, &request("PUT", &format!("/v1/organizations/activate/{id}"), &headers, b"{}"))
            .await;
        let bus = json!({ "name": "Bus", "organizationId": id, "tracker": { "uniqueId": "imei-1" } });
        let token = text(&post(&address, "/v1/vehicles", &root, bus).await["tracker"]["token"]);
        let tracker = format!("Bearer {token}");
        let acknowledged = Rc::new(Cell::new(0));
        let reporting = actix_rt::spawn(report(server.url(), token, Rc::clone(&acknowledged)));
        let go_on = async |from: u64| {
            eventually(DEADLINE, || async { acknowledged.get() > from }).await;
        };
        go_on(10).await;
        let (mut before, mut wrong) = (None, Vec::new());
        for abuse in abuses().into_iter().chain(full_bodies()) {
            let (address, abuse, tracker, of_root) = (&address, &abuse, &tracker, &bearer);
            let asked = TABLE.iter().map(|route| async move {
                let mut headers = vec![("content-type", "application/json")];
                match route.access {
                    Access::Open | Access::Either(_) => {}
                    Access::Tracker => headers.push(("authorization", tracker)),
                    Access::SignedIn | Access::May(_) | Access::OneselfOr(_) => {
                        headers.push(("authorization", of_root))
                    }
                }
                headers.extend(abuse.headers.iter().map(|(name, value)| (*name, value.as_str())));
                let filled = |part: &'static str| {
                    if part.starts_with('{') { "01a1faea-5ddc-7008-8434-f2bff1d0b5a1" } else { part }
                };
                let path = route.path.split('/').map(filled).collect::<Vec<_>>().join("/");
                let target = if abuse.query.is_empty() { path } else { format!("{path}?{}", abuse.query) };
                let bytes = request(route.method, &target, &headers, &(abuse.body)(route));
                (route, exchange(address, &bytes).await)
            });
            let acknowledged_before = acknowledged.get();
            for (route, answer) in join_all(asked).await {
                if let Some(fault) = fault(abuse, route, &answer) {
                    let Route { method, path, .. } = route;
                    wrong.push(format!(
                        "{}: {method} {path}: {fault}: {} {}",
                        abuse.name, answer.status, answer.body
                    ));
                }
            }
            go_on(acknowledged_before).await;
            let before = *before.get_or_insert_with(|| server.most_resident_bytes());
            let more = server.most_resident_bytes() - before;
            assert!(more <= MORE_MEMORY, "{} MiB more after {}", more >> 20, abuse.name);
        }
        assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
        reporting.abort();
    });
}

/// Why an answer is not as it should be.
fn fault(abuse: &Abuse, route: &Route, answer: &Answer) -> Option<&'static str> {
    let code = answer.body["code"].as_str().and_then(Code::from_word);
    // A file may hold any bytes: those that only JSON suffers from come to what the rest of the request deserves.
    let is_harmless = route.path.ends_with("/file") && ["deep", "controls", "fields"].contains(&abuse.name);
    if reads_json(route) && !is_harmless {
        let as_root = route.path != "/v1/positions" || abuse.name != "controls";
        let is_expected = code.is_some_and(|code| abuse.answers.contains(&code));
        return (as_root && !is_expected).then_some("not what the abuse deserves");
    }
    if answer.status < 400 || answer.head.contains("content-type: text/html") {
        return None;
    }
    let is_documented = code.is_some_and(|code| code.status() == answer.status)
        && answer.head.contains("content-type: application/problem+json");
    (!is_documented).then_some("no documented problem")
}

/// Reports positions one after the other and counts their acknowledgements.
async fn report(server: String, token: String, acknowledged: Rc<Cell<u64>>) {
    let mut socket = socket::open(socket::tracker(&server, &token), DEADLINE).await.unwrap();
    for seq in 1_u64.. {
        let now = waypost_actors::clock::now().as_micros() / 1000;
        let item = json!({ "seq": seq, "recordedAt": now, "latitude": 30.25, "longitude": -97.75 });
        let frame = json!({ "type": "positions", "items": [item] });
        say(&mut socket, &frame).await;
        loop {
            let said = hear(&mut socket).await;
            if said["type"] == "ack" {
                assert_eq!((&said["seq"], &said["rejected"]), (&json!(seq), &json!([])), "{said}");
                break;
            }
        }
        acknowledged.set(seq);
    }
}

#[test]
fn permission_comes_before_the_body() {
    with_app(async |app| {
        let org = app.org("asked").await;
        let address = app.url.strip_prefix("http://").unwrap();
        let bearer = format!("Bearer {}", org.viewer);
        let mut asked = 0;
        for route in TABLE.iter().filter(|route| ["POST", "PUT"].contains(&route.method)) {
            let (Access::May(action) | Access::OneselfOr(action) | Access::Either(action)) = route.access
            else {
                continue;
            };
            assert!(!action.allows(Role::Viewer), "{} {}", route.method, route.path);
            asked += 1;
            // The whole body is still to come: only the head can have been looked at.
            let headers =
                [("authorization", bearer.as_str()), ("content-length", "1000"), ("idempotency-key", "k")];
            let path = route.path.replace(['{', '}'], "");
            let answer = exchange(address, &request(route.method, &path, &headers, b"")).await;
            assert_eq!(answer.body["code"], "forbidden", "{} {path}: {}", route.method, answer.body);
        }
        assert!(asked > 15, "{asked}");
        // On the other routes the sender is unknown, or the permission depends on the object: their bodies are
        // small.
        for route in TABLE.iter().filter(|route| !matches!(route.access, Access::May(_) | Access::Tracker)) {
            assert!(route.body_bytes <= SMALL_BYTES, "{} {}", route.method, route.path);
        }
        app
    });
}

#[test]
fn a_key_is_the_strangers_own_and_lifts_no_limit() {
    actix_rt::System::new().block_on(async {
        let app = App::start_with(|settings| {
            settings.client_address_header = Some("X-Forwarded-For".into());
        })
        .await;
        let sign_up = async |from: &str, name: &str| {
            let headers =
                [("content-type", "application/json"), ("idempotency-key", "1"), ("x-forwarded-for", from)];
            app.send("POST", "/v1/organizations", &headers, organization(name).to_string()).await
        };
        let first = sign_up("192.0.2.1:4711", "one").await.ok(201);
        assert_eq!(sign_up("192.0.2.1:4712", "one").await.ok(201), first);
        sign_up("192.0.2.1", "two").await.problem(422, "idempotencyKeyReused");
        sign_up("[2001:db8::1]:4711", "two").await.ok(201);
        let headers = [("content-type", "application/json"), ("idempotency-key", "2")];
        let large = format!("\"{}\"", "x".repeat(64 << 10));
        app.send("POST", "/v1/organizations", &headers, large).await.problem(413, "payloadTooLarge");
        app.stop().await;
    });
}

#[test]
fn who_may_no_longer_is_not_told_again() {
    with_app(async |app| {
        let org = app.org("demoting").await;
        let account = app.account(Role::OrgAdmin, Some(&org.id)).await;
        let token = app.sign_in(account).await;
        let bearer = format!("Bearer {token}");
        let headers = [
            ("content-type", "application/json"),
            ("idempotency-key", "1"),
            ("authorization", bearer.as_str()),
        ];
        let make =
            async || app.send("POST", "/v1/trackers", &headers, json!({ "uniqueId": "i" }).to_string()).await;
        make().await.ok(201);
        assert_eq!(make().await.header("idempotency-replayed"), Some("true"));
        app.put(&format!("/v1/users/{account}"), &org.org_admin, json!({ "role": "viewer" })).await.ok(200);
        let again = make().await;
        again.problem(403, "forbidden");
        assert_eq!(again.header("idempotency-replayed"), None);
        app
    });
}

#[test]
fn a_control_character_costs_the_item_that_has_it() {
    on_each_engine(async |app| {
        let org = app.org("controlled").await;
        let body = json!({ "name": "Bus", "tracker": { "uniqueId": "imei-1" } });
        app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
        let (_, token) = app.system_user(&org.org_admin, &["positions:ingest"]).await;
        let item = |seq: i64, name: &str| {
            let recorded_at = format!("2026-05-01T12:00:{seq:02}Z");
            json!({ "seq": seq, "uniqueId": name, "recordedAt": recorded_at, "latitude": 30.25, "longitude": -97.75 })
        };
        let body = json!({ "items": [item(1, "u\u{0}"), item(2, "imei-1")] });
        let said = app.post("/v1/positions", &token, body).await.ok(200);
        assert_eq!((&said["accepted"], &said["rejected"][0]["seq"]), (&json!(1), &json!(1)), "{said}");
        assert_eq!(said["rejected"][0]["code"], "unknownTracker", "{said}");
        let mut socket = opened(&app, "/v1/ws/tracker", &token).await.unwrap();
        let items = [item(3, "\u{0}"), item(4, "imei-1"), item(5, "imei-1\u{1}")];
        say(&mut socket, &json!({ "type": "positions", "items": items })).await;
        let ack = hear(&mut socket).await;
        let refused: Vec<_> = ack["rejected"].as_array().unwrap().iter().map(|one| &one["code"]).collect();
        assert_eq!((&ack["type"], &ack["stored"]), (&json!("ack"), &json!(1)), "{ack}");
        assert_eq!(refused, ["unknownTracker"; 2]);
        let login = json!({ "email": "a\u{0}@b.c", "password": PASSWORD });
        for path in ["/v1/auth/login", "/v1/system-users/login"] {
            let refused = app.post(path, "", login.clone()).await;
            refused.problem(422, "validationFailed");
            assert_eq!(refused.pointers(), ["/email"]);
        }
        let refused = app.get("/v1/vehicles?q=%00", &org.viewer).await;
        refused.problem(400, "invalidParameter");
        assert_eq!(refused.pointers(), ["?q"]);
        app
    });
}

#[test]
fn large_geofences_still_come_in() {
    with_app(async |app| {
        let org = app.org("large").await;
        let ring: Vec<Value> = (0..8_000)
            .map(|i| f64::from(i) / 8_000.0 * std::f64::consts::TAU)
            .map(|angle| json!([10.0 + angle.cos(), 50.0 + angle.sin()]))
            .collect();
        let closed: Vec<Value> = ring.iter().chain(&ring[..1]).cloned().collect();
        let feature = json!({ "type": "Feature", "properties": { "name": "Large" },
            "geometry": { "type": "Polygon", "coordinates": [closed] } });
        let bearer = format!("Bearer {}", org.org_admin);
        for (coding, packed) in [
            ("identity", feature.to_string().into_bytes()),
            ("zstd", zstd::encode_all(feature.to_string().as_bytes(), 1).unwrap()),
        ] {
            let headers = [
                ("content-type", "application/geo+json"),
                ("content-encoding", coding),
                ("authorization", bearer.as_str()),
            ];
            app.send("POST", "/v1/geofences", &headers, packed).await.ok(201);
        }
        app.post("/v1/geofences", &org.org_admin, circle("Small")).await.ok(201);
        app
    });
}
