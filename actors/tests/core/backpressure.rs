//! The fixes on their way to a commit are bounded, however many connections report and however long the store
//! takes.

use std::cell::Cell;
use std::rc::Rc;

use futures_util::future::join_all;
use waypost_actors::live::LiveConfig;
use waypost_actors::model::VehicleId;
use waypost_actors::ports::Counts;

use crate::world::{World, crossings, eventually, quick, vehicle, within};

const ROOM: u32 = 100;
const REPORTERS: u128 = 40;
const REPORTS: usize = 10;
const FIXES: usize = 5;

/// Reports as fast as it is allowed to, acknowledged or not.
async fn flood(world: &World, id: VehicleId, taken: &Cell<usize>) {
    let mut reporter = world.live.reporter();
    let fixes = crossings(REPORTS * FIXES);
    let mut pending = Vec::new();
    for some in fixes.chunks(FIXES) {
        pending.push(within(reporter.report(id, some.to_vec())).await.expect("the store is there"));
        taken.set(taken.get() + FIXES);
    }
    for pending in pending {
        assert_eq!(within(pending.committed()).await, Ok(Counts { stored: FIXES as u64, duplicates: 0 }));
    }
}

#[actix_rt::test]
async fn no_more_fixes_wait_than_there_is_room_and_all_drain() {
    let config = LiveConfig { max_waiting_fixes: ROOM, max_batch_rows: 1_000_000, ..quick() };
    let world = World::with(REPORTERS + 1, config).await;
    world.store.hold();
    let taken = Rc::new(Cell::new(0));
    let floods = join_all((1..=REPORTERS).map(|number| flood(&world, vehicle(number), &taken)));
    let watching = async {
        eventually("all room is taken", || taken.get() == ROOM as usize).await;
        // Gives any report that could still slip in every chance to do so.
        for _ in 0..200 {
            world.live.vehicle(vehicle(1)).await.unwrap();
            assert_eq!(taken.get(), ROOM as usize, "taken while the store stands still");
        }
        world.store.release();
    };
    within(futures_util::future::join(floods, watching)).await;
    let all = REPORTERS as usize * REPORTS * FIXES;
    assert_eq!((taken.get(), world.store.fix_count()), (all, all));
    for batch in world.store.came() {
        assert!(batch.rows <= ROOM as usize, "more than the bound in one batch: {batch:?}");
    }
    assert_eq!(world.store.events().len(), all);
    world.end().await;
}

#[actix_rt::test]
async fn a_report_larger_than_all_room_takes_all_of_it() {
    let world = World::with(2, LiveConfig { max_waiting_fixes: 10, ..quick() }).await;
    let (mut one, mut other) = (world.live.reporter(), world.live.reporter());
    let large = within(one.report(vehicle(1), crossings(50))).await.unwrap();
    let small = within(other.report(vehicle(2), crossings(1))).await.unwrap();
    assert_eq!(within(large.committed()).await, Ok(Counts { stored: 50, duplicates: 0 }));
    assert_eq!(within(small.committed()).await, Ok(Counts { stored: 1, duplicates: 0 }));
    world.end().await;
}

#[actix_rt::test]
async fn given_up_reports_give_their_room_back() {
    let world = World::with(1, LiveConfig { max_waiting_fixes: 10, ..quick() }).await;
    world.store.hold();
    let mut reporter = world.live.reporter();
    // The connection is dropped with ten fixes on their way.
    drop(reporter.report(vehicle(1), crossings(10)).await.unwrap());
    eventually("the commit began", || world.store.commits() == 1).await;
    for _ in 0..20 {
        // And others are dropped while they wait for room.
        let mut given_up = world.live.reporter();
        let waiting = Box::pin(given_up.report(vehicle(1), crossings(10)));
        assert!(futures_util::FutureExt::now_or_never(waiting).is_none());
    }
    world.store.release();
    let again = within(reporter.report(vehicle(1), crossings(10))).await.unwrap();
    assert!(within(again.committed()).await.is_ok());
    assert_eq!(world.store.fix_count(), 10);
    world.end().await;
}
