//! An idle vehicle gives up its actor, and nothing of it is lost.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use waypost_actors::live::LiveConfig;
use waypost_actors::model::{Cause, EventKind};
use waypost_actors::ports::Counts;

use crate::world::{
    INSIDE, OUTSIDE, World, crossings, eventually, fence, fix, known_vehicle, quick, vehicle, within,
};

fn drowsy() -> LiveConfig {
    LiveConfig { idle_after: Duration::from_millis(5), ..quick() }
}

#[actix_rt::test]
async fn its_actor_goes_and_the_next_fix_finds_its_state() {
    let world = World::with(1, drowsy()).await;
    let mut reporter = world.live.reporter();
    let entry = reporter.report(vehicle(1), vec![fix(0.0, INSIDE)]).await.unwrap();
    within(entry.committed()).await.unwrap();
    eventually("the actor went", || world.actors() == 0).await;
    assert_eq!(world.live.inside(fence(1)).await.unwrap().len(), 1, "it is inside all the same");
    assert_eq!(world.actors(), 0, "reading starts none");

    // Both a connection that had the address and a new one.
    let exit = within(reporter.report(vehicle(1), vec![fix(1.0, OUTSIDE)])).await.unwrap();
    assert_eq!(within(exit.committed()).await, Ok(Counts { stored: 1, duplicates: 0 }));
    eventually("the actor went again", || world.actors() == 0).await;
    let back = within(world.live.reporter().report(vehicle(1), vec![fix(2.0, INSIDE)])).await.unwrap();
    within(back.committed()).await.unwrap();
    let told: Vec<_> = world.store.events().iter().map(|event| (event.kind, event.cause)).collect();
    let crossing = Cause::Crossing;
    let want =
        [(EventKind::Entry, Cause::Initial), (EventKind::Exit, crossing), (EventKind::Entry, crossing)];
    assert_eq!(told, want);
    world.end().await;
}

#[actix_rt::test]
async fn it_does_not_go_while_something_is_on_its_way() {
    let world = World::with(2, drowsy()).await;
    let idle = world.live.reporter().report(vehicle(2), vec![fix(0.0, INSIDE)]).await.unwrap();
    within(idle.committed()).await.unwrap();
    world.store.hold();
    let pending = world.live.reporter().report(vehicle(1), vec![fix(0.0, INSIDE)]).await.unwrap();
    for round in 1..=3 {
        // The other one comes and goes; this one stays.
        eventually("the idle one went", || world.actors() == 1).await;
        let wake = world.live.reporter().report(vehicle(2), vec![fix(0.0, INSIDE)]).await.unwrap();
        assert_eq!(within(wake.committed()).await, Ok(Counts { stored: 0, duplicates: 1 }), "{round}");
    }
    world.store.release();
    within(pending.committed()).await.unwrap();
    eventually("now it goes too", || world.actors() == 0).await;
    world.end().await;
}

/// Each time it is found, and gone again before the report is there.
#[actix_rt::test]
async fn however_often_it_goes_first_a_report_is_not_refused() {
    let world = World::with(2, LiveConfig { idle_after: Duration::ZERO, ..quick() }).await;
    let mut reporter = world.live.reporter();
    for fix in crossings(3) {
        let mut report = Box::pin(reporter.report(vehicle(1), vec![fix]));
        let mut applied = None;
        for _ in 0..9 {
            applied = report.as_mut().now_or_never();
            if applied.is_some() {
                break; // the directory was so quick that the report came first
            }
            // What goes through the directory behind it is answered once its actor was started.
            world.live.put_vehicle(known_vehicle(2, 1)).await.unwrap();
            eventually("it went", || world.actors() == 0).await;
        }
        let applied = match applied {
            Some(applied) => applied,
            None => within(report).await,
        };
        assert_eq!(within(applied.unwrap().committed()).await, Ok(Counts { stored: 1, duplicates: 0 }));
    }
    assert_eq!(world.live.meters().restarts.get(), 0);
    world.end().await;
}

#[actix_rt::test]
async fn reports_that_race_with_it_are_not_lost() {
    let config = LiveConfig { idle_after: Duration::from_millis(1), ..quick() };
    let world = World::with(8, config).await;
    let fixes = crossings(150);
    let live = &world.live;
    let drive = |number| {
        let fixes = &fixes;
        async move {
            let mut reporter = live.reporter();
            for fix in fixes {
                let pending = within(reporter.report(vehicle(number), vec![*fix])).await.unwrap();
                assert_eq!(within(pending.committed()).await, Ok(Counts { stored: 1, duplicates: 0 }));
            }
        }
    };
    join_all((1..=8).map(drive)).await;
    for number in 1..=8 {
        assert_eq!(world.store.events_of(vehicle(number)).len(), 150);
    }
    eventually("all go", || world.actors() == 0).await;
    world.end().await;
}
