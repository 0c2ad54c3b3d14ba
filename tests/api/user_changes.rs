//! Users: what can be changed about them, by whom, and what follows.

use futures_util::future::join;
use serde_json::{Value, json};
use waypost::domain::account::Role;

use crate::harness::{App, Org, PASSWORD, Said, text, with_app};

async fn own_path(app: &App, token: &str) -> String {
    format!("/v1/users/{}", text(&app.get("/v1/auth/me", token).await.ok(200)["id"]))
}

/// A user of an organization who accepted the invitation: path and session.
async fn accepted(app: &App, org: &Org, email: &str, role: &str) -> (String, Value) {
    let body = json!({ "email": email, "firstName": "A", "lastName": "B", "role": role });
    let made = app.post("/v1/users", &org.org_admin, body).await.ok(201);
    let accept = app.link(email, 1).await.replace("/invite/", "/v1/auth/accept-invite/");
    let session = app.post(&accept, "", json!({ "password": PASSWORD })).await.ok(200);
    (format!("/v1/users/{}", text(&made["id"])), session)
}

#[test]
fn everybody_changes_their_own_names_and_nothing_more() {
    with_app(async |app| {
        let org = app.org("own").await;
        let admin = app.account(Role::Admin, None).await;
        let admin = app.sign_in(admin).await;
        for token in [&org.viewer, &org.dispatcher, &admin] {
            let path = own_path(&app, token).await;
            let own =
                json!({ "firstName": "Grace", "phone": "+1 555 0100", "locale": "en-US", "timezone": "UTC" });
            let changed = app.put(&path, token, own).await;
            assert_eq!(
                (&changed.ok(200)["firstName"], &changed.body["phone"]),
                (&json!("Grace"), &json!("+1 555 0100"))
            );
            app.put(&path, token, changed.body.clone()).await.ok(200);
            assert_eq!(app.put(&path, token, json!({ "phone": null })).await.ok(200).get("phone"), None);
            for beyond in [
                json!({ "role": "orgAdmin" }),
                json!({ "role": "superAdmin" }),
                json!({ "status": "disabled" }),
                json!({ "email": "other@example.org" }),
            ] {
                app.put(&path, token, beyond).await.problem(403, "forbidden");
            }
            let said =
                app.put(&path, token, json!({ "id": "x", "organizationId": "y", "password": "z" })).await;
            said.problem(422, "validationFailed");
            assert_eq!(said.pointers(), ["/id", "/organizationId", "/password"]);
        }
        let dispatcher = own_path(&app, &org.dispatcher).await;
        app.put(&dispatcher, &org.viewer, json!({ "firstName": "x" })).await.problem(403, "forbidden");
        app
    });
}

#[test]
fn roles_change_within_their_kind() {
    with_app(async |app| {
        let org = app.org("own").await;
        let viewer = own_path(&app, &org.viewer).await;
        app.put(&viewer, &org.org_admin, json!({ "role": "dispatcher" })).await.ok(200);
        app.post("/v1/geofences", &org.viewer, crate::harness::circle("now")).await.ok(201);
        app.put(&viewer, &org.org_admin, json!({ "role": "superAdmin" })).await.problem(403, "forbidden");
        let said = app.put(&viewer, &app.root, json!({ "role": "admin" })).await;
        said.problem(422, "validationFailed");
        assert_eq!(said.pointers(), ["/role"]);
        let admin = app.account(Role::Admin, None).await;
        let admin = format!("/v1/users/{admin}");
        assert_eq!(
            app.put(&admin, &app.root, json!({ "role": "superAdmin" })).await.ok(200)["role"],
            "superAdmin"
        );
        app.put(&admin, &app.root, json!({ "role": "viewer" })).await.problem(422, "validationFailed");
        let stale = app.get(&viewer, &org.org_admin).await.header("etag").unwrap().to_owned();
        app.put(&viewer, &org.org_admin, json!({ "lastName": "Fresh" })).await.ok(200);
        let bearer = format!("Bearer {}", org.org_admin);
        let headers =
            [("authorization", bearer.as_str()), ("if-match", &stale), ("content-type", "application/json")];
        app.send("PUT", &viewer, &headers, r#"{"lastName":"Stale"}"#)
            .await
            .problem(412, "preconditionFailed");
        app
    });
}

#[test]
fn the_last_org_admin_stays() {
    with_app(async |app| {
        let org = app.org("own").await;
        // The user who was invited when the organization became active has not accepted.
        let path = own_path(&app, &org.org_admin).await;
        for change in [json!({ "role": "viewer" }), json!({ "status": "disabled" })] {
            for token in [&org.org_admin, &app.root] {
                app.put(&path, token, change.clone()).await.problem(409, "lastOrgAdmin");
            }
        }
        app.put(&path, &org.org_admin, json!({ "firstName": "Still", "role": "orgAdmin" })).await.ok(200);
        let (second, session) = accepted(&app, &org, "second@example.org", "orgAdmin").await;
        app.put(&path, &org.org_admin, json!({ "role": "dispatcher" })).await.ok(200);
        app.put(&path, &org.org_admin, json!({ "role": "orgAdmin" })).await.problem(403, "forbidden");
        let token = text(&session["accessToken"]);
        app.put(&second, &token, json!({ "status": "disabled" })).await.problem(409, "lastOrgAdmin");
        app
    });
}

/// Of two that leave at the same time, one stays.
fn assert_one_stays(said: [&Said; 2], code: &str) {
    let mut statuses = said.map(|said| said.status);
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{} {}", said[0].body, said[1].body);
    let refused = said.into_iter().find(|said| said.status == 409).unwrap();
    refused.problem(409, code);
}

#[test]
fn of_two_org_admins_who_demote_each_other_at_once_one_stays() {
    with_app(async |app| {
        for round in 0..10 {
            let org = app.org(&format!("round {round}")).await;
            let other = app.account(Role::OrgAdmin, Some(&org.id)).await;
            let token = app.sign_in(other).await;
            let (one, two) = (own_path(&app, &org.org_admin).await, format!("/v1/users/{other}"));
            let change =
                if round % 2 == 0 { json!({ "role": "viewer" }) } else { json!({ "status": "disabled" }) };
            // An operator removes one of them, so that neither is refused for having lost the role.
            let (first, second) =
                join(app.put(&two, &app.root, change.clone()), app.put(&one, &app.root, change)).await;
            assert_one_stays([&first, &second], "lastOrgAdmin");
            drop(token);
        }
        app
    });
}

#[test]
fn the_last_super_admin_stays_also_of_two_at_once() {
    with_app(async |app| {
        let root = own_path(&app, &app.root).await;
        app.put(&root, &app.root, json!({ "role": "admin" })).await.problem(409, "lastSuperAdmin");
        app.put(&root, &app.root, json!({ "status": "disabled" })).await.problem(409, "lastSuperAdmin");
        let other = app.account(Role::SuperAdmin, None).await;
        let other = format!("/v1/users/{other}");
        let demoted = json!({ "role": "admin" });
        let (first, second) =
            join(app.put(&root, &app.root, demoted.clone()), app.put(&other, &app.root, demoted)).await;
        let mut statuses = [first.status, second.status];
        statuses.sort_unstable();
        // The account that lost the role in the meantime may no longer ask.
        assert!(matches!(statuses, [200, 409] | [200, 403]), "{statuses:?}");
        let left = app.context.db.read().sql("select count(*) from account where role = 'superAdmin'");
        assert_eq!(left.scalar::<i64>().await.unwrap(), 1);
        app
    });
}

#[test]
fn who_is_disabled_is_out_at_once_and_may_come_back() {
    with_app(async |app| {
        let org = app.org("own").await;
        let (path, session) = accepted(&app, &org, "ada@example.org", "viewer").await;
        let token = text(&session["accessToken"]);
        app.get("/v1/vehicles", &token).await.ok(200);
        let disabled = json!({ "status": "disabled" });
        assert_eq!(app.put(&path, &org.org_admin, disabled.clone()).await.ok(200)["status"], "disabled");
        app.get("/v1/vehicles", &token).await.problem(401, "unauthenticated");
        let refresh = json!({ "refreshToken": session["refreshToken"] });
        app.post("/v1/auth/refresh", "", refresh.clone()).await.problem(401, "invalidToken");
        let login = json!({ "email": "ada@example.org", "password": PASSWORD });
        app.post("/v1/auth/login", "", login.clone()).await.problem(401, "invalidCredentials");
        for state in ["invited", "locked"] {
            let said = app.put(&path, &org.org_admin, json!({ "status": state })).await;
            said.problem(409, "invalidTransition");
        }
        app.put(&path, &org.org_admin, json!({ "status": "active" })).await.ok(200);
        app.post("/v1/auth/login", "", login).await.ok(200);
        app.post("/v1/auth/refresh", "", refresh).await.problem(401, "invalidToken");
        app
    });
}

#[test]
fn who_never_accepted_comes_back_as_invited_with_a_new_link() {
    with_app(async |app| {
        let org = app.org("own").await;
        let body = json!({ "email": "ada@example.org", "firstName": "A", "lastName": "B", "role": "viewer" });
        let made = app.post("/v1/users", &org.org_admin, body).await.ok(201);
        let path = format!("/v1/users/{}", text(&made["id"]));
        let first = app.link("ada@example.org", 1).await.replace("/invite/", "/v1/auth/accept-invite/");
        app.put(&path, &org.org_admin, json!({ "status": "active" })).await.problem(409, "invalidTransition");
        app.put(&path, &org.org_admin, json!({ "status": "disabled" })).await.ok(200);
        app.put(&path, &org.org_admin, json!({ "status": "active" })).await.problem(409, "invalidTransition");
        let password = json!({ "password": PASSWORD });
        app.post(&first, "", password.clone()).await.problem(410, "linkExpired");
        app.put(&path, &org.org_admin, json!({ "status": "invited" })).await.ok(200);
        let second = app.link("ada@example.org", 2).await.replace("/invite/", "/v1/auth/accept-invite/");
        app.post(&second, "", password).await.ok(200);
        app
    });
}

#[test]
fn a_new_address_is_unique_and_ends_what_went_to_the_old_one() {
    with_app(async |app| {
        let org = app.org("own").await;
        let (path, session) = accepted(&app, &org, "ada@example.org", "viewer").await;
        accepted(&app, &org, "taken@example.org", "viewer").await;
        let taken = json!({ "email": "TAKEN@example.org" });
        app.put(&path, &org.org_admin, taken).await.problem(409, "emailTaken");
        app.post("/v1/auth/forgot-password", "", json!({ "email": "ada@example.org" })).await.ok(202);
        let reset = app.link("ada@example.org", 2).await.replace("/reset/", "/v1/auth/reset-password/");
        app.put(&path, &org.org_admin, json!({ "email": "Ada@example.org" })).await.ok(200);
        app.get("/v1/auth/me", &text(&session["accessToken"])).await.ok(200);
        let asked = app.put(&path, &org.org_admin, json!({ "email": "lovelace@example.org" })).await.ok(200);
        assert_eq!(asked["email"], "Ada@example.org", "it is theirs once they have read it there");
        assert_eq!(asked["pendingEmail"], "lovelace@example.org");
        app.get("/v1/auth/me", &text(&session["accessToken"])).await.ok(200);
        let link = app.link("lovelace@example.org", 1).await;
        assert!(app.get(&link, "").await.status == 200 && link.starts_with("/address/"));
        let confirm = link.replace("/address/", "/v1/auth/confirm-address/");
        for _ in 0..2 {
            app.post(&confirm, "", json!(null)).await.ok(204);
        }
        let now = app.get(&path, &org.org_admin).await.ok(200);
        assert_eq!((&now["email"], now.get("pendingEmail")), (&json!("lovelace@example.org"), None));
        app.get("/v1/auth/me", &text(&session["accessToken"])).await.problem(401, "unauthenticated");
        app.post(&reset, "", json!({ "password": PASSWORD })).await.problem(410, "linkExpired");
        let login = |email: &str| json!({ "email": email, "password": PASSWORD });
        app.post("/v1/auth/login", "", login("ada@example.org")).await.problem(401, "invalidCredentials");
        app.post("/v1/auth/login", "", login("lovelace@example.org")).await.ok(200);

        let body =
            json!({ "email": "typo@example.org", "firstName": "A", "lastName": "B", "role": "viewer" });
        let made = app.post("/v1/users", &org.org_admin, body).await.ok(201);
        let old = app.link("typo@example.org", 1).await.replace("/invite/", "/v1/auth/accept-invite/");
        let path = format!("/v1/users/{}", text(&made["id"]));
        app.put(&path, &org.org_admin, json!({ "email": "right@example.org" })).await.ok(200);
        app.post(&old, "", json!({ "password": PASSWORD })).await.problem(410, "linkExpired");
        let new = app.link("right@example.org", 1).await.replace("/invite/", "/v1/auth/accept-invite/");
        app.post(&new, "", json!({ "password": PASSWORD })).await.ok(200);
        app
    });
}

#[test]
fn who_is_locked_is_shown_so_and_let_in_by_an_administrator() {
    with_app(async |app| {
        let org = app.org("own").await;
        let (path, _) = accepted(&app, &org, "ada@example.org", "viewer").await;
        for _ in 0..5 {
            let wrong = json!({ "email": "ada@example.org", "password": "not this one" });
            app.post("/v1/auth/login", "", wrong).await.problem(401, "invalidCredentials");
        }
        assert_eq!(app.get(&path, &org.org_admin).await.ok(200)["status"], "locked");
        let listed = app.get("/v1/users?status=locked", &org.org_admin).await.ok(200);
        assert_eq!(listed["pagination"]["totalItems"], 1);
        let login = json!({ "email": "ada@example.org", "password": PASSWORD });
        app.post("/v1/auth/login", "", login.clone()).await.problem(429, "tooManyAttempts");
        assert_eq!(
            app.put(&path, &org.org_admin, json!({ "status": "active" })).await.ok(200)["status"],
            "active"
        );
        app.post("/v1/auth/login", "", login).await.ok(200);
        app
    });
}

#[test]
fn a_new_password_ends_the_change_of_address_that_the_old_one_had_asked_for() {
    with_app(async |app| {
        let org = app.org("own").await;
        let (path, session) = accepted(&app, &org, "ada@example.org", "orgAdmin").await;
        let asked = json!({ "email": "thief@example.org", "currentPassword": PASSWORD });
        app.put(&path, &text(&session["accessToken"]), asked).await.ok(200);
        let confirm = app.link("thief@example.org", 1).await;
        app.post("/v1/auth/forgot-password", "", json!({ "email": "ada@example.org" })).await.ok(202);
        // The second letter tells of the change.
        let reset = app.link("ada@example.org", 3).await.replace("/reset/", "/v1/auth/reset-password/");
        app.post(&reset, "", json!({ "password": "another long password" })).await.ok(204);
        let confirm = confirm.replace("/address/", "/v1/auth/confirm-address/");
        app.post(&confirm, "", json!(null)).await.problem(410, "linkExpired");
        let now = app.get(&path, &org.org_admin).await.ok(200);
        assert_eq!((&now["email"], now.get("pendingEmail")), (&json!("ada@example.org"), None));
        app
    });
}

#[test]
fn ones_own_address_takes_the_password_and_the_newest_link() {
    with_app(async |app| {
        let org = app.org("own").await;
        let (path, session) = accepted(&app, &org, "boss@example.org", "orgAdmin").await;
        let token = text(&session["accessToken"]);
        let ask = async |email: &str, password: Option<&str>| {
            app.put(&path, &token, json!({ "email": email, "currentPassword": password })).await
        };
        for guess in [None, Some("not this one")] {
            let said = ask("stolen@example.org", guess).await;
            said.problem(422, "validationFailed");
            assert_eq!(said.pointers(), ["/currentPassword"]);
        }
        let said = app.put(&path, &token, json!({ "email": "stolen@example.org" })).await;
        assert_eq!(said.pointers(), ["/currentPassword"]);
        ask("first@example.org", Some(PASSWORD)).await.ok(200);
        let confirm = |page: String| page.replace("/address/", "/v1/auth/confirm-address/");
        let first = confirm(app.link("first@example.org", 1).await);
        ask("second@example.org", Some(PASSWORD)).await.ok(200);
        app.post(&first, "", json!(null)).await.problem(410, "linkExpired");
        app.get("/v1/auth/me", &token).await.ok(200);
        let second = confirm(app.link("second@example.org", 1).await);
        // Another account has it by now.
        let other = app.account(Role::Viewer, Some(&org.id)).await;
        let take = "update account set email = $2, email_key = $2 where id = $1";
        app.context.db.write().sql(take).bind(other).bind("second@example.org").run().await.unwrap();
        app.post(&second, "", json!(null)).await.problem(409, "emailTaken");
        let free = "update account set email = $2, email_key = $2 where id = $1";
        app.context.db.write().sql(free).bind(other).bind("third@example.org").run().await.unwrap();
        app.post(&second, "", json!(null)).await.ok(204);
        let login = json!({ "email": "second@example.org", "password": PASSWORD });
        app.post("/v1/auth/login", "", login).await.ok(200);
        // Guesses of the password through this door are counted as sign-ins.
        assert!(app.mail.all("stolen@example.org").is_empty());
        app
    });
}
