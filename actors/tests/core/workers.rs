//! Where vehicles live: on the thread that reports them. The clock is read in a vehicle's step, and knows on which
//! thread.

use std::thread;

use futures_util::FutureExt as _;
use waypost_actors::live::LiveError;
use waypost_actors::ports::Counts;
use waypost_actors::report::Reporter;
use waypost_actors::watch::Audience;

use crate::world::{INSIDE, OUTSIDE, World, eventually, fix, quick, vehicle, within};

const STORED: Counts = Counts { stored: 1, duplicates: 0 };

async fn report(reporter: &mut Reporter, seconds: f64) {
    let place = if seconds as i64 % 2 == 0 { INSIDE } else { OUTSIDE };
    let pending = within(reporter.report(vehicle(1), vec![fix(seconds, place)])).await.expect("applied");
    assert_eq!(within(pending.committed()).await, Ok(STORED));
}

#[actix_rt::test]
async fn a_vehicle_lives_on_the_thread_of_the_connection_that_reports_it_first() {
    let world = World::with(1, quick()).await;
    let here = Some(thread::current().id());
    let mut before = world.live.reporter();
    world.live.lend_thread();
    let mut near = world.live.reporter().for_long();
    report(&mut near, 0.0).await;
    assert_eq!(world.clock.read_on(), here);
    // A connection without a thread of its own finds it where it is.
    report(&mut before, 1.0).await;
    assert_eq!((world.clock.read_on(), world.actors()), (here, 1));
    world.end().await;
}

#[actix_rt::test]
async fn it_moves_to_a_connection_that_goes_on_for_long_and_to_no_request() {
    let world = World::with(1, quick()).await;
    let here = Some(thread::current().id());
    let mut before = world.live.reporter();
    report(&mut before, 0.0).await;
    world.live.lend_thread();
    report(&mut world.live.reporter(), 1.0).await;
    assert_ne!(world.clock.read_on(), here, "a request does not move it");

    // It moves when nothing is under way; until then it is reported to where it is.
    let mut long = world.live.reporter().for_long();
    let mut seconds = 2.0;
    while world.clock.read_on() != here {
        assert!(seconds < 50.0, "it never came");
        report(&mut long, seconds).await;
        seconds += 1.0;
    }
    report(&mut before, seconds).await;
    assert_eq!(world.clock.read_on(), here, "everybody finds it there");
    let events = world.store.events_of(vehicle(1)).len();
    assert_eq!(events, seconds as usize + 1, "each fix crosses the boundary");
    eventually("one actor", || world.actors() == 1).await;
    world.end().await;
}

#[actix_rt::test]
async fn it_does_not_move_before_it_has_served_anybody() {
    const TRIES: u128 = 20;
    let world = World::with(TRIES, quick()).await;
    let here = Some(thread::current().id());
    let mut before = world.live.reporter();
    world.live.lend_thread();
    let mut long = world.live.reporter().for_long();
    for number in 1..=TRIES {
        let it = vehicle(number);
        // It is started for the first, and asked to move by the second before the first could report.
        let mut first = Box::pin(before.report(it, vec![fix(0.0, INSIDE)]));
        if first.as_mut().now_or_never().is_some() {
            // The machine is so busy that the first was served within this poll: with another one, then.
            continue;
        }
        let second = within(long.report(it, vec![fix(1.0, OUTSIDE)])).await.expect("applied");
        assert_eq!(within(second.committed()).await, Ok(STORED));
        assert_ne!(world.clock.read_on(), here);
        let first = within(first).await.expect("applied");
        assert_eq!(within(first.committed()).await, Ok(STORED));
        assert_eq!(
            (world.clock.read_on() == here, world.actors()),
            (false, usize::try_from(number).unwrap())
        );
        return world.end().await;
    }
    panic!("the first was always served at once");
}

#[actix_rt::test]
async fn one_that_was_only_shown_moves_like_any_other() {
    let world = World::with(2, quick()).await;
    let here = Some(thread::current().id());
    let _watched = world.live.watch(Audience::Everyone).await.expect("there");
    world.store.set_away(true);
    let mut before = world.live.reporter();
    let failed = within(before.report(vehicle(2), vec![fix(0.0, INSIDE)])).await.expect("applied");
    assert_eq!(within(failed.committed()).await, Err(LiveError::Unavailable));
    let shown = within(before.report(vehicle(1), vec![fix(0.0, INSIDE)])).await;
    assert_eq!(shown.map(|_| ()), Err(LiveError::Unavailable));
    world.store.set_away(false);
    eventually("the store is back", || world.live.is_available()).await;
    world.live.lend_thread();
    report(&mut world.live.reporter().for_long(), 0.0).await;
    assert_eq!(world.clock.read_on(), here);
    world.end().await;
}
