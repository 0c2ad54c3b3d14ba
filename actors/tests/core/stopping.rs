//! The end: another server takes over, or this one stops.

use std::sync::Arc;

use futures_util::FutureExt;
use waypost_actors::live::{LiveError, LiveThreads, WatchdogConfig};
use waypost_actors::meters::Meters;
use waypost_actors::ports::Counts;

use crate::store::{Fault, Store};
use crate::world::{
    INSIDE, OUTSIDE, World, at, eventually, fence_with, fix, known_vehicle, quick, square, vehicle, version,
    within,
};

#[actix_rt::test]
async fn a_server_that_is_taken_over_says_so_and_writes_nothing_more() {
    let world = World::with(2, quick()).await;
    assert!(world.live.taken_over().now_or_never().is_none());
    world.store.plan(&[Fault::TakenOver]);
    let mut reporter = world.live.reporter();
    let pending = reporter.report(vehicle(1), vec![fix(0.0, INSIDE)]).await.unwrap();
    assert_eq!(within(pending.committed()).await, Err(LiveError::Unavailable));
    within(world.live.taken_over()).await;
    assert!(!world.live.is_available());
    let refused = within(reporter.report(vehicle(2), vec![fix(0.0, INSIDE)])).await;
    assert_eq!(refused.unwrap_err(), LiveError::Stopped);
    // Nothing waits for a store that never returns.
    let edit = fence_with(2, 1, version(1, None, square(INSIDE)));
    assert_eq!(within(world.live.put_fences(vec![edit])).await, Err(LiveError::Stopped));
    assert_eq!(within(world.live.remove_vehicle(vehicle(1), at(50.0))).await, Err(LiveError::Stopped));
    assert_eq!(world.store.commits(), 1);
    world.end().await;
}

#[actix_rt::test]
async fn taken_over_while_it_was_away() {
    let world = World::with(1, quick()).await;
    world.store.set_away(true);
    let pending = world.live.reporter().report(vehicle(1), vec![fix(0.0, INSIDE)]).await.unwrap();
    assert_eq!(within(pending.committed()).await, Err(LiveError::Unavailable));
    assert!(world.live.taken_over().now_or_never().is_none());
    world.store.take_over();
    within(world.live.taken_over()).await;
    world.end().await;
}

#[actix_rt::test]
async fn stopping_commits_what_is_on_its_way() {
    let world = World::with(20, quick()).await;
    world.store.hold();
    let mut pending = Vec::new();
    for number in 1..=20 {
        pending.push(world.live.reporter().report(vehicle(number), vec![fix(0.0, INSIDE)]).await.unwrap());
    }
    let stop = world.live.stop();
    let beside = async {
        eventually("nothing is taken", || !world.live.is_available()).await;
        let late = within(world.live.reporter().report(vehicle(1), vec![fix(1.0, INSIDE)])).await;
        assert_eq!(late.unwrap_err(), LiveError::Stopped);
        world.store.release();
    };
    within(futures_util::future::join(stop, beside)).await;
    for pending in pending {
        assert_eq!(within(pending.committed()).await, Ok(Counts { stored: 1, duplicates: 0 }));
    }
    let ended = async { while world.live.vehicle(vehicle(1)).await != Err(LiveError::Stopped) {} };
    within(ended).await;
    world.end().await;
}

#[actix_rt::test]
async fn stopping_does_not_wait_for_a_store_that_is_away() {
    let world = World::with(1, quick()).await;
    world.store.set_away(true);
    let pending = world.live.reporter().report(vehicle(1), vec![fix(0.0, INSIDE)]).await.unwrap();
    assert_eq!(within(pending.committed()).await, Err(LiveError::Unavailable));
    world.end().await;
}

#[actix_rt::test]
async fn of_two_cores_on_the_same_threads_one_ends_with_its_vehicles_and_the_other_goes_on() {
    let meters = Meters::default();
    let threads = LiveThreads::start(2, WatchdogConfig::default(), &meters);
    let world = |threads: &LiveThreads| {
        let fences = vec![fence_with(1, 1, version(1, None, square(INSIDE)))];
        let store = Arc::new(Store::new((1..=4).map(|number| known_vehicle(number, 1)).collect(), fences));
        World::on_threads((threads.clone(), meters.clone()), store, quick(), at(100.0))
    };
    let (one, other) = (world(&threads).await, world(&threads).await);
    drop(threads);
    let crossed = async |world: &World, seconds: f64, place| {
        let mut reporter = world.live.reporter();
        for number in 1..=4 {
            let reported = reporter.report(vehicle(number), vec![fix(seconds, place)]).await.unwrap();
            within(reported.committed()).await.unwrap();
        }
    };
    crossed(&one, 0.0, INSIDE).await;
    crossed(&other, 0.0, INSIDE).await;
    assert_eq!((one.actors(), other.actors()), (4, 4));

    within(one.live.stop()).await;
    eventually("its actors ended", || one.has_ended()).await;
    let refused = within(one.live.reporter().report(vehicle(1), vec![fix(1.0, OUTSIDE)])).await;
    assert_eq!(refused.unwrap_err(), LiveError::Stopped);
    assert_eq!(other.actors(), 4);
    crossed(&other, 1.0, OUTSIDE).await;
    assert_eq!(other.store.events().len(), 8);
    other.end().await;
}
