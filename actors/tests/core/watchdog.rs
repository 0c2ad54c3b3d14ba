//! Threads that do not answer.

use std::time::Duration;

use waypost_actors::live::{Health, LiveConfig};
use waypost_actors::ports::Counts;

use crate::world::{INSIDE, World, eventually, fix, quick, vehicle, within};

fn watched() -> LiveConfig {
    let every = Duration::from_millis(5);
    LiveConfig { watchdog_every: every, stalled_after: every, ..quick() }
}

/// A thread that is only slow may be reported as stalled for a moment: other tests share the machine.
#[actix_rt::test]
async fn a_thread_that_hangs_is_told_and_told_to_be_well_again() {
    let world = World::with(1, watched()).await;
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
    let world = World::with(1, LiveConfig { broken_after: Duration::from_millis(20), ..watched() }).await;
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
