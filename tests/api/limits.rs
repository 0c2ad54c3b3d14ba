//! Rate limits: what each client is counted as, and what an answer shows.

use std::time::Duration;

use serde_json::json;
use waypost::clock::new_id;
use waypost::config::{Rate, Secret};
use waypost::domain::account::Role;

use crate::api_keys::new_key;
use crate::event_stream::Stream;
use crate::harness::{App, PASSWORD, ROOT, Said, text};
use crate::inputs::vehicle;

fn hourly(count: u32) -> Option<Rate> {
    Some(Rate { count, per: Duration::from_secs(3600) })
}

async fn server(set: impl FnOnce(&mut waypost::config::Settings)) -> App {
    App::start_with(|settings| {
        settings.admin_email = Some(ROOT.into());
        settings.admin_password = Some(Secret::new(PASSWORD.into()));
        set(settings);
    })
    .await
}

#[test]
fn sign_ins_are_counted_by_address_and_told() {
    actix_rt::System::new().block_on(async {
        let app = server(|settings| {
            settings.rate_limit_sign_in = hourly(3);
            settings.client_address_header = Some("X-Forwarded-For".into());
        })
        .await;
        let body = json!({ "email": ROOT, "password": PASSWORD }).to_string();
        let login = async |from: &str| {
            let headers = [("content-type", "application/json"), ("x-forwarded-for", from)];
            app.send("POST", "/v1/auth/login", &headers, body.clone()).await
        };
        for left in ["2", "1", "0"] {
            let said = login("10.0.0.9, 192.0.2.1").await;
            assert_eq!(said.header("ratelimit-policy"), Some("\"signIn\";q=3;w=3600"));
            assert!(said.header("ratelimit").unwrap().starts_with(&format!("\"signIn\";r={left};t=")));
            said.ok(200);
        }
        let refused = login("10.0.0.8, 192.0.2.1").await;
        let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=1200).contains(&wait), "{wait}");
        assert!(refused.header("ratelimit").unwrap().starts_with("\"signIn\";r=0;t="));
        assert_eq!(
            refused.problem(429, "tooManyRequests")["detail"],
            "signIn allows 3 requests in 3600 seconds"
        );
        login("192.0.2.2").await.ok(200);
        app.get("/healthz", "").await.ok(200);
        app.stop().await;
    });
}

#[test]
fn what_hashes_or_writes_letters_is_counted_as_a_sign_in_by_account() {
    actix_rt::System::new().block_on(async {
        let mut app = server(|settings| settings.rate_limit_sign_in = hourly(3)).await;
        let login = json!({ "email": ROOT, "password": PASSWORD });
        app.root = text(&app.post("/v1/auth/login", "", login).await.ok(200)["accessToken"]);
        let user = format!("/v1/users/{}", new_id());
        let program = format!("/v1/system-users/{}", new_id());
        app.put(&program, &app.root, json!({ "password": PASSWORD })).await.problem(404, "notFound");
        app.put(&user, &app.root, json!({})).await.problem(404, "notFound");
        app.post("/v1/users", &app.root, json!({})).await.problem(422, "validationFailed");
        let said = app.post("/v1/system-users", &app.root, json!({})).await;
        said.problem(429, "tooManyRequests");
        app.get("/v1/users", &app.root).await.ok(200);
        app.stop().await;
    });
}

#[test]
fn callers_are_counted_each_and_those_without_a_token_by_address() {
    actix_rt::System::new().block_on(async {
        let app = server(|settings| settings.rate_limit = hourly(4)).await;
        let sign_in = async || {
            let account = app.account(Role::SuperAdmin, None).await;
            let link = app.context.auth.sign_in_link(account).await.unwrap();
            let signed_in = app.context.auth.redeem_sign_in_link(&link).await.unwrap();
            signed_in.access_token
        };
        let (one, two) = (sign_in().await, sign_in().await);
        for _ in 0..4 {
            app.get("/v1/auth/me", &one).await.ok(200);
        }
        app.get("/v1/auth/me", &one).await.problem(429, "tooManyRequests");
        app.get("/v1/auth/me", &two).await.ok(200);
        for _ in 0..4 {
            app.get("/v1/auth/me", "nonsense").await.problem(401, "unauthenticated");
        }
        app.get("/v1/auth/me", "nonsense").await.problem(429, "tooManyRequests");
        // A refusal would end it for good.
        let (status, mut stream) = Stream::open(&app, "", &[]).await;
        let wait: u64 = stream.line().await.strip_prefix("retry: ").unwrap().parse().unwrap();
        let (_, _, said) = stream.hear(&["problem"]).await;
        assert_eq!((status, &said["code"]), (200, &json!("tooManyRequests")));
        assert!((3_000..=5_400_000).contains(&wait), "{wait}");
        app.stop().await;
    });
}

/// Another one each time.
fn made_up(prefix: &str) -> String {
    format!("{prefix}{}", new_id().simple())
}

/// A report by a tracker or a key from an address.
async fn report_from(app: &App, address: &str, token: &str) -> Said {
    let bearer = format!("Bearer {token}");
    let headers = [
        ("content-type", "application/json"),
        ("authorization", bearer.as_str()),
        ("x-forwarded-for", address),
    ];
    app.send("POST", "/v1/positions", &headers, r#"{"items":[]}"#).await
}

#[test]
fn made_up_credentials_are_counted_by_address_wherever_they_come() {
    let unknown = [(401, "invalidToken"), (429, "tooManyRequests")];
    let unknown_key = [(401, "unauthenticated"), (429, "tooManyRequests")];
    // Some apps delete on a 4xx.
    let unknown_there = [(401, "invalidToken"), (503, "busy")];
    let ways = [
        ("POST", "/v1/positions", "wpt_", unknown),
        ("POST", "/v1/positions", "wpk_", unknown_key),
        ("GET", "/v1/ws/tracker", "wpt_", unknown),
        ("GET", "/v1/auth/me", "wpk_", unknown_key),
        ("GET", "/in?lat=1&lon=2", "wpt_", unknown_there),
    ];
    actix_rt::System::new().block_on(async {
        for (method, path, prefix, [first, then]) in ways {
            let app = server(|settings| {
                settings.rate_limit = hourly(3);
                settings.client_address_header = Some("X-Forwarded-For".into());
            })
            .await;
            for (status, code) in [first, first, first, then, then] {
                let bearer = format!("Bearer {}", made_up(prefix));
                let said = app.send(method, path, &[("authorization", &bearer)], "").await;
                said.problem(status, code);
                let wait = said.header("retry-after").map(|wait| wait.parse::<u64>().unwrap());
                let is_told = wait.is_some_and(|wait| (1..=1200).contains(&wait));
                assert_eq!(is_told, status != 401, "{path}: {wait:?}");
            }
            report_from(&app, "192.0.2.1", &made_up("wpt_")).await.problem(401, "invalidToken");
            app.stop().await;
        }
    });
}

#[test]
fn a_fleet_is_served_beside_those_who_guess_at_its_address() {
    actix_rt::System::new().block_on(async {
        let mut app = server(|settings| {
            settings.rate_limit = hourly(8);
            settings.client_address_header = Some("X-Forwarded-For".into());
        })
        .await;
        let operator = app.account(Role::SuperAdmin, None).await;
        app.root = app.sign_in(operator).await;
        let org = app.org("fleet").await;
        let (_, token) = vehicle(&app, &org, "one").await;
        let (_, asleep) = vehicle(&app, &org, "two").await;
        let (_, _, key) = new_key(&app, &org, &["positions:ingest", "vehicles:read"]).await;
        let here = "192.0.2.1";
        // Good credentials count for nothing there, however many requests they make.
        for _ in 0..10 {
            report_from(&app, here, &token).await.ok(200);
        }
        let list = async |key: &str| {
            let bearer = format!("Bearer {key}");
            let headers = [("authorization", bearer.as_str()), ("x-forwarded-for", here)];
            app.send("GET", "/v1/vehicles", &headers, "").await
        };
        list(&key).await.ok(200);
        for _ in 0..8 {
            report_from(&app, here, &made_up("wpt_")).await.problem(401, "invalidToken");
        }
        report_from(&app, here, &made_up("wpt_")).await.problem(429, "tooManyRequests");
        // Who was known goes on, also after a change, and so does who is signed in; nobody else is looked up.
        report_from(&app, here, &token).await.ok(200);
        list(&key).await.ok(200);
        list(&org.viewer).await.ok(200);
        vehicle(&app, &org, "three").await;
        report_from(&app, here, &token).await.ok(200);
        report_from(&app, here, &asleep).await.problem(429, "tooManyRequests");
        report_from(&app, "192.0.2.2", &asleep).await.ok(200);
        report_from(&app, here, &asleep).await.ok(200);
        app.stop().await;
    });
}

#[test]
fn processes_share_their_counts_through_redis_and_count_alone_without_it() {
    let Some(redis) = waypost_test_support::redis() else { return println!("skipped: not installed") };
    actix_rt::System::new().block_on(async {
        let url = redis.url();
        let set = |settings: &mut waypost::config::Settings| {
            settings.rate_limit_sign_in = hourly(2);
            settings.redis_url = Some(Secret::new(url.clone()));
        };
        let (here, there) = (server(set).await, server(set).await);
        let body = json!({ "email": ROOT, "password": PASSWORD });
        let left = async |app: &App| {
            let said = app.post("/v1/auth/login", "", body.clone()).await;
            (said.status, text(&json!(said.header("ratelimit"))))
        };
        assert!(left(&here).await.1.starts_with("\"signIn\";r=1;"));
        assert!(left(&there).await.1.starts_with("\"signIn\";r=0;"));
        assert_eq!((left(&here).await.0, left(&there).await.0), (429, 429));
        here.stop().await;
        there.stop().await;

        // Nothing listens there: the process counts for itself.
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let alone = server(|settings| {
            settings.rate_limit_sign_in = hourly(1);
            settings.redis_url = Some(Secret::new(format!("redis://{nobody}")));
        })
        .await;
        assert_eq!((left(&alone).await.0, left(&alone).await.0), (200, 429));
        alone.stop().await;
    });
}
