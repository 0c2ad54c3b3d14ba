//! Late data through the live core: corrections beside live fixes, edits of the past, crashes in the middle.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{join, join_all};
use waypost_actors::geofence::{FenceSet, FenceTimeline};
use waypost_actors::live::{LiveConfig, LiveError};
use waypost_actors::model::{
    Cause, Event, EventKind, EventStatus, Fence, Fix, Origin, Place, Rules, Vehicle, VehicleLimits,
};
use waypost_actors::ports::Counts;
use waypost_actors::report::Reporter;
use waypost_actors::tracking::Context;
use waypost_actors::watch::Audience;

use crate::store::{Fault, Store};
use crate::world::{
    INSIDE, OUTSIDE, World, at, crossings, eventually, fence, fence_with, fix, known_vehicle, quick, square,
    vehicle, version, within,
};

/// Numbers that look drawn by lot, the same ones each time.
struct Lots(u64);

impl Lots {
    fn draw(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.draw(i as u64 + 1) as usize);
        }
    }
}

/// A track with jitter, gaps, outliers, poor fixes and two places at one instant.
fn track(lots: &mut Lots, fixes: usize) -> Vec<Fix> {
    let (mut seconds, mut place) = (0.0, INSIDE);
    let mut track = Vec::new();
    for _ in 0..fixes {
        seconds += [0.0, 5.0, 10.0, 10.0, 30.0, 700.0][lots.draw(6) as usize];
        let mut step = |meters: u64| (lots.draw(2 * meters + 1) as f64 - meters as f64) / 111_000.0;
        place =
            Place::new((place.latitude + step(400)).clamp(-0.02, 0.03), place.longitude + step(400) / 2.0);
        if place.longitude.abs() > 0.03 {
            place = INSIDE;
        }
        let mut made = fix(seconds, place);
        made.received_at = at(0.0);
        made.accuracy_meters = [None, Some(8.0), Some(50.0), Some(300.0)][lots.draw(4) as usize];
        if lots.draw(15) == 0 {
            made.place = Place::new(1.0, 1.0);
        }
        track.push(made);
    }
    track
}

fn limited(number: u128) -> Vehicle {
    let limits = VehicleLimits { max_speed_kmh: Some(250.0), max_accuracy_meters: Some(200.0) };
    Vehicle { limits, ..known_vehicle(number, 1) }
}

async fn report(reporter: &mut Reporter, number: u128, fixes: Vec<Fix>) -> Result<Counts, LiveError> {
    within(within(reporter.report(vehicle(number), fixes)).await?.committed()).await
}

/// Reports until it is acknowledged.
async fn insist(world: &World, number: u128, fixes: Vec<Fix>) {
    let mut reporter = world.live.reporter();
    while let Err(error) = report(&mut reporter, number, fixes.clone()).await {
        assert_eq!(error, LiveError::Unavailable);
        eventually("the store is back", || world.live.is_available()).await;
    }
}

async fn clean(store: &Store, vehicles: u128) {
    eventually("all is corrected", || (1..=vehicles).all(|number| !store.is_dirty(vehicle(number)))).await;
}

/// That a vehicle's records are what in-order input makes.
fn keeps_the_law(world: &World, vehicle: &Vehicle, fences: &[Fence]) {
    let set = FenceSet::new(fences.iter().map(|fence| FenceTimeline::prepare(fence).into()).collect());
    let context = Context { vehicle, fences: &set, detected_at: world.live.now() };
    world.store.ledger(vehicle.id).keeps_the_law(&context);
}

fn kinds(events: &[Event]) -> Vec<(EventKind, EventStatus, i64, Origin)> {
    events.iter().map(|event| (event.kind, event.status, event.revision, event.origin)).collect()
}

const VEHICLES: u128 = 4;

/// What happens to the fences during the storm: the default, dated back, always, deleted.
fn edits(lots: &mut Lots) -> Vec<Fence> {
    let around = |lots: &mut Lots| square([INSIDE, Place::new(0.0, 0.0), OUTSIDE][lots.draw(3) as usize]);
    let mut edits = Vec::new();
    for number in 2..=7 {
        let from = [None, Some(at(lots.draw(4000) as f64)), Some(at(8_000.0))][lots.draw(3) as usize];
        let mut made = version(number, from, around(lots));
        made.rules = [Rules::EXACT, Rules::default()][lots.draw(2) as usize];
        made.active = lots.draw(4) > 0;
        (made.deleted, made.active) = (number == 7, made.active && number < 7);
        edits.push(fence_with(1, 1, made));
    }
    let mut other = version(1, Some(at(1_000.0)), around(lots));
    other.rules = Rules { min_inside_seconds: 20.0, min_outside_seconds: 15.0, ..Rules::default() };
    edits.push(fence_with(2, 1, other));
    lots.shuffle(&mut edits);
    edits.sort_by_key(|edit| (edit.id != fence(1), edit.versions[0].version));
    edits
}

/// Fixes in any order, again and again, in frames of any size, while fences change, commits fail, and
/// in the middle of the corrections the server is started anew.
async fn storm(seed: u64, plan: &[Fault], restart: bool) {
    let mut lots = Lots(seed);
    let mut fences = vec![fence_with(1, 1, version(1, None, square(INSIDE)))];
    let vehicles: Vec<Vehicle> = (1..=VEHICLES).map(limited).collect();
    let config = LiveConfig { idle_after: Duration::from_millis(20), ..quick() };
    let mut world = World::of(vehicles.clone(), fences.clone(), config.clone()).await;
    world.clock.set(at(9_000.0));
    world.store.cut_slices(7);
    world.store.plan(plan);
    let tracks: Vec<Vec<Fix>> = (0..VEHICLES)
        .map(|_| {
            let mut fixes = track(&mut lots, 80);
            let again: Vec<Fix> = fixes.iter().step_by(3).copied().collect();
            fixes.extend(again);
            lots.shuffle(&mut fixes);
            fixes
        })
        .collect();
    let edits = edits(&mut lots);
    for part in 0..2 {
        let frames = 3 + lots.draw(9) as usize;
        let drives = tracks.iter().zip(1..).map(|(fixes, number)| {
            let world = &world;
            let half = fixes.len() / 2;
            let fixes = if part == 0 { &fixes[..half] } else { &fixes[half..] };
            async move {
                for frame in fixes.chunks(frames) {
                    insist(world, number, frame.to_vec()).await;
                }
            }
        });
        let changes = async {
            for edit in edits.iter().skip(part * 4).take(4) {
                world.store.add_unsettled(edit.clone());
                let _later = within(world.live.put_fence(edit.clone())).await;
            }
        };
        join(join_all(drives), changes).await;
        if restart && part == 0 {
            // The store goes away under the corrections, and comes back under another server.
            world.store.set_away(true);
            within(world.live.stop()).await;
            world.store.set_away(false);
            let store = Arc::clone(&world.store);
            world = World::at(store, config.clone(), at(9_000.0)).await;
        }
    }
    eventually("every edit is settled", || {
        edits.iter().all(|edit| world.store.is_settled(edit.id, edit.versions[0].version))
    })
    .await;
    clean(&world.store, VEHICLES).await;
    for edit in edits {
        match fences.iter_mut().find(|known| known.id == edit.id) {
            Some(known) => known.versions.extend(edit.versions),
            None => fences.push(edit),
        }
    }
    for known in &vehicles {
        keeps_the_law(&world, known, &fences);
        let state = world.store.state(known.id);
        let mut held: Vec<_> = state.open_stays().map(|stay| stay.geofence_id).collect();
        let view = world.live.vehicle(known.id).await.unwrap().unwrap();
        let mut shown: Vec<_> = view.geofences.iter().map(|held| held.geofence_id).collect();
        (held.sort_unstable(), shown.sort_unstable());
        assert_eq!(shown, held, "occupancy follows");
        assert!(!shown.contains(&fence(1)), "it is deleted");
    }
    world.end().await;
}

#[actix_rt::test]
async fn whatever_order_things_come_in_the_records_are_those_of_the_timeline() {
    for seed in 0..12 {
        storm(seed, &[], false).await;
    }
}

#[actix_rt::test]
async fn and_so_when_commits_fail_and_the_server_starts_anew_in_the_middle() {
    use Fault::{Doubt, None, Panic, Refuse};
    for seed in 20..28 {
        let plan = [None, None, Refuse, None, Doubt, None, None, Doubt, Refuse, None, Panic, None, Doubt];
        storm(seed, &plan, true).await;
    }
}

#[actix_rt::test]
async fn live_fixes_are_answered_while_a_correction_waits_for_its_slice() {
    let world = World::with(1, quick()).await;
    let mut reporter = world.live.reporter();
    report(&mut reporter, 1, vec![fix(0.0, OUTSIDE), fix(10.0, OUTSIDE)]).await.unwrap();
    world.store.hold_slices();
    report(&mut reporter, 1, vec![fix(5.0, INSIDE)]).await.unwrap();
    eventually("its slice is asked for", || world.store.slices() == 1).await;
    // Live goes on, in and out; and another late one comes.
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
async fn watchers_hear_of_corrections_and_occupancy_follows() {
    let world = World::with(1, quick()).await;
    let mut reporter = world.live.reporter();
    report(&mut reporter, 1, vec![fix(0.0, OUTSIDE), fix(10.0, INSIDE)]).await.unwrap();
    let mut watch = world.live.watch(Audience::Everyone).await.unwrap();
    // It was in earlier: another visit, and it goes on.
    report(&mut reporter, 1, vec![fix(5.0, INSIDE)]).await.unwrap();
    clean(&world.store, 1).await;
    let mut told = Vec::new();
    let mut update = within(watch.updates.recv()).await.unwrap();
    while update.events.is_empty() {
        update = within(watch.updates.recv()).await.unwrap();
    }
    told.extend(update.events.iter().map(|event| event.event.clone()));
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
    // Around OUTSIDE, since always: the first fence was never there, but here.
    within(world.live.put_fence(fence_with(1, 1, version(2, None, square(OUTSIDE))))).await.unwrap();
    let told = world.store.events()[before..].to_vec();
    assert!(told.iter().all(|event| event.origin == Origin::Recompute), "{told:#?}");
    for number in 1..=2 {
        let ledger = world.store.ledger(vehicle(number));
        let active: Vec<Event> = ledger.active().into_values().collect();
        assert_eq!(active.len(), 1, "{active:#?}");
        assert_eq!((active[0].geofence_version, active[0].cause), (2, Cause::Crossing));
        assert!(ledger.mark.is_none());
    }
    assert_eq!(world.live.inside(fence(1)).await.unwrap().len(), 3);
    world.end().await;
}

#[actix_rt::test]
async fn a_fix_from_before_a_deletion_leaves_nothing_open() {
    let world = World::with(1, quick()).await;
    insist(&world, 1, vec![fix(0.0, OUTSIDE)]).await;
    let mut end = version(2, Some(at(100.0)), square(INSIDE));
    (end.active, end.deleted) = (false, true);
    within(world.live.put_fence(fence_with(1, 1, end))).await.unwrap();
    // Recorded before the deletion, and here after it.
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
        within(world.live.put_fence(planned)).await.unwrap();
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
    // A late fix from before is judged, one from the time out of service is not.
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
    let mut active: Vec<Event> = ledger.active().into_values().collect();
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
    // One late fix in all that is a matter of its window.
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
    // The commit under it fails: what was remembered for it is no good.
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

/// A vehicle that is taken out while it awaits a correction is known until that is done.
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
