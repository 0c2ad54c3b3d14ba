//! Corrections in the store: what an evaluation found is compared with what is stored and written, in one
//! transaction.

use uuid::Uuid;
use waypost::store::packed_state::PackedState;
use waypost::store::time::Time;
use waypost_actors::model::{EventStatus, Origin, Timestamp, VisitId};
use waypost_actors::ports::TrackStore;
use waypost_actors::tracking::{
    Checkpoint, Correction, Freshness, Mark, PositionRow, Quarantine, Record, VehicleState, VisitRow,
};
use waypost_test_support::{Engine, TestStore, for_each_engine, stored_positions};

use crate::fleet::{
    FENCE, FOUND, VEHICLE, at, batch, checkpoint, commit, correcting, correction, entry, exit, fix, log,
    mark, marked, quarantine_at, recording, row, stand, told_as, write,
};

for_each_engine!(
    records_stay_change_come_and_go,
    a_part_is_compared_with_what_was_made_in_it,
    a_record_that_was_made_elsewhere_moves_in_silence,
    visits_follow_their_records,
    what_was_recorded_before_leaves_its_visit_alone,
    a_corrected_end_comes_back_when_a_provisional_one_goes,
    marks_are_kept_in_the_batchs_order,
    a_batch_is_written_as_if_each_write_came_alone,
    checkpoints_are_left_and_replaced,
    quarantines_are_found_otherwise,
    what_a_correction_finds_again_is_not_written,
    a_correction_of_thousands_is_one_transaction,
);

/// The record as the correction answers it: with another number, revision and status.
fn told(event: Record, sequence: i64, revision: i64, status: EventStatus) -> Record {
    Record { sequence, revision, status, origin: Origin::Backfill, detected_at: at(FOUND), ..event }
}

const ACTIVE: EventStatus = EventStatus::Active;
const RETRACTED: EventStatus = EventStatus::Retracted;

async fn records_stay_change_come_and_go(store: TestStore) {
    let track = stand(&store).await;
    let first = [entry(1, 0), exit(2, 10), entry(3, 20), exit(4, 30)];
    commit(&track, vec![recording(first.to_vec())]).await;
    let moved = Record { occurred_at: at(12), ..exit(2, 10) };
    let whole = correction(None, None, vec![entry(1, 0), moved.clone(), entry(5, 40)]);
    let committed = commit(&track, vec![correcting(whole.clone())]).await;
    let expected = [
        told(entry(3, 20), 5, 2, RETRACTED),
        told(exit(4, 30), 6, 2, RETRACTED),
        told(moved.clone(), 7, 2, ACTIVE),
        told(entry(5, 40), 8, 1, ACTIVE),
    ];
    assert_eq!(committed[0].records, expected);
    let mut stored = vec![entry(1, 0)];
    stored.extend(expected);
    assert_eq!(log(&track).await, stored, "what stays keeps its number");
    // The same correction again finds nothing.
    let committed = commit(&track, vec![correcting(whole)]).await;
    assert_eq!(committed[0].records, []);
    assert_eq!(track.seeds().await.expect("read").next_sequence, 9);
    // A retracted record holds again.
    let back = vec![entry(1, 0), moved, entry(3, 20), entry(5, 40)];
    let committed = commit(&track, vec![correcting(correction(None, None, back))]).await;
    assert_eq!(committed[0].records, [told(entry(3, 20), 9, 3, ACTIVE)]);
    let reread = track.reread(&[VEHICLE], 8).await.expect("read");
    assert_eq!(reread.records, [told(entry(5, 40), 8, 1, ACTIVE), told(entry(3, 20), 9, 3, ACTIVE)]);
    assert_eq!(reread.next_sequence, 10);
}

async fn a_part_is_compared_with_what_was_made_in_it(store: TestStore) {
    let track = stand(&store).await;
    // Two hours after what it tells, by a long wait for the confirmation.
    let slow = Record { confirmed_at: at(7_300), ..entry(6, 100) };
    let hour = 3_600;
    let records = vec![
        entry(1, 50),
        entry(2, 2 * hour),     // made where the part begins: not of it
        entry(3, 2 * hour + 1), // the first of it
        entry(4, 2 * hour + 200),
        entry(5, 2 * hour + 201), // behind its end
        slow.clone(),
    ];
    commit(&track, vec![recording(records)]).await;
    let part = correction(Some(2 * hour), Some(2 * hour + 200), Vec::new());
    let committed = commit(&track, vec![correcting(part)]).await;
    let expected = [
        told(slow, 7, 2, RETRACTED),
        told(entry(3, 2 * hour + 1), 8, 2, RETRACTED),
        told(entry(4, 2 * hour + 200), 9, 2, RETRACTED),
    ];
    assert_eq!(committed[0].records, expected);
    let kept: Vec<i64> = log(&track).await.iter().map(|event| event.sequence).collect();
    assert_eq!(kept, [1, 2, 5, 7, 8, 9]);
}

async fn a_record_that_was_made_elsewhere_moves_in_silence(store: TestStore) {
    let track = stand(&store).await;
    let confirmed = |event: Record, second: i64| Record { confirmed_at: at(second), ..event };
    commit(&track, vec![recording(vec![confirmed(exit(1, 10), 80), confirmed(exit(2, 20), 90)])]).await;
    // Both are found in an earlier part now, one of them with another value.
    let other = told_as(confirmed(exit(2, 20), 50), |detail| detail.time_uncertainty_seconds = 9.0);
    let part = correction(Some(5), Some(60), vec![confirmed(exit(1, 10), 40), other.clone()]);
    let committed = commit(&track, vec![correcting(part)]).await;
    let revised = told(other, 3, 2, ACTIVE);
    assert_eq!(committed[0].records, std::slice::from_ref(&revised));
    assert_eq!(log(&track).await, [confirmed(exit(1, 10), 40), revised]);
    // So the later part, which does not make them, does not retract them.
    let part = correction(Some(60), None, Vec::new());
    assert_eq!(commit(&track, vec![correcting(part)]).await[0].records, []);
}

fn visit(id: u128, from: &Record, to: Option<&Record>) -> VisitRow {
    VisitRow {
        id: VisitId(Uuid::from_u128(id)),
        geofence_id: FENCE,
        entry_event_id: from.id,
        entered_at: from.occurred_at,
        exit: to.map(|exit| (exit.id, exit.occurred_at)),
    }
}

async fn visits(store: &TestStore) -> Vec<(u128, Time, Option<Time>)> {
    let sql = "select id, entered_at, exited_at from visit order by id";
    let rows: Vec<(Uuid, Time, Option<Time>)> = store.db.read().sql(sql).all().await.expect("read");
    rows.into_iter().map(|(id, from, to)| (id.as_u128(), from, to)).collect()
}

async fn visits_follow_their_records(store: TestStore) {
    let track = stand(&store).await;
    let of = |visit: u128, event: Record| {
        told_as(event, |detail| detail.visit_id = VisitId(Uuid::from_u128(visit)))
    };
    let events = [of(1, entry(1, 0)), of(1, exit(2, 10)), of(2, entry(3, 20)), of(2, exit(4, 30))];
    let mut live = recording(events.to_vec());
    live.effects.visits =
        vec![visit(1, &events[0], Some(&events[1])), visit(2, &events[2], Some(&events[3]))];
    commit(&track, vec![live]).await;
    // The first exit and the second entry turn out never to have been: one stay, from the first to the last.
    let last = of(1, exit(5, 30));
    let mut part = correction(None, None, vec![events[0].clone(), last.clone()]);
    part.visits = vec![visit(1, &events[0], Some(&last))];
    commit(&track, vec![correcting(part)]).await;
    assert_eq!(visits(&store).await, [(1, Time(at(0)), Some(Time(at(30))))]);
    // It began at another instant; its end stands, behind the part that is looked at.
    let earlier = Record { occurred_at: at(-3), ..events[0].clone() };
    let mut part = correction(None, Some(5), vec![earlier.clone()]);
    part.visits = vec![visit(1, &earlier, None)];
    commit(&track, vec![correcting(part)]).await;
    assert_eq!(visits(&store).await, [(1, Time(at(-3)), Some(Time(at(30))))]);
    // The end is of another stay, which began before it.
    let (second, moved) = (of(3, entry(6, 25)), of(3, last));
    let mut part = correction(Some(5), None, vec![second.clone(), moved.clone()]);
    part.visits = vec![visit(3, &second, Some(&moved))];
    commit(&track, vec![correcting(part)]).await;
    let both = [(1, Time(at(-3)), None), (3, Time(at(25)), Some(Time(at(30))))];
    assert_eq!(visits(&store).await, both);
    // That end turns out never to have been either, and nothing else is recorded of it.
    commit(&track, vec![correcting(correction(Some(28), None, Vec::new()))]).await;
    assert_eq!(visits(&store).await, [both[0], (3, Time(at(25)), None)]);
}

async fn a_corrected_end_comes_back_when_a_provisional_one_goes(store: TestStore) {
    let track = stand(&store).await;
    let of = |visit: u128, event: Record| {
        told_as(event, |detail| detail.visit_id = VisitId(Uuid::from_u128(visit)))
    };
    let (begin, end) = (of(1, entry(1, 0)), of(1, exit(2, 10)));
    let mut part = correction(None, Some(20), vec![begin.clone(), end.clone()]);
    part.visits = vec![visit(1, &begin, Some(&end))];
    commit(&track, vec![correcting(part)]).await;
    // The live path has not learned of it yet: for it the visit began otherwise and has not ended.
    let late = of(1, exit(3, 100));
    let mut live = recording(vec![late.clone()]);
    live.effects.visits = vec![visit(1, &of(1, entry(1, 5)), Some(&late))];
    commit(&track, vec![live]).await;
    assert_eq!(visits(&store).await, [(1, Time(at(5)), Some(Time(at(100))))]);
    // That exit was another visit's.
    let (second, late) = (of(2, entry(4, 90)), of(2, exit(3, 100)));
    let mut part = correction(Some(20), None, vec![second.clone(), late.clone()]);
    part.visits = vec![visit(2, &second, Some(&late))];
    commit(&track, vec![correcting(part)]).await;
    let expected = [(1, Time(at(0)), Some(Time(at(10)))), (2, Time(at(90)), Some(Time(at(100))))];
    assert_eq!(visits(&store).await, expected);
}

async fn what_was_recorded_before_leaves_its_visit_alone(store: TestStore) {
    let track = stand(&store).await;
    let events = [entry(1, 0), exit(2, 30)];
    let early = Record { occurred_at: at(10), ..events[1].clone() };
    let mut part = correction(None, None, vec![events[0].clone(), early.clone()]);
    part.visits = vec![visit(1, &events[0], Some(&early))];
    commit(&track, vec![correcting(part)]).await;
    // The live path does not know of the correction yet, and believes that it left later; and it enters anew.
    let mut live = recording(vec![events[1].clone(), entry(3, 40)]);
    live.effects.visits = vec![visit(1, &events[0], Some(&events[1])), visit(2, &entry(3, 40), None)];
    let committed = commit(&track, vec![live]).await;
    assert_eq!(committed[0].records.len(), 1, "the exit is recorded already");
    let expected = [(1, Time(at(0)), Some(Time(at(10)))), (2, Time(at(40)), None)];
    assert_eq!(visits(&store).await, expected);
}

async fn marks_are_kept_in_the_batchs_order(store: TestStore) {
    let track = stand(&store).await;
    let late = |second| write(vec![row(fix(second), Freshness::Recheck { late: true })]);
    let left = |dirty| correcting(Correction { dirty, ..correction(None, Some(1), Vec::new()) });
    commit(&track, vec![write(vec![row(fix(0), Freshness::Fresh), row(fix(100), Freshness::Fresh)])]).await;
    let committed = commit(&track, vec![late(50), late(70)]).await;
    assert_eq!((committed[1].is_dirty(), marked(&store).await), (true, Some(mark(50, 70))));
    assert!(track.seeds().await.expect("read").vehicles[0].dirty_from.is_some());
    assert_eq!(track.reread(&[VEHICLE], 1).await.expect("read").dirty, [(VEHICLE, mark(50, 70).from)]);
    // What a correction leaves replaces everything before it, in its own batch too.
    let committed = commit(&track, vec![late(10), left(Some(mark(60, 70)))]).await;
    assert_eq!((committed[0].is_dirty(), marked(&store).await), (true, Some(mark(60, 70))));
    commit(&track, vec![late(11), left(Some(mark(65, 70))), late(20), late(30)]).await;
    assert_eq!(marked(&store).await, Some(mark(20, 70)));
    commit(&track, vec![left(None), late(80)]).await;
    assert_eq!(marked(&store).await, Some(mark(80, 80)));
    commit(&track, vec![left(Some(mark(81, 90))), write(Vec::new()), left(None)]).await;
    assert_eq!(marked(&store).await, None);
    assert!(track.slice(VEHICLE).await.expect("read").is_none());
    assert!(track.reread(&[VEHICLE], 1).await.expect("read").dirty.is_empty());
    // An edit marks the vehicle whatever happens to the rows, and its mark outlives later fixes.
    let edit = |from, until| Mark { origin: Origin::Recompute, ..mark(from, until) };
    let mut edited = write(Vec::new());
    edited.effects.late = Some(edit(40, 45));
    commit(&track, vec![edited]).await;
    commit(&track, vec![late(35)]).await;
    assert_eq!(marked(&store).await, Some(edit(35, 45)));
    let committed = commit(&track, vec![write(Vec::new())]).await;
    assert!(committed[0].is_dirty(), "it still is");
}

async fn a_batch_is_written_as_if_each_write_came_alone(store: TestStore) {
    let track = stand(&store).await;
    let events = [entry(1, 0), entry(2, 10)];
    let again = Record { sequence: 0, ..entry(1, 0) };
    let whole = |events| correcting(correction(None, None, events));
    let writes = vec![
        recording(vec![events[0].clone()]),
        whole(vec![events[1].clone()]), // takes back what the write before it recorded
        recording(vec![entry(3, 20), again.clone()]), // which happens again
        whole(vec![events[1].clone(), entry(3, 20), events[0].clone()]),
        recording(vec![entry(4, 30)]),
    ];
    let committed = commit(&track, writes).await;
    let numbers: Vec<Vec<i64>> =
        committed.iter().map(|write| write.records.iter().map(|event| event.sequence).collect()).collect();
    assert_eq!(numbers, [vec![1], vec![2, 3], vec![4, 5], vec![], vec![6]]);
    assert_eq!(committed[1].records[0], told(events[0].clone(), 2, 2, RETRACTED));
    assert_eq!(committed[2].records[1], Record { sequence: 5, revision: 3, ..again });
    let stored: Vec<(i64, i64)> = log(&track).await.iter().map(|e| (e.sequence, e.revision)).collect();
    assert_eq!(stored, [(3, 1), (4, 1), (5, 3), (6, 1)]);
    assert_eq!(track.seeds().await.expect("read").next_sequence, 7);
}

async fn checkpoints(store: &TestStore) -> Vec<(i64, i64)> {
    let sql = "select at, state from checkpoint order by at";
    let rows: Vec<(Time, PackedState)> = store.db.read().sql(sql).all().await.expect("read");
    let second = |instant: Timestamp| instant.seconds_since(at(0)) as i64;
    let last = |state: VehicleState| second(state.last.expect("one").recorded_at);
    let readable = |PackedState(state)| state.expect("readable");
    rows.into_iter().map(|(at, state)| (second(at.0), last(readable(state)))).collect()
}

async fn checkpoints_are_left_and_replaced(store: TestStore) {
    let track = stand(&store).await;
    let keep = |checkpoints: Vec<Checkpoint>| {
        let mut write = write(Vec::new());
        write.effects.checkpoints = checkpoints;
        write
    };
    let first = keep(vec![checkpoint(10, 1), checkpoint(20, 2)]);
    commit(&track, vec![first, keep(vec![checkpoint(20, 3), checkpoint(30, 4), checkpoint(40, 5)])]).await;
    assert_eq!(checkpoints(&store).await, [(10, 1), (20, 3), (30, 4), (40, 5)]);
    let mut part = correction(Some(10), Some(30), Vec::new());
    part.checkpoints = vec![checkpoint(25, 6)];
    commit(&track, vec![keep(vec![checkpoint(15, 0)]), correcting(part), keep(vec![checkpoint(18, 7)])])
        .await;
    assert_eq!(checkpoints(&store).await, [(10, 1), (18, 7), (25, 6), (40, 5)]);
    commit(&track, vec![correcting(correction(None, None, Vec::new()))]).await;
    assert_eq!(checkpoints(&store).await, []);
}

async fn quarantines_are_found_otherwise(store: TestStore) {
    let track = stand(&store).await;
    let why = |second, quarantine| PositionRow { quarantine, ..row(fix(second), Freshness::Fresh) };
    let rows = vec![
        why(0, Some(Quarantine::Speed)),
        why(10, None),
        why(20, Some(Quarantine::Future)),
        why(30, Some(Quarantine::Speed)),
    ];
    commit(&track, vec![write(rows)]).await;
    let mut part = correction(None, None, Vec::new());
    part.quarantines = vec![
        (fix(0), None),
        (fix(10), Some(Quarantine::OutOfService)),
        (fix(20), None),
        (fix(30), Some(Quarantine::Accuracy)),
    ];
    let mut confirming = write(Vec::new());
    confirming.effects.confirmed = vec![fix(30)];
    commit(&track, vec![correcting(part), confirming]).await;
    assert_eq!(quarantine_at(&store, 0).await, None);
    assert_eq!(quarantine_at(&store, 10).await, Some(Quarantine::OutOfService));
    assert_eq!(quarantine_at(&store, 20).await, Some(Quarantine::Future), "it never counts");
    assert_eq!(quarantine_at(&store, 30).await, None, "the later finding stands");
}

/// From now on the database rejects every change of visits and checkpoints.
async fn refuse_changes(store: &TestStore) {
    let texts = match store.engine() {
        Engine::Sqlite => [
            "create trigger a before insert on visit begin select raise(abort, 'written'); end",
            "create trigger b before update on visit begin select raise(abort, 'written'); end",
            "create trigger c before insert on checkpoint begin select raise(abort, 'written'); end",
            "create trigger d before delete on checkpoint begin select raise(abort, 'written'); end",
        ],
        Engine::Postgres => [
            "create function refuse() returns trigger language plpgsql as $$ begin raise 'written'; end $$",
            "create trigger a before insert or update on visit for each row execute function refuse()",
            "create trigger b before insert or delete on checkpoint for each row execute function refuse()",
            "select 1",
        ],
    };
    for text in texts {
        store.db.write().sql(text).run().await.expect("made");
    }
}

async fn what_a_correction_finds_again_is_not_written(store: TestStore) {
    let track = stand(&store).await;
    let mut part = correction(None, Some(50), vec![entry(1, 0), exit(2, 10), entry(3, 20)]);
    part.visits = vec![visit(1, &entry(1, 0), Some(&exit(2, 10))), visit(2, &entry(3, 20), None)];
    part.checkpoints = vec![checkpoint(10, 10), checkpoint(30, 30)];
    commit(&track, vec![correcting(part.clone())]).await;
    refuse_changes(&store).await;
    commit(&track, vec![correcting(part.clone())]).await;
    for change in [
        |part: &mut Correction| part.checkpoints.truncate(1),
        |part: &mut Correction| part.checkpoints[0] = checkpoint(10, 9),
        |part: &mut Correction| part.visits[0].exit = Some((exit(2, 10).id, at(11))),
        |part: &mut Correction| part.visits[1].entered_at = at(21),
        |part: &mut Correction| part.visits[1].exit = Some((exit(4, 40).id, at(40))),
    ] {
        let mut other = part.clone();
        change(&mut other);
        track.commit(&batch(vec![correcting(other)])).await.expect_err("it is written");
    }
}

async fn a_correction_of_thousands_is_one_transaction(store: TestStore) {
    let track = stand(&store).await;
    commit(&track, vec![recording((1..=5_000).map(|n| entry(n, n)).collect())]).await;
    let later = |event: Record| told_as(event, |detail| detail.time_uncertainty_seconds = 1.0);
    let events =
        (1..=5_000).map(|n| if n % 2 == 0 { later(entry(n, n)) } else { exit(n + 5_000, n) }).collect();
    let mut part = correction(Some(0), None, events);
    part.quarantines = (0..2_000).map(|second| (fix(second), Some(Quarantine::Speed))).collect();
    commit(&track, vec![write((0..2_000).map(|second| row(fix(second), Freshness::Fresh)).collect())]).await;
    let committed = commit(&track, vec![correcting(part)]).await;
    assert!(committed[0].records.iter().map(|event| event.sequence).eq(5_001..=12_500));
    let stored = stored_positions(&store.db).await.expect("read");
    let quarantined = stored.iter().filter(|(_, position)| position.quarantine == Some(Quarantine::Speed));
    assert_eq!((quarantined.count(), stored.len()), (2_000, 2_000));
    let log = log(&track).await;
    let active = log.iter().filter(|event| event.status == ACTIVE).count();
    assert_eq!((log.len(), active), (7_500, 5_000));
}
