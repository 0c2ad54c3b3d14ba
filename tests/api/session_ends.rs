//! Sessions that end while something else of them is under way.

use std::time::Duration;

use futures_util::future::{join, join_all, join3};
use serde_json::json;
use uuid::Uuid;
use waypost::auth::{AuthError, Peer};
use waypost::domain::account::Role;
use waypost::store::account;
use waypost::store::session::{self, HolderId};
use waypost::store::sql::{Engine, Tx};
use waypost_test_support::eventually;

use crate::harness::{
    ANSWER_WITHIN, App, PASSWORD, ROOT, lock_waits, on_each_engine, on_postgres, text, waits_for_first,
    with_app,
};

fn at(address: &str) -> Peer {
    Peer { address: address.to_owned(), request_id: None }
}

/// Keeps everything waiting that changes an account or refers to it, until the transaction ends. On SQLite that is whatever writes.
async fn hold(app: &App, account: Uuid) -> Tx {
    let mut tx = app.context.db.begin().await.unwrap();
    let locking = match app.context.db.engine() {
        Engine::Postgres => "select id from account where id = $1 for update",
        Engine::Sqlite => "select id from account where id = $1",
    };
    tx.on().sql(locking).bind(account).one::<(Uuid,)>().await.unwrap();
    tx
}

/// Waits until so many transactions of PostgreSQL wait for others. SQLite cannot tell, and its writers wait for their turn anyway.
async fn are_waiting(app: &App, count: i64) {
    let db = &app.context.db;
    if db.engine() == Engine::Sqlite {
        return tokio::time::sleep(Duration::from_millis(50)).await;
    }
    eventually(ANSWER_WITHIN, async || lock_waits(db).await.is_ok_and(|found| found >= count)).await;
}

#[test]
fn a_refresh_under_way_does_not_outlive_its_session() {
    on_each_engine(async |app| {
        let (auth, db, peer) = (&app.context.auth, &app.context.db, at("192.0.2.1"));
        let account = app.account(Role::SuperAdmin, None).await;
        for is_logout in [false, true] {
            let link = auth.sign_in_link(account).await.unwrap();
            let first = auth.redeem_sign_in_link(&link).await.unwrap();
            let held = hold(&app, account).await;
            let ended = async {
                are_waiting(&app, 1).await;
                if is_logout {
                    return auth.logout(&first.refresh_token, &peer).await.unwrap();
                }
                let mut tx = db.begin().await.unwrap();
                let now = app.context.clock.now().into();
                session::revoke_all(&mut tx, HolderId::Account(account), now).await.unwrap();
                tx.commit().await.unwrap();
            };
            let released = async {
                are_waiting(&app, 2).await;
                held.commit().await.unwrap();
            };
            let (next, (), ()) = join3(auth.refresh(&first.refresh_token, &peer), ended, released).await;
            if let Ok(next) = next {
                let access = auth.caller(&next.access_token).await;
                assert!(matches!(access, Err(AuthError::Unauthenticated)), "{is_logout}: {access:?}");
                let again = auth.refresh(&next.refresh_token, &peer).await.map(drop);
                assert!(matches!(again, Err(AuthError::InvalidToken)), "{is_logout}: {again:?}");
            }
        }
        app
    });
}

/// The id of [`ROOT`].
async fn root(app: &App) -> Uuid {
    text(&app.get("/v1/auth/me", &app.root).await.ok(200)["id"]).parse().unwrap()
}

#[test]
fn a_password_that_is_reset_while_it_waits_to_be_checked_opens_no_session() {
    on_each_engine(async |app| {
        let (auth, db) = (&app.context.auth, &app.context.db);
        app.post("/v1/auth/forgot-password", "", json!({ "email": ROOT })).await.ok(202);
        let reset = app.link(ROOT, 1).await.replace("/reset/", "");
        let (crowded, elsewhere) = (at("192.0.2.1"), at("192.0.2.2"));
        let attempts = async |count: i64| {
            let counted = "select count(*) from login_attempt where address = $1";
            let many = db.read().sql(counted).bind(&crowded.address).scalar::<i64>().await;
            many.is_ok_and(|found| found >= count)
        };
        // Before it in the line of its address.
        let others =
            (0..20).map(|index| {
                let crowded = &crowded;
                async move {
                    auth.login(&format!("{index}@example.org"), PASSWORD.into(), crowded).await.map(drop)
                }
            });
        let signed_in = async {
            eventually(ANSWER_WITHIN, || attempts(20)).await;
            auth.login(ROOT, PASSWORD.into(), &crowded).await
        };
        let reset = async {
            eventually(ANSWER_WITHIN, || attempts(21)).await;
            auth.reset_password(&reset, "another long password".into(), &elsewhere).await.unwrap();
        };
        let (_, signed_in, ()) = join3(join_all(others), signed_in, reset).await;
        let refused = signed_in.map(drop);
        assert!(matches!(refused, Err(AuthError::InvalidCredentials)), "{refused:?}");
        app
    });
}

/// Gives an account another password, in a transaction that is committed, by what is returned, once somebody waits for it.
async fn another_password(app: &App, account: Uuid) -> impl Future<Output = ()> + '_ {
    let mut reset = app.context.db.begin().await.unwrap();
    let now = app.context.clock.now().into();
    account::set_password(reset.on(), account, "another", now).await.unwrap();
    async move {
        are_waiting(app, 1).await;
        reset.commit().await.unwrap();
    }
}

#[test]
fn a_sign_in_waits_for_a_reset_that_is_not_committed_yet() {
    on_each_engine(async |app| {
        let root = root(&app).await;
        let committed = another_password(&app, root).await;
        let peer = at("192.0.2.1");
        let signed_in = join(app.context.auth.login(ROOT, PASSWORD.into(), &peer), committed).await.0;
        let refused = signed_in.map(drop);
        assert!(matches!(refused, Err(AuthError::InvalidCredentials)), "{refused:?}");
        app
    });
}

#[test]
fn a_password_that_is_reset_while_it_is_checked_changes_no_address() {
    on_each_engine(async |app| {
        let root = root(&app).await;
        let committed = another_password(&app, root).await;
        let asked = json!({ "email": "thief@example.org", "currentPassword": PASSWORD });
        let said = join(app.put(&format!("/v1/users/{root}"), &app.root, asked), committed).await.0;
        assert_eq!(said.problem(422, "validationFailed")["errors"][0]["pointer"], "/currentPassword");
        app
    });
}

/// On SQLite there is one writer, whom a stranger may not keep busy.
#[test]
fn a_made_up_token_waits_for_no_writer() {
    with_app(async |app| {
        let (auth, peer) = (&app.context.auth, at("192.0.2.1"));
        let writer = app.context.db.begin().await.unwrap();
        let answered = join3(
            auth.refresh("wpr_unknown", &peer),
            auth.logout("wpr_unknown", &peer),
            auth.redeem_sign_in_link("wpl_unknown"),
        );
        let links =
            join(auth.verify_system_user("wpv_unknown", None), auth.confirm_address("wpe_unknown", None));
        let answered = join(answered, links);
        let (answers, links) =
            tokio::time::timeout(Duration::from_secs(3), answered).await.expect("nobody waits");
        assert!(matches!(answers, (Err(AuthError::InvalidToken), Ok(()), Err(AuthError::InvalidToken))));
        assert!(matches!(links, (Err(AuthError::NotFound), Err(AuthError::NotFound))));
        drop(writer);
        app
    });
}

/// Who disables somebody, or gives them another address, has them before their links; two who had one each would wait for ever.
#[test]
fn whoever_opens_a_link_waits_for_whom_it_is_about_before_the_link() {
    on_postgres(async |app| {
        let (auth, db) = (&app.context.auth, &app.context.db);
        let free = "select count(*) from (select token_hash from one_time_token where subject_id = $1 \
             and used_at is null for update nowait) as t";
        let person = ("update account set updated_at = updated_at where id = $1", root(&app).await);
        let of_root = (free, person.1);
        let link = auth.sign_in_link(person.1).await.unwrap();
        waits_for_first(db, person, of_root, auth.redeem_sign_in_link(&link)).await.unwrap();
        app.post("/v1/auth/forgot-password", "", json!({ "email": ROOT })).await.ok(202);
        let link = app.link(ROOT, 1).await.replace("/reset/", "");
        let peer = at("192.0.2.1");
        let reset = auth.reset_password(&link, "another long password".into(), &peer);
        waits_for_first(db, person, of_root, reset).await.unwrap();
        let body = json!({ "name": "Program", "email": "program@example.org", "password": PASSWORD });
        let made = app.post("/v1/system-users", "", body).await.ok(201);
        let program: Uuid = text(&made["id"]).parse().unwrap();
        let link = app.link("program@example.org", 1).await.replace("/verify/", "");
        let lock = "update system_user set updated_at = updated_at where id = $1";
        let verified = auth.verify_system_user(&link, None);
        waits_for_first(db, (lock, program), (free, program), verified).await.unwrap();
        app
    });
}
