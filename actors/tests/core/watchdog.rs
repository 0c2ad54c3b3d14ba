//! Threads that do not answer.

use std::sync::Arc;
use std::time::Duration;

use waypost_actors::live::{Health, LiveThreads, WatchdogConfig};
use waypost_actors::meters::Meters;
use waypost_actors::ports::Counts;

use crate::store::Store;
use crate::world::{INSIDE, World, at, eventually, fix, known_vehicle, quick, vehicle, within};

const EVERY: Duration = Duration::from_millis(5);
const WATCHDOG: WatchdogConfig =
    WatchdogConfig { every: EVERY, stalled_after: EVERY, broken_after: Duration::from_secs(60) };

/// A core with one vehicle, on threads that may be others' too.
async fn on(threads: &LiveThreads, meters: &Meters) -> World {
    let store = Arc::new(Store::new(vec![known_vehicle(1, 1)], Vec::new()));
    World::on_threads((threads.clone(), meters.clone()), store, quick(), at(100.0)).await
}

async fn watched(config: WatchdogConfig) -> World {
    let meters = Meters::default();
    on(&LiveThreads::start(2, config, &meters), &meters).await
}

/// A thread that is only slow may be reported as stalled for a moment: other tests share the machine.
#[actix_rt::test]
async fn a_thread_that_hangs_is_told_and_told_to_be_well_again() {
    let world = watched(WATCHDOG).await;
    world.clock.stand_still();
    let mut reporter = world.live.reporter();
    let report = reporter.report(vehicle(1), vec![fix(0.0, INSIDE)]);
    let look = async {
        eventually("the vehicle hangs", || world.clock.waiting() == 1).await;
        let is_told = || matches!(world.live.health(), Health::Stalled(what) if what.contains("worker"));
        eventually("the watchdog saw it", is_told).await;
        assert!(world.live.meters().stalled_threads.get() > 0);
        world.clock.go_on();
    };
    let (pending, ()) = futures_util::future::join(report, look).await;
    assert_eq!(within(pending.unwrap().committed()).await, Ok(Counts { stored: 1, duplicates: 0 }));
    eventually("it is well again", || world.live.health() == Health::Well).await;
    world.end().await;
}

#[actix_rt::test]
async fn one_that_hangs_for_too_long_is_broken_for_ever() {
    let world = watched(WatchdogConfig { broken_after: Duration::from_millis(20), ..WATCHDOG }).await;
    world.clock.stand_still();
    let mut reporter = world.live.reporter();
    let report = reporter.report(vehicle(1), vec![fix(0.0, INSIDE)]);
    let look = async {
        let why = within(world.live.broken()).await;
        assert!(why.contains("does not answer"), "{why}");
        world.clock.go_on();
    };
    let (pending, ()) = futures_util::future::join(report, look).await;
    within(pending.unwrap().committed()).await.unwrap();
    assert!(matches!(world.live.health(), Health::Broken(_)));
    world.end().await;
}

/// Both cores are told of a thread that is both's; it counts once. A core that is stopped is told nothing of its own end.
#[actix_rt::test]
async fn a_thread_of_several_cores_counts_once() {
    let meters = Meters::default();
    let threads = LiveThreads::start(1, WATCHDOG, &meters);
    let (one, other) = (on(&threads, &meters).await, on(&threads, &meters).await);
    drop(threads);
    one.clock.stand_still();
    let mut reporter = one.live.reporter();
    let report = reporter.report(vehicle(1), vec![fix(0.0, INSIDE)]);
    let look = async {
        eventually("the vehicle hangs", || one.clock.waiting() == 1).await;
        let is_stalled = |world: &World| matches!(world.live.health(), Health::Stalled(_));
        eventually("both are told", || is_stalled(&one) && is_stalled(&other)).await;
        let counted = meters.stalled_threads.get();
        one.clock.go_on();
        counted
    };
    let (pending, counted) = futures_util::future::join(report, look).await;
    within(pending.unwrap().committed()).await.unwrap();
    assert_eq!(counted, 1);
    eventually("both are well again", || {
        one.live.health() == Health::Well && other.live.health() == Health::Well
    })
    .await;
    within(one.live.stop()).await;
    tokio::time::sleep(4 * EVERY).await;
    assert_eq!((one.live.health(), other.live.health()), (Health::Well, Health::Well));
    other.end().await;
}
