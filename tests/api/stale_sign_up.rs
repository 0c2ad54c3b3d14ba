//! What an unconfirmed sign-up holds: no addresses, and a slug only until its link is too old.

use std::time::Duration;

use futures_util::future::join;
use serde_json::{Value, json};
use uuid::Uuid;
use waypost_test_support::eventually;

use crate::harness::{
    ANSWER_WITHIN, App, PASSWORD, ROOT, lock_waits, on_each_engine, on_postgres, organization, text,
};

const DAY: i64 = 24 * 3600;

/// The superAdmin, signed in anew: a day has passed.
async fn root(app: &App) -> String {
    let login = json!({ "email": ROOT, "password": PASSWORD });
    text(&app.post("/v1/auth/login", "", login).await.ok(200)["accessToken"])
}

/// The recorded actions on something, newest first.
async fn actions(app: &App, id: &Value) -> Vec<String> {
    let select = "select action from audit where resource_id = $1 order by id desc";
    let id: Uuid = text(id).parse().unwrap();
    let rows: Vec<(String,)> = app.context.db.read().sql(select).bind(id).all().await.unwrap();
    rows.into_iter().map(|(action,)| action).collect()
}

/// The letter with this number to an address reports a sign-up with it.
async fn told_of_sign_up(app: &App, address: &str, number: usize) {
    let letter = tokio::time::timeout(Duration::from_secs(20), app.mail.nth(address, number)).await.unwrap();
    assert_eq!((letter.subject.as_str(), letter.link.as_str()), ("You have a Waypost account already", ""));
}

#[test]
fn an_organization_that_was_never_activated_gives_its_addresses_back() {
    on_each_engine(async |app| {
        let sign_up = |admin: &str| {
            let mut body = organization("buses");
            body["admin"]["email"] = json!(admin);
            body
        };
        let first = app.post("/v1/organizations", "", sign_up("ada@example.org")).await.ok(201);
        app.link("buses@example.org", 1).await;
        // As long as a letter is on its way, the slug is not free: it is on its way until the outbox knows that it was sent.
        let letters = "select count(*) from mail_outbox";
        eventually(Duration::from_secs(20), async || {
            app.context.db.read().sql(letters).scalar::<i64>().await.unwrap() == 0
        })
        .await;
        app.post("/v1/organizations", "", sign_up("eva@example.org")).await.problem(409, "slugTaken");
        app.pass(DAY - 60);
        app.post("/v1/organizations", "", sign_up("eva@example.org")).await.problem(409, "slugTaken");
        app.pass(120);
        let second = app.post("/v1/organizations", "", sign_up("eva@example.org")).await.ok(201);
        assert_ne!(first["id"], second["id"]);
        assert_eq!(first["slug"], second["slug"], "its slug is free as well");
        let root = root(&app).await;
        let path = |made: &Value| format!("/v1/organizations/organization/{}", text(&made["id"]));
        app.get(&path(&first), &root).await.problem(404, "notFound");
        assert_eq!(app.get(&path(&second), &root).await.ok(200)["status"], "pendingActivation");
        assert_eq!(actions(&app, &first["id"]).await, ["delete", "create"]);
        app
    });
}

#[test]
fn nobody_keeps_others_from_an_address_by_signing_up_with_it() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let ada = |slug: &str| {
            let mut body = organization(slug);
            body["admin"]["email"] = json!("ada@example.org");
            body
        };
        let strangers = app.post("/v1/organizations", "", ada("strangers")).await.ok(201);
        let link = app.link("strangers@example.org", 1).await;
        let theirs = app.post("/v1/organizations", "", ada("theirs")).await.ok(201);
        let path = |made: &Value| format!("/v1/organizations/organization/{}", text(&made["id"]));
        app.get(&path(&strangers), &app.root).await.problem(404, "notFound");
        assert_eq!(app.get(&path(&theirs), &app.root).await.ok(200)["status"], "pendingActivation");
        let verify = link.replace("/activate/", "/v1/organizations/verify-email/");
        app.post(&verify, "", json!(null)).await.problem(410, "linkExpired");
        let user =
            json!({ "email": "ada@example.org", "firstName": "Ada", "lastName": "Ash", "role": "viewer" });
        app.post("/v1/users", &org.org_admin, user).await.ok(201);
        app.get(&path(&theirs), &app.root).await.problem(404, "notFound");
        assert_eq!(actions(&app, &theirs["id"]).await, ["delete", "create"]);
        // An account that an operator made, or a link confirmed, is no open sign-up: it stays, and another attempt
        // only causes a letter.
        app.post("/v1/organizations", "", ada("again")).await.ok(201);
        told_of_sign_up(&app, "ada@example.org", 2).await;
        app
    });
}

#[test]
fn what_is_active_or_an_operators_or_may_still_be_activated_keeps_its_addresses() {
    on_each_engine(async |app| {
        app.org("active").await;
        app.post("/v1/organizations", &app.root, organization("operators")).await.ok(201);
        app.post("/v1/organizations", "", organization("again")).await.ok(201);
        for name in ["operators", "again"] {
            app.link(&format!("{name}@example.org"), 1).await;
        }
        app.pass(DAY - 60);
        let again = json!({ "email": "again@example.org" });
        app.post("/v1/organizations/resend-activation", "", again).await.ok(202);
        app.link("again@example.org", 2).await;
        app.pass(120);
        for name in ["active", "operators", "again"] {
            let mut body = organization(name);
            body["admin"]["email"] = json!("new@example.org");
            app.post("/v1/organizations", "", body).await.problem(409, "slugTaken");
        }
        app
    });
}

#[test]
fn a_system_user_that_was_never_verified_gives_its_address_back() {
    on_each_engine(async |app| {
        let robot = json!({ "name": "Robot", "email": "robot@example.org", "password": PASSWORD });
        let first = app.post("/v1/system-users", "", robot.clone()).await.ok(201);
        let old =
            app.link("robot@example.org", 1).await.replace("/verify/", "/v1/system-users/verify-email/");
        let second = app.post("/v1/system-users", "", robot.clone()).await.ok(201);
        assert_ne!(first["id"], second["id"]);
        assert_eq!(actions(&app, &first["id"]).await, ["delete", "create"]);
        let link =
            app.link("robot@example.org", 2).await.replace("/verify/", "/v1/system-users/verify-email/");
        app.post(&link, "", json!(null)).await.ok(200);
        app.post(&old, "", json!(null)).await.problem(410, "linkExpired");
        assert_eq!(actions(&app, &first["id"]).await, ["delete", "create"]);
        // Once verified, it is not free: a sign-up gets the same answer, and the owner gets a letter.
        let none = app.post("/v1/system-users", "", robot).await.ok(201);
        assert!(actions(&app, &none["id"]).await.is_empty());
        told_of_sign_up(&app, "robot@example.org", 3).await;
        app
    });
}

/// Whichever of two sign-ups with one address is the stranger's: its password is not confirmed by the other one's link.
#[test]
fn a_link_confirms_the_password_of_its_own_sign_up_and_no_other() {
    on_each_engine(async |app| {
        let passwords = ["the password of the first", "the password of the second"];
        for (opened, address) in [(0, "first@example.org"), (1, "second@example.org")] {
            let (mut ids, mut links) = (Vec::new(), Vec::new());
            for password in passwords {
                let robot = json!({ "name": "Robot", "email": address, "password": password });
                ids.push(text(&app.post("/v1/system-users", "", robot).await.ok(201)["id"]));
                let page = app.link(address, ids.len()).await;
                links.push(page.replace("/verify/", "/v1/system-users/verify-email/"));
            }
            let told = app.mail.all(address);
            assert!(told.iter().zip(&ids).all(|(letter, id)| letter.body.contains(id)), "{told:?}");
            app.post(&links[opened], "", json!(null)).await.ok(200);
            app.post(&links[1 - opened], "", json!(null)).await.problem(410, "linkExpired");
            assert_eq!(app.post(&links[opened], "", json!(null)).await.ok(200)["status"], "alreadyVerified");
            let login = async |password: &str| {
                let body = json!({ "email": address, "password": password });
                app.post("/v1/system-users/login", "", body).await
            };
            login(passwords[opened]).await.ok(200);
            login(passwords[1 - opened]).await.problem(401, "invalidCredentials");
        }
        app
    });
}

#[test]
fn a_sign_up_that_an_operator_deleted_is_brought_back_by_no_link() {
    on_each_engine(async |app| {
        let robot = json!({ "name": "Robot", "email": "robot@example.org", "password": PASSWORD });
        let made = app.post("/v1/system-users", "", robot).await.ok(201);
        let link =
            app.link("robot@example.org", 1).await.replace("/verify/", "/v1/system-users/verify-email/");
        app.delete(&format!("/v1/system-users/{}", text(&made["id"])), &app.root).await.ok(204);
        app.post(&link, "", json!(null)).await.problem(410, "linkExpired");
        assert_eq!(actions(&app, &made["id"]).await, ["delete", "create"]);
        app
    });
}

#[test]
fn the_old_address_is_told_of_a_new_one() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let person =
            json!({ "email": "eva@example.org", "firstName": "Eva", "lastName": "Ruiz", "role": "viewer" });
        let id = text(&app.post("/v1/users", &org.org_admin, person).await.ok(201)["id"]);
        let path = format!("/v1/users/{id}");
        // The account was not in use yet: the invitation goes to the new address, and nothing to the old one.
        app.put(&path, &org.org_admin, json!({ "email": "eva.ruiz@example.org" })).await.ok(200);
        let invite = app.link("eva.ruiz@example.org", 1).await.replace("/invite/", "/v1/auth/accept-invite/");
        app.post(&invite, "", json!({ "password": PASSWORD })).await.ok(200);
        app.put(&path, &org.org_admin, json!({ "email": "ada.ruiz@other.example.org" })).await.ok(200);
        let letter = app.mail.nth("eva.ruiz@example.org", 2).await;
        assert!(
            letter.body.contains("is to be a…@other.example.org") && letter.link.is_empty(),
            "{letter:?}"
        );
        assert!(letter.body.starts_with("Hello Eva,"), "{letter:?}");
        let link = app.link("ada.ruiz@other.example.org", 1).await;
        app.post(&link.replace("/address/", "/v1/auth/confirm-address/"), "", json!(null)).await.ok(204);
        // Only the address counts, not how it is written.
        app.put(&path, &org.org_admin, json!({ "email": "Ada.Ruiz@other.example.org" })).await.ok(200);
        assert!(app.mail.all("eva@example.org").iter().all(|letter| !letter.link.is_empty()));
        assert_eq!(app.mail.all("ada.ruiz@other.example.org").len(), 1);
        app
    });
}

#[test]
fn an_organization_that_is_activated_while_its_address_is_asked_for_stays() {
    on_postgres(async |app| {
        let db = &app.context.db;
        let first = app.post("/v1/organizations", "", organization("first")).await.ok(201);
        let id: Uuid = text(&first["id"]).parse().unwrap();
        let mut activation = db.begin().await.unwrap();
        let activate = "update organization set status = 'active' where id = $1";
        activation.on().sql(activate).bind(id).run().await.unwrap();
        let mut second = organization("second");
        second["admin"] = organization("first")["admin"].clone();
        let activated = async {
            eventually(ANSWER_WITHIN, async || lock_waits(db).await.unwrap() == 1).await;
            activation.commit().await.unwrap();
        };
        let (said, ()) = join(app.post("/v1/organizations", "", second), activated).await;
        said.ok(201); // as if it were new
        let path = format!("/v1/organizations/organization/{id}");
        assert_eq!(app.get(&path, &app.root).await.ok(200)["status"], "active");
        app
    });
}
