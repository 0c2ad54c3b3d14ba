//! Fences that change around vehicles.

use std::sync::Arc;
use std::time::Duration;

use waypost_actors::live::{LiveConfig, LiveError};
use waypost_actors::model::{Cause, EventKind, Fence, Place};

use crate::late::clean;
use crate::store::{Fault, Store};
use crate::world::{
    INSIDE, OUTSIDE, World, at, eventually, fence, fence_with, fix, known_vehicle, quick, square, vehicle,
    version, within,
};

/// Fence 1's version 2: elsewhere.
fn moved(to: Place) -> Fence {
    fence_with(1, 1, version(2, Some(at(100.0)), square(to)))
}

fn deleted() -> Fence {
    let mut end = version(2, Some(at(100.0)), square(INSIDE));
    (end.active, end.deleted) = (false, true);
    fence_with(1, 1, end)
}

fn created(at_place: Place) -> Fence {
    fence_with(2, 1, version(1, Some(at(100.0)), square(at_place)))
}

async fn park(world: &World, number: u128, place: Place) {
    let parked = world.live.reporter().report(vehicle(number), vec![fix(0.0, place)]).await;
    within(parked.expect("it is known").committed()).await.expect("the store is there");
}

fn told(store: &Store, number: u128) -> Vec<(EventKind, Cause, i64)> {
    let told = |event: &waypost_actors::model::Event| (event.kind, event.cause, event.geofence_version);
    store.events_of(vehicle(number)).iter().map(told).collect()
}

#[actix_rt::test]
async fn an_edit_settles_parked_vehicles_before_it_returns() {
    let initial = (EventKind::Entry, Cause::Initial, 1);
    let cases = [
        (INSIDE, deleted(), vec![initial, (EventKind::Exit, Cause::GeofenceDeleted, 2)], 0),
        (INSIDE, moved(OUTSIDE), vec![initial, (EventKind::Exit, Cause::GeofenceChanged, 2)], 0),
        (OUTSIDE, moved(OUTSIDE), vec![(EventKind::Entry, Cause::GeofenceChanged, 2)], 1),
        (OUTSIDE, created(OUTSIDE), vec![(EventKind::Entry, Cause::GeofenceCreated, 1)], 1),
        (INSIDE, created(OUTSIDE), vec![initial], 0),
        (INSIDE, moved(INSIDE), vec![initial], 1),
    ];
    for (place, edit, want, inside) in cases {
        for idle in [false, true] {
            let idle_after = Duration::from_millis(if idle { 2 } else { 60_000 });
            let world = World::with(2, LiveConfig { idle_after, ..quick() }).await;
            park(&world, 1, place).await;
            if idle {
                eventually("the actor went", || world.actors() == 0).await;
            }
            world.clock.set(at(100.0));
            let (id, number) = (edit.id, edit.versions[0].version);
            within(world.live.put_fences(vec![edit.clone()])).await.unwrap();
            assert_eq!(told(&world.store, 1), want, "{edit:?}, idle: {idle}");
            assert!(world.store.is_settled(id, number));
            assert_eq!(world.live.inside(id).await.unwrap().len(), inside, "{edit:?}");
            let stay = world.store.state(vehicle(1)).stay(id).map(|stay| stay.version);
            assert_eq!(stay, (inside == 1).then_some(number), "the state is stored as it was settled");
            assert_eq!(world.live.vehicle(vehicle(2)).await.unwrap().unwrap().fix, None);
            world.end().await;
        }
    }
}

#[actix_rt::test]
async fn vehicles_that_never_had_an_actor_are_settled() {
    let first = World::with(300, quick()).await;
    for number in 1..=300 {
        park(&first, number, INSIDE).await;
    }
    within(first.live.stop()).await;

    let world = World::on(Arc::clone(&first.store), quick()).await;
    assert_eq!(world.actors(), 0);
    within(world.live.put_fences(vec![deleted()])).await.unwrap();
    for number in 1..=300 {
        let want = [(EventKind::Entry, Cause::Initial, 1), (EventKind::Exit, Cause::GeofenceDeleted, 2)];
        assert_eq!(told(&world.store, number), want);
    }
    assert!(world.live.inside(fence(1)).await.unwrap().is_empty());
    // They were asked together, not one after the other.
    assert!(world.store.commits() < 300 + 150, "{} commits", world.store.commits());
    world.end().await;
}

#[actix_rt::test]
async fn what_a_crash_left_unsettled_is_settled_before_the_start_is_over() {
    let first = World::with(2, quick()).await;
    park(&first, 1, INSIDE).await;
    within(first.live.stop()).await;
    first.store.add_unsettled(deleted());
    first.store.add_unsettled(created(INSIDE));

    let world = World::on(Arc::clone(&first.store), quick()).await;
    assert!(world.store.is_settled(fence(1), 2) && world.store.is_settled(fence(2), 1));
    let mut causes: Vec<Cause> = told(&world.store, 1).iter().map(|(_, cause, _)| *cause).collect();
    causes.sort_unstable();
    assert_eq!(causes, [Cause::Initial, Cause::GeofenceCreated, Cause::GeofenceDeleted]);
    world.end().await;
}

#[actix_rt::test]
async fn what_cannot_be_settled_at_the_start_is_settled_later() {
    let first = World::with(1, quick()).await;
    park(&first, 1, INSIDE).await;
    within(first.live.stop()).await;
    first.store.add_unsettled(deleted());
    first.store.plan(&[Fault::Refuse]);

    let world = World::on(Arc::clone(&first.store), quick()).await;
    eventually("it is settled", || world.store.is_settled(fence(1), 2)).await;
    assert_eq!(told(&world.store, 1).len(), 2);
    world.end().await;
}

#[actix_rt::test]
async fn an_edit_while_the_store_is_away_is_settled_by_itself() {
    let world = World::with(2, quick()).await;
    park(&world, 1, INSIDE).await;
    world.store.set_away(true);
    let refused = world.live.reporter().report(vehicle(2), vec![fix(0.0, OUTSIDE)]).await.unwrap();
    assert_eq!(within(refused.committed()).await, Err(LiveError::Unavailable));
    world.clock.set(at(100.0));
    assert_eq!(within(world.live.put_fences(vec![deleted()])).await, Err(LiveError::Unavailable));
    assert_eq!(told(&world.store, 1).len(), 1);
    world.store.set_away(false);
    eventually("it is settled", || world.store.is_settled(fence(1), 2)).await;
    assert_eq!(told(&world.store, 1)[1], (EventKind::Exit, Cause::GeofenceDeleted, 2));
    assert!(world.live.inside(fence(1)).await.unwrap().is_empty());
    world.end().await;
}

#[actix_rt::test]
async fn an_edit_whose_commit_fails_is_settled_by_itself() {
    for fault in [Fault::Refuse, Fault::Doubt, Fault::Vanish] {
        let world = World::with(1, quick()).await;
        park(&world, 1, INSIDE).await;
        world.clock.set(at(100.0));
        world.store.plan(&[fault]);
        assert_eq!(within(world.live.put_fences(vec![deleted()])).await, Err(LiveError::Unavailable));
        world.store.set_away(false);
        eventually("it is settled", || world.store.is_settled(fence(1), 2)).await;
        assert_eq!(told(&world.store, 1).len(), 2, "{fault:?}");
        world.end().await;
    }
}

/// The second vehicle panics until it rests, and does so again when it is asked to settle.
async fn lay_to_rest(world: &World) {
    world.clock.panic_next(4);
    for _ in 0..2 {
        let refused = within(world.live.reporter().report(vehicle(2), vec![fix(1.0, INSIDE)])).await;
        assert_eq!(refused.expect_err("it panicked"), LiveError::Unavailable);
    }
}

#[actix_rt::test]
async fn a_resting_vehicle_holds_up_its_own_settlement_and_no_other() {
    let config = LiveConfig { restart_window: Duration::from_millis(200), ..quick() };
    let world = World::with(3, config).await;
    for number in 1..=3 {
        park(&world, number, INSIDE).await;
    }
    world.clock.set(at(100.0));
    lay_to_rest(&world).await;
    let _later = within(world.live.put_fences(vec![deleted()])).await;
    for number in [1, 3] {
        assert_eq!(told(&world.store, number).len(), 2);
    }
    eventually("it is settled", || world.store.is_settled(fence(1), 2)).await;
    assert_eq!(told(&world.store, 2).len(), 2);
    world.end().await;
}

/// Only who could not settle it is asked again: each who settles a version dated back has its past corrected.
#[actix_rt::test]
async fn while_a_vehicle_rests_no_other_is_settled_again() {
    let config = LiveConfig { restart_window: Duration::from_millis(300), ..quick() };
    let world = World::with(3, config).await;
    for number in 1..=3 {
        park(&world, number, INSIDE).await;
    }
    lay_to_rest(&world).await;
    let dated_back = fence_with(1, 1, version(2, Some(at(-10.0)), square(OUTSIDE)));
    let _later = within(world.live.put_fences(vec![dated_back])).await;
    eventually("it is settled", || world.store.is_settled(fence(1), 2)).await;
    clean(&world.store, 3).await;
    assert!(world.store.slices() <= 6, "{} slices of three vehicles", world.store.slices());
    assert!((1..=3).all(|number| world.store.state(vehicle(number)).stay(fence(1)).is_none()));
    world.end().await;
}

/// A request that is dropped has committed its version: the edit must not remain half done.
#[actix_rt::test]
async fn an_edit_is_seen_through_when_its_caller_goes_away() {
    let world = World::with(1, quick()).await;
    park(&world, 1, INSIDE).await;
    world.clock.set(at(100.0));
    world.store.hold();
    {
        let edit = Box::pin(world.live.put_fences(vec![deleted()]));
        assert!(futures_util::FutureExt::now_or_never(edit).is_none());
    }
    world.store.release();
    eventually("it is settled", || world.store.is_settled(fence(1), 2)).await;
    assert_eq!(told(&world.store, 1).len(), 2);
    world.end().await;
}

/// A vehicle that judges by the old fences while the new one is published is settled too.
#[actix_rt::test]
async fn a_step_that_runs_during_an_edit_is_not_missed() {
    for _ in 0..10 {
        let world = World::of(vec![known_vehicle(1, 1)], vec![], quick()).await;
        world.clock.stand_still();
        let mut reporter = world.live.reporter();
        let report = reporter.report(vehicle(1), vec![fix(0.0, INSIDE)]);
        let edit = async {
            eventually("the vehicle is at it", || world.clock.waiting() == 1).await;
            let put = world.live.put_fences(vec![created(INSIDE)]);
            let beside = async {
                // The version is published, and the edit asks what time it is.
                eventually("the edit is at it", || world.clock.waiting() == 2).await;
                world.clock.go_on();
            };
            within(futures_util::future::join(put, beside)).await.0.unwrap();
            assert_eq!(world.live.inside(fence(2)).await.unwrap().len(), 1);
        };
        let (pending, ()) = futures_util::future::join(report, edit).await;
        within(pending.unwrap().committed()).await.unwrap();
        assert_eq!(told(&world.store, 1), [(EventKind::Entry, Cause::GeofenceCreated, 1)]);
        world.end().await;
    }
}
