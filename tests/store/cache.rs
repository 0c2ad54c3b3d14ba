//! Newest vehicle states in a real Redis.

use std::sync::Arc;

use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;
use serde_json::Value;
use uuid::Uuid;
use waypost::store::cache::RedisCache;
use waypost::store::shard::Shard;
use waypost_actors::model::{Fix, OrganizationId, Place, Timestamp, VehicleId};
use waypost_actors::ports::{CacheError, LiveCache, Newest};
use waypost_actors::tracking::VehicleState;

fn org(number: u128) -> OrganizationId {
    OrganizationId(Uuid::from_u128(number))
}

fn at(seconds: f64) -> Timestamp {
    Timestamp::from_micros(1_767_225_600_000_000).plus_seconds(seconds)
}

fn newest(organization: u128, vehicle: u128, latitude: f64) -> Newest {
    let last = Some(Fix::new(at(0.0), at(0.0), Place::new(latitude, 10.0)));
    let state = VehicleState { last, ..VehicleState::default() };
    (org(organization), VehicleId(Uuid::from_u128(vehicle)), Arc::new(state))
}

/// Caches of a Redis of its own (it is emptied), by their shards and epochs, and a reader of it.
fn with_redis<const N: usize>(
    writers: [(Shard, i64); N],
    test: impl AsyncFnOnce([RedisCache; N], MultiplexedConnection),
) {
    let Some(redis) = waypost_test_support::PrivateRedis::own() else {
        return println!("skipped: not installed");
    };
    let url = redis.url();
    actix_rt::System::new().block_on(async {
        let open = |(shard, epoch)| RedisCache::open(&url, shard, epoch).expect("the address is one");
        let caches = writers.map(open);
        let client = redis::Client::open(url).expect("the address is one");
        let connection = client.get_multiplexed_async_connection().await.expect("connected");
        test(caches, connection).await;
    });
}

async fn read(connection: &mut MultiplexedConnection, organization: u128) -> Vec<Value> {
    let key = format!("waypost:live:{}", org(organization));
    let mut texts: Vec<(String, String)> = connection.hgetall(key).await.expect("read");
    texts.sort();
    texts.iter().map(|(_, text)| serde_json::from_str(text).expect("JSON")).collect()
}

#[test]
fn the_newest_state_of_each_vehicle_is_there_for_others_until_it_is_removed() {
    with_redis([(Shard::WHOLE, 1)], async |[cache], mut connection| {
        for latitude in [1.0, 2.0] {
            let states = [newest(1, 2, latitude), newest(1, 3, 5.0)];
            cache.put(&[], &states, at(latitude)).await.expect("put");
        }
        let cached = read(&mut connection, 1).await;
        assert_eq!(cached.len(), 2);
        assert_eq!(cached[0]["position"]["latitude"], 2.0);
        assert_eq!(cached[0]["vehicleId"], Uuid::from_u128(2).to_string());
        assert_eq!(
            (&cached[0]["motion"], &cached[0]["geofences"]),
            (&Value::from("unknown"), &Value::Array(vec![]))
        );
        assert_eq!(cached[0]["version"], at(2.0).as_millis());
        let kept: i64 = connection.ttl(format!("waypost:live:{}", org(1))).await.expect("read");
        assert!((1..=900).contains(&kept), "{kept}");
        cache.put(&[(org(1), VehicleId(Uuid::from_u128(2)))], &[], at(3.0)).await.expect("removed");
        let cached = read(&mut connection, 1).await;
        assert_eq!(
            (cached.len(), &cached[0]["vehicleId"]),
            (1, &Value::from(Uuid::from_u128(3).to_string()))
        );
    });
}

#[test]
fn filling_leaves_what_there_is_and_tells_when_it_was_emptied() {
    with_redis([(Shard::WHOLE, 1)], async |[cache], mut connection| {
        assert!(!cache.is_filled().await.expect("answered"));
        cache.put(&[], &[newest(1, 2, 1.0)], at(0.0)).await.expect("put");
        assert!(!cache.is_filled().await.expect("answered"), "what is put alone is not everything");
        // More than fits in one command, and without the vehicle from before.
        let fleet: Vec<Newest> = (3..1_200).map(|number| newest(1, number, 2.0)).collect();
        let all = [fleet, vec![newest(9, 1, 3.0)]].concat();
        cache.fill(&all, at(1.0)).await.expect("filled");
        assert!(cache.is_filled().await.expect("answered"));
        assert_eq!((read(&mut connection, 1).await.len(), read(&mut connection, 9).await.len()), (1_197, 1));
        let keys: Vec<String> = connection.keys("*").await.expect("read");
        assert_eq!(keys.len(), 4, "{keys:?}");
        for key in keys {
            let kept: i64 = connection.ttl(&key).await.expect("read");
            assert!((1..=900).contains(&kept), "{key}: {kept}");
        }
        let () = redis::cmd("FLUSHALL").query_async(&mut connection).await.expect("emptied");
        assert!(!cache.is_filled().await.expect("answered"));
    });
}

#[test]
fn each_shard_fills_what_was_lost_and_all_together_are_everything() {
    let shards: [Shard; 16] = Shard::all().collect::<Vec<_>>().try_into().expect("sixteen");
    with_redis(shards.map(|shard| (shard, 1)), async |caches, mut connection| {
        let (last, others) = caches.split_last().expect("there are some");
        for cache in others {
            assert!(!cache.is_filled().await.expect("answered"), "only others are");
            cache.fill(&[], at(0.0)).await.expect("filled");
            assert!(cache.is_filled().await.expect("answered"));
        }
        assert!(!last.is_filled().await.expect("answered"));
        let is_everything: bool = connection.exists("waypost:live").await.expect("read");
        assert!(!is_everything);
        last.fill(&[], at(0.0)).await.expect("filled");
        let kept: i64 = connection.ttl("waypost:live").await.expect("read");
        assert!((1..=900).contains(&kept), "{kept}");
    });
}

#[test]
fn a_server_that_was_taken_over_writes_nothing_more() {
    with_redis([(Shard::WHOLE, 1), (Shard::WHOLE, 2)], async |[old, new], mut connection| {
        old.fill(&[newest(1, 2, 1.0)], at(0.0)).await.expect("filled");
        new.put(&[], &[newest(1, 2, 2.0)], at(1.0)).await.expect("put");
        // It was suspended meanwhile, and its clock is ahead of what the other one wrote.
        let (late, gone) = ([newest(1, 2, 1.0)], [(org(1), VehicleId(Uuid::from_u128(2)))]);
        for refused in [
            old.put(&[], &late, at(9.0)).await,
            old.put(&gone, &[], at(9.0)).await,
            old.fill(&late, at(9.0)).await,
            old.is_filled().await.map(|_| ()),
        ] {
            assert!(matches!(refused, Err(CacheError::TakenOver)), "{refused:?}");
        }
        let cached = read(&mut connection, 1).await;
        assert_eq!((cached.len(), &cached[0]["position"]["latitude"]), (1, &Value::from(2.0)));
        new.fill(&[newest(1, 2, 3.0)], at(2.0)).await.expect("filled");
        assert_eq!(read(&mut connection, 1).await[0]["position"]["latitude"], 3.0);
    });
}

#[test]
fn a_redis_that_is_away_is_an_error_and_no_hang() {
    actix_rt::System::new().block_on(async {
        // Nothing listens on port 1 of loopback.
        let cache = RedisCache::open("redis://127.0.0.1:1", Shard::WHOLE, 1).expect("the address is one");
        cache.put(&[], &[newest(1, 2, 1.0)], at(0.0)).await.expect_err("nobody is there");
        cache.fill(&[newest(1, 2, 1.0)], at(0.0)).await.expect_err("nobody is there");
        cache.is_filled().await.expect_err("nobody is there");
    });
}
