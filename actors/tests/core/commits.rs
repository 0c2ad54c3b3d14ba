//! Report, commit, acknowledgement: in this order, together where possible, numbered without a gap.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use waypost_actors::live::LiveConfig;
use waypost_actors::ports::Counts;
use waypost_actors::tracking::RecordKind;
use waypost_actors::watch::Audience;

use crate::client::deliver;
use crate::world::{INSIDE, OUTSIDE, World, crossings, eventually, fence, fix, quick, vehicle, within};

const STORED: Counts = Counts { stored: 1, duplicates: 0 };

#[actix_rt::test]
async fn nothing_is_acknowledged_or_shown_before_its_commit() {
    let world = World::with(1, quick()).await;
    let mut watch = world.live.watch(Audience::Everyone).await.unwrap();
    world.store.hold();
    let pending = world.live.reporter().report(vehicle(1), vec![fix(0.0, INSIDE)]).await.unwrap();
    let mut pending = Box::pin(pending.committed());
    eventually("the commit began", || world.store.commits() == 1).await;

    assert!(pending.as_mut().now_or_never().is_none(), "not acknowledged");
    assert_eq!(world.live.vehicle(vehicle(1)).await.unwrap().unwrap().fix, None);
    assert!(world.live.inside(fence(1)).await.unwrap().is_empty());
    assert!(watch.updates.try_recv().is_err(), "nobody is told");

    world.store.release();
    assert_eq!(within(pending).await, Ok(STORED));
    // Once the acknowledgement is there, every query shows the fix.
    let view = world.live.vehicle(vehicle(1)).await.unwrap().unwrap();
    assert_eq!(view.fix, Some(fix(0.0, INSIDE)));
    assert_eq!(view.geofences.len(), 1);
    assert_eq!(world.live.inside(fence(1)).await.unwrap()[0].vehicle_id, vehicle(1));
    let update = watch.updates.try_recv().unwrap();
    assert_eq!(update.records[0].record.kind(), RecordKind::Entry);
    assert_eq!((watch.next_sequence, update.next_sequence), (1, 2));
    world.end().await;
}

#[actix_rt::test]
async fn what_comes_during_a_commit_shares_the_next_one() {
    let world = World::with(51, quick()).await;
    world.store.hold();
    let first = world.live.reporter().report(vehicle(51), vec![fix(0.0, INSIDE)]).await.unwrap();
    eventually("the first commit began", || world.store.commits() == 1).await;
    let mut others = Vec::new();
    for number in 1..=50 {
        let report = vec![fix(0.0, INSIDE), fix(1.0, OUTSIDE)];
        others.push(world.live.reporter().report(vehicle(number), report).await.unwrap());
    }
    world.store.release();
    assert_eq!(within(first.committed()).await, Ok(STORED));
    for other in others {
        assert_eq!(within(other.committed()).await, Ok(Counts { stored: 2, duplicates: 0 }));
    }
    let writes: Vec<usize> = world.store.came().iter().map(|came| came.writes).collect();
    assert_eq!(writes, [1, 50]);
    world.end().await;
}

#[actix_rt::test]
async fn a_lone_fix_is_committed_at_once_and_those_right_after_share_the_next_commit() {
    // Longer than a test waits: only a full batch is committed sooner.
    let window = Duration::from_secs(600);
    let world = World::with(3, LiveConfig { batch_window: window, max_batch_rows: 4, ..quick() }).await;
    let report = async |number| {
        let mut reporter = world.live.reporter();
        reporter.report(vehicle(number), vec![fix(0.0, OUTSIDE)]).await.unwrap()
    };
    // Which found none, so nothing was committed yet.
    eventually("changes were looked for", || world.store.numberings() == 1).await;
    assert_eq!(within(report(1).await.committed()).await, Ok(STORED));
    let mut second = Box::pin(report(2).await.committed());
    assert!(second.as_mut().now_or_never().is_none(), "it waits for others");
    assert_eq!(within(report(3).await.committed()).await, Ok(STORED));
    assert_eq!(within(second).await, Ok(STORED));
    let writes: Vec<usize> = world.store.came().iter().map(|came| came.writes).collect();
    assert_eq!(writes, [1, 2]);
    world.end().await;
}

#[actix_rt::test]
async fn a_batch_keeps_to_its_size_and_a_report_is_never_cut() {
    let world = World::with(41, LiveConfig { max_batch_rows: 10, ..quick() }).await;
    world.store.hold();
    let mut pending = vec![world.live.reporter().report(vehicle(41), crossings(30)).await.unwrap()];
    for number in 1..=40 {
        let report = vec![fix(0.0, OUTSIDE)];
        pending.push(world.live.reporter().report(vehicle(number), report).await.unwrap());
    }
    world.store.release();
    for pending in pending {
        within(pending.committed()).await.unwrap();
    }
    let came = world.store.came();
    for batch in &came {
        assert!(batch.weight <= 10 || batch.writes == 1, "{batch:?}");
    }
    assert!(came.iter().any(|batch| batch.rows == 30), "the long report is in one batch: {came:?}");
    // 40 reports weigh 80; five fit into a batch, except around the long one.
    assert!(came.len() <= 11, "{came:?}");
    world.end().await;
}

#[actix_rt::test]
async fn order_per_vehicle_and_numbers_over_all() {
    let world = World::with(20, LiveConfig { max_batch_rows: 50, ..quick() }).await;
    let fixes = crossings(60);
    let sends = (1..=20).map(|n| deliver(&world.live, &world.store, vehicle(n), &fixes, n as usize % 7 + 1));
    join_all(sends).await;
    assert_eq!(world.store.events().len(), 20 * 60);
    for number in 1..=20 {
        let events = world.store.events_of(vehicle(number));
        let of_fix: Vec<_> = events.iter().map(|event| event.fix.recorded_at).collect();
        let want: Vec<_> = fixes.iter().map(|fix| fix.recorded_at).collect();
        assert_eq!(of_fix, want, "each crossing once, in order");
    }
    world.end().await;
}

#[actix_rt::test]
async fn a_repeated_fix_is_acknowledged_no_sooner_than_the_first() {
    let world = World::with(1, quick()).await;
    world.store.hold();
    let (mut one, mut other) = (world.live.reporter(), world.live.reporter());
    let first = one.report(vehicle(1), vec![fix(0.0, INSIDE)]).await.unwrap();
    eventually("the commit began", || world.store.commits() == 1).await;
    let again = other.report(vehicle(1), vec![fix(0.0, INSIDE)]).await.unwrap();
    let mut again = Box::pin(again.committed());
    assert!(again.as_mut().now_or_never().is_none());
    world.store.release();
    assert_eq!(within(first.committed()).await, Ok(STORED));
    assert_eq!(within(again).await, Ok(Counts { stored: 0, duplicates: 1 }));
    let third = one.report(vehicle(1), vec![fix(0.0, INSIDE)]).await.unwrap();
    assert_eq!(within(third.committed()).await, Ok(Counts { stored: 0, duplicates: 1 }));
    assert_eq!(world.store.events().len(), 1);
    world.end().await;
}
