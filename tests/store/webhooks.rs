//! What deliveries to webhooks leave in the store.

use uuid::Uuid;
use waypost::domain::webhook::{AttemptOutcome, WebhookAttempt};
use waypost::store::webhook_delivery;
use waypost_actors::model::Timestamp;
use waypost_test_support::{TestStore, for_each_engine};

for_each_engine!(attempts_that_come_again_are_stored_once);

fn attempt(number: u128) -> WebhookAttempt {
    WebhookAttempt {
        id: Uuid::from_u128(number),
        message_id: format!("event_{number}"),
        event_type: "geofence.entry".to_owned(),
        sequence: Some(1),
        attempt: 1,
        attempted_at: Timestamp::from_micros(0),
        duration_ms: 5,
        status: Some(204),
        outcome: AttemptOutcome::Delivered,
        detail: None,
        answer: None,
    }
}

async fn attempts_that_come_again_are_stored_once(store: TestStore) {
    let webhook = Uuid::from_u128(100);
    // Two of them come again after a commit of which nobody knew whether it was one.
    for numbers in [1..=2, 1..=3] {
        let attempts: Vec<_> = numbers.map(|number| (webhook, attempt(number))).collect();
        webhook_delivery::save(&store.db, &attempts, &[]).await.expect("saved");
    }
    let select = "select count(*) from webhook_attempt where webhook_id = $1";
    let stored = store.db.read().sql(select).bind(webhook).scalar::<i64>().await.expect("read");
    assert_eq!(stored, 3);
}
