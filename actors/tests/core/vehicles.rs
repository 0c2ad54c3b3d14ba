//! Vehicles that come, change their name and go.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use waypost_actors::live::{LiveConfig, LiveError};
use waypost_actors::model::{Cause, EventKind, Vehicle, VehicleLimits};
use waypost_actors::ports::Counts;
use waypost_actors::watch::Audience;

use crate::store::Fault;
use crate::world::{
    INSIDE, OUTSIDE, World, at, eventually, fence, fix, known_vehicle, quick, vehicle, within,
};

const STORED: Counts = Counts { stored: 1, duplicates: 0 };

#[actix_rt::test]
async fn an_unknown_vehicle_is_refused_until_it_is_put() {
    let world = World::with(1, quick()).await;
    let mut reporter = world.live.reporter();
    let refused = within(reporter.report(vehicle(7), vec![fix(0.0, INSIDE)])).await;
    assert_eq!(refused.unwrap_err(), LiveError::UnknownVehicle);
    assert_eq!(world.live.vehicle(vehicle(7)).await.unwrap(), None);
    world.live.put_vehicle(known_vehicle(7, 1)).await.unwrap();
    let taken = within(reporter.report(vehicle(7), vec![fix(0.0, INSIDE)])).await.unwrap();
    assert_eq!(within(taken.committed()).await, Ok(STORED));
    assert_eq!(world.live.inside(fence(1)).await.unwrap().len(), 1);
    world.end().await;
}

#[actix_rt::test]
async fn a_new_name_and_new_limits_hold_from_the_next_fix_on() {
    let world = World::with(1, quick()).await;
    let mut reporter = world.live.reporter();
    let entry = reporter.report(vehicle(1), vec![fix(0.0, INSIDE)]).await.unwrap();
    within(entry.committed()).await.unwrap();
    let limits = VehicleLimits { max_speed_kmh: None, max_accuracy_meters: Some(10.0), overspeed_kmh: None };
    let renamed = Vehicle { name: "New".to_owned(), limits, ..known_vehicle(1, 1) };
    world.live.put_vehicle(renamed).await.unwrap();
    let mut vague = fix(1.0, OUTSIDE);
    vague.accuracy_meters = Some(50.0);
    let exit = within(reporter.report(vehicle(1), vec![vague, fix(2.0, OUTSIDE)])).await.unwrap();
    within(exit.committed()).await.unwrap();
    let events = world.store.events();
    assert_eq!((events[0].vehicle_name.as_str(), events[1].vehicle_name.as_str()), ("V1", "New"));
    assert_eq!(events[1].fix.recorded_at, at(2.0), "the vague fix was not judged");
    world.end().await;
}

#[actix_rt::test]
async fn removing_one_ends_its_stays_and_its_connections() {
    let world = World::with(2, quick()).await;
    let mut reporter = world.live.reporter();
    for number in 1..=2 {
        let entry = reporter.report(vehicle(number), vec![fix(0.0, INSIDE)]).await.unwrap();
        within(entry.committed()).await.unwrap();
    }
    world.clock.set(at(50.0));
    within(world.live.remove_vehicle(vehicle(1), at(50.0))).await.unwrap();
    let events = world.store.events_of(vehicle(1));
    assert_eq!((events[1].kind, events[1].cause), (EventKind::Exit, Cause::VehicleDeactivated));
    assert_eq!(events[1].occurred_at, at(50.0));
    assert_eq!(world.live.vehicle(vehicle(1)).await.unwrap(), None);
    let inside = world.live.inside(fence(1)).await.unwrap();
    assert_eq!(inside.iter().map(|view| view.vehicle_id).collect::<Vec<_>>(), [vehicle(2)]);

    // A connection that has its address can no longer use it.
    let refused = match within(reporter.report(vehicle(1), vec![fix(60.0, INSIDE)])).await {
        Ok(pending) => within(pending.committed()).await.unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(refused, LiveError::UnknownVehicle);
    assert_eq!(world.store.events_of(vehicle(1)).len(), 2);
    assert_eq!(world.live.vehicle(vehicle(1)).await.unwrap(), None);
    within(world.live.remove_vehicle(vehicle(1), at(50.0))).await.unwrap();
    eventually("its actor went", || world.actors() == 1).await;
    world.end().await;
}

#[actix_rt::test]
async fn the_stays_of_one_removed_before_a_crash_are_ended_at_the_start() {
    let first = World::with(2, quick()).await;
    for number in 1..=2 {
        let entry = first.live.reporter().report(vehicle(number), vec![fix(0.0, INSIDE)]).await.unwrap();
        within(entry.committed()).await.unwrap();
    }
    within(first.live.stop()).await;
    first.store.add_removed(vehicle(1), at(50.0));

    let world = World::on(Arc::clone(&first.store), quick()).await;
    assert_eq!(world.store.events_of(vehicle(1))[1].cause, Cause::VehicleDeactivated);
    assert_eq!(world.live.vehicle(vehicle(1)).await.unwrap(), None);
    assert_eq!(world.store.events_of(vehicle(2)).len(), 1);
    world.end().await;
}

#[actix_rt::test]
async fn watchers_are_told_that_one_is_gone() {
    let world = World::with(2, quick()).await;
    let (organization, other) = (known_vehicle(1, 1).organization_id, known_vehicle(9, 2).organization_id);
    let mut watch = world.live.watch(Audience::Organization(organization)).await.unwrap();
    let mut foreign = world.live.watch(Audience::Organization(other)).await.unwrap();
    within(world.live.remove_vehicle(vehicle(1), at(50.0))).await.unwrap();
    let update = within(watch.updates.recv()).await.unwrap();
    assert_eq!(update.removed, [vehicle(1)]);
    foreign.updates.try_recv().expect_err("nobody else is told");
    world.end().await;
}

#[actix_rt::test]
async fn a_connection_that_keeps_sending_leaves_no_stay_behind() {
    for _ in 0..20 {
        let world = World::with(1, quick()).await;
        let mut reporter = world.live.reporter();
        let sending = async {
            for second in 0_u32.. {
                let fixes = vec![fix(f64::from(second), INSIDE)];
                let sent = match within(reporter.report(vehicle(1), fixes)).await {
                    Ok(pending) => within(pending.committed()).await,
                    Err(error) => Err(error),
                };
                if let Err(error) = sent {
                    assert_eq!(error, LiveError::UnknownVehicle);
                    return;
                }
            }
        };
        let removing = async {
            eventually("it sends", || world.store.commits() > 2).await;
            within(world.live.remove_vehicle(vehicle(1), at(50.0))).await.unwrap();
        };
        join(sending, removing).await;
        assert_eq!(world.store.state(vehicle(1)).open_stays().count(), 0);
        assert_eq!(world.store.events().len(), 2);
        assert_eq!(world.live.vehicle(vehicle(1)).await.unwrap(), None);
        assert!(world.live.inside(fence(1)).await.unwrap().is_empty());
        world.end().await;
    }
}

/// Its last fix is stored by a commit that memory does not know of yet, its actor is gone, and it was removed
/// meanwhile: the stay ends all the same.
#[actix_rt::test]
async fn removing_one_while_the_store_is_away_is_seen_through() {
    for fault in [Fault::Vanish, Fault::None] {
        let world = World::with(1, LiveConfig { idle_after: Duration::from_millis(100), ..quick() }).await;
        world.store.plan(&[fault]);
        let mut reporter = world.live.reporter();
        let entry = reporter.report(vehicle(1), vec![fix(0.0, INSIDE)]).await.unwrap();
        let _doubtful = within(entry.committed()).await;
        if fault == Fault::None {
            world.store.set_away(true);
        }
        eventually("the actor went", || world.actors() == 0).await;
        assert_eq!(
            within(world.live.remove_vehicle(vehicle(1), at(50.0))).await,
            Err(LiveError::Unavailable)
        );
        world.store.set_away(false);
        eventually("its stay ended", || world.store.events().len() == 2).await;
        let exit = &world.store.events()[1];
        assert_eq!((exit.kind, exit.cause), (EventKind::Exit, Cause::VehicleDeactivated));
        let gone = async {
            while world.live.vehicle(vehicle(1)).await.unwrap().is_some() {
                tokio::task::yield_now().await;
            }
        };
        within(gone).await;
        world.end().await;
    }
}
