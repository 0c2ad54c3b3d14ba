//! The life of an organization: sign-up, activation by mail and by hand, deactivation, deletion.

use serde_json::{Value, json};
use waypost::domain::account::Role;

use crate::harness::{App, PASSWORD, ROOT, organization, text, with_app};

const REQUESTS: &str = "/v1/organizations/email-activation-requests";

/// Signs up with a new organization; returns its id and its address.
async fn signed_up(app: &App, name: &str) -> (String, String) {
    let made = app.post("/v1/organizations", "", organization(name)).await.ok(201);
    assert_eq!(made["status"], "pendingActivation");
    (text(&made["id"]), text(&made["contactEmail"]))
}

/// The route behind the page of a link.
async fn verify_route(app: &App, address: &str, number: usize) -> String {
    app.link(address, number).await.replace("/activate/", "/v1/organizations/verify-email/")
}

async fn requests(app: &App, query: &str) -> Vec<Value> {
    requests_as(app, &app.root, query).await
}

async fn requests_as(app: &App, token: &str, query: &str) -> Vec<Value> {
    let listed = app.get(&format!("{REQUESTS}{query}"), token).await.ok(200);
    listed["data"].as_array().unwrap().clone()
}

/// Waits until every requested letter is sent, or found to be unnecessary.
async fn post_is_done(app: &App) {
    let done = async {
        while waypost::store::outbox::counts(app.context.db.read()).await.unwrap() != (0, 0) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), done).await.expect("the outbox is worked off");
}

fn path(id: &str) -> String {
    format!("/v1/organizations/organization/{id}")
}

#[test]
fn who_signs_up_activates_by_mail_and_the_first_admin_is_invited_then() {
    with_app(async |app| {
        let (id, address) = signed_up(&app, "newcomer").await;
        let route = verify_route(&app, &address, 1).await;
        let listed = requests(&app, "").await;
        let request = &listed[0];
        assert_eq!((&request["status"], &request["sentCount"]), (&json!("pending"), &json!(1)));
        assert_eq!((&request["email"], &request["organizationId"]), (&json!(address), &json!(id)));
        assert_eq!(request["organizationName"], "newcomer");
        let token = route.rsplit('/').next().unwrap();
        assert!(!Value::from(listed.clone()).to_string().contains(token), "nobody is shown the token");
        let admin = "newcomer-admin@example.org";
        post_is_done(&app).await;
        assert!(app.mail.all(admin).is_empty(), "not before it is active");
        let verified = app.post(&route, "", json!(null)).await.ok(200);
        assert_eq!(verified, json!({ "organizationId": id, "status": "active", "alreadyVerified": false }));
        let again = app.post(&route, "", json!(null)).await.ok(200);
        assert_eq!(again, json!({ "organizationId": id, "status": "active", "alreadyVerified": true }));
        let unknown = "/v1/organizations/verify-email/wpa_unknown";
        let said = app.post(unknown, "", json!(null)).await;
        assert_eq!(said.problem(404, "notFound")["instance"], "/v1/organizations/verify-email/{token}");
        let found = app.get(&path(&id), &app.root).await.ok(200);
        assert_eq!((&found["status"], &found["activationMethod"]), (&json!("active"), &json!("email")));
        assert_eq!(found["emailVerifiedAt"], found["activatedAt"]);
        assert_eq!(requests(&app, "?status=verified").await.len(), 1);
        let invitation = app.link(admin, 1).await.replace("/invite/", "/v1/auth/accept-invite/");
        let session = app.post(&invitation, "", json!({ "password": PASSWORD })).await.ok(200);
        assert_eq!((&session["role"], &session["organizationId"]), (&json!("orgAdmin"), &json!(id)));
        let login = json!({ "email": admin, "password": PASSWORD });
        app.post("/v1/auth/login", "", login).await.ok(200);
        app
    });
}

#[test]
fn a_link_is_sent_again_and_the_one_before_is_over() {
    with_app(async |app| {
        let (_, address) = signed_up(&app, "patient").await;
        let first = verify_route(&app, &address, 1).await;
        let resend = "/v1/organizations/resend-activation";
        for email in [address.as_str(), "nobody@example.org"] {
            let said = app.post(resend, "", json!({ "email": email })).await;
            said.ok(202);
            assert!(said.bytes.is_empty(), "the answer tells nothing");
        }
        app.post(resend, "", json!({ "email": "?" })).await.problem(422, "validationFailed");
        // Within a minute of the one before: it comes when that is over.
        let (_, marker) = signed_up(&app, "marker").await;
        verify_route(&app, &marker, 1).await;
        assert_eq!(app.mail.all(&address).len(), 1);
        app.pass(61);
        app.context.mail.wake();
        let second = verify_route(&app, &address, 2).await;
        app.post(&first, "", json!(null)).await.problem(410, "linkExpired");
        let request = requests(&app, "?q=PATIENT").await[0].clone();
        assert_eq!((&request["status"], &request["sentCount"]), (&json!("pending"), &json!(2)));
        assert!(text(&request["lastSentAt"]) > text(&request["requestedAt"]));
        app.pass(24 * 3600 + 1);
        let root = app.account(Role::SuperAdmin, None).await;
        let root = app.sign_in(root).await;
        app.post(&second, "", json!(null)).await.problem(410, "linkExpired");
        assert_eq!(requests_as(&app, &root, "?status=expired&q=PATIENT").await.len(), 1);
        assert!(requests_as(&app, &root, "?status=pending").await.is_empty());
        app.post(resend, "", json!({ "email": address })).await.ok(202);
        let third = verify_route(&app, &address, 3).await;
        assert_eq!(requests_as(&app, &root, "?status=pending").await[0]["sentCount"], 3);
        app.post(&third, "", json!(null)).await.ok(200);
        app.pass(61);
        app.post(resend, "", json!({ "email": address })).await.ok(202);
        post_is_done(&app).await;
        assert_eq!(app.mail.all(&address).len(), 3, "what is active needs no link");
        assert!(app.mail.all("nobody@example.org").is_empty());
        app
    });
}

#[test]
fn the_page_behind_the_link_uses_it_up_by_its_button_only() {
    with_app(async |app| {
        let (id, address) = signed_up(&app, "paged").await;
        let page = app.link(&address, 1).await;
        for _ in 0..2 {
            let form = app.get(&page, "").await;
            form.ok(200);
            assert!(String::from_utf8_lossy(&form.bytes).contains("<form method=\"post\">"));
        }
        let status = async || app.get(&path(&id), &app.root).await.ok(200)["status"].clone();
        assert_eq!(status().await, "pendingActivation", "looking is not opening");
        app.send("POST", &page, &[], "").await.ok(200);
        assert_eq!(status().await, "active");
        app.send("POST", &page, &[], "").await.ok(200);
        app.send("POST", "/activate/wpa_unknown", &[], "").await.ok(404);
        app
    });
}

#[test]
fn activation_by_hand_goes_before_the_mail_which_still_verifies() {
    with_app(async |app| {
        let (id, address) = signed_up(&app, "handy").await;
        let route = verify_route(&app, &address, 1).await;
        let activate = format!("/v1/organizations/activate/{id}");
        let active = app.put(&activate, &app.root, json!({})).await.ok(200);
        assert_eq!((&active["activationMethod"], active.get("emailVerifiedAt")), (&json!("manual"), None));
        assert_eq!(requests(&app, "").await[0]["status"], "manuallyActivated");
        app.link("handy-admin@example.org", 1).await;
        app.put(&activate, &app.root, json!({})).await.ok(200);
        post_is_done(&app).await;
        assert_eq!(app.mail.all("handy-admin@example.org").len(), 1, "invited once");
        assert_eq!(app.post(&route, "", json!(null)).await.ok(200)["alreadyVerified"], false);
        let found = app.get(&path(&id), &app.root).await.ok(200);
        assert_eq!(found["activationMethod"], "manual");
        assert!(found["emailVerifiedAt"].is_string());
        assert_eq!(requests(&app, "").await[0]["status"], "manuallyActivated");
        app
    });
}

#[test]
fn a_new_contact_address_gets_a_link_of_its_own() {
    with_app(async |app| {
        let (id, address) = signed_up(&app, "moving").await;
        let first = verify_route(&app, &address, 1).await;
        let change = json!({ "contactEmail": "new@example.org" });
        app.put(&path(&id), &app.root, change).await.ok(200);
        app.post(&first, "", json!(null)).await.problem(410, "linkExpired");
        let second = verify_route(&app, "new@example.org", 1).await;
        let states: Vec<Value> =
            requests(&app, "?sort=requestedAt").await.iter().map(|r| r["status"].clone()).collect();
        assert_eq!(states, ["superseded", "pending"]);
        app.post(&second, "", json!(null)).await.ok(200);
        assert!(app.get(&path(&id), &app.root).await.ok(200)["emailVerifiedAt"].is_string());
        let change = json!({ "contactEmail": "third@example.org" });
        let changed = app.put(&path(&id), &app.root, change).await.ok(200);
        assert_eq!((&changed["status"], changed.get("emailVerifiedAt")), (&json!("active"), None));
        app
    });
}

/// What happens to an organization in a state when an operator does something: the status of the answer, and the
/// state after it.
const STEPS: &[(&str, &str, u16, &str)] = &[
    ("pendingActivation", "activate", 200, "active"),
    ("pendingActivation", "put active", 200, "active"),
    ("pendingActivation", "put inactive", 409, "pendingActivation"),
    ("pendingActivation", "put pendingActivation", 200, "pendingActivation"),
    ("pendingActivation", "put deleted", 409, "pendingActivation"),
    ("pendingActivation", "open", 200, "active"),
    ("pendingActivation", "delete", 204, "deleted"),
    ("active", "activate", 200, "active"),
    ("active", "put active", 200, "active"),
    ("active", "put inactive", 200, "inactive"),
    ("active", "put pendingActivation", 409, "active"),
    ("active", "put deleted", 409, "active"),
    ("active", "open", 200, "active"),
    ("active", "delete", 204, "deleted"),
    ("inactive", "activate", 200, "active"),
    ("inactive", "put active", 200, "active"),
    ("inactive", "put inactive", 200, "inactive"),
    ("inactive", "put pendingActivation", 409, "inactive"),
    ("inactive", "put deleted", 409, "inactive"),
    ("inactive", "open", 200, "inactive"),
    ("inactive", "delete", 204, "deleted"),
    ("deleted", "activate", 404, "deleted"),
    ("deleted", "put active", 404, "deleted"),
    ("deleted", "delete", 404, "deleted"),
    ("deleted", "open", 410, "deleted"),
];

#[test]
fn every_step_from_every_state() {
    with_app(async |app| {
        for (number, (from, action, status, to)) in STEPS.iter().enumerate() {
            let (id, address) = signed_up(&app, &format!("org {number}")).await;
            let link = verify_route(&app, &address, 1).await;
            let step = async |step: &str| match step.split_once(' ') {
                Some((_, wanted)) => app.put(&path(&id), &app.root, json!({ "status": wanted })).await,
                None if step == "activate" => {
                    app.put(&format!("/v1/organizations/activate/{id}"), &app.root, json!({})).await
                }
                None if step == "open" => app.post(&link, "", json!(null)).await,
                None => app.delete(&path(&id), &app.root).await,
            };
            if *from != "pendingActivation" {
                step("activate").await.ok(200);
            }
            match *from {
                "inactive" => drop(step("put inactive").await.ok(200)),
                "deleted" => drop(step("delete").await.ok(204)),
                _ => {}
            }
            let case = format!("{from} by {action}");
            let said = step(action).await;
            assert_eq!(said.status, *status, "{case}: {}", said.body);
            if *status == 409 {
                said.problem(409, "invalidTransition");
            }
            let found = app.get(&path(&id), &app.root).await;
            match *to {
                "deleted" => drop(found.problem(404, "notFound")),
                state => assert_eq!(found.ok(200)["status"], state, "{case}"),
            }
        }
        app
    });
}

#[test]
fn a_deleted_organization_leaves_its_names_to_others() {
    with_app(async |app| {
        let org = app.org("gone").await;
        let invitation =
            app.link("gone-admin@example.org", 1).await.replace("/invite/", "/v1/auth/accept-invite/");
        let session = app.post(&invitation, "", json!({ "password": PASSWORD })).await.ok(200);
        let program = json!({ "name": "P", "email": "p@example.org", "password": PASSWORD, "scopes": [] });
        app.post("/v1/system-users", &org.org_admin, program.clone()).await.ok(201);
        let tracker = json!({ "uniqueId": "imei-1" });
        app.post("/v1/trackers", &org.org_admin, tracker.clone()).await.ok(201);
        app.delete(&path(&org.id), &org.org_admin).await.problem(403, "forbidden");
        let admin = app.account(Role::Admin, None).await;
        let admin = app.sign_in(admin).await;
        app.delete(&path(&org.id), &admin).await.problem(403, "forbidden");
        let stale = [("authorization", format!("Bearer {}", app.root)), ("if-match", "\"x\"".to_owned())];
        let stale: Vec<(&str, &str)> = stale.iter().map(|(name, value)| (*name, value.as_str())).collect();
        app.send("DELETE", &path(&org.id), &stale, "").await.problem(412, "preconditionFailed");
        app.delete(&path(&org.id), &app.root).await.ok(204);
        app.delete(&path(&org.id), &app.root).await.problem(404, "notFound");
        let login = json!({ "email": "gone-admin@example.org", "password": PASSWORD });
        app.post("/v1/auth/login", "", login).await.problem(401, "invalidCredentials");
        let refresh = json!({ "refreshToken": session["refreshToken"] });
        app.post("/v1/auth/refresh", "", refresh).await.problem(401, "invalidToken");
        app.get("/v1/vehicles", &org.org_admin).await.problem(401, "unauthenticated");
        let users = format!("/v1/users?organizationId={}", org.id);
        app.get(&users, &app.root).await.problem(404, "notFound");
        let again = app.org("gone").await;
        assert_ne!(again.id, org.id);
        app.post("/v1/system-users", &again.org_admin, program).await.ok(201);
        app.post("/v1/trackers", &again.org_admin, tracker).await.ok(201);
        app
    });
}

#[test]
fn the_requests_are_for_super_admins() {
    with_app(async |app| {
        let org = app.org("own").await;
        let admin = app.account(Role::Admin, None).await;
        let admin = app.sign_in(admin).await;
        for token in [&admin, &org.org_admin, &org.viewer] {
            app.get(REQUESTS, token).await.problem(403, "forbidden");
        }
        app.get(REQUESTS, "").await.problem(401, "unauthenticated");
        app.get(&format!("{REQUESTS}?sort=token"), &app.root).await.problem(400, "unknownSortKey");
        app.get(&format!("{REQUESTS}?status=late"), &app.root).await.problem(400, "invalidParameter");
        app
    });
}

#[test]
fn a_system_user_that_signed_up_is_bound_to_what_it_made_once_that_is_active() {
    with_app(async |app| {
        let body = json!({ "name": "Founder", "email": "founder@example.org", "password": PASSWORD });
        app.post("/v1/system-users", "", body).await.ok(201);
        let page = app.link("founder@example.org", 1).await;
        app.post(&page.replace("/verify/", "/v1/system-users/verify-email/"), "", json!(null)).await.ok(200);
        let login = json!({ "email": "founder@example.org", "password": PASSWORD });
        let session = app.post("/v1/system-users/login", "", login).await.ok(200);
        let token = text(&session["accessToken"]);
        app.get("/v1/vehicles", &token).await.problem(403, "forbidden");
        let made = app.post("/v1/organizations", &token, organization("founded")).await.ok(201);
        let said = app.post("/v1/organizations", &token, organization("another")).await;
        said.problem(409, "invalidTransition");
        let mut of_known = organization("another");
        of_known["admin"]["email"] = json!(ROOT);
        let said = app.post("/v1/organizations", &token, of_known).await;
        said.problem(409, "invalidTransition"); // so that it tells of no address whether it has an account
        assert_eq!(app.get("/v1/auth/me", &token).await.ok(200).get("organizationId"), None);
        let link = verify_route(&app, "founded@example.org", 1).await;
        app.post(&link, "", json!(null)).await.ok(200);
        let me = app.get("/v1/auth/me", &token).await.ok(200);
        assert_eq!(me["organizationId"], made["id"]);
        assert_eq!(me["scopes"].as_array().unwrap().len(), 13, "all of them");
        let audit =
            format!("/v1/audit?resource=systemUser&action=update&organizationId={}", text(&made["id"]));
        let told = app.get(&audit, &app.root).await.ok(200);
        let (before, after) = (&told["data"][0]["before"], &told["data"][0]["after"]);
        assert_eq!((&before["scopes"], &after["scopes"]), (&json!([]), &me["scopes"]), "{told}");
        assert_eq!(after["organizationId"], made["id"]);
        app.post("/v1/vehicles", &token, json!({ "name": "Bus" })).await.ok(201);
        app.post("/v1/organizations", &token, organization("third")).await.problem(403, "forbidden");
        app
    });
}

#[test]
fn strangers_sign_up_only_while_they_may_and_never_set_a_subscription() {
    with_app(async |app| {
        let mut paid = organization("paid");
        paid["subscription"] = json!({ "plan": "enterprise" });
        app.post("/v1/organizations", "", paid.clone()).await.problem(403, "forbidden");
        assert_eq!(
            app.post("/v1/organizations", &app.root, paid).await.ok(201)["subscription"]["plan"],
            "enterprise"
        );
        app.post("/v1/organizations", "nonsense", organization("odd")).await.problem(401, "unauthenticated");
        app
    });
    actix_rt::System::new().block_on(async {
        let mut app = App::start_with(|settings| {
            settings.sign_up = waypost::config::SignUp::Closed;
            settings.admin_email = Some("root@example.org".into());
            settings.admin_password = Some(waypost::config::Secret::new(PASSWORD.into()));
        })
        .await;
        let login = json!({ "email": "root@example.org", "password": PASSWORD });
        app.root = text(&app.post("/v1/auth/login", "", login).await.ok(200)["accessToken"]);
        for path in ["/v1/organizations", "/v1/system-users"] {
            app.send("POST", path, &[], "unread").await.problem(403, "signUpClosed");
        }
        app.post("/v1/organizations", &app.root, organization("closed")).await.ok(201);
        app.stop().await;
    });
}
