//! Late data through the live core: corrections beside live fixes, edits of the past, crashes in the middle.

use std::sync::Arc;

use futures_util::FutureExt as _;
use waypost_actors::geofence::{FenceSet, FenceTimeline};
use waypost_actors::live::LiveError;
use waypost_actors::model::{Cause, Event, EventKind, EventStatus, Fence, Fix, Origin, Place, Vehicle};
use waypost_actors::ports::Counts;
use waypost_actors::report::Reporter;
use waypost_actors::tracking::Context;
use waypost_actors::watch::Audience;

use crate::ledger::geofence_events;
use crate::store::{Fault, Store};
use crate::world::{
    INSIDE, OUTSIDE, World, at, crossings, eventually, fence, fence_with, fix, known_vehicle, quick, square,
    vehicle, version, within,
};

pub(crate) async fn report(
    reporter: &mut Reporter,
    number: u128,
    fixes: Vec<Fix>,
) -> Result<Counts, LiveError> {
    within(within(reporter.report(vehicle(number), fixes)).await?.committed()).await
}

/// Reports until it is acknowledged.
pub(crate) async fn insist(world: &World, number: u128, fixes: Vec<Fix>) {
    let mut reporter = world.live.reporter();
    while let Err(error) = report(&mut reporter, number, fixes.clone()).await {
        assert_eq!(error, LiveError::Unavailable);
        eventually("the store is back", || world.live.is_available()).await;
    }
}

pub(crate) async fn clean(store: &Store, vehicles: u128) {
    eventually("all is corrected", || (1..=vehicles).all(|number| !store.is_dirty(vehicle(number)))).await;
}

/// Checks that a vehicle's records are what in-order input makes.
pub(crate) fn keeps_the_law(world: &World, vehicle: &Vehicle, fences: &[Fence]) {
    let set = FenceSet::new(fences.iter().map(|fence| FenceTimeline::prepare(fence).into()).collect());
    let context = Context { vehicle, fences: &set, detected_at: world.live.now() };
    world.store.ledger(vehicle.id).keeps_the_law(&context);
}

fn kinds(events: &[Event]) -> Vec<(EventKind, EventStatus, i64, Origin)> {
    events.iter().map(|event| (event.kind, event.status, event.revision, event.origin)).collect()
}

#[actix_rt::test]
async fn live_fixes_are_answered_while_a_correction_waits_for_its_slice() {
    let world = World::with(1, quick()).await;
    let mut reporter = world.live.reporter();
    report(&mut reporter, 1, vec![fix(0.0, OUTSIDE), fix(10.0, OUTSIDE)]).await.unwrap();
    world.store.hold_slices();
    report(&mut reporter, 1, vec![fix(5.0, INSIDE)]).await.unwrap();
    eventually("its slice is asked for", || world.store.slices() == 1).await;
    // Live fixes continue, in and out; and another late one arrives.
    for live in [fix(20.0, INSIDE), fix(30.0, OUTSIDE), fix(40.0, INSIDE), fix(7.0, INSIDE)] {
        assert_eq!(report(&mut reporter, 1, vec![live]).await.unwrap().stored, 1);
    }
    let live = world.store.events_of(vehicle(1));
    assert_eq!(
        live.iter().map(|event| event.kind).collect::<Vec<_>>(),
        [EventKind::Entry, EventKind::Exit, EventKind::Entry]
    );
    world.store.release_slices();
    clean(&world.store, 1).await;
    let fences = [fence_with(1, 1, version(1, None, square(INSIDE)))];
    keeps_the_law(&world, &known_vehicle(1, 1), &fences);
    assert_eq!(world.store.ledger(vehicle(1)).visits.len(), 3);
    world.end().await;
}

#[actix_rt::test]
async fn a_vehicle_that_panics_while_its_slice_is_read_is_corrected_all_the_same() {
    let world = World::with(1, quick()).await;
    let mut reporter = world.live.reporter();
    report(&mut reporter, 1, vec![fix(0.0, OUTSIDE), fix(10.0, OUTSIDE)]).await.unwrap();
    world.store.hold_slices();
    report(&mut reporter, 1, vec![fix(5.0, INSIDE)]).await.unwrap();
    eventually("its slice is asked for", || world.store.slices() == 1).await;
    world.clock.panic_next(1);
    assert_eq!(report(&mut reporter, 1, vec![fix(20.0, INSIDE)]).await.unwrap().stored, 1);
    assert_eq!(world.clock.panics_left(), 0);
    world.store.release_slices();
    clean(&world.store, 1).await;
    let fences = [fence_with(1, 1, version(1, None, square(INSIDE)))];
    keeps_the_law(&world, &known_vehicle(1, 1), &fences);
    assert_eq!(world.store.ledger(vehicle(1)).visits.len(), 2);
    world.end().await;
}

#[actix_rt::test]
async fn watchers_hear_of_corrections_and_occupancy_follows() {
    let world = World::with(1, quick()).await;
    let mut reporter = world.live.reporter();
    report(&mut reporter, 1, vec![fix(0.0, OUTSIDE), fix(10.0, INSIDE)]).await.unwrap();
    let mut watch = world.live.watch(Audience::Everyone).await.unwrap();
    // It was in earlier: another visit, which has not ended.
    report(&mut reporter, 1, vec![fix(5.0, INSIDE)]).await.unwrap();
    clean(&world.store, 1).await;
    let mut told = Vec::new();
    let mut update = within(watch.updates.recv()).await.unwrap();
    while update.records.is_empty() {
        update = within(watch.updates.recv()).await.unwrap();
    }
    told.extend(geofence_events(update.records.iter().map(|told| &told.record)));
    assert_eq!(
        kinds(&told),
        [
            (EventKind::Entry, EventStatus::Retracted, 2, Origin::Backfill),
            (EventKind::Entry, EventStatus::Active, 1, Origin::Backfill),
        ]
    );
    assert_eq!((update.vehicles[0].left.len(), update.vehicles[0].entered.len()), (1, 1));
    let inside = world.live.inside(fence(1)).await.unwrap();
    assert_eq!(inside[0].held.visit_id, told[1].visit_id);
    world.end().await;
}

#[actix_rt::test]
async fn an_edit_of_the_past_answers_when_the_past_is_corrected() {
    let world = World::with(3, quick()).await;
    for number in 1..=3 {
        let place = if number == 3 { Place::new(10.0, 10.0) } else { INSIDE };
        insist(&world, number, vec![fix(0.0, place), fix(10.0, place), fix(20.0, OUTSIDE)]).await;
    }
    let before = world.store.events().len();
    world.clock.set(at(100.0));
    // Around OUTSIDE, since always: the first fence was here all along, and never there.
    within(world.live.put_fences(vec![fence_with(1, 1, version(2, None, square(OUTSIDE)))])).await.unwrap();
    let told = world.store.events()[before..].to_vec();
    assert!(told.iter().all(|event| event.origin == Origin::Recompute), "{told:#?}");
    for number in 1..=2 {
        let ledger = world.store.ledger(vehicle(number));
        let active = geofence_events(ledger.active().values());
        assert_eq!(active.len(), 1, "{active:#?}");
        assert_eq!((active[0].geofence_version, active[0].cause), (2, Cause::Crossing));
        assert!(ledger.mark.is_none());
    }
    assert_eq!(world.live.inside(fence(1)).await.unwrap().len(), 3);
    world.end().await;
}

#[actix_rt::test]
async fn an_edit_of_long_ago_touches_only_vehicles_that_came_near() {
    let world = World::with(3, quick()).await;
    let far = Place::new(10.0, 10.0);
    for number in 1..=3 {
        let place = if number == 3 { far } else { OUTSIDE };
        insist(&world, number, vec![fix(0.0, place), fix(10.0, place), fix(20.0, OUTSIDE)]).await;
    }
    world.clock.set(at(10_000.0));
    let nowhere = square(Place::new(-40.0, 100.0));
    within(world.live.put_fences(vec![fence_with(2, 1, version(1, None, nowhere))])).await.unwrap();
    assert_eq!((world.store.asked_near(), world.store.slices()), (vec![(3, 0)], 0));
    within(world.live.put_fences(vec![fence_with(3, 1, version(1, None, square(far)))])).await.unwrap();
    assert_eq!((world.store.asked_near(), world.store.slices()), (vec![(3, 0), (3, 1)], 1));
    let mut renamed = fence_with(3, 1, version(1, None, square(far)));
    renamed.name = "renamed".to_owned();
    within(world.live.rename_fence(renamed)).await.unwrap();
    assert_eq!((world.store.asked_near(), world.store.slices()), (vec![(3, 0), (3, 1)], 1));
    let events = geofence_events(world.store.ledger(vehicle(3)).active().values());
    let told: Vec<_> = events.iter().map(|event| (event.kind, event.geofence_id, event.cause)).collect();
    assert_eq!(
        told,
        [(EventKind::Entry, fence(3), Cause::Initial), (EventKind::Exit, fence(3), Cause::Crossing)]
    );
    world.end().await;
}

#[actix_rt::test]
async fn a_fix_from_before_a_deletion_leaves_nothing_open() {
    let world = World::with(1, quick()).await;
    insist(&world, 1, vec![fix(0.0, OUTSIDE)]).await;
    let mut end = version(2, Some(at(100.0)), square(INSIDE));
    (end.active, end.deleted) = (false, true);
    within(world.live.put_fences(vec![fence_with(1, 1, end)])).await.unwrap();
    // Recorded before the deletion, and received after it.
    insist(&world, 1, vec![fix(90.0, INSIDE)]).await;
    let told: Vec<_> = world.store.events().iter().map(|event| (event.kind, event.cause)).collect();
    assert_eq!(told, [(EventKind::Entry, Cause::Crossing), (EventKind::Exit, Cause::GeofenceDeleted)]);
    assert!(world.live.inside(fence(1)).await.unwrap().is_empty());
    world.end().await;
}

#[actix_rt::test]
async fn a_version_dated_ahead_takes_effect_at_its_instant() {
    for restarts in [false, true] {
        let mut world = World::with(1, quick()).await;
        insist(&world, 1, vec![fix(0.0, INSIDE)]).await;
        let planned = fence_with(1, 1, version(2, Some(at(100.02)), square(OUTSIDE)));
        world.store.add_unsettled(planned.clone());
        within(world.live.put_fences(vec![planned])).await.unwrap();
        assert!(!world.store.is_settled(fence(1), 2));
        assert_eq!(world.store.events().len(), 1);
        if restarts {
            within(world.live.stop()).await;
            world = World::at(Arc::clone(&world.store), quick(), at(100.0)).await;
        }
        world.clock.set(at(100.02));
        eventually("it is settled", || world.store.is_settled(fence(1), 2)).await;
        let exit = &world.store.events()[1];
        assert_eq!(
            (exit.kind, exit.cause, exit.occurred_at),
            (EventKind::Exit, Cause::GeofenceChanged, at(100.02))
        );
        world.end().await;
    }
}

#[actix_rt::test]
async fn a_vehicle_out_of_service_leaves_and_comes_back_anew() {
    let world = World::with(1, quick()).await;
    insist(&world, 1, vec![fix(0.0, INSIDE)]).await;
    let mut out = known_vehicle(1, 1);
    out.out_of_service = vec![(at(50.0), None)];
    within(world.live.put_vehicle(out.clone())).await.unwrap();
    insist(&world, 1, vec![fix(60.0, INSIDE)]).await;
    assert!(world.live.inside(fence(1)).await.unwrap().is_empty());
    assert_eq!(world.live.vehicle(vehicle(1)).await.unwrap().unwrap().fix, Some(fix(0.0, INSIDE)));
    // A late fix from before is judged; one from the time out of service is not.
    insist(&world, 1, vec![fix(40.0, OUTSIDE), fix(45.0, INSIDE), fix(55.0, OUTSIDE)]).await;
    clean(&world.store, 1).await;
    out.out_of_service = vec![(at(50.0), Some(at(100.0)))];
    within(world.live.put_vehicle(out.clone())).await.unwrap();
    world.clock.set(at(200.0));
    insist(&world, 1, vec![fix(150.0, INSIDE)]).await;
    clean(&world.store, 1).await;
    let fences = [fence_with(1, 1, version(1, None, square(INSIDE)))];
    keeps_the_law(&world, &out, &fences);
    let ledger = world.store.ledger(vehicle(1));
    let mut active = geofence_events(ledger.active().values());
    active.sort_by_key(|event| (event.occurred_at, event.kind));
    let told: Vec<_> = active.iter().map(|event| (event.kind, event.cause)).collect();
    assert_eq!(
        told,
        [
            (EventKind::Entry, Cause::Initial),
            (EventKind::Exit, Cause::Crossing),
            (EventKind::Entry, Cause::Crossing),
            (EventKind::Exit, Cause::VehicleDeactivated),
            (EventKind::Entry, Cause::Initial),
        ]
    );
    world.end().await;
}

#[actix_rt::test]
async fn a_backlog_in_small_slices_ends_like_one_in_order() {
    let world = World::with(1, quick()).await;
    world.store.cut_slices(50);
    let fixes = crossings(900);
    insist(&world, 1, vec![fixes[899]]).await;
    for frame in fixes[..899].chunks(200).rev() {
        insist(&world, 1, frame.to_vec()).await;
    }
    clean(&world.store, 1).await;
    keeps_the_law(&world, &known_vehicle(1, 1), &[fence_with(1, 1, version(1, None, square(INSIDE)))]);
    assert!(!world.store.ledger(vehicle(1)).checkpoints.is_empty());
    // One late fix in all of that costs only the slices of its window.
    let (slices, told) = (world.store.slices(), world.store.events().len());
    insist(&world, 1, vec![fix(100.5, INSIDE)]).await;
    clean(&world.store, 1).await;
    assert!(world.store.slices() <= slices + 3, "{} slices", world.store.slices() - slices);
    assert!(world.store.events().len() <= told + 3);
    world.end().await;
}

#[actix_rt::test]
async fn a_store_that_gives_no_slice_is_asked_again() {
    let world = World::with(1, quick()).await;
    insist(&world, 1, vec![fix(0.0, OUTSIDE), fix(10.0, OUTSIDE)]).await;
    world.store.hold_slices();
    insist(&world, 1, vec![fix(5.0, INSIDE)]).await;
    eventually("its slice is asked for", || world.store.slices() == 1).await;
    // The commit under it fails: the fixes remembered for it are void.
    world.store.plan(&[Fault::Refuse]);
    assert_eq!(
        report(&mut world.live.reporter(), 1, vec![fix(20.0, INSIDE)]).await,
        Err(LiveError::Unavailable)
    );
    insist(&world, 1, vec![fix(21.0, INSIDE)]).await;
    world.store.release_slices();
    clean(&world.store, 1).await;
    keeps_the_law(&world, &known_vehicle(1, 1), &[fence_with(1, 1, version(1, None, square(INSIDE)))]);
    assert!(world.store.slices() > 1);
    world.end().await;
}

/// A vehicle that is taken out of use while it awaits a correction stays known until that is done.
#[actix_rt::test]
async fn a_removed_vehicle_is_corrected_first() {
    let world = World::with(1, quick()).await;
    insist(&world, 1, vec![fix(0.0, OUTSIDE), fix(10.0, OUTSIDE)]).await;
    world.store.hold_slices();
    insist(&world, 1, vec![fix(5.0, INSIDE)]).await;
    {
        let mut removed = Box::pin(world.live.remove_vehicle(vehicle(1), at(50.0)));
        eventually("its slice is asked for", || world.store.slices() == 1).await;
        for _ in 0..20 {
            assert!(removed.as_mut().now_or_never().is_none());
            assert!(world.live.vehicle(vehicle(1)).await.unwrap().is_some());
        }
        world.store.release_slices();
        within(removed).await.unwrap();
    }
    assert_eq!(world.live.vehicle(vehicle(1)).await.unwrap(), None);
    assert_eq!(world.store.ledger(vehicle(1)).visits.len(), 1);
    world.end().await;
}
