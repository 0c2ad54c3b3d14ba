//! The server's clock jumps by an hour, ahead and back, and behaves as docs/operations.md says.

use serde_json::json;
use waypost::domain::account::Role;
use waypost_test_support::{PASSWORD, ROOT, TestStore, eventually, for_each_engine};

use crate::server::{DEADLINE, INSIDE, OUTSIDE, Server, text};
use crate::wire::item;

for_each_engine!(
    whoever_is_signed_in_refreshes_and_goes_on,
    fixes_ahead_of_a_clock_that_was_set_back_count_once_they_come_again,
);

const HOUR: i64 = 3_600;

async fn whoever_is_signed_in_refreshes_and_goes_on(store: TestStore) {
    let server = Server::start(&store).await;
    for jump in [HOUR, -HOUR, -HOUR, HOUR] {
        let (access, refresh) = server.login(ROOT, PASSWORD).await;
        server.get("/v1/auth/me", &access).await.ok(200);
        server.pass(jump);
        server.get("/v1/auth/me", &access).await.problem(401, "unauthenticated");
        let said = server.post("/v1/auth/refresh", "", json!({ "refreshToken": refresh })).await.ok(200);
        server.get("/v1/auth/me", &text(&said["accessToken"])).await.ok(200);
    }
    server.stop().await;
}

async fn fixes_ahead_of_a_clock_that_was_set_back_count_once_they_come_again(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let (bus, fence) = (fleet.bus("one").await, fleet.fence("Stop").await);
    let begun = server.context.clock.now().as_millis();
    bus.report(&server, vec![item(1, begun - 2_000, OUTSIDE)]).await;
    server.pass(-HOUR);
    // The tracker's clock is right, the server's is not: acknowledged and stored, and not judged.
    let entered = vec![item(2, begun - 1_000, INSIDE)];
    bus.report(&server, entered.clone()).await;
    // A token from before the clock was set back is not valid yet.
    let dispatcher = server.sign_in(&fleet.id, Role::Dispatcher).await.0;
    assert!(server.event_ids(&dispatcher).await.is_empty());
    let path = format!("/v1/vehicles/{}/positions?quarantined=true", bus.vehicle);
    let stored = server.get(&path, &dispatcher).await.ok(200)["data"].as_array().unwrap().clone();
    let why: Vec<_> = stored.iter().map(|fix| fix["quarantine"].as_str()).collect();
    assert_eq!(why, [None, Some("future")], "{stored:?}");
    // The clock is set right, and the fix is reported once more.
    server.pass(HOUR);
    bus.report(&server, entered).await;
    let events = eventually(DEADLINE, || async {
        let events = fleet.events().await;
        (!events.is_empty()).then_some(events)
    })
    .await;
    assert_eq!(events.len(), 1);
    // Ahead, everything goes on, numbered without a gap.
    server.pass(HOUR);
    bus.report(&server, vec![item(3, begun + 60_000, OUTSIDE), item(4, begun + 120_000, INSIDE)]).await;
    let dispatcher = server.sign_in(&fleet.id, Role::Dispatcher).await.0;
    let page = server.get("/v1/events?sort=sequence", &dispatcher).await.ok(200);
    let events = page["data"].as_array().unwrap();
    let crossings = events.iter().filter(|event| event["geofenceId"] == *fence);
    assert_eq!(crossings.count(), 3);
    // Changes of master data came before them and have numbers too.
    let numbers: Vec<i64> = events.iter().map(|event| event["sequence"].as_i64().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
    server.stop().await;
}
