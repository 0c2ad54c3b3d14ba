//! Rate limits: what each client is counted as, and what an answer shows.

use std::time::Duration;

use serde_json::json;
use waypost::config::{Rate, Secret};
use waypost::domain::account::Role;

use crate::event_stream::Stream;
use crate::harness::{App, PASSWORD, ROOT, text};

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
