//! Signing in, staying in, getting out; the first superAdmin.

use serde_json::json;
use waypost::auth::{FirstStart, TrackerRefused, find_tracker};
use waypost::domain::account::Role;

use crate::harness::{App, PASSWORD, ROOT, text, with_app};

#[test]
fn login_answers_alike_whether_the_account_exists_or_not() {
    with_app(async |app| {
        let wrong = app.post("/v1/auth/login", "", json!({ "email": ROOT, "password": "wrong" })).await;
        let unknown =
            app.post("/v1/auth/login", "", json!({ "email": "no@example.org", "password": "wrong" })).await;
        let mut bodies =
            [wrong.problem(401, "invalidCredentials"), unknown.problem(401, "invalidCredentials")];
        bodies.iter_mut().for_each(|body| body["requestId"] = json!(null));
        assert_eq!(bodies[0], bodies[1]);
        assert!(wrong.header("www-authenticate").unwrap().starts_with("Bearer"));
        app
    });
}

#[test]
fn login_names_the_principal_and_me_agrees() {
    with_app(async |app| {
        let said =
            app.post("/v1/auth/login", "", json!({ "email": " ROOT@example.org", "password": PASSWORD }));
        let session = said.await.ok(200);
        assert_eq!((&session["tokenType"], &session["expiresIn"]), (&json!("Bearer"), &json!(900)));
        let me = app.get("/v1/auth/me", &text(&session["accessToken"])).await.ok(200);
        assert_eq!(
            (&me["role"], &me["email"], &me["id"]),
            (&json!("superAdmin"), &json!(ROOT), &session["id"])
        );
        assert_eq!(me.get("organizationId"), None);
        app
    });
}

#[test]
fn five_failures_make_an_address_wait_and_time_heals() {
    with_app(async |app| {
        for email in [ROOT, "nobody@example.org"] {
            for _ in 0..5 {
                let said =
                    app.post("/v1/auth/login", "", json!({ "email": email, "password": "wrong" })).await;
                said.problem(401, "invalidCredentials");
            }
            let said = app.post("/v1/auth/login", "", json!({ "email": email, "password": PASSWORD })).await;
            said.problem(429, "tooManyAttempts");
            let wait: i64 = said.header("retry-after").unwrap().parse().unwrap();
            assert!((890..=900).contains(&wait), "{wait}");
        }
        app.pass(901);
        app.post("/v1/auth/login", "", json!({ "email": ROOT, "password": PASSWORD })).await.ok(200);
        app
    });
}

#[test]
fn a_refresh_token_works_once_and_its_reuse_ends_the_session() {
    with_app(async |app| {
        let login =
            app.post("/v1/auth/login", "", json!({ "email": ROOT, "password": PASSWORD })).await.ok(200);
        let first = json!({ "refreshToken": login["refreshToken"] });
        let second = app.post("/v1/auth/refresh", "", first.clone()).await.ok(200);
        app.get("/v1/auth/me", &text(&second["accessToken"])).await.ok(200);
        app.pass(31);
        app.post("/v1/auth/refresh", "", first).await.problem(401, "invalidToken");
        app.get("/v1/auth/me", &text(&second["accessToken"])).await.problem(401, "unauthenticated");
        let stolen = json!({ "refreshToken": second["refreshToken"] });
        app.post("/v1/auth/refresh", "", stolen).await.problem(401, "invalidToken");
        app.get("/v1/auth/me", &app.root).await.ok(200);
        app
    });
}

#[test]
fn a_refresh_whose_answer_was_lost_may_come_again_until_the_next_one_is_used() {
    with_app(async |app| {
        let login = async || {
            let body = json!({ "email": ROOT, "password": PASSWORD });
            app.post("/v1/auth/login", "", body).await.ok(200)
        };
        let refresh = async |token: &serde_json::Value| {
            app.post("/v1/auth/refresh", "", json!({ "refreshToken": token["refreshToken"] })).await
        };
        let first = login().await;
        let lost = refresh(&first).await.ok(200);
        app.pass(25);
        let third = refresh(&first).await.ok(200);
        app.get("/v1/auth/me", &text(&third["accessToken"])).await.ok(200);
        let fourth = refresh(&third).await.ok(200);
        // The one that followed was used: whoever has the first did not lose an answer.
        refresh(&first).await.problem(401, "invalidToken");
        refresh(&fourth).await.problem(401, "invalidToken");
        app.get("/v1/auth/me", &text(&fourth["accessToken"])).await.problem(401, "unauthenticated");
        refresh(&lost).await.problem(401, "invalidToken");
        // A lost answer that somebody else has found ends the session, too.
        let first = login().await;
        let found = refresh(&first).await.ok(200);
        let again = refresh(&first).await.ok(200);
        refresh(&found).await.problem(401, "invalidToken");
        refresh(&again).await.problem(401, "invalidToken");
        app
    });
}

#[test]
fn logout_ends_the_session_at_once() {
    with_app(async |app| {
        let login =
            app.post("/v1/auth/login", "", json!({ "email": ROOT, "password": PASSWORD })).await.ok(200);
        let refresh = json!({ "refreshToken": login["refreshToken"] });
        app.post("/v1/auth/logout", "", refresh.clone()).await.ok(204);
        app.post("/v1/auth/logout", "", refresh.clone()).await.ok(204);
        app.get("/v1/auth/me", &text(&login["accessToken"])).await.problem(401, "unauthenticated");
        app.post("/v1/auth/refresh", "", refresh).await.problem(401, "invalidToken");
        app
    });
}

#[test]
fn access_tokens_expire_and_sessions_idle_out() {
    with_app(async |app| {
        let login =
            app.post("/v1/auth/login", "", json!({ "email": ROOT, "password": PASSWORD })).await.ok(200);
        app.pass(911);
        app.get("/v1/auth/me", &text(&login["accessToken"])).await.problem(401, "unauthenticated");
        app.pass(7 * 86_400);
        let refresh = json!({ "refreshToken": login["refreshToken"] });
        app.post("/v1/auth/refresh", "", refresh).await.problem(401, "invalidToken");
        app
    });
}

#[test]
fn every_field_error_of_a_login_is_told() {
    with_app(async |app| {
        let said = app.post("/v1/auth/login", "", json!({ "emial": "a@b.de", "password": 7 })).await;
        said.problem(422, "validationFailed");
        assert_eq!(said.pointers(), ["/email", "/password", "/emial"]);
        app
    });
}

#[test]
fn a_ticket_belongs_to_its_caller_and_works_once() {
    with_app(async |app| {
        let said = app.post("/v1/auth/ws-ticket", &app.root, json!(null)).await.ok(201);
        let ticket = text(&said["ticket"]);
        let caller = app.context.auth.tickets.redeem(&ticket, app.context.clock.now()).unwrap();
        assert_eq!(caller.role(), Some(Role::SuperAdmin));
        assert_eq!(app.context.auth.tickets.redeem(&ticket, app.context.clock.now()), None);
        app.post("/v1/auth/ws-ticket", "", json!(null)).await.problem(401, "unauthenticated");
        app
    });
}

#[test]
fn a_sign_in_link_works_once() {
    with_app(async |app| {
        let org = app.org("linked").await;
        let account = app.account(Role::Viewer, Some(&org.id)).await;
        let link = app.context.auth.sign_in_link(account).await.unwrap();
        let path = format!("/v1/auth/sign-in-link/{link}");
        let session = app.post(&path, "", json!(null)).await.ok(200);
        assert_eq!((&session["role"], &session["organizationId"]), (&json!("viewer"), &json!(org.id)));
        let again = app.post(&path, "", json!(null)).await;
        let problem = again.problem(401, "invalidToken");
        assert_eq!(problem["instance"], "/v1/auth/sign-in-link/{token}", "no secret is repeated");
        app
    });
}

#[test]
fn users_of_an_inactive_organization_are_refused() {
    with_app(async |app| {
        let org = app.org("sleepy").await;
        let path = format!("/v1/organizations/organization/{}", org.id);
        app.put(&path, &app.root, json!({ "status": "inactive" })).await.ok(200);
        app.get("/v1/vehicles", &org.viewer).await.problem(403, "organizationInactive");
        app.put(&format!("/v1/organizations/activate/{}", org.id), &app.root, json!({})).await.ok(200);
        app.get("/v1/vehicles", &org.viewer).await.ok(200);
        app
    });
}

#[test]
fn without_settings_a_setup_link_makes_the_first_super_admin_once() {
    actix_rt::System::new().block_on(async {
        let app = App::start_with(|_| {}).await;
        let FirstStart::Link(path) = app.first_start.clone() else { panic!("a link") };
        let form = app.get(&path, "").await;
        form.ok(200);
        assert!(form.header("content-type").unwrap().starts_with("text/html"));
        assert!(!form.header("content-security-policy").unwrap().contains("unsafe-inline"));
        let send = async |fields: &'static str| {
            app.send("POST", &path, &[("content-type", "application/x-www-form-urlencoded")], fields).await
        };
        send("email=nonsense&password=long-enough-password").await.ok(422);
        send("email=a%40b.de&password=short").await.ok(422);
        let made = send("email=a%40b.de&password=long+enough+password").await;
        assert!(made.status == 303 && made.header("location").unwrap().starts_with("/#token=wpl_"));
        send("email=c%40d.de&password=long+enough+password").await.ok(404);
        app.get(&path, "").await.ok(404);
        let login = json!({ "email": "a@b.de", "password": "long enough password" });
        assert_eq!(app.post("/v1/auth/login", "", login).await.ok(200)["role"], "superAdmin");
        app.stop().await;
    });
}

#[test]
fn a_tracker_is_found_by_its_token_until_it_is_disabled_or_rotated() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let body = json!({ "name": "Bus 1", "tracker": { "uniqueId": "imei-1" } });
        let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
        let (token, id) = (text(&made["tracker"]["token"]), text(&made["tracker"]["id"]));
        let found = find_tracker(&app.context.db, &token).await.unwrap().unwrap();
        assert_eq!((found.unique_id.as_str(), found.installations.len()), ("imei-1", 1));
        assert_eq!(found.vehicle_at(app.context.clock.now()).unwrap().to_string(), text(&made["id"]));
        assert!(find_tracker(&app.context.db, "wpt_unknown").await.unwrap().is_none());
        let path = format!("/v1/trackers/{id}");
        app.put(&path, &org.org_admin, json!({ "status": "disabled" })).await.ok(200);
        let refused = find_tracker(&app.context.db, &token).await;
        assert!(matches!(refused, Err(TrackerRefused::Disabled)), "{refused:?}");
        app.put(&path, &org.org_admin, json!({ "status": "active" })).await.ok(200);
        let rotated = app.post(&format!("{path}/token"), &org.org_admin, json!(null)).await.ok(200);
        assert!(find_tracker(&app.context.db, &token).await.unwrap().is_none());
        assert!(find_tracker(&app.context.db, &text(&rotated["token"])).await.unwrap().is_some());
        let organization = format!("/v1/organizations/organization/{}", org.id);
        app.put(&organization, &app.root, json!({ "status": "inactive" })).await.ok(200);
        let refused = find_tracker(&app.context.db, &text(&rotated["token"])).await;
        assert!(matches!(refused, Err(TrackerRefused::OrganizationInactive)), "{refused:?}");
        app
    });
}
