//! Positions ahead of their commit: shown at once, taken back when they turn out not to be stored, and nothing but
//! positions.

use std::collections::HashSet;
use std::sync::Arc;

use waypost_actors::live::{LiveConfig, LiveError};
use waypost_actors::model::{Fix, VehicleId};
use waypost_actors::report::Pending;
use waypost_actors::tracking::RecordKind;
use waypost_actors::watch::{Audience, Interest, News, ProvisionalPosition, Update, Watch};

use crate::store::Fault;
use crate::watching::news;
use crate::world::{INSIDE, OUTSIDE, World, at, eventually, fence, fix, org, quick, vehicle, within};

/// What a watcher gets next: the commit and the provisional positions.
async fn told(watch: &mut Watch) -> (Option<Arc<Update>>, Vec<Arc<ProvisionalPosition>>) {
    let mut next = None;
    eventually("something is told", || {
        next = next.take().or_else(|| news(watch));
        next.is_some()
    })
    .await;
    let (update, seen) = match next.expect("it is told") {
        News::Commit(update, seen) => (Some(update), seen),
        News::Provisional(seen) => (None, seen),
        News::Lost => panic!("nobody is slow here"),
    };
    (update, seen.iter().flat_map(|batch| batch.provisional.clone()).collect())
}

/// The next commit; positions seen by then come with it or before it.
async fn commit(watch: &mut Watch) -> Arc<Update> {
    loop {
        if let Some(update) = told(watch).await.0 {
            return update;
        }
    }
}

/// The next provisional position, while no commit can arrive.
async fn provisional(watch: &mut Watch) -> Arc<ProvisionalPosition> {
    let (update, mut seen) = told(watch).await;
    assert!(update.is_none() && seen.len() == 1, "{update:?} {seen:?}");
    seen.remove(0)
}

async fn report(world: &World, number: u128, fix: Fix) -> Pending {
    within(world.live.reporter().report(vehicle(number), vec![fix])).await.expect("applied")
}

/// Positions of some vehicles and nothing else.
fn positions_of(vehicles: &[VehicleId]) -> Interest {
    let vehicles: HashSet<VehicleId> = vehicles.iter().copied().collect();
    let (occupancy, events, fuel_levels, fuel_events) = (false, false, false, false);
    let vehicles = Some(Arc::new(vehicles));
    Interest { occupancy, events, fuel_levels, fuel_events, vehicles, ..Audience::Everyone.into() }
}

#[actix_rt::test]
async fn a_position_is_told_before_its_commit_and_what_follows_from_it_after() {
    let world = World::with(1, quick()).await;
    let mut watch = world.live.watch(Audience::Everyone).await.unwrap();
    world.store.hold();
    let pending = report(&world, 1, fix(0.0, INSIDE)).await;
    let seen = provisional(&mut watch).await;
    assert_eq!((seen.vehicle_id, seen.fix(), seen.is_stored()), (vehicle(1), Some(&fix(0.0, INSIDE)), false));
    eventually("the commit began", || world.store.commits() == 1).await;
    // A query answers what is committed.
    assert!(news(&mut watch).is_none(), "no event before the commit");
    assert_eq!(world.live.vehicle(vehicle(1)).await.unwrap().unwrap().fix, None);
    assert!(world.live.inside(fence(1)).await.unwrap().is_empty());
    // And a watcher that begins now gets both.
    let late = world.live.watch(Audience::Everyone).await.unwrap();
    assert_eq!((late.vehicles[0].2.state.last, late.provisional[0].fix()), (None, Some(&fix(0.0, INSIDE))));

    world.store.release();
    within(pending.committed()).await.unwrap();
    assert!(seen.is_stored());
    let update = commit(&mut watch).await;
    assert_eq!(update.records[0].record.kind(), RecordKind::Entry);
    assert_eq!(update.vehicles[0].entered[0].geofence_id, fence(1));
    assert!(update.vehicles[0].provisional.is_none() && update.vehicles[0].order > seen.order);
    // A commit that changes only the place leaves nothing to send.
    within(report(&world, 1, fix(1.0, INSIDE)).await.committed()).await.unwrap();
    assert_eq!(provisional(&mut watch).await.fix(), Some(&fix(1.0, INSIDE)));
    assert!(news(&mut watch).is_none());
    // Nor does one that changes nothing visible: another report of the same fix.
    within(report(&world, 1, fix(1.0, INSIDE)).await.committed()).await.unwrap();
    assert!(news(&mut watch).is_none());
    // A late fix only changes up to when the vehicle's timeline stands.
    world.store.hold_slices();
    within(report(&world, 1, fix(0.5, INSIDE)).await.committed()).await.unwrap();
    let update = commit(&mut watch).await;
    assert_eq!((update.vehicles[0].settled_through, update.records.len()), (Some(at(0.499)), 0));
    world.store.release_slices();
    let update = commit(&mut watch).await;
    assert_eq!((update.vehicles[0].settled_through, update.records.len()), (Some(at(1.0)), 0));
    assert!(news(&mut watch).is_none());
    assert!(world.live.watch(Audience::Everyone).await.unwrap().provisional.is_empty());
    world.end().await;
}

#[actix_rt::test]
async fn when_the_commit_fails_the_truth_is_told() {
    let world = World::with(2, LiveConfig { max_batch_rows: 1, ..quick() }).await;
    within(report(&world, 1, fix(0.0, INSIDE)).await.committed()).await.unwrap();
    let mut watch = world.live.watch(Audience::Everyone).await.unwrap();
    world.store.hold();
    let first = report(&world, 1, fix(1.0, OUTSIDE)).await;
    let wrong = provisional(&mut watch).await;
    // This one is not even in the commit that fails.
    let second = report(&world, 2, fix(1.0, INSIDE)).await;
    assert_eq!(provisional(&mut watch).await.vehicle_id, vehicle(2));
    world.store.plan(&[Fault::Refuse]);
    world.store.release();
    for pending in [first, second] {
        assert_eq!(within(pending.committed()).await, Err(LiveError::Unavailable));
    }
    let update = commit(&mut watch).await;
    let places: Vec<_> = update.vehicles.iter().map(|told| (told.vehicle_id, told.state.last)).collect();
    assert_eq!(places, [(vehicle(1), Some(fix(0.0, INSIDE))), (vehicle(2), None)]);
    assert!(update.vehicles.iter().all(|told| told.order > wrong.order && told.provisional.is_none()));
    assert!(update.records.is_empty() && !wrong.is_stored());

    eventually("the store is back", || world.live.is_available()).await;
    within(report(&world, 1, fix(1.0, OUTSIDE)).await.committed()).await.unwrap();
    assert_eq!(commit(&mut watch).await.records[0].record.kind(), RecordKind::Exit);
    world.end().await;
}

#[actix_rt::test]
async fn what_the_store_refuses_for_good_is_taken_back() {
    let world = World::with(1, quick()).await;
    within(report(&world, 1, fix(0.0, INSIDE)).await.committed()).await.unwrap();
    let mut watch = world.live.watch(Audience::Everyone).await.unwrap();
    world.store.poison(Some(vec![fix(1.0, OUTSIDE)]));
    world.store.hold();
    let poisoned = report(&world, 1, fix(1.0, OUTSIDE)).await;
    assert_eq!(provisional(&mut watch).await.fix(), Some(&fix(1.0, OUTSIDE)));
    world.store.release();
    assert_eq!(within(poisoned.outcome()).await.unwrap().refused.len(), 1);
    let update = commit(&mut watch).await;
    assert_eq!(update.vehicles[0].state.last, Some(fix(0.0, INSIDE)));
    assert!(world.live.watch(Audience::Everyone).await.unwrap().provisional.is_empty());
    world.end().await;
}

#[actix_rt::test]
async fn an_older_commit_does_not_take_a_vehicle_back() {
    let world = World::with(1, LiveConfig { max_batch_rows: 1, ..quick() }).await;
    let mut watch = world.live.watch(Audience::Everyone).await.unwrap();
    world.store.hold();
    let entry = report(&world, 1, fix(0.0, INSIDE)).await;
    eventually("the commit began", || world.store.commits() == 1).await;
    let further = report(&world, 1, fix(1.0, INSIDE)).await;
    let (none, seen) = told(&mut watch).await;
    let mut last = seen.last().expect("something was seen").clone();
    if last.fix() == Some(&fix(0.0, INSIDE)) {
        last = provisional(&mut watch).await;
    }
    assert!(none.is_none() && last.fix() == Some(&fix(1.0, INSIDE)));
    world.store.plan(&[Fault::None, Fault::Refuse]);
    world.store.release();
    within(entry.committed()).await.unwrap();
    let update = commit(&mut watch).await;
    assert_eq!(update.vehicles[0].entered.len(), 1);
    assert_eq!(update.vehicles[0].provisional.as_ref().and_then(|seen| seen.fix()), Some(&fix(1.0, INSIDE)));
    // The second fails: then it does.
    assert_eq!(within(further.committed()).await, Err(LiveError::Unavailable));
    let truth = commit(&mut watch).await;
    assert_eq!(truth.vehicles[0].state.last, Some(fix(0.0, INSIDE)));
    assert!(truth.vehicles[0].provisional.is_none() && truth.vehicles[0].order > last.order);
    world.end().await;
}

#[actix_rt::test]
async fn nobody_is_told_of_what_is_not_theirs_or_not_asked_for() {
    let world = World::with(2, quick()).await;
    let mut of_one = world.live.watch(positions_of(&[vehicle(1)])).await.unwrap();
    let mut stranger = world.live.watch(Audience::Organization(org(2))).await.unwrap();
    let (positions, fuel_levels, fuel_events) = (false, false, false);
    let events = Interest { positions, fuel_levels, fuel_events, ..Audience::Everyone.into() };
    let mut of_events = world.live.watch(events).await.unwrap();
    assert_eq!(of_one.vehicles.len(), 1);
    world.store.hold();
    let all = [report(&world, 2, fix(0.0, INSIDE)).await, report(&world, 1, fix(0.0, INSIDE)).await];
    assert_eq!(provisional(&mut of_one).await.vehicle_id, vehicle(1));
    world.store.release();
    for pending in all {
        within(pending.committed()).await.unwrap();
    }
    // The crossing changes what is shown of the vehicle.
    assert!(commit(&mut of_one).await.vehicles.iter().any(|told| told.vehicle_id == vehicle(1)));
    assert!(news(&mut of_one).is_none() && news(&mut stranger).is_none());
    assert_eq!(of_one.known_up_to(), Some(3));
    let mut events = 0;
    while events < 2 {
        let (update, seen) = told(&mut of_events).await;
        events += update.expect("a commit").records.len();
        assert!(seen.is_empty());
    }
    world.end().await;
}

#[actix_rt::test]
async fn for_who_takes_only_the_log_no_state_is_told_and_nothing_ahead_of_its_commit() {
    let world = World::with(1, quick()).await;
    let mut watch = world.live.watch(Interest::of_log(Audience::Everyone)).await.unwrap();
    within(report(&world, 1, fix(0.0, INSIDE)).await.committed()).await.unwrap();
    let update = commit(&mut watch).await;
    assert_eq!((update.records.len(), update.vehicles.len()), (1, 0));
    // Who is inside is known although nobody follows it.
    assert_eq!(world.live.inside(fence(1)).await.unwrap().len(), 1);
    within(report(&world, 1, fix(1.0, INSIDE)).await.committed()).await.unwrap();
    assert!(news(&mut watch).is_none());
    world.store.hold();
    let pending = report(&world, 1, fix(2.0, OUTSIDE)).await;
    assert!(world.live.watch(Audience::Everyone).await.unwrap().provisional.is_empty());
    world.store.release();
    within(pending.committed()).await.unwrap();
    assert_eq!(commit(&mut watch).await.records[0].record.kind(), RecordKind::Exit);
    assert!(world.live.inside(fence(1)).await.unwrap().is_empty());
    world.end().await;
}

/// After many were woken, the next delivery waits a while; what came meanwhile is delivered then, the newest of
/// each vehicle.
#[actix_rt::test]
async fn for_many_it_is_gathered_and_nobody_who_waits_is_forgotten() {
    let world = World::with(2, quick()).await;
    let mut watches = Vec::new();
    for _ in 0..600 {
        let mut watch = world.live.watch(positions_of(&[vehicle(1), vehicle(2)])).await.unwrap();
        assert!(news(&mut watch).is_none(), "from now on it is woken");
        watches.push(watch);
    }
    let mut all = Vec::new();
    for second in 0..30 {
        for number in 1..=2 {
            all.push(report(&world, number, fix(f64::from(second), OUTSIDE)).await);
        }
    }
    for pending in all {
        within(pending.committed()).await.unwrap();
    }
    for watch in &mut watches {
        let mut last = [None, None];
        while last != [Some(fix(29.0, OUTSIDE)); 2] {
            let (update, seen) = told(watch).await;
            assert!(update.is_none());
            for provisional in seen {
                last[usize::from(provisional.vehicle_id == vehicle(2))] = provisional.fix().copied();
            }
        }
    }
    drop(watches);
    world.end().await;
}

#[actix_rt::test]
async fn while_the_store_is_away_the_live_view_goes_on_and_then_tells_the_truth() {
    let world = World::with(1, quick()).await;
    within(report(&world, 1, fix(0.0, OUTSIDE)).await.committed()).await.unwrap();
    let mut watch = world.live.watch(Audience::Everyone).await.unwrap();
    world.store.set_away(true);
    assert!(within(report(&world, 1, fix(1.0, OUTSIDE)).await.committed()).await.is_err());
    assert_eq!(provisional(&mut watch).await.fix(), Some(&fix(1.0, OUTSIDE)));
    for second in 2..5 {
        let next = fix(f64::from(second), INSIDE);
        let refused = within(world.live.reporter().report(vehicle(1), vec![next])).await;
        assert_eq!(refused.unwrap_err(), LiveError::Unavailable);
        let seen = provisional(&mut watch).await;
        assert_eq!((seen.fix(), seen.is_stored()), (Some(&next), false));
    }
    // Outdated positions are not shown.
    within(world.live.reporter().report(vehicle(1), vec![fix(3.0, INSIDE)])).await.unwrap_err();
    within(world.live.reporter().report(vehicle(1), vec![fix(5.0, INSIDE)])).await.unwrap_err();
    assert_eq!(provisional(&mut watch).await.fix(), Some(&fix(5.0, INSIDE)));
    assert!(world.live.inside(fence(1)).await.unwrap().is_empty() && world.store.events().is_empty());
    assert_eq!(world.store.fix_count(), 1);

    world.store.set_away(false);
    let truth = commit(&mut watch).await;
    assert_eq!(truth.vehicles[0].state.last, Some(fix(0.0, OUTSIDE)));
    assert!(truth.vehicles[0].provisional.is_none() && truth.records.is_empty());
    eventually("the store is back", || world.live.is_available()).await;
    let all = (1..=5).map(|second| fix(f64::from(second), if second == 1 { OUTSIDE } else { INSIDE }));
    let again = within(world.live.reporter().report(vehicle(1), all.collect())).await.unwrap();
    within(again.committed()).await.unwrap();
    assert_eq!(commit(&mut watch).await.records[0].record.kind(), RecordKind::Entry);
    world.end().await;
}
