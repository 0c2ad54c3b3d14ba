//! Newest vehicle states in a real Redis.

use std::sync::Arc;

use redis::AsyncCommands;
use uuid::Uuid;
use waypost::store::cache::RedisCache;
use waypost_actors::model::{Fix, OrganizationId, Place, Timestamp, VehicleId};
use waypost_actors::ports::LiveCache;
use waypost_actors::tracking::VehicleState;

fn state(latitude: f64) -> Arc<VehicleState> {
    let now = Timestamp::from_micros(1_767_225_600_000_000);
    let last = Some(Fix::new(now, now, Place::new(latitude, 10.0)));
    Arc::new(VehicleState { last, ..VehicleState::default() })
}

#[test]
fn the_newest_state_of_each_vehicle_is_there_for_others() {
    let Some(redis) = waypost_test_support::redis() else {
        println!("skipped: not installed");
        return;
    };
    let url = redis.url();
    let (organization, vehicle) = (OrganizationId(Uuid::from_u128(1)), VehicleId(Uuid::from_u128(2)));
    actix_rt::System::new().block_on(async {
        let cache = RedisCache::open(&url).expect("the address is one");
        for latitude in [1.0, 2.0] {
            cache.put(&[(organization, vehicle, state(latitude))]).await.expect("put");
        }
        let client = redis::Client::open(url).expect("the address is one");
        let mut connection = client.get_multiplexed_async_connection().await.expect("connected");
        let key = format!("waypost:live:{organization}");
        let text: String = connection.hget(key, vehicle.to_string()).await.expect("read");
        let cached: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(cached["position"]["latitude"], 2.0);
        assert_eq!(cached["vehicleId"], vehicle.to_string());
    });
}

#[test]
fn a_redis_that_is_away_is_an_error_and_no_hang() {
    actix_rt::System::new().block_on(async {
        // Nobody listens on port 1 of loopback.
        let cache = RedisCache::open("redis://127.0.0.1:1").expect("the address is one");
        let vehicle = VehicleId(Uuid::from_u128(2));
        let put = [(OrganizationId(Uuid::from_u128(1)), vehicle, state(1.0))];
        cache.put(&put).await.expect_err("nobody is there");
    });
}
