//! Shards of a node that commit together: each keeps what it would have alone.

use std::sync::Arc;
use std::time::Duration;

use tokio::join;
use tokio::sync::Barrier;
use tokio::time::timeout;
use uuid::Uuid;
use waypost::store::handover::to_cluster;
use waypost::store::open::for_writer;
use waypost::store::shard::Shard;
use waypost::store::track::{GroupCommit, Track};
use waypost_actors::model::{OrganizationId, Timestamp, VehicleId};
use waypost_actors::ports::{Batch, StoreError, TrackStore};
use waypost_actors::tracking::Freshness;
use waypost_test_support::{Engine, TestStore, eventually, run};

use crate::fleet::{batch, fix, row, write};

/// Commits of each shard in a row.
const FIXES: i64 = 100;

/// Three shards of one node, each with one commit behind it.
async fn members(store: &TestStore) -> [Arc<Track>; 3] {
    let writer = || for_writer(&store.db, &store.options).expect("its settings are right");
    to_cluster(&store.db, &writer()).await.expect("a cluster's");
    let group = GroupCommit::new(writer(), Duration::from_millis(1));
    let mut members = Vec::new();
    for number in 0..3 {
        let track = Track::take_over_shard(store.db.clone(), writer(), shard(number)).await;
        let track = track.expect("taken over").in_group(group.clone());
        track.commit(&of(number, 0)).await.expect("committed");
        members.push(track);
    }
    members.try_into().ok().expect("three")
}

fn shard(number: u128) -> Shard {
    Shard::of(OrganizationId(Uuid::from_u128(number)))
}

/// A fix of the shard's one vehicle.
fn of(number: u128, seconds: i64) -> Batch {
    let mut write = write(vec![row(fix(seconds), Freshness::Fresh)]);
    write.organization_id = OrganizationId(Uuid::from_u128(number));
    write.vehicle_id = VehicleId(Uuid::from_u128(1_000 + number));
    batch(vec![write])
}

/// Commits of a shard in the log.
async fn logged(store: &TestStore, number: u128) -> i64 {
    let count = store.db.read().sql("select count(*) from fix_log where shard = $1");
    count.bind(i64::from(shard(number).number())).scalar().await.expect("counted")
}

#[test]
fn shards_that_wait_for_a_commit_share_the_next_one() {
    run(Engine::Postgres, async |store| {
        let [first, second, third] = members(&store).await;
        let batches = [of(0, 10), of(1, 10), of(2, 10)];
        let (one, two, three) =
            join!(first.commit(&batches[0]), second.commit(&batches[1]), third.commit(&batches[2]));
        for committed in [one, two, three] {
            assert_eq!(committed.expect("committed")[0].counts.stored, 1);
        }
        for number in 0..3 {
            assert_eq!(logged(&store, number).await, 2, "shard {number}");
        }
        assert!(!shared_their_last(&store, [0, 1]).await && shared_their_last(&store, [1, 2]).await);
        let reread = second.reread(&[VehicleId(Uuid::from_u128(1_001))], 1).await.expect("read");
        assert_eq!(reread.states.len(), 1);
    });
}

#[test]
fn a_commit_and_an_edit_do_not_wait_for_each_other() {
    run(Engine::Postgres, async |store| {
        let [first, second, third] = members(&store).await;
        // As an edit holds it from its last look at the epoch to the end of its commit.
        let mut edit = store.db.begin().await.expect("begun");
        let hold = edit.on().sql("select epoch from writer where name = ");
        let hold = hold.push_bind(shard(1).number().to_string()).push(" for key share");
        hold.one::<(i64,)>().await.expect("held");
        let batches = [of(0, 10), of(1, 10), of(2, 10)];
        let (one, two, three) =
            join!(first.commit(&batches[0]), second.commit(&batches[1]), third.commit(&batches[2]));
        for committed in [one, two, three] {
            assert_eq!(committed.expect("committed")[0].counts.stored, 1);
        }
        edit.rollback().await.expect("ended");
        assert!(shared_their_last(&store, [1, 2]).await, "they had waited, and committed alone");
    });
}

/// Whether two shards committed their newest batches in one transaction.
async fn shared_their_last(store: &TestStore, shards: [u128; 2]) -> bool {
    let mut transactions = Vec::new();
    for number in shards {
        let newest = "select cast(cast(xmin as text) as bigint) from fix_log where shard = $1 order by number desc limit 1";
        let newest = store.db.read().sql(newest).bind(i64::from(shard(number).number()));
        transactions.push(newest.scalar::<i64>().await.expect("read"));
    }
    transactions[0] == transactions[1]
}

#[test]
fn a_batch_that_is_refused_does_not_fail_its_neighbours() {
    run(Engine::Postgres, async |store| {
        let [first, second, third] = members(&store).await;
        let mut poison = of(1, 10);
        poison.writes[0].effects.rows[0].fix.recorded_at = Timestamp::MAX;
        let (before, beside) = (of(0, 10), of(2, 10));
        let (one, two, three) = join!(first.commit(&before), second.commit(&poison), third.commit(&beside));
        assert!(matches!(two, Err(StoreError::Refused(_))), "{two:?}");
        assert_eq!((one.expect("committed").len(), three.expect("committed").len()), (1, 1));
        assert_eq!((logged(&store, 1).await, logged(&store, 2).await), (1, 2));
        second.commit(&of(1, 20)).await.expect("the next one is taken");
    });
}

#[test]
fn a_shard_of_another_node_does_not_fail_its_neighbours() {
    run(Engine::Postgres, async |store| {
        let [first, second, third] = members(&store).await;
        Track::take_over_shard(store.db.clone(), store.db.clone(), shard(1)).await.expect("taken over");
        let batches = [of(0, 10), of(1, 10), of(2, 10)];
        let (one, two, three) =
            join!(first.commit(&batches[0]), second.commit(&batches[1]), third.commit(&batches[2]));
        assert!(matches!(two, Err(StoreError::TakenOver)), "{two:?}");
        assert_eq!((one.expect("committed").len(), three.expect("committed").len()), (1, 1));
        assert_eq!((logged(&store, 1).await, logged(&store, 2).await), (1, 2));
    });
}

#[test]
fn a_batch_that_nobody_waits_for_any_more_is_not_begun() {
    run(Engine::Postgres, async |store| {
        let [first, second, third] = members(&store).await;
        let (before, given_up, after) = (of(0, 10), of(1, 10), of(2, 10));
        // It waits for the first one when its time is over.
        let (one, two) = join!(first.commit(&before), timeout(Duration::ZERO, second.commit(&given_up)));
        one.expect("committed");
        assert!(two.is_err(), "it did not wait");
        let asked = second.reread(&[VehicleId(Uuid::from_u128(1_001))], 1).await.expect("read");
        third.commit(&after).await.expect("committed");
        assert_eq!((logged(&store, 1).await, logged(&store, 2).await), (1, 2));
        assert_eq!(asked.states.len(), 1);
        second.commit(&given_up).await.expect("it comes again");
        assert_eq!(logged(&store, 1).await, 2);
    });
}

#[test]
fn each_thread_is_answered_whoever_commits() {
    run(Engine::Postgres, async |store| {
        let tracks = members(&store).await;
        let all = Arc::new(Barrier::new(tracks.len()));
        let threads = tracks.into_iter().zip(0..).map(|(track, number)| {
            let all = Arc::clone(&all);
            std::thread::spawn(move || {
                let one_after_the_other = async {
                    for seconds in 1..=FIXES {
                        track.commit(&of(number, seconds)).await.expect("committed");
                    }
                    // A thread of the server does not end before the others: their connection may be one that it opened.
                    all.wait().await;
                };
                actix_rt::Runtime::new().expect("a runtime").block_on(one_after_the_other);
            })
        });
        let threads: Vec<_> = threads.collect();
        eventually(Duration::from_secs(60), async || threads.iter().all(|thread| thread.is_finished())).await;
        for thread in threads {
            thread.join().expect("each is answered");
        }
        for number in 0..3 {
            let passed = store.db.read().sql("select log_number from writer where name = $1");
            let name = shard(number).number().to_string();
            assert_eq!(passed.bind(name).scalar::<i64>().await.expect("read"), 1 + FIXES);
        }
    });
}
