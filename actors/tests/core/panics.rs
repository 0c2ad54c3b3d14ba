//! A vehicle that panics: its step reads the clock, which panics on demand.

use std::time::Duration;

use waypost_actors::live::{LiveConfig, LiveError};
use waypost_actors::model::{Cause, EventKind, Fix};
use waypost_actors::ports::Counts;
use waypost_actors::report::{ReportOutcome, Reporter};

use crate::client::deliver;
use crate::world::{INSIDE, OUTSIDE, World, crossings, eventually, fix, quick, vehicle, within};

/// How many actors a panicking vehicle is given before it rests: the first and three more.
const ACTORS: u64 = 4;

#[actix_rt::test]
async fn it_comes_back_with_what_was_on_its_way_and_takes_the_same_report() {
    let world = World::with(3, quick()).await;
    let mut sibling = world.live.reporter();
    let begun = sibling.report(vehicle(3), vec![fix(0.0, INSIDE)]).await.unwrap();
    within(begun.committed()).await.unwrap();

    world.store.hold();
    let mut reporter = world.live.reporter();
    let first = reporter.report(vehicle(1), vec![fix(0.0, INSIDE)]).await.unwrap();
    eventually("its commit began", || world.store.commits() == 2).await;
    world.clock.panic_next(1);
    let second = reporter.report(vehicle(1), vec![fix(1.0, OUTSIDE)]);
    let beside = async {
        // The successor waits for the commit; the sibling on the same thread, every other one, does not.
        let more = within(sibling.report(vehicle(3), vec![fix(1.0, OUTSIDE)])).await.unwrap();
        world.store.release();
        assert_eq!(within(more.committed()).await, Ok(Counts { stored: 1, duplicates: 0 }));
    };
    // The report is sent first, so that it is the one that runs into the panic.
    let mut second = Box::pin(second);
    assert!(futures_util::FutureExt::now_or_never(second.as_mut()).is_none());
    eventually("it panicked", || world.clock.panics_left() == 0).await;
    let (second, ()) = futures_util::future::join(second, beside).await;
    assert_eq!(within(second.unwrap().committed()).await, Ok(Counts { stored: 1, duplicates: 0 }));
    assert_eq!(within(first.committed()).await, Ok(Counts { stored: 1, duplicates: 0 }));

    for number in [1, 3] {
        let told: Vec<_> =
            world.store.events_of(vehicle(number)).iter().map(|event| (event.kind, event.cause)).collect();
        assert_eq!(told, [(EventKind::Entry, Cause::Initial), (EventKind::Exit, Cause::Crossing)]);
    }
    assert_eq!(world.actors(), 2);
    world.end().await;
}

#[actix_rt::test]
async fn over_its_budget_it_rests_and_others_do_not() {
    let world = World::with(2, quick()).await;
    let mut reporter = world.live.reporter();
    world.clock.panic_next(ACTORS);
    for _ in 0..2 {
        let refused = within(reporter.report(vehicle(1), vec![fix(0.0, INSIDE)])).await;
        assert_eq!(refused.unwrap_err(), LiveError::Unavailable);
    }
    assert_eq!(world.clock.panics_left(), 0, "all its actors were tried");
    // It would work again, but it rests.
    let refused = within(world.live.reporter().report(vehicle(1), vec![fix(0.0, INSIDE)])).await;
    assert_eq!(refused.unwrap_err(), LiveError::Unavailable);
    assert_eq!(world.actors(), 0);
    assert!(world.live.is_available());
    let other = within(reporter.report(vehicle(2), vec![fix(0.0, INSIDE)])).await.unwrap();
    assert_eq!(within(other.committed()).await, Ok(Counts { stored: 1, duplicates: 0 }));
    assert!(world.store.events_of(vehicle(1)).is_empty());
    world.end().await;
}

#[actix_rt::test]
async fn after_its_rest_it_comes_back() {
    let config = LiveConfig { restart_window: Duration::from_millis(20), ..quick() };
    let world = World::with(1, config).await;
    let mut reporter = world.live.reporter();
    let fixes = crossings(2);
    for fix in &fixes {
        // Twice on each: no fix is to blame, but the second one exhausts the budget.
        world.clock.panic_next(2);
        while !matches!(report(&mut reporter, vec![*fix]).await, Ok(outcome) if outcome.counts.stored == 1) {}
    }
    assert_eq!(world.clock.panics_left(), 0);
    assert_eq!(world.store.events().len(), 2);
    assert!(world.store.quarantined().is_empty());
    assert_eq!(world.live.meters().restarts.get(), 4);
    world.end().await;
}

async fn report(reporter: &mut Reporter, fixes: Vec<Fix>) -> Result<ReportOutcome, LiveError> {
    within(within(reporter.report(vehicle(1), fixes)).await?.outcome()).await
}

#[actix_rt::test]
async fn a_fix_on_which_it_panics_three_times_is_quarantined_and_the_vehicle_goes_on() {
    let world = World::with(2, quick()).await;
    let mut reporter = world.live.reporter();
    let fixes = crossings(4);
    // The clock is read before the first fix of a step: that one is to blame.
    world.clock.panic_next(3);
    let outcome = report(&mut reporter, fixes[..2].to_vec()).await.unwrap();
    assert_eq!(outcome.counts, Counts { stored: 1, duplicates: 0 });
    let places: Vec<usize> = outcome.refused.iter().map(|(place, _)| *place).collect();
    assert_eq!((places, world.store.quarantined()), (vec![0], vec![(vehicle(1), fixes[0])]));
    // It is known from now on, whichever connection reports it.
    let outcome = report(&mut world.live.reporter(), fixes[..1].to_vec()).await.unwrap();
    assert_eq!((outcome.counts.stored, outcome.refused.len()), (0, 1));
    let outcome = report(&mut reporter, fixes[2..].to_vec()).await.unwrap();
    assert_eq!(
        outcome,
        ReportOutcome { counts: Counts { stored: 2, duplicates: 0 }, ..ReportOutcome::default() }
    );
    assert!(world.store.holds(vehicle(1), &fixes[1..]));
    assert_eq!((world.live.meters().restarts.get(), world.live.meters().panicked_on.get()), (3, 2));
    assert_eq!(world.live.meters().vehicles_alive.get(), 1);
    world.end().await;
}

#[actix_rt::test]
async fn panics_among_many_reports_lose_and_double_nothing() {
    let config = LiveConfig { restart_window: Duration::ZERO, ..quick() };
    let world = World::with(5, config).await;
    let fixes = crossings(80);
    let sends = futures_util::future::join_all(
        (1..=5).map(|n| deliver(&world.live, &world.store, vehicle(n), &fixes, 2)),
    );
    let panics = async {
        for commits in (5..60).step_by(5) {
            eventually("some more is committed", || {
                world.store.commits() >= commits || world.store.fix_count() == 400
            })
            .await;
            world.clock.panic_next(1);
        }
    };
    futures_util::future::join(sends, panics).await;
    world.clock.panic_next(0);
    assert_eq!(world.store.events().len(), 5 * 80);
    world.end().await;
}
