//! What a deleted organization leaves of itself in the live core and in Redis: nothing.

use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;
use serde_json::json;
use waypost::config::Secret;
use waypost_test_support::{PrivateRedis, TestStore, eventually, for_each_engine};

use crate::server::{Bus, DEADLINE, Fleet, Server};
use crate::wire::Wire;

for_each_engine!(a_deleted_organizations_vehicles_leave_redis_and_the_live_core);

async fn cached(connection: &MultiplexedConnection, fleet: &str) -> usize {
    connection.clone().hlen(format!("waypost:live:{fleet}")).await.expect("read")
}

async fn is_live(server: &Server, bus: &Bus) -> bool {
    let id = bus.vehicle.parse().map(waypost_actors::model::VehicleId).unwrap();
    server.context.live.vehicle(id).await.unwrap().is_some()
}

async fn reporting(fleet: &Fleet<'_>, name: &str) -> Bus {
    let bus = fleet.bus(name).await;
    bus.cross(fleet.server, 1, 2).await;
    bus
}

async fn a_deleted_organizations_vehicles_leave_redis_and_the_live_core(store: TestStore) {
    let Some(redis) = PrivateRedis::own() else { return println!("skipped: not installed") };
    let url = redis.url();
    let client = redis::Client::open(url.clone()).unwrap();
    let connection = client.get_multiplexed_async_connection().await.unwrap();
    let with_redis = async || {
        let url = Some(Secret::new(url.clone()));
        Server::start_with(&store, |settings| settings.redis_url = url).await
    };
    let server = with_redis().await;
    let (doomed, stays) = (server.fleet("doomed").await, server.fleet("stays").await);
    let buses = [reporting(&doomed, "one").await, reporting(&doomed, "two").await];
    let other = reporting(&stays, "other").await;
    let in_redis = async || (cached(&connection, &doomed.id).await, cached(&connection, &stays.id).await);
    eventually(DEADLINE, async || in_redis().await == (2, 1)).await;
    // A bus inside a fence leaves it.
    doomed.fence("depot").await;
    buses[0].cross(&server, 3, 3).await;
    let mut wire = Wire::bus(&server, &buses[1]).await;
    wire.say(&json!({ "type": "hello" })).await;
    wire.hear("welcome").await;

    let path = format!("/v1/organizations/organization/{}", doomed.id);
    assert_eq!(server.send("DELETE", &path, &server.root, "").await.status, 204);
    for bus in &buses {
        assert!(!is_live(&server, bus).await);
    }
    assert!(is_live(&server, &other).await);
    let open = "select count(*) from visit where exited_at is null";
    assert_eq!(store.db.read().sql(open).scalar::<i64>().await.unwrap(), 0);
    assert_eq!(wire.closed().await.code, 4403);
    eventually(DEADLINE, async || in_redis().await == (0, 1)).await;

    // Nor do they come back with the next start.
    server.stop().await;
    let server = with_redis().await;
    assert!(!is_live(&server, &buses[0]).await);
    assert!(is_live(&server, &other).await);
    server.stop().await;
}
