//! A row that the database never takes, as trackers and operators see it.

use serde_json::json;
use waypost::store::refused_fix;
use waypost_test_support::{TestStore, for_each_engine};

use crate::server::{Server, stored_positions};
use crate::wire::{Wire, items};

for_each_engine!(a_poison_fix_is_named_to_its_tracker_and_costs_nobody_else_anything);

const START: i64 = 1_790_000_000_000;

async fn a_poison_fix_is_named_to_its_tracker_and_costs_nobody_else_anything(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let (poisoned, other) = (fleet.bus("one").await, fleet.bus("two").await);
    // The fifth comes last, and is late: fixes that come in order are packed without a look at each.
    let mut reported = items(1, 9, START);
    let mut late = reported.remove(4);
    late["seq"] = json!(10);
    reported.push(late);
    let recorded_at_millis = START + 5 * 1_000;
    store.refuse_positions_at(recorded_at_millis * 1_000).await;
    let mut wire = Wire::bus(&server, &poisoned).await;
    let mut others = Wire::bus(&server, &other).await;
    for frame in [&reported[..3], &reported[3..8], &reported[8..]] {
        wire.report(frame.to_vec()).await;
    }
    let mut acked = json!(0);
    let mut rejected = Vec::new();
    while acked != 10 {
        let ack = wire.hear("ack").await;
        rejected.extend(ack["rejected"].as_array().unwrap().clone());
        acked = ack["seq"].clone();
    }
    assert_eq!(rejected.len(), 1, "{rejected:?}");
    assert_eq!((&rejected[0]["seq"], &rejected[0]["code"]), (&json!(10), &json!("quarantined")));
    assert!(!rejected[0].to_string().contains("poison"), "the database is not quoted to clients");
    // With another instant, it is accepted.
    others.report(items(1, 3, START + 1)).await;
    assert_eq!(others.hear("ack").await["stored"], 3);
    assert_eq!(stored_positions(&store).await, 8 + 3);
    assert_eq!(refused_fix::count(store.db.read()).await.unwrap(), 1);
    let meters = server.context.live.meters().clone();
    assert_eq!((meters.failed_commits.get(), meters.refused_by_store.get()), (0, 1));

    // When it is sent again, it is named again, and kept once.
    let said = server.post("/v1/positions", &poisoned.token, json!({ "items": reported })).await.ok(200);
    assert_eq!((&said["duplicates"], &said["rejected"][0]["code"]), (&json!(8), &json!("quarantined")));
    assert_eq!(refused_fix::count(store.db.read()).await.unwrap(), 1);
    server.stop().await;
}
