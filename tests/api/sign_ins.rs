//! Failed sign-ins: who has to wait, who never has to, and what the audit remembers of it.

use std::cell::Cell;
use std::time::Duration;

use futures_util::future::{join_all, join3};
use serde_json::{Value, json};
use waypost::auth::{AuthError, Peer};
use waypost::config::Secret;
use waypost::domain::account::Role;
use waypost::store::sign_in_attempt::{self, ALL, ALL_FAILURES};
use waypost_test_support::eventually;

use crate::harness::{ANSWER_WITHIN, App, PASSWORD, ROOT, Said, on_each_engine, text, with_app};

async fn login_from(app: &App, address: &str, password: &str) -> Said {
    let headers = [("content-type", "application/json"), ("x-forwarded-for", address)];
    let body = json!({ "email": ROOT, "password": password }).to_string();
    app.send("POST", "/v1/auth/login", &headers, body).await
}

/// With an account of [`ROOT`], and clients of any address.
async fn behind_a_proxy() -> App {
    App::start_with(|settings| {
        settings.admin_email = Some(ROOT.into());
        settings.admin_password = Some(Secret::new(PASSWORD.into()));
        settings.client_address_header = Some("X-Forwarded-For".into());
    })
    .await
}

#[test]
fn others_failures_keep_nobody_out() {
    actix_rt::System::new().block_on(async {
        let app = behind_a_proxy().await;
        let (owner, stranger) = ("192.0.2.1", "198.51.100.1");
        login_from(&app, owner, PASSWORD).await.ok(200);
        for _ in 0..5 {
            login_from(&app, stranger, "wrong").await.problem(401, "invalidCredentials");
        }
        login_from(&app, stranger, PASSWORD).await.problem(429, "tooManyAttempts");
        login_from(&app, owner, PASSWORD).await.ok(200);
        login_from(&app, "192.0.2.2", PASSWORD).await.ok(200);

        // Guesses from everywhere: clients that the account does not know have to wait, and only they.
        let now = app.context.clock.now();
        for _ in 0..ALL_FAILURES {
            let ends_at = now.plus_seconds(900.0).into();
            sign_in_attempt::count(&app.context.db, ROOT, ALL, now.into(), ends_at).await.unwrap();
        }
        login_from(&app, "203.0.113.1", PASSWORD).await.problem(429, "tooManyAttempts");
        login_from(&app, owner, PASSWORD).await.ok(200);
        app.pass(901);
        login_from(&app, "203.0.113.1", PASSWORD).await.ok(200);
        app.stop().await;
    });
}

#[test]
fn many_that_sign_in_at_the_same_moment_do_not_refuse_each_other() {
    actix_rt::System::new().block_on(async {
        let app = behind_a_proxy().await;
        let said = join_all((0..10).map(|_| login_from(&app, "192.0.2.1", PASSWORD))).await;
        assert!(said.iter().all(|said| said.status == 200), "{said:?}");
        let wrong = join_all((0..10).map(|_| login_from(&app, "192.0.2.1", "wrong"))).await;
        let of = |status: u16| wrong.iter().filter(|said| said.status == status).count();
        assert_eq!((of(401), of(429)), (5, 5), "{wrong:?}");
        app.stop().await;
    });
}

/// Else the time of the answer would tell whether there is an account. With the writer of SQLite taken, whoever writes waits.
#[test]
fn a_failed_sign_in_is_written_down_whether_or_not_there_is_an_account() {
    with_app(async |app| {
        let (auth, db) = (&app.context.auth, &app.context.db);
        let peer = Peer { address: "192.0.2.1".to_owned(), request_id: None };
        for email in [ROOT, "nobody@example.org"] {
            let is_counted = || async move {
                let counted = "select count(*) from login_attempt where email_key = $1";
                db.read().sql(counted).bind(email).scalar::<i64>().await.is_ok_and(|found| found == 2)
            };
            let is_answered = Cell::new(false);
            let failing = async {
                let said = auth.login(email, "wrong".to_owned(), &peer).await.map(drop);
                is_answered.set(true);
                assert!(matches!(said, Err(AuthError::InvalidCredentials)), "{said:?}");
            };
            // Before it in the line, so that its password is not checked yet when the writer is taken.
            let peer = &peer;
            let others = (0..20).map(|index| {
                let other = format!("{index}@example.org");
                async move { auth.login(&other, "wrong".to_owned(), peer).await.map(drop) }
            });
            let busy = async {
                eventually(ANSWER_WITHIN, is_counted).await;
                let writer = db.begin().await.unwrap();
                tokio::time::sleep(Duration::from_secs(3)).await;
                assert!(!is_answered.get(), "{email}: nothing is written down");
                drop(writer);
            };
            join3(join_all(others), failing, busy).await;
        }
        app
    });
}

#[test]
fn an_account_remembers_its_newest_addresses() {
    on_each_engine(async |app| {
        let (now, db) = (app.context.clock.now(), &app.context.db);
        for index in 0..25 {
            let mut tx = db.begin().await.unwrap();
            let at = now.plus_seconds(f64::from(index)).into();
            sign_in_attempt::succeeded(&mut tx, "ada", &format!("192.0.2.{index}"), at).await.unwrap();
            tx.commit().await.unwrap();
        }
        let known = async |address: &str| sign_in_attempt::is_known(db, "ada", address).await.unwrap();
        assert!(!known("192.0.2.4").await && known("192.0.2.5").await && known("192.0.2.24").await);
        let later = now.plus_seconds(10.0).into();
        sign_in_attempt::forget_old(db, later, later).await.unwrap();
        assert!(!known("192.0.2.9").await && known("192.0.2.10").await);
        app
    });
}

#[test]
fn what_becomes_of_sessions_is_audited_with_the_clients_address() {
    on_each_engine(async |app| {
        let org = app.org("careful").await;
        let (id, token) = app.system_user(&org.org_admin, &["vehicles:read"]).await;
        let email = text(&app.get("/v1/auth/me", &token).await.ok(200)["email"]);
        let login = async |password: &str| {
            app.post("/v1/system-users/login", "", json!({ "email": email, "password": password })).await
        };
        let refresh_token = text(&login(PASSWORD).await.ok(200)["refreshToken"]);
        let refresh = json!({ "refreshToken": refresh_token });
        app.post("/v1/auth/refresh", "", refresh.clone()).await.ok(200);
        app.pass(31);
        app.post("/v1/auth/refresh", "", refresh.clone()).await.problem(401, "invalidToken");
        app.post("/v1/auth/refresh", "", refresh).await.problem(401, "invalidToken");
        let leaving = json!({ "refreshToken": login(PASSWORD).await.ok(200)["refreshToken"] });
        app.post("/v1/auth/logout", "", leaving.clone()).await.ok(204);
        app.post("/v1/auth/logout", "", leaving).await.ok(204);
        for _ in 0..5 {
            login("wrong").await.problem(401, "invalidCredentials");
        }
        for _ in 0..3 {
            login(PASSWORD).await.problem(429, "tooManyAttempts");
        }
        let said = app.get(&format!("/v1/audit?resourceId={id}"), &org.org_admin).await.ok(200);
        let entries = said["data"].as_array().unwrap();
        let told: Vec<&str> = entries.iter().rev().filter_map(|entry| entry["action"].as_str()).collect();
        let first = ["create", "verifyEmail", "signIn", "signIn", "reuseToken", "signIn", "signOut"];
        assert_eq!(told[..7], first);
        assert_eq!(told[7..], [["signInFailed"; 5].as_slice(), &["signInRefused"]].concat());
        let address = |entry: &Value| entry["after"]["clientAddress"].clone();
        assert!(entries[..10].iter().all(|entry| address(entry) == "127.0.0.1"), "{entries:#?}");
        app
    });
}

#[test]
fn a_super_admin_sees_the_sign_ins_of_whoever_belongs_to_no_organization() {
    on_each_engine(async |app| {
        let org = app.org("apart").await;
        let admin = app.account(Role::Admin, None).await;
        let admin = app.sign_in(admin).await;
        app.post("/v1/auth/login", "", json!({ "email": ROOT, "password": "wrong" }))
            .await
            .problem(401, "invalidCredentials");
        let robot = json!({ "name": "Robot", "email": "robot@example.org", "password": PASSWORD });
        let robot = app.post("/v1/system-users", "", robot).await.ok(201);
        let told = app.get("/v1/audit?limit=2", &app.root).await.ok(200);
        let (made, failed) = (&told["data"][0], &told["data"][1]);
        assert_eq!((&made["action"], &made["resourceId"]), (&json!("create"), &robot["id"]));
        assert_eq!(
            (&failed["action"], &failed["after"]["clientAddress"]),
            (&json!("signInFailed"), &json!("127.0.0.1"))
        );
        let all = app.get("/v1/audit?limit=200", &app.root).await.ok(200);
        let entries = all["data"].as_array().unwrap();
        assert!(entries.iter().all(|entry| entry["organizationId"].is_null()), "{all}");
        // The next page is of the same list, and of no other.
        let cursor = text(&told["pagination"]["endCursor"]);
        let next = app.get(&format!("/v1/audit?limit=200&after={cursor}"), &app.root).await.ok(200);
        assert_eq!(next["data"].as_array().unwrap()[..], entries[2..]);
        let named = format!("/v1/audit?organizationId={}&after={cursor}", org.id);
        app.get(&named, &app.root).await.problem(400, "invalidCursor");
        app.get("/v1/audit", &admin).await.problem(422, "organizationRequired");
        let own = app.get("/v1/audit", &org.org_admin).await.ok(200);
        assert!(own["data"].as_array().unwrap().iter().all(|entry| entry["organizationId"] == json!(org.id)));
        app
    });
}
