//! Packed days of the fuel log: none is left that a commit or retention changed since.

use waypost::store::fuel_packing::{Step, claim, pack_claimed, pack_some};
use waypost::store::partitions::{drop_partitions, make_partitions};
use waypost::store::retention::{Timeline, keep_from};
use waypost::store::sql::Engine;
use waypost::store::time::Time;
use waypost::store::track::Track;
use waypost_actors::geofence::FenceSet;
use waypost_actors::model::{OrganizationId, VehicleId};
use waypost_actors::ports::{TrackStore, VehicleWrite};
use waypost_actors::tracking::{Freshness, Quarantine};
use waypost_test_support::{TestStore, for_each_engine};

use crate::fleet::{
    ORGANIZATION, VEHICLE, at, batch, commit, correcting, correction, fix, row, stand, write,
};
use crate::fuel::{corrected, fueled, reading};

for_each_engine!(
    a_day_is_packed_once_and_again_when_a_reading_changes,
    what_changes_while_a_day_is_packed_leaves_nothing_packed,
    a_claim_that_nobody_saw_through_is_taken_over,
    the_next_writer_knows_what_is_packed,
    a_reading_newer_than_all_days_costs_no_statement,
    many_days_go_in_steps_and_not_those_that_retention_takes,
    retention_takes_days_with_their_readings,
    a_week_that_is_dropped_takes_its_days,
);

const DAY: i64 = 86_400;
const OF: (OrganizationId, VehicleId) = (ORGANIZATION, VEHICLE);

/// Readings at some hours.
fn hours(hours: &[i64]) -> VehicleWrite {
    fueled(hours.iter().map(|hour| reading(hour * 3_600, 40.0)).collect(), vec![])
}

async fn pack(track: &Track, days: i64) -> Step {
    pack_some(track, OF, None, at(days * DAY)).await.expect("packed")
}

/// The days that are packed.
async fn packed(store: &TestStore) -> Vec<i64> {
    let select = "select day from fuel_day where levels is not null order by day";
    let rows: Vec<(Time,)> = store.db.read().sql(select).all().await.expect("read");
    rows.into_iter().map(|(Time(day),)| day.seconds_since(at(0)) as i64 / DAY).collect()
}

fn step(days: usize, readings: usize) -> Step {
    Step { days, readings, is_done: true }
}

async fn a_day_is_packed_once_and_again_when_a_reading_changes(store: TestStore) {
    let track = stand(&store).await;
    commit(&track, vec![hours(&[0, 1, 23, 24, 30, 80, 81, 96])]).await;
    assert_eq!(pack(&track, 4).await, step(3, 7));
    assert_eq!(packed(&store).await, [0, 1, 3], "the day that goes on is not, nor one without readings");
    assert_eq!(pack(&track, 4).await, step(0, 0));

    commit(&track, vec![hours(&[25, 100])]).await;
    assert_eq!(packed(&store).await, [0, 3]);
    assert_eq!(pack(&track, 4).await, step(1, 3));
    // A day that had no reading.
    commit(&track, vec![hours(&[50])]).await;
    assert_eq!(pack(&track, 4).await, step(1, 1));
    assert_eq!(packed(&store).await, [0, 1, 2, 3]);

    // One of the first day says something else, one of the last is gone; those between are found as they were.
    let same = [1, 23, 24, 25, 30, 50, 81].map(|hour| reading(hour * 3_600, 40.0));
    let rows = [reading(0, 41.0)].into_iter().chain(same).collect();
    commit(&track, vec![corrected(Some(90 * 3_600), rows, vec![])]).await;
    assert_eq!(packed(&store).await, [1, 2]);
    // One that does not count, outside of what is corrected.
    let mut doubted = correction(Some(90 * 3_600), Some(91 * 3_600), vec![]);
    doubted.quarantines = vec![(fix(50 * 3_600), Some(Quarantine::Speed))];
    commit(&track, vec![correcting(doubted)]).await;
    assert_eq!(packed(&store).await, [1]);
    assert_eq!(pack(&track, 4).await, step(2, 4), "of the first and the last; none is left of the third");
}

async fn what_changes_while_a_day_is_packed_leaves_nothing_packed(store: TestStore) {
    let track = stand(&store).await;
    commit(&track, vec![hours(&[0, 24])]).await;
    assert_eq!(pack(&track, 2).await.days, 2);
    commit(&track, vec![hours(&[1, 25])]).await;
    let days = [at(0), at(DAY)];
    let claimed = claim(&track, OF, &days).await.expect("claimed").expect("the writer");
    commit(&track, vec![hours(&[2])]).await;
    let first = pack_claimed(&store.db, VEHICLE, days[0], claimed).await.expect("read");
    let second = pack_claimed(&store.db, VEHICLE, days[1], claimed).await.expect("read");
    assert_eq!((first, second), (None, Some(2)));
    assert_eq!(packed(&store).await, [1]);
    assert_eq!(pack(&track, 2).await, step(1, 3));
}

async fn a_claim_that_nobody_saw_through_is_taken_over(store: TestStore) {
    let track = stand(&store).await;
    commit(&track, vec![hours(&[0])]).await;
    let first = claim(&track, OF, &[at(0)]).await.expect("claimed").expect("the writer");
    let second = claim(&track, OF, &[at(0)]).await.expect("claimed").expect("the writer");
    assert_eq!(pack_claimed(&store.db, VEHICLE, at(0), first).await.expect("read"), None);
    assert_eq!(pack_claimed(&store.db, VEHICLE, at(0), second).await.expect("read"), Some(1));
    // What is packed is no claim any more.
    let third = claim(&track, OF, &[at(0)]).await.expect("claimed").expect("the writer");
    assert_eq!(pack_claimed(&store.db, VEHICLE, at(0), third).await.expect("read"), None);
}

async fn the_next_writer_knows_what_is_packed(store: TestStore) {
    let track = stand(&store).await;
    commit(&track, vec![hours(&[0, 24, 48])]).await;
    assert_eq!(pack(&track, 2).await.days, 2);
    let next = Track::take_over(store.db.clone(), store.db.clone()).await.expect("taken over");
    assert_eq!(
        claim(&track, OF, &[at(2 * DAY)]).await.expect("asked"),
        None,
        "it is not the writer any more"
    );
    commit(&next, vec![hours(&[25])]).await;
    assert_eq!(packed(&store).await, [0]);
    assert_eq!(pack(&next, 3).await, step(2, 3));
}

async fn a_reading_newer_than_all_days_costs_no_statement(store: TestStore) {
    let track = stand(&store).await;
    commit(&track, vec![hours(&[0, 23])]).await;
    assert_eq!(pack(&track, 1).await.days, 1);
    store.db.write().sql("alter table fuel_day rename to away").run().await.expect("renamed");
    commit(&track, vec![hours(&[24])]).await;
    let late = track.commit(&batch(vec![hours(&[22])])).await;
    assert!(late.is_err(), "one of a packed day has to look for it");
}

async fn many_days_go_in_steps_and_not_those_that_retention_takes(store: TestStore) {
    let track = stand(&store).await;
    commit(&track, vec![fueled((0..40).map(|day| reading(day * DAY + 60, 40.0)).collect(), vec![])]).await;
    let mut taken = Vec::new();
    loop {
        let since = Some(at(2 * DAY + 30));
        let step = pack_some(&track, OF, since, at(40 * DAY)).await.expect("packed");
        taken.push(step.days);
        if step.is_done {
            break;
        }
    }
    assert_eq!(taken, [16, 16, 5]);
    assert_eq!(packed(&store).await, (3..40).collect::<Vec<_>>());
}

/// Keeps the one vehicle's state as of a second.
async fn keep(store: &TestStore, track: &Track, second: i64) {
    track.save_states().await.expect("saved");
    let fences = FenceSet::empty();
    while !keep_from(&store.db, track, VEHICLE, at(second), &fences, at(second + DAY)).await.expect("kept") {}
}

async fn retention_takes_days_with_their_readings(store: TestStore) {
    let track = stand(&store).await;
    commit(&track, vec![hours(&[0, 1, 24, 25, 48])]).await;
    assert_eq!(pack(&track, 3).await.days, 3);
    let gone = Timeline::FuelLog.delete(&store.db, VEHICLE, at(24 * 3_600), 100).await.expect("deleted");
    assert_eq!((gone, packed(&store).await), (3, vec![2]), "the day in the middle of which it ends too");
}

async fn a_week_that_is_dropped_takes_its_days(store: TestStore) {
    let track = stand(&store).await;
    // at(0) is a Thursday: weeks begin at the fifth day.
    make_partitions(&store.db, at(0)).await.expect("made");
    let mut written = write((0..20).map(|day| row(fix(day * DAY), Freshness::Fresh)).collect());
    written.effects.fuel_rows = (0..20).map(|day| reading(day * DAY, 40.0)).collect();
    commit(&track, vec![written]).await;
    while !pack(&track, 20).await.is_done {}
    keep(&store, &track, 12 * DAY).await;
    let dropped = drop_partitions(&store.db, "fuel_log", at(30 * DAY)).await.expect("dropped");
    let first = store.db.read().sql("select min(recorded_at) from fuel_log");
    let first: Time = first.scalar().await.expect("read");
    match store.engine() {
        // Those of 2025-12-22, 2025-12-29 and 2026-01-05.
        Engine::Postgres => assert_eq!((dropped, first), (3, Time(at(11 * DAY)))),
        Engine::Sqlite => assert_eq!((dropped, first), (0, Time(at(0)))),
    }
    let kept = first.0.seconds_since(at(0)) as i64 / DAY;
    assert_eq!(packed(&store).await, (kept..20).collect::<Vec<_>>());
}
