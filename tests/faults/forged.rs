//! Tests of the harness itself: transcripts of servers that break one promise each, which the checks must report,
//! and of one that keeps them all.

use serde_json::json;
use uuid::Uuid;

use crate::ledger::{
    FeedRecord, FixKey, Stored, Transcript, Undisturbed, Violation, at_any_moment, in_the_end,
};

const BUS: Uuid = Uuid::from_u128(7);

fn fix(number: i64) -> FixKey {
    FixKey::new(BUS, number, 30.0, -97.0)
}

/// Record number `id`, whose text is `what`.
fn record(id: u128, revision: i64, sequence: i64, what: &str) -> FeedRecord {
    let id = Uuid::from_u128(id);
    FeedRecord::read(&json!({ "id": id, "revision": revision, "sequence": sequence, "status": "active",
        "occurredAt": what, "detectedAt": format!("at {sequence}"), "origin": "live" }))
}

/// A run of a good server: three fixes, of which the second enters and the third leaves, and one that
/// came late and put the entry right.
struct Run {
    transcript: Transcript,
    stored: Stored,
    undisturbed: Undisturbed,
}

fn good() -> Run {
    let fixes = [fix(1), fix(2), fix(3)];
    let told = vec![record(1, 1, 1, "wrong"), record(2, 1, 2, "exit"), record(1, 2, 3, "entry")];
    // A change of master data has a number too.
    let mut stored = Stored { next_sequence: 5, numbered_changes: 1, ..Stored::default() };
    stored.fixes.extend(fixes.map(|fix| (fix, 1)));
    for record in &told[1..] {
        stored.numbers.insert(record.id, (record.revision, record.sequence));
        stored.records.insert(record.id, record.clone());
    }
    let transcript = Transcript {
        sent: [fix(0)].into_iter().chain(fixes).collect(),
        acked: fixes.into_iter().collect(),
        refused: [fix(0)].into_iter().collect(),
        told,
        ..Transcript::default()
    };
    // In order, everything is right the first time.
    let in_order = [record(1, 1, 1, "entry"), record(2, 1, 2, "exit")];
    let undisturbed = Undisturbed {
        fixes: fixes.into_iter().collect(),
        records: in_order.into_iter().map(|record| (record.id, record.lasting())).collect(),
    };
    Run { transcript, stored, undisturbed }
}

/// What the checks find in a good run after it was forged.
fn after(forge: impl FnOnce(&mut Run)) -> Vec<Violation> {
    let mut run = good();
    forge(&mut run);
    in_the_end(&run.transcript, &run.stored, &run.undisturbed)
}

#[test]
fn a_run_that_keeps_every_promise_passes() {
    assert_eq!(after(|_| {}), []);
}

#[test]
fn acks_before_the_commit_are_seen_at_the_crash() {
    let mut run = good();
    // The server died between the two; the tracker will never send it again.
    run.stored.fixes.remove(&fix(3));
    let expected = [Violation::AckedNotStored(fix(3))];
    assert_eq!(at_any_moment(&run.transcript, &run.stored), expected);
}

#[test]
fn records_told_before_the_commit_are_seen_at_the_crash() {
    let id = Uuid::from_u128(2);
    let mut run = good();
    run.stored.numbers.remove(&id);
    let expected = [Violation::ToldNotStored { id, revision: 1 }];
    assert_eq!(at_any_moment(&run.transcript, &run.stored), expected);
    // Or a revision that was sent and never committed.
    let mut run = good();
    let id = Uuid::from_u128(1);
    run.stored.numbers.insert(id, (1, 1));
    assert_eq!(at_any_moment(&run.transcript, &run.stored), [Violation::ToldNotStored { id, revision: 2 }]);
    // Or sent under a number that another batch got in the end.
    let mut run = good();
    run.stored.numbers.insert(id, (2, 9));
    assert_eq!(at_any_moment(&run.transcript, &run.stored), [Violation::ToldNotStored { id, revision: 2 }]);
}

#[test]
fn told_before_the_commit_and_told_again_after_the_restart_is_told_twice() {
    let id = Uuid::from_u128(2);
    let found = after(|run| run.transcript.told.push(record(2, 1, 2, "exit")));
    assert!(found.contains(&Violation::ToldTwice { id, revision: 1 }), "{found:?}");
    assert!(found.contains(&Violation::ToldOutOfOrder { id, sequence: 2 }), "{found:?}");
}

#[test]
fn a_random_id_makes_another_record_of_the_same_happening() {
    let (random, derived) = (Uuid::from_u128(99), Uuid::from_u128(2));
    let found = after(|run| {
        run.stored.records.remove(&derived);
        run.stored.numbers.remove(&derived);
        let again = record(99, 1, 2, "exit");
        run.stored.numbers.insert(random, (1, 2));
        run.stored.records.insert(random, again.clone());
        run.transcript.told[1] = again;
    });
    let expected = [Violation::RecordTooMany { id: random }, Violation::RecordMissing { id: derived }];
    assert_eq!(found, expected);
}

#[test]
fn what_a_queue_drops_is_missed() {
    // A fix on its way to the store, acknowledged.
    let found = after(|run| run.stored.fixes.retain(|key, _| *key != fix(2)));
    assert_eq!(found, [Violation::AckedNotStored(fix(2)), Violation::FixesDiffer(fix(2))]);
    // A frame that is never answered.
    let found = after(|run| run.transcript.acked.retain(|key| *key != fix(2)));
    assert_eq!(found, [Violation::NeverAnswered(fix(2))]);
    // A fix that a broker had, and brought for nothing.
    let found = after(|run| {
        run.transcript.acked.remove(&fix(2));
        run.transcript.entrusted.insert(fix(2));
        run.stored.fixes.remove(&fix(2));
    });
    assert_eq!(found, [Violation::AckedNotStored(fix(2)), Violation::FixesDiffer(fix(2))]);
    // A record on its way to the dispatcher.
    let id = Uuid::from_u128(2);
    let found = after(|run| drop(run.transcript.told.remove(1)));
    assert_eq!(found, [Violation::LogDiffers { id }]);
    // A revision on its way to the dispatcher.
    let id = Uuid::from_u128(1);
    let found = after(|run| drop(run.transcript.told.pop()));
    assert_eq!(found, [Violation::LogDiffers { id }]);
    // A record that was judged and never written: its number is gone.
    let id = Uuid::from_u128(2);
    let found = after(|run| {
        run.stored.records.remove(&id);
        run.stored.numbers.remove(&id);
        run.transcript.told.remove(1);
    });
    let lost = Violation::NumbersLost { given: 3, revisions: 2 };
    assert_eq!(found, [Violation::RecordMissing { id }, lost]);
}

#[test]
fn what_is_left_after_a_purge_is_seen() {
    // Three numbers went with the records of a vehicle that is gone.
    let purged = |run: &mut Run| {
        run.stored.next_sequence += 3;
        run.stored.purged_numbers = 3;
    };
    assert_eq!(after(purged), []);
    let left = record(5, 3, 7, "exit");
    let id = left.id;
    let found = after(|run| {
        purged(run);
        run.stored.numbers.insert(id, (3, 7));
        run.stored.records.insert(id, left);
    });
    let numbers = Violation::NumbersLost { given: 3, revisions: 6 };
    assert_eq!(found, [Violation::LogDiffers { id }, Violation::RecordTooMany { id }, numbers]);
}

#[test]
fn what_is_stored_twice_or_was_never_sent_is_seen() {
    let found = after(|run| run.stored.fixes.extend([(fix(1), 2)]));
    assert_eq!(found, [Violation::StoredTwice(fix(1))]);
    let found = after(|run| run.stored.fixes.extend([(fix(8), 1)]));
    assert_eq!(found, [Violation::StoredNeverSent(fix(8)), Violation::FixesDiffer(fix(8))]);
}

#[test]
fn another_value_than_undisturbed_is_seen_and_another_time_of_finding_is_not() {
    let id = Uuid::from_u128(2);
    let found = after(|run| {
        let other = record(2, 1, 2, "later");
        run.stored.records.insert(id, other.clone());
        run.transcript.told[1] = other;
    });
    assert!(matches!(&found[..], [Violation::RecordDiffers { id: other, .. }] if *other == id), "{found:?}");
    let found = after(|run| {
        let text = run.transcript.told[1].text.replace("at 2", "later").replace("live", "backfill");
        run.transcript.told[1].text = text.into();
        run.stored.records.insert(id, run.transcript.told[1].clone());
    });
    assert_eq!(found, []);
}

#[test]
fn a_feed_that_could_not_go_on_is_seen() {
    let found = after(|run| run.transcript.broken_off.push("cursorExpired".to_owned()));
    assert_eq!(found, [Violation::BrokenOff("cursorExpired".to_owned())]);
}
