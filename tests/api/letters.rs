//! Letters and the links in them: sent once, kept across restarts, given up in the end; pages with a button.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use waypost::auth::link::Purpose;
use waypost::domain::account::{AccountStatus, Role};
use waypost::store::account::{self, NewAccount};
use waypost::store::outbox::{self, OutgoingMail};
use waypost_actors::model::OrganizationId;

use crate::harness::{App, PASSWORD, ROOT, Said, on_each_engine, organization, text, with_app};

const NEW: &str = "another long password";

fn sign_up(email: &str) -> Value {
    json!({ "name": "Robot", "email": email, "password": PASSWORD })
}

/// Invites a person to an organization, with the letter on its way.
async fn invite(app: &App, organization: &str, email: &str) {
    let account = NewAccount {
        id: waypost::clock::new_id(),
        organization_id: Some(OrganizationId(organization.parse().unwrap())),
        email: email.to_owned(),
        first_name: "Ada".into(),
        last_name: "Lovelace".into(),
        role: Role::Viewer,
        status: AccountStatus::Invited,
        password_hash: None,
        created_at: app.context.clock.now().into(),
    };
    let letter = OutgoingMail {
        purpose: Purpose::Invite,
        subject_id: account.id,
        recipient: email.to_owned(),
        greeting: "Ada".into(),
        about: Some("Fleet".into()),
    };
    let mut tx = app.context.db.begin().await.unwrap();
    account::insert(tx.on(), &account).await.unwrap();
    outbox::put(&mut tx, &letter, app.context.clock.now().into()).await.unwrap();
    tx.commit().await.unwrap();
    app.context.mail.wake();
}

#[test]
fn a_letter_that_fails_for_a_while_comes_later_and_once() {
    with_app(async |app| {
        app.mail.fail_next(true);
        app.post("/v1/system-users", "", sign_up("late@example.org")).await.ok(201);
        // Another letter is sent first: the first one had its turn before.
        app.post("/v1/system-users", "", sign_up("other@example.org")).await.ok(201);
        app.link("other@example.org", 1).await;
        assert!(app.mail.all("late@example.org").is_empty());
        app.pass(31);
        app.context.mail.wake();
        let path =
            app.link("late@example.org", 1).await.replace("/verify/", "/v1/system-users/verify-email/");
        app.post(&path, "", json!(null)).await.ok(200);
        app.pass(3600);
        app.context.mail.wake();
        app.post("/v1/system-users", "", sign_up("third@example.org")).await.ok(201);
        app.link("third@example.org", 1).await;
        assert_eq!(app.mail.all("late@example.org").len(), 1);
        app
    });
}

#[test]
fn a_letter_that_is_refused_for_good_is_given_up() {
    with_app(async |app| {
        app.mail.fail_next(false);
        app.post("/v1/system-users", "", sign_up("never@example.org")).await.ok(201);
        app.post("/v1/system-users", "", sign_up("other@example.org")).await.ok(201);
        app.link("other@example.org", 1).await;
        app.pass(24 * 3600);
        app.context.mail.wake();
        app.post("/v1/system-users", "", sign_up("third@example.org")).await.ok(201);
        app.link("third@example.org", 1).await;
        assert!(app.mail.all("never@example.org").is_empty());
        assert_eq!(outbox::counts(app.context.db.read()).await.unwrap().1, 1);
        app
    });
}

#[test]
fn a_letter_says_until_when_its_link_works_by_the_clocks_of_its_reader() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let path = format!("/v1/organizations/organization/{}", org.id);
        app.put(&path, &app.root, json!({ "settings": { "timezone": "America/New_York" } })).await.ok(200);
        let until = async |address: &str, timezone: Value| {
            let user = json!({ "email": address, "role": "viewer", "firstName": "Ada", "lastName": "Ash", "timezone": timezone });
            app.post("/v1/users", &org.org_admin, user).await.ok(201);
            app.link(address, 1).await;
            app.mail.all(address).remove(0).body
        };
        let theirs = until("ny@example.org", Value::Null).await;
        assert!(theirs.contains("until 2026-05-02 08:00 (America/New_York);"), "{theirs}");
        let own = until("berlin@example.org", json!("Europe/Berlin")).await;
        assert!(own.contains("until 2026-05-02 14:00 (Europe/Berlin);"), "{own}");
        app.post("/v1/system-users", "", sign_up("alone@example.org")).await.ok(201);
        app.link("alone@example.org", 1).await;
        let nobodys = app.mail.all("alone@example.org").remove(0).body;
        assert!(nobodys.contains("until 2026-05-02 12:00 (UTC);"), "{nobodys}");
        app
    });
}

#[test]
fn letters_survive_a_restart_and_no_token_rests_in_the_store() {
    with_app(async |app| {
        let waiting = OutgoingMail {
            purpose: Purpose::ResetPassword,
            subject_id: waypost::clock::new_id(),
            recipient: "somebody@example.org".into(),
            greeting: String::new(),
            about: None,
        };
        // Put without waking the post, as by a server that ended right after its commit.
        let mut tx = app.context.db.begin().await.unwrap();
        outbox::put(&mut tx, &waiting, app.context.clock.now().into()).await.unwrap();
        tx.commit().await.unwrap();
        let row: (String, String) =
            app.context.db.read().sql("select letter, recipient from mail_outbox").one().await.unwrap();
        assert_eq!(row, ("resetPassword".to_owned(), "somebody@example.org".to_owned()));
        let page = app.link("somebody@example.org", 1).await;
        let token = page.strip_prefix("/reset/").unwrap();
        let hashes: i64 = app
            .context
            .db
            .read()
            .sql("select count(*) from one_time_token where token_hash = $1")
            .bind(waypost::auth::secret::hash(token))
            .scalar()
            .await
            .unwrap();
        assert_eq!(hashes, 1);
        app
    });
}

#[test]
fn an_invitation_is_accepted_once_with_a_password_of_ones_own() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        invite(&app, &org.id, "ada@example.org").await;
        let page = app.link("ada@example.org", 1).await;
        let route = page.replace("/invite/", "/v1/auth/accept-invite/");
        let letter = app.mail.all("ada@example.org").remove(0);
        assert!(letter.body.starts_with("Hello Ada,") && letter.body.contains("work with Fleet on"));
        app.post(&route, "", json!({ "password": "short" })).await.problem(422, "validationFailed");
        app.post("/v1/auth/accept-invite/wpi_x", "", json!({ "password": NEW }))
            .await
            .problem(404, "notFound");
        let accept = || app.post(&route, "", json!({ "password": NEW }));
        let (one, two) = tokio::join!(accept(), accept());
        let (won, lost) = if one.status == 200 { (one, two) } else { (two, one) };
        lost.problem(410, "linkUsed");
        assert_eq!(won.ok(200)["role"], "viewer");
        let login = json!({ "email": "ada@example.org", "password": NEW });
        app.post("/v1/auth/login", "", login).await.ok(200);
        app
    });
}

#[test]
fn a_forgotten_password_is_replaced_and_ends_every_session() {
    with_app(async |app| {
        app.post("/v1/auth/forgot-password", "", json!({ "email": "ROOT@example.org" })).await.ok(202);
        let route = app.link(ROOT, 1).await.replace("/reset/", "/v1/auth/reset-password/");
        for _ in 0..5 {
            app.post("/v1/auth/login", "", json!({ "email": ROOT, "password": "wrong" })).await;
        }
        app.post(&route, "", json!({ "password": NEW })).await.ok(204);
        app.post(&route, "", json!({ "password": NEW })).await.problem(410, "linkUsed");
        app.get("/v1/auth/me", &app.root).await.problem(401, "unauthenticated");
        let login = |password| app.post("/v1/auth/login", "", json!({ "email": ROOT, "password": password }));
        login(PASSWORD).await.problem(401, "invalidCredentials");
        login(NEW).await.ok(200);

        app.post("/v1/auth/forgot-password", "", json!({ "email": ROOT })).await.ok(202);
        app.pass(61);
        app.post("/v1/auth/forgot-password", "", json!({ "email": ROOT })).await.ok(202);
        let route = app.link(ROOT, 2).await.replace("/reset/", "/v1/auth/reset-password/");
        app.pass(24 * 3600);
        app.post(&route, "", json!({ "password": PASSWORD })).await.problem(410, "linkExpired");
        app
    });
}

#[test]
fn a_system_users_password_is_replaced_by_its_own_letter() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let (id, token) = app.system_user(&org.org_admin, &["vehicles:read"]).await;
        let email = text(&app.get("/v1/auth/me", &token).await.ok(200)["email"]);
        app.post("/v1/auth/forgot-password", "", json!({ "email": email })).await.ok(202);
        let page = app.link(&email, 2).await;
        let fields = format!("password={}", NEW.replace(' ', "+"));
        let form = [("content-type", "application/x-www-form-urlencoded")];
        app.send("POST", &page, &form, fields).await.ok(200);
        app.get("/v1/auth/me", &token).await.problem(401, "unauthenticated");
        let login = json!({ "email": email, "password": NEW });
        assert_eq!(app.post("/v1/system-users/login", "", login).await.ok(200)["id"], json!(id));
        app
    });
}

#[test]
fn the_pages_behind_links_have_a_button_and_use_nothing_up_by_being_looked_at() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        invite(&app, &org.id, "ada@example.org").await;
        app.post("/v1/system-users", "", sign_up("robot@example.org")).await.ok(201);
        app.post("/v1/auth/forgot-password", "", json!({ "email": ROOT })).await.ok(202);
        let form = [("content-type", "application/x-www-form-urlencoded")];
        for (email, has_password, again) in
            [("ada@example.org", true, 410), ("robot@example.org", false, 200), (ROOT, true, 410)]
        {
            let page = app.link(email, 1).await;
            for _ in 0..3 {
                let said = app.get(&page, "").await;
                said.ok(200);
                let policy = said.header("content-security-policy").unwrap();
                assert!(policy.contains("form-action 'self'") && !policy.contains("script"), "{policy}");
                let html = String::from_utf8(said.bytes).unwrap();
                assert!(html.contains("<form method=\"post\">") && html.contains("<button>"), "{html}");
                assert_eq!(html.contains("type=\"password\""), has_password);
            }
            if has_password {
                let said = app.send("POST", &page, &form, "password=short").await;
                said.ok(422);
                assert!(String::from_utf8(said.bytes).unwrap().contains("12 to 128 characters"));
            }
            let said = app.send("POST", &page, &form, "password=long+enough+password").await;
            if has_password {
                let token = said.header("location").unwrap().strip_prefix("/#token=").unwrap().to_owned();
                let signed_in =
                    app.post(&format!("/v1/auth/sign-in-link/{token}"), "", json!(null)).await.ok(200);
                assert_eq!((said.status, &signed_in["email"]), (303, &json!(email)));
            } else {
                said.ok(200);
            }
            app.send("POST", &page, &form, "password=long+enough+password").await.ok(again);
            app.get(&page, "").await.ok(again);
        }
        // A form of another site does its work, and signs nobody in.
        app.post("/v1/auth/forgot-password", "", json!({ "email": "ada@example.org" })).await.ok(202);
        let page = app.link("ada@example.org", 2).await;
        let foreign = [form[0], ("sec-fetch-site", "cross-site")];
        let said = app.send("POST", &page, &foreign, "password=long+enough+password").await;
        assert_eq!((said.status, said.header("location")), (200, None));
        for page in ["/verify/wpv_x", "/invite/wpi_x", "/reset/wpx_x"] {
            assert!(app.get(page, "").await.header("content-type").unwrap().starts_with("text/html"));
            app.get(page, "").await.ok(404);
            app.send("POST", page, &form, "password=long+enough+password").await.ok(404);
        }
        app
    });
}

#[test]
fn nobody_gets_more_letters_of_strangers_than_a_day_bears() {
    with_app(async |app| {
        let victim = "victim@example.org";
        for number in 0..8 {
            let mut body = organization(&format!("fleet{number}"));
            body["contactEmail"] = json!(victim);
            app.post("/v1/organizations", "", body).await.ok(201);
        }
        app.post("/v1/system-users", "", sign_up(victim)).await.ok(201);
        app.link(victim, 5).await;
        app.post("/v1/system-users", "", sign_up("last@example.org")).await.ok(201);
        app.link("last@example.org", 1).await;
        assert_eq!(app.mail.all(victim).len(), 5);
        assert!(app.mail.all(victim).iter().all(|letter| !letter.subject.contains("fleet")));
        // Letters that a reader needs are counted separately: an account of theirs gets its new password.
        let made = app.account(Role::Admin, None).await;
        let rename = "update account set email = $2, email_key = $2 where id = $1";
        app.context.db.write().sql(rename).bind(made).bind(victim).run().await.unwrap();
        app.post("/v1/auth/forgot-password", "", json!({ "email": victim })).await.ok(202);
        assert!(app.link(victim, 6).await.starts_with("/reset/"));
        // The others are not lost: they are sent when the next day's limit allows it.
        app.pass(24 * 3600 + 1);
        app.context.mail.wake();
        app.link(victim, 7).await;
        app
    });
}

#[test]
fn invitations_to_one_address_are_few() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let body = json!({ "email": "ada@example.org", "firstName": "A", "lastName": "L", "role": "viewer" });
        let path = format!(
            "/v1/users/{}/invitation",
            text(&app.post("/v1/users", &org.org_admin, body).await.ok(201)["id"])
        );
        for _ in 0..10 {
            app.post(&path, &org.org_admin, json!(null)).await.ok(200);
        }
        app.post("/v1/system-users", "", sign_up("last@example.org")).await.ok(201);
        app.link("last@example.org", 1).await;
        assert_eq!(app.mail.all("ada@example.org").len(), 5);
        app
    });
}

#[test]
fn a_sign_up_with_a_known_address_is_answered_as_one_with_a_new_one() {
    with_app(async |app| {
        let known = "known@example.org";
        app.post("/v1/system-users", "", sign_up(known)).await.ok(201);
        let page = app.link(known, 1).await;
        app.post(&page.replace("/verify/", "/v1/system-users/verify-email/"), "", json!(null)).await.ok(200);
        let answers = [app.post("/v1/system-users", "", sign_up(known)).await, {
            let mut again = organization("another");
            again["admin"]["email"] = json!(ROOT);
            app.post("/v1/organizations", "", again).await
        }];
        let fresh = [
            app.post("/v1/system-users", "", sign_up("fresh@example.org")).await,
            app.post("/v1/organizations", "", organization("fresh")).await,
        ];
        for (answer, fresh) in answers.iter().zip(&fresh) {
            let names = |said: &Said| said.ok(201).as_object().unwrap().keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(answer), names(fresh));
            let headers =
                |said: &Said| said.headers.iter().map(|(name, _)| name.to_string()).collect::<BTreeSet<_>>();
            assert_eq!(headers(answer), headers(fresh));
        }
        for (address, number) in [(known, 2), (ROOT, 1)] {
            let letter = app.mail.nth(address, number).await;
            assert_eq!(letter.subject, "You have a Waypost account already");
        }
        let listed = app.get("/v1/organizations/all", &app.root).await.ok(200);
        assert_eq!(listed["pagination"]["totalItems"], 1, "only the fresh one was made");
        app
    });
}

#[test]
fn whoever_activates_an_organization_decides_about_the_system_user_that_made_it() {
    with_app(async |app| {
        let form = [("content-type", "application/x-www-form-urlencoded")];
        for (choice, is_in) in [("leaveOut", false), ("letIn", true)] {
            let email = format!("{choice}@programs.example.org").to_lowercase();
            app.post("/v1/system-users", "", sign_up(&email)).await.ok(201);
            let page = app.link(&email, 1).await;
            app.post(&page.replace("/verify/", "/v1/system-users/verify-email/"), "", json!(null))
                .await
                .ok(200);
            let login = json!({ "email": email, "password": PASSWORD });
            let token = text(&app.post("/v1/system-users/login", "", login).await.ok(200)["accessToken"]);
            let name = choice.to_lowercase();
            app.post("/v1/organizations", &token, organization(&name)).await.ok(201);
            let address = format!("{name}@example.org");
            let page = app.link(&address, 1).await;
            assert!(app.mail.all(&address)[0].body.contains(&email), "the letter names it");
            let shown = String::from_utf8(app.get(&page, "").await.bytes).unwrap();
            assert!(shown.contains(&email) && shown.contains("Activate without it"), "{shown}");
            app.send("POST", &page, &form, format!("founder={choice}")).await.ok(200);
            let vehicles = app.get("/v1/vehicles", &token).await;
            if is_in {
                vehicles.ok(200)
            } else {
                vehicles.problem(403, "forbidden")
            };
        }
        app
    });
}
