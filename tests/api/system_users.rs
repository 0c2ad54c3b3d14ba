//! System users: sign-up, verification, sign-in, management, and what their scopes open.

use std::time::Instant;

use serde_json::{Value, json};
use waypost::config::SignUp;

use crate::harness::{App, PASSWORD, ROOT, Said, text, with_app};

const VERIFY: &str = "/v1/system-users/verify-email/";

fn sign_up(email: &str) -> Value {
    json!({ "name": "Robot", "email": email, "password": PASSWORD })
}

/// Signs up and verifies; returns the id.
async fn verified(app: &App, email: &str) -> String {
    let id = text(&app.post("/v1/system-users", "", sign_up(email)).await.ok(201)["id"]);
    let path = app.link(email, 1).await.replace("/verify/", VERIFY);
    app.post(&path, "", json!(null)).await.ok(200);
    id
}

async fn login(app: &App, email: &str, password: &str) -> Said {
    app.post("/v1/system-users/login", "", json!({ "email": email, "password": password })).await
}

#[test]
fn a_stranger_signs_up_verifies_and_signs_in() {
    with_app(async |app| {
        let made = app.post("/v1/system-users", "", sign_up("Robot@Example.org")).await;
        let user = made.ok(201);
        assert_eq!(made.header("location"), Some(format!("/v1/system-users/{}", text(&user["id"])).as_str()));
        assert_eq!((&user["status"], &user["scopes"]), (&json!("pendingVerification"), &json!([])));
        assert!(user.get("organizationId").is_none() && user.get("password").is_none());
        login(&app, "robot@example.org", PASSWORD).await.problem(403, "emailNotVerified");
        login(&app, "robot@example.org", "a wrong password").await.problem(401, "invalidCredentials");

        let path = app.link("Robot@Example.org", 1).await.replace("/verify/", VERIFY);
        assert_eq!(app.post(&path, "", json!(null)).await.ok(200)["status"], "verified");
        assert_eq!(app.post(&path, "", json!(null)).await.ok(200)["status"], "alreadyVerified");

        let session = login(&app, "robot@example.org", PASSWORD).await.ok(200);
        assert_eq!((&session["role"], &session["expiresIn"]), (&json!("system"), &json!(900)));
        let token = text(&session["accessToken"]);
        assert_eq!(app.get("/v1/auth/me", &token).await.ok(200)["id"], user["id"]);
        let itself = app.get(&format!("/v1/system-users/{}", text(&user["id"])), &token).await.ok(200);
        assert_eq!((&itself["status"], itself.get("emailVerifiedAt").is_some()), (&json!("active"), true));
        assert!(itself.get("lastLoginAt").is_some());
        // It belongs to no organization, which is not the same as to all of them.
        app.get("/v1/organizations", &token).await.problem(403, "noOrganization");
        app.get("/v1/vehicles", &token).await.problem(403, "forbidden");
        app
    });
}

#[test]
fn one_that_was_disabled_before_it_verified_its_address_is_not_told_to_be_active() {
    with_app(async |app| {
        let org = app.org("own").await;
        let mut body = sign_up("late@example.org");
        body["scopes"] = json!([]);
        let id = text(&app.post("/v1/system-users", &org.org_admin, body).await.ok(201)["id"]);
        let link = app.link("late@example.org", 1).await.replace("/verify/", VERIFY);
        let path = format!("/v1/system-users/{id}");
        app.put(&path, &org.org_admin, json!({ "status": "disabled" })).await.ok(200);
        app.post(&link, "", json!(null)).await.ok(200);
        assert_eq!(app.get(&path, &org.org_admin).await.ok(200)["status"], "disabled");
        let audit = format!("/v1/audit?resourceId={id}&action=verifyEmail");
        let told = app.get(&audit, &org.org_admin).await.ok(200);
        let after = &told["data"][0]["after"];
        assert!(after["emailVerifiedAt"].is_string() && after.get("status").is_none(), "{told}");
        app
    });
}

#[test]
fn a_sign_up_names_neither_scopes_nor_an_organization() {
    with_app(async |app| {
        let mut body = sign_up("greedy@example.org");
        body["scopes"] = json!(["drivers:read"]);
        body["organizationId"] = json!("00000000-0000-0000-0000-000000000000");
        body["password"] = json!("short");
        let said = app.post("/v1/system-users", "", body).await;
        said.problem(422, "validationFailed");
        assert_eq!(said.pointers(), ["/organizationId", "/scopes", "/password"]);
        app.post("/v1/system-users", "", sign_up("robot@example.org")).await.ok(201);
        app.post("/v1/system-users", "nonsense", sign_up("x@example.org"))
            .await
            .problem(401, "unauthenticated");
        app
    });
}

#[test]
fn sign_up_can_be_closed() {
    actix_rt::System::new().block_on(async {
        let app = App::start_with(|settings| settings.sign_up = SignUp::Closed).await;
        app.post("/v1/system-users", "", sign_up("robot@example.org")).await.problem(403, "signUpClosed");
        app.stop().await;
    });
}

#[test]
fn tokens_of_verification_expire_and_are_superseded() {
    with_app(async |app| {
        let path = |link: String| link.replace("/verify/", VERIFY);
        app.post("/v1/system-users", "", sign_up("robot@example.org")).await.ok(201);
        let first = path(app.link("robot@example.org", 1).await);
        app.post(&format!("{VERIFY}wpv_nonsense"), "", json!(null)).await.problem(404, "notFound");
        app.pass(61);
        let again = json!({ "email": " robot@EXAMPLE.org" });
        app.post("/v1/system-users/resend-verification", "", again.clone()).await.ok(202);
        let second = path(app.link("robot@example.org", 2).await);
        app.post(&first, "", json!(null)).await.problem(410, "linkExpired");
        app.pass(24 * 3600);
        app.post(&second, "", json!(null)).await.problem(410, "linkExpired");
        app.post("/v1/system-users/resend-verification", "", again).await.ok(202);
        let third = path(app.link("robot@example.org", 3).await);
        assert_eq!(app.post(&third, "", json!(null)).await.ok(200)["status"], "verified");
        app
    });
}

#[test]
fn of_two_uses_of_one_link_at_once_one_wins() {
    with_app(async |app| {
        for round in 0..10 {
            let email = format!("racer{round}@example.org");
            app.post("/v1/system-users", "", sign_up(&email)).await.ok(201);
            let path = app.link(&email, 1).await.replace("/verify/", VERIFY);
            let use_it = || app.post(&path, "", json!(null));
            let (one, two) = tokio::join!(use_it(), use_it());
            let mut said = [text(&one.ok(200)["status"]), text(&two.ok(200)["status"])];
            said.sort();
            assert_eq!(said, ["alreadyVerified", "verified"]);
        }
        app
    });
}

#[test]
fn asking_again_says_the_same_whether_the_address_is_known_or_not() {
    with_app(async |app| {
        app.post("/v1/system-users", "", sign_up("known@example.org")).await.ok(201);
        app.link("known@example.org", 1).await;
        app.pass(61);
        for route in ["/v1/system-users/resend-verification", "/v1/auth/forgot-password"] {
            let mut said = Vec::new();
            for email in ["known@example.org", "nobody@example.org", ROOT] {
                let started = Instant::now();
                let answer = app.post(route, "", json!({ "email": email })).await;
                println!("{route} {email}: {:?}", started.elapsed());
                answer.ok(202);
                said.push((answer.status, answer.bytes));
            }
            assert!(said.iter().all(|answer| *answer == said[0]));
            app.post(route, "", json!({ "email": "none" })).await.problem(422, "validationFailed");
        }
        // The letter that must come has come, so the ones before it had their turn.
        app.link("known@example.org", 2).await;
        app.link(ROOT, 1).await;
        assert!(app.mail.all("nobody@example.org").is_empty());
        app
    });
}

#[test]
fn letters_to_one_address_are_few() {
    with_app(async |app| {
        app.post("/v1/system-users", "", sign_up("often@example.org")).await.ok(201);
        app.link("often@example.org", 1).await;
        let ask = async |email: &str| {
            app.post("/v1/system-users/resend-verification", "", json!({ "email": email })).await.ok(202);
        };
        for number in 2..=5 {
            ask("often@example.org").await; // within a minute of the one before: it comes when that is over
            ask("often@example.org").await;
            let marker = format!("marker{number}@example.org");
            app.post("/v1/system-users", "", sign_up(&marker)).await.ok(201);
            app.link(&marker, 1).await;
            assert_eq!(app.mail.all("often@example.org").len(), number - 1);
            app.pass(61);
            app.context.mail.wake();
            app.link("often@example.org", number).await;
        }
        app.pass(61);
        ask("often@example.org").await; // the sixth within a day
        app.post("/v1/system-users", "", sign_up("last@example.org")).await.ok(201);
        app.link("last@example.org", 1).await;
        assert_eq!(app.mail.all("often@example.org").len(), 5);
        app
    });
}

#[test]
fn login_answers_alike_whether_the_system_user_exists_or_not() {
    with_app(async |app| {
        verified(&app, "robot@example.org").await;
        let mut bodies = Vec::new();
        for email in ["robot@example.org", "nobody@example.org"] {
            let started = Instant::now();
            let said = login(&app, email, "wrong").await;
            println!("{email}: {:?}", started.elapsed());
            let mut body = said.problem(401, "invalidCredentials");
            body["requestId"] = json!(null);
            bodies.push(body);
        }
        assert_eq!(bodies[0], bodies[1]);
        app
    });
}

#[test]
fn five_failures_lock_a_system_user_for_a_quarter_of_an_hour() {
    with_app(async |app| {
        let id = verified(&app, ROOT).await; // a person has the same address: nothing to do with it
        let path = format!("/v1/system-users/{id}");
        let lock = async || {
            for _ in 0..5 {
                login(&app, ROOT, "wrong").await.problem(401, "invalidCredentials");
            }
            login(&app, ROOT, PASSWORD).await.problem(429, "tooManyAttempts");
        };
        lock().await;
        assert_eq!(app.get(&path, &app.root).await.ok(200)["status"], "locked");
        let locked = app.get("/v1/system-users?status=locked", &app.root).await.ok(200);
        assert_eq!(locked["pagination"]["totalItems"], 1);
        app.post("/v1/auth/login", "", json!({ "email": ROOT, "password": PASSWORD })).await.ok(200);
        app.pass(901);
        assert_eq!(app.get(&path, &app.root).await.ok(200)["status"], "active");
        login(&app, ROOT, PASSWORD).await.ok(200);
        lock().await;
        assert_eq!(
            app.put(&path, &app.root, json!({ "status": "active" })).await.ok(200)["status"],
            "active"
        );
        login(&app, ROOT, PASSWORD).await.ok(200);
        app
    });
}

#[test]
fn refresh_tokens_of_system_users_rotate_and_reuse_ends_the_session() {
    with_app(async |app| {
        verified(&app, "robot@example.org").await;
        let first = login(&app, "robot@example.org", PASSWORD).await.ok(200);
        let refresh = |session: &Value| json!({ "refreshToken": session["refreshToken"] });
        let second = app.post("/v1/auth/refresh", "", refresh(&first)).await.ok(200);
        assert_eq!(second["role"], "system");
        app.get("/v1/auth/me", &text(&second["accessToken"])).await.ok(200);
        app.pass(31);
        app.post("/v1/auth/refresh", "", refresh(&first)).await.problem(401, "invalidToken");
        app.get("/v1/auth/me", &text(&second["accessToken"])).await.problem(401, "unauthenticated");
        let other = login(&app, "robot@example.org", PASSWORD).await.ok(200);
        app.post("/v1/auth/logout", "", refresh(&other)).await.ok(204);
        app.get("/v1/auth/me", &text(&other["accessToken"])).await.problem(401, "unauthenticated");
        app
    });
}

#[test]
fn scopes_open_what_the_table_says_within_the_own_organization() {
    with_app(async |app| {
        let (own, other) = (app.org("own").await, app.org("other").await);
        let (id, token) = app.system_user(&own.org_admin, &["vehicles:read", "geofences:write"]).await;
        app.get("/v1/vehicles", &token).await.ok(200);
        app.get("/v1/trackers", &token).await.ok(200);
        app.get(&format!("/v1/vehicles?organizationId={}", other.id), &token).await.problem(404, "notFound");
        let said = app.post("/v1/vehicles", &token, json!({ "name": "Bus" })).await;
        let detail = text(&said.problem(403, "forbidden")["detail"]);
        assert!(detail.contains("orgAdmin") && detail.contains("vehicles:write"), "{detail}");
        app.get("/v1/geofences", &token).await.problem(403, "forbidden");
        app.post("/v1/geofences", &token, crate::harness::circle("Depot")).await.ok(201);
        let organizations = app.get("/v1/organizations", &token).await.ok(200);
        assert_eq!(organizations["pagination"]["totalItems"], 1);
        app.get("/v1/organizations/all", &token).await.problem(403, "forbidden");
        // It may read itself, and no other system user.
        app.get(&format!("/v1/system-users/{id}"), &token).await.ok(200);
        let (sibling, _) = app.system_user(&own.org_admin, &["events:read"]).await;
        app.get(&format!("/v1/system-users/{sibling}"), &token).await.problem(404, "notFound");
        app.get("/v1/system-users", &token).await.problem(403, "forbidden");
        app.put(&format!("/v1/system-users/{id}"), &token, json!({ "name": "x" }))
            .await
            .problem(403, "forbidden");
        app
    });
}

#[test]
fn an_org_admin_manages_its_own_system_users_only() {
    with_app(async |app| {
        let (own, other) = (app.org("own").await, app.org("other").await);
        let (id, token) = app.system_user(&own.org_admin, &["events:read"]).await;
        let path = format!("/v1/system-users/{id}");
        for said in [
            app.get(&path, &other.org_admin).await,
            app.put(&path, &other.org_admin, json!({ "name": "x" })).await,
            app.delete(&path, &other.org_admin).await,
        ] {
            said.problem(404, "notFound");
        }
        app.get(&path, &own.dispatcher).await.problem(403, "forbidden");
        assert_eq!(app.get("/v1/system-users", &other.org_admin).await.ok(200)["data"], json!([]));
        let found = app.get("/v1/system-users?q=prog", &own.org_admin).await.ok(200);
        assert_eq!(found["data"][0]["id"], json!(id));
        // Operators reach all of them, or those of the organization they name.
        app.get(&path, &app.root).await.ok(200);
        let elsewhere = format!("{path}?organizationId={}", other.id);
        app.get(&elsewhere, &app.root).await.problem(404, "notFound");

        let said = app.get(&path, &own.org_admin).await;
        let (mut body, tag) = (said.ok(200), said.header("etag").unwrap().to_owned());
        body["scopes"] = json!(["vehicles:read"]);
        let changed = app.put(&path, &own.org_admin, body.clone()).await;
        assert_eq!(changed.ok(200)["scopes"], json!(["vehicles:read"]));
        app.get("/v1/vehicles", &token).await.ok(200);
        let headers = [
            ("authorization", format!("Bearer {}", own.org_admin)),
            ("content-type", "application/json".to_owned()),
            ("if-match", tag),
        ];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
        app.send("PUT", &path, &headers, r#"{"name":"Late"}"#).await.problem(412, "preconditionFailed");
        let wrong = json!({ "email": "new@example.org", "scopes": ["fly"], "status": "sleeping", "password": "short" });
        let said = app.put(&path, &own.org_admin, wrong).await;
        said.problem(422, "validationFailed");
        assert_eq!(said.pointers(), ["/email", "/password", "/status", "/scopes"]);

        app.put(&path, &own.org_admin, json!({ "status": "disabled" })).await.ok(200);
        app.get("/v1/vehicles", &token).await.problem(401, "unauthenticated");
        app.put(&path, &own.org_admin, json!({ "status": "active" })).await.ok(200);
        app.get("/v1/vehicles", &token).await.problem(401, "unauthenticated");
        app.put(&path, &own.org_admin, json!({ "status": "locked" })).await.problem(409, "invalidTransition");
        app.delete(&path, &own.org_admin).await.ok(204);
        app.delete(&path, &own.org_admin).await.problem(404, "notFound");
        app.get(&path, &app.root).await.problem(404, "notFound");
        app
    });
}

#[test]
fn operators_name_the_organization_of_a_new_system_user() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let mut body = sign_up("robot@example.org");
        body["scopes"] = json!(["fuel:read"]);
        app.post("/v1/system-users", &app.root, body.clone()).await.problem(422, "organizationRequired");
        body["organizationId"] = json!(org.id);
        let made = app.post("/v1/system-users", &app.root, body.clone()).await.ok(201);
        assert_eq!((&made["organizationId"], &made["scopes"]), (&json!(org.id), &json!(["fuel:read"])));
        app.post("/v1/system-users", &org.viewer, sign_up("x@example.org")).await.problem(403, "forbidden");
        body["scopes"] = json!(null);
        let said = app.post("/v1/system-users", &app.root, body).await;
        said.problem(422, "validationFailed");
        assert_eq!(said.pointers(), ["/scopes"]);
        app
    });
}

#[test]
fn a_new_password_ends_the_sessions_of_before() {
    with_app(async |app| {
        let id = verified(&app, "robot@example.org").await;
        let token = text(&login(&app, "robot@example.org", PASSWORD).await.ok(200)["accessToken"]);
        let new = "another long password";
        app.put(&format!("/v1/system-users/{id}"), &app.root, json!({ "password": new })).await.ok(200);
        app.get("/v1/auth/me", &token).await.problem(401, "unauthenticated");
        login(&app, "robot@example.org", PASSWORD).await.problem(401, "invalidCredentials");
        login(&app, "robot@example.org", new).await.ok(200);
        app
    });
}
