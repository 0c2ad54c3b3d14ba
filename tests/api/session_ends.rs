//! Sessions that end while something else of them is under way.

use std::time::Duration;

use futures_util::future::join3;
use uuid::Uuid;
use waypost::auth::{AuthError, Peer};
use waypost::domain::account::Role;
use waypost::store::session::{self, HolderId};
use waypost::store::sql::{Engine, Tx};
use waypost_test_support::eventually;

use crate::harness::{ANSWER_WITHIN, App, on_each_engine};

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
    let waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    eventually(ANSWER_WITHIN, async || {
        db.read().sql(waiting).scalar::<i64>().await.is_ok_and(|found| found >= count)
    })
    .await;
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
