//! Signing keys: rotated while the server runs, and wrapped with a key from outside the store.

use std::process::Command;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use serde_json::{Value, json};
use waypost::app::Application;
use waypost::clock::Clock;
use waypost::config::{AdminListen, Secret, Settings};
use waypost::store::open::{Location, Options, open};
use waypost_test_support::eventually;

use crate::harness::{App, PASSWORD, ROOT, on_each_engine, text};

const PATIENCE: Duration = Duration::from_secs(60);

/// `waypost keys rotate`, beside the running server, with a master key or none.
fn rotated(app: &App, master: Option<&str>) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waypost"));
    command.env_clear().current_dir(&app.context.settings.data_dir).args(["keys", "rotate"]);
    command.envs(master.map(|key| ("WAYPOST_MASTER_KEY", key)));
    match &app.context.settings.database_url {
        Some(url) => command.env("DATABASE_URL", url.reveal()),
        None => command.arg("--data-dir").arg(&app.context.settings.data_dir),
    };
    let done = command.output().unwrap();
    (done.status.success(), String::from_utf8([done.stdout, done.stderr].concat()).unwrap())
}

/// `waypost keys rotate`, beside the running server.
fn rotate(app: &App, more: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waypost"));
    command.env_clear().current_dir(&app.context.settings.data_dir).args(["keys", "rotate"]).args(more);
    match &app.context.settings.database_url {
        Some(url) => command.env("DATABASE_URL", url.reveal()),
        None => command.arg("--data-dir").arg(&app.context.settings.data_dir),
    };
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

async fn sign_in(app: &App) -> Value {
    app.post("/v1/auth/login", "", json!({ "email": ROOT, "password": PASSWORD })).await.ok(200)
}

/// The name of the key that signed a token.
fn kid(token: &str) -> String {
    let header = BASE64.decode(token.split('.').next().unwrap()).unwrap();
    text(&serde_json::from_slice::<Value>(&header).unwrap()["kid"])
}

#[test]
fn keys_are_rotated_beside_a_running_server_and_nobody_is_signed_out() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let page = format!("/v1/audit?organizationId={}&limit=1", org.id);
        let cursor = text(&app.get(&page, &app.root).await.ok(200)["pagination"]["endCursor"]);
        let session = sign_in(&app).await;
        let old = text(&session["accessToken"]);
        rotate(&app, &[]);
        let new = eventually(PATIENCE, || async {
            let token = text(&sign_in(&app).await["accessToken"]);
            (kid(&token) != kid(&old)).then_some(token)
        })
        .await;
        for token in [&old, &new] {
            app.get("/v1/auth/me", token).await.ok(200);
        }
        app.get(&format!("{page}&after={cursor}"), &old).await.ok(200);

        // A leaked key is useless at once; its sessions continue with a new token.
        rotate(&app, &["--at-once"]);
        eventually(PATIENCE, || async { app.get("/v1/auth/me", &old).await.status == 401 }).await;
        app.get("/v1/auth/me", &new).await.problem(401, "unauthenticated");
        let refresh = json!({ "refreshToken": session["refreshToken"] });
        let newest = text(&app.post("/v1/auth/refresh", "", refresh).await.ok(200)["accessToken"]);
        app.get("/v1/auth/me", &newest).await.ok(200);
        app.get(&format!("{page}&after={cursor}"), &newest).await.problem(400, "invalidCursor");
        app
    });
}

#[test]
fn a_master_key_that_does_not_read_what_is_stored_is_refused() {
    on_each_engine(async |app| {
        let stored = async || {
            let rows: Vec<(String, Vec<u8>)> = app
                .context
                .db
                .read()
                .sql("select kid, secret from signing_key order by kid")
                .all()
                .await
                .unwrap();
            rows
        };
        let (is_done, told) = rotated(&app, Some("a key of more than thirty-two characters"));
        assert!(is_done, "{told}");
        let before = stored().await;
        for (other, why) in [
            (Some("another key of more than thirty-two characters"), "wrapped with another key"),
            (None, "neither masterKey nor masterKeyFile is set"),
        ] {
            let (is_done, told) = rotated(&app, other);
            assert!(!is_done && told.contains(why), "{told}");
        }
        assert_eq!(stored().await, before);
        app
    });
}

#[test]
fn a_copy_of_the_store_signs_nobody_in_where_its_keys_are_wrapped() {
    actix_rt::System::new().block_on(async {
        let directory = tempfile::tempdir().unwrap();
        let start = async |master: Option<&str>| {
            let settings = Settings {
                listen: "127.0.0.1:0".parse().unwrap(),
                admin_listen: AdminListen::Off,
                data_dir: directory.path().to_owned(),
                master_key: master.map(|key| Secret::new(key.to_owned())),
                ..Settings::default()
            };
            let application = Application::build(settings, Clock::system()).await?;
            application.run(async {}).await.map(drop)
        };
        let stored = async || {
            let db = open(&Options::new(Location::Embedded(directory.path().to_owned()))).await.unwrap();
            let row: (Vec<u8>, bool) =
                db.read().sql("select secret, wrapped from signing_key").one().await.unwrap();
            db.close().await;
            row
        };
        start(None).await.unwrap();
        let (clear, is_wrapped) = stored().await;
        assert!(clear.len() == 32 && !is_wrapped);
        // Once there is a key to wrap with, what was in clear is wrapped.
        let master = "a key of more than thirty-two characters";
        start(Some(master)).await.unwrap();
        let (wrapped, is_wrapped) = stored().await;
        assert!(is_wrapped && !wrapped.windows(8).any(|part| clear.windows(8).any(|clear| clear == part)));
        start(Some(master)).await.unwrap();
        assert_eq!(stored().await.0, wrapped);
        for other in [None, Some("another key of more than thirty-two characters")] {
            let refused = start(other).await.unwrap_err().to_string();
            assert!(refused.contains("waypost keys rotate --at-once"), "{refused}");
        }
        let refused = start(Some("short")).await.unwrap_err().to_string();
        assert!(refused.contains("openssl rand"), "{refused}");
    });
}
