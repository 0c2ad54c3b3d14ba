//! Refresh tokens of a session.

use uuid::Uuid;
use waypost::clock::new_id;
use waypost::domain::account::{AccountStatus, Role};
use waypost::store::account::{self, NewAccount};
use waypost::store::session::{self, HolderId, NewRefreshToken};
use waypost::store::time::Time;
use waypost_actors::model::Timestamp;
use waypost_test_support::{TestStore, for_each_engine};

for_each_engine!(a_session_that_is_refreshed_very_often_keeps_its_newest_tokens);

fn at(second: usize) -> Time {
    Timestamp::from_micros(second as i64 * 1_000_000).into()
}

async fn with_account(store: &TestStore) -> Uuid {
    let account = NewAccount {
        id: new_id(),
        organization_id: None,
        email: "often@example.org".to_owned(),
        first_name: "Often".to_owned(),
        last_name: "Here".to_owned(),
        role: Role::SuperAdmin,
        status: AccountStatus::Active,
        password_hash: None,
        created_at: at(0),
    };
    account::insert(store.db.write(), &account).await.expect("the store answers");
    account.id
}

async fn a_session_that_is_refreshed_very_often_keeps_its_newest_tokens(store: TestStore) {
    let (account, family_id) = (with_account(&store).await, new_id());
    let mut tx = store.db.begin().await.expect("the store answers");
    for second in 0..1_010_usize {
        let token = NewRefreshToken {
            hash: &second.to_be_bytes(),
            family_id,
            holder: HolderId::Account(account),
            created_at: at(second),
            expires_at: at(1_000_000),
            ends_at: at(1_000_000),
        };
        session::insert(tx.on(), &token).await.expect("the store answers");
        session::forget_oldest(tx.on(), family_id).await.expect("the store answers");
        if second < 1_009 {
            session::use_up(tx.on(), &second.to_be_bytes(), at(second + 1))
                .await
                .expect("the store answers")
                .expect("it is good");
        }
    }
    let is_known = async |tx: &mut waypost::store::sql::Tx, second: usize| {
        session::find(tx.on(), &second.to_be_bytes()).await.expect("the store answers").is_some()
    };
    assert!(!is_known(&mut tx, 8).await && is_known(&mut tx, 9).await, "a thousand and the newest");
    assert!(
        session::use_up(tx.on(), &1_009_usize.to_be_bytes(), at(1_010))
            .await
            .expect("the store answers")
            .is_some()
    );
}
