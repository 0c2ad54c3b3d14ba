//! Commits that fail, may have failed, or never answer.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use waypost_actors::live::{LiveConfig, LiveError};
use waypost_actors::meters::Invariant;
use waypost_actors::model::{EventKind, Origin, Timestamp};
use waypost_actors::ports::Counts;
use waypost_actors::tracking::{Mark, VehicleState};
use waypost_actors::watch::Audience;

use crate::client::deliver;
use crate::late::{clean, insist};
use crate::ledger::geofence_events;
use crate::store::Fault::{self, Doubt, Hang, HangStored, None as Fine, Panic, Refuse, Vanish};
use crate::world::{INSIDE, OUTSIDE, World, at, crossings, eventually, fence, fix, quick, vehicle, within};

const VEHICLES: u128 = 3;

/// Commits that hang are given up soon.
fn impatient() -> LiveConfig {
    LiveConfig { commit_timeout: Duration::from_millis(50), ..quick() }
}

#[actix_rt::test]
async fn whatever_fails_every_event_comes_once_and_every_acknowledged_fix_is_stored() {
    let plans: &[&[Fault]] = &[
        &[Refuse],
        &[Doubt],
        &[Hang],
        &[HangStored],
        &[Panic],
        &[Fine, Refuse, Fine, Doubt, Fine, Refuse],
        &[Refuse, Refuse, Refuse, Doubt, Doubt, Doubt],
        &[Fine, Fine, Doubt, HangStored, Refuse, Hang, Panic, Doubt, Fine, Doubt, Fine, Refuse],
    ];
    for plan in plans {
        let world = World::with(VEHICLES, LiveConfig { max_batch_rows: 12, ..impatient() }).await;
        world.store.plan(plan);
        let mut watch = world.live.watch(Audience::Everyone).await.unwrap();
        let fixes = crossings(60);
        let sends = (1..=VEHICLES).map(|n| deliver(&world.live, &world.store, vehicle(n), &fixes, 3));
        join_all(sends).await;

        let events = world.store.events();
        assert_eq!(events.len(), 60 * VEHICLES as usize, "{plan:?}");
        for number in 1..=VEHICLES {
            let events = world.store.events_of(vehicle(number));
            assert!(events.iter().map(|event| event.fix.recorded_at).eq(fixes.iter().map(|f| f.recorded_at)));
            assert_eq!(world.store.state(vehicle(number)).last, fixes.last().copied());
        }
        // The watcher got every one of them once, in order, including those that a doubtful commit stored.
        let mut told = Vec::new();
        let mut next = watch.next_sequence;
        while let Ok(update) = watch.updates.try_recv() {
            told.extend(geofence_events(update.records.iter().map(|told| &told.record)));
            assert_eq!(update.next_sequence, next + update.records.len() as i64, "{plan:?}");
            next = update.next_sequence;
        }
        assert_eq!(told, events, "{plan:?}");
        world.end().await;
    }
}

#[actix_rt::test]
async fn what_a_doubtful_commit_stored_is_shown_and_not_made_again() {
    for fault in [Doubt, HangStored] {
        let world = World::with(2, impatient()).await;
        let mut watch = world.live.watch(Audience::Everyone).await.unwrap();
        world.store.plan(&[fault]);
        let mut reporter = world.live.reporter();
        let pending = reporter.report(vehicle(1), vec![fix(0.0, INSIDE)]).await.unwrap();
        assert_eq!(within(pending.committed()).await, Err(LiveError::Unavailable));

        let update = within(watch.updates.recv()).await.unwrap();
        assert_eq!((update.records.len(), update.next_sequence), (1, 2));
        assert_eq!(update.vehicles[0].entered[0].geofence_id, fence(1));
        eventually("the store is back", || world.live.is_available()).await;
        assert_eq!(world.live.vehicle(vehicle(1)).await.unwrap().unwrap().fix, Some(fix(0.0, INSIDE)));

        let again = reporter.report(vehicle(1), vec![fix(0.0, INSIDE), fix(1.0, OUTSIDE)]).await.unwrap();
        assert_eq!(within(again.committed()).await, Ok(Counts { stored: 1, duplicates: 1 }));
        let kinds: Vec<EventKind> = world.store.events().iter().map(|event| event.kind).collect();
        assert_eq!(kinds, [EventKind::Entry, EventKind::Exit]);
        world.end().await;
    }
}

#[actix_rt::test]
async fn while_the_store_is_away_nothing_is_taken_and_it_drains_by_itself() {
    let world = World::with(2, quick()).await;
    let mut reporter = world.live.reporter();
    let pending = reporter.report(vehicle(1), vec![fix(0.0, INSIDE)]).await.unwrap();
    within(pending.committed()).await.unwrap();

    world.store.set_away(true);
    let pending = reporter.report(vehicle(1), vec![fix(1.0, OUTSIDE)]).await.unwrap();
    assert_eq!(within(pending.committed()).await, Err(LiveError::Unavailable));
    assert!(!world.live.is_available());
    let commits = world.store.commits();
    for _ in 0..20 {
        let refused = within(world.live.reporter().report(vehicle(2), vec![fix(1.0, INSIDE)])).await;
        assert_eq!(refused.unwrap_err(), LiveError::Unavailable);
    }
    assert_eq!(world.store.commits(), commits, "a store that is away is probed, not written");
    // What is committed is shown all the same.
    assert_eq!(world.live.inside(fence(1)).await.unwrap().len(), 1);

    world.store.set_away(false);
    eventually("the store is back", || world.live.is_available()).await;
    let again = within(reporter.report(vehicle(1), vec![fix(1.0, OUTSIDE)])).await.unwrap();
    assert_eq!(within(again.committed()).await, Ok(Counts { stored: 1, duplicates: 0 }));
    assert_eq!(world.store.events().len(), 2);
    world.end().await;
}

/// The vehicle has seen the fix, the store has not: between the failure and the new generation, a repeat must not
/// be taken for a duplicate.
#[actix_rt::test]
async fn a_repeat_of_a_refused_fix_is_not_acknowledged() {
    let world = World::with(1, quick()).await;
    world.store.hold();
    let first = world.live.reporter().report(vehicle(1), vec![fix(0.0, INSIDE)]).await.unwrap();
    eventually("the commit began", || world.store.commits() == 1).await;

    world.clock.stand_still();
    let mut other = world.live.reporter();
    let repeat = other.report(vehicle(1), vec![fix(0.0, INSIDE)]);
    let failing = async {
        eventually("the vehicle is at it", || world.clock.waiting() == 1).await;
        world.store.plan(&[Refuse]);
        world.store.release();
        assert_eq!(within(first.committed()).await, Err(LiveError::Unavailable));
        world.clock.go_on();
    };
    let (repeat, ()) = futures_util::future::join(repeat, failing).await;
    assert_eq!(within(repeat.unwrap().committed()).await, Err(LiveError::Unavailable));
    assert_eq!(world.store.fix_count(), 0);
    world.end().await;
}

/// A connection that does not know yet what became of its frames cannot report a later one before they are sent
/// again: the engine would find them late.
#[actix_rt::test]
async fn nothing_overtakes_what_has_to_come_again() {
    let world = World::with(1, quick()).await;
    world.store.set_away(true);
    let mut reporter = world.live.reporter();
    let unseen = reporter.report(vehicle(1), vec![fix(0.0, INSIDE)]).await.unwrap();
    eventually("the commit failed", || !world.live.is_available()).await;
    world.store.set_away(false);
    eventually("the store is back", || world.live.is_available()).await;
    let refused = within(reporter.report(vehicle(1), vec![fix(1.0, OUTSIDE)])).await;
    assert_eq!(refused.unwrap_err(), LiveError::Unavailable);
    assert_eq!(within(unseen.committed()).await, Err(LiveError::Unavailable));
    let both = within(reporter.report(vehicle(1), vec![fix(0.0, INSIDE), fix(1.0, OUTSIDE)])).await.unwrap();
    assert_eq!(within(both.committed()).await, Ok(Counts { stored: 2, duplicates: 0 }));
    assert_eq!(world.store.events().len(), 2);
    world.end().await;
}

#[actix_rt::test]
async fn an_actor_that_goes_during_an_outage_comes_back_with_what_was_stored() {
    let world = World::with(1, LiveConfig { idle_after: Duration::from_millis(5), ..quick() }).await;
    world.store.plan(&[Vanish]);
    let mut reporter = world.live.reporter();
    let pending = reporter.report(vehicle(1), vec![fix(0.0, INSIDE)]).await.unwrap();
    assert_eq!(within(pending.committed()).await, Err(LiveError::Unavailable));
    eventually("the actor went", || world.actors() == 0).await;
    world.store.set_away(false);
    eventually("the store is back", || world.live.is_available()).await;
    let next = within(reporter.report(vehicle(1), vec![fix(1.0, OUTSIDE)])).await.unwrap();
    assert_eq!(within(next.committed()).await, Ok(Counts { stored: 1, duplicates: 0 }));
    let kinds: Vec<EventKind> = world.store.events().iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::Entry, EventKind::Exit]);
    world.end().await;
}

#[actix_rt::test]
async fn a_state_that_is_lost_is_found_again_and_tells_nothing_twice() {
    let world = World::with(2, quick()).await;
    for number in [1, 2] {
        insist(&world, number, vec![fix(0.0, OUTSIDE), fix(10.0, INSIDE)]).await;
    }
    let store = Arc::clone(&world.store);
    within(world.live.stop()).await;
    let told = store.books().log.clone();
    if let Some(ledger) = store.books().ledgers.get_mut(&vehicle(1)) {
        ledger.state = VehicleState::lost(at(200.0));
        ledger.mark =
            Some(Mark { from: Timestamp::FIRST, until: Timestamp::LAST, origin: Origin::Recompute });
    }
    let world = World::on(store, quick()).await;
    assert_eq!(world.live.meters().violations(Invariant::States), 1, "the other one's is sound");
    clean(&world.store, 2).await;
    assert_eq!(world.store.ledger(vehicle(1)).state.last, Some(fix(10.0, INSIDE)));
    assert!(world.store.books().log == told, "nothing is told again");
    insist(&world, 1, vec![fix(20.0, OUTSIDE)]).await;
    assert_eq!(geofence_events(&world.store.books().log).len(), geofence_events(&told).len() + 1);
    within(world.live.stop()).await;
    world.store.audit();
}
