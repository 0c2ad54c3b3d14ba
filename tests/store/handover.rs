//! From a single server to a cluster and back: who is waited for, and where readers of the log go on.

use std::pin::pin;
use std::time::Duration;

use tokio::time::timeout;
use waypost::store::handover::{to_cluster, to_single};
use waypost::store::open::for_writer;
use waypost::store::shard::Shard;
use waypost::store::sql::Writer;
use waypost::store::track::Track;
use waypost_actors::ports::{RecordLog, TrackStore};
use waypost_actors::watch::Audience;
use waypost_test_support::{Engine, TestStore, run};

use crate::changes::{ORGANIZATION, change, edit};

/// Less than anybody waits for a lock.
const MOMENT: Duration = Duration::from_millis(300);

fn writer(store: &TestStore) -> Writer {
    for_writer(&store.db, &store.options).expect("its settings are right")
}

/// The first shard of a cluster, and its next number.
async fn first_of_cluster(store: &TestStore) -> (Track, i64) {
    to_cluster(&store.db, &writer(store)).await.expect("a cluster's");
    let track = Track::take_over_shard(store.db.clone(), writer(store), Shard::FIRST).await;
    let track = track.expect("taken over");
    let next = track.reread(&[], 1).await.expect("read").next_sequence;
    (track, next)
}

#[test]
fn an_edit_that_is_about_to_commit_is_waited_for() {
    run(Engine::Postgres, async |store| {
        // As an edit holds it from its last look at the epoch to the end of its commit.
        let mut edit = store.db.begin().await.expect("begun");
        let hold = edit.on().sql("select epoch from writer where name = 'main'").push(" for key share");
        hold.one::<(i64,)>().await.expect("held");
        let writer = writer(&store);
        let mut handed_over = pin!(to_cluster(&store.db, &writer));
        assert!(timeout(MOMENT, &mut handed_over).await.is_err(), "it does not wait");
        edit.commit().await.expect("committed");
        handed_over.await.expect("a cluster's");
    });
}

#[test]
fn who_follows_everyone_goes_on_unless_a_single_server_numbered_meanwhile() {
    run(Engine::Postgres, async |store| {
        let (shard, first) = first_of_cluster(&store).await;
        assert!(shard.goes_on_from(Audience::Everyone, first, first));
        assert!(!shard.goes_on_from(Audience::Everyone, first + 1, first), "it was not given yet");

        to_single(&store.db, &writer(&store)).await.expect("a single server's");
        let (shard, same) = first_of_cluster(&store).await;
        assert!(shard.goes_on_from(Audience::Everyone, first, same));

        to_single(&store.db, &writer(&store)).await.expect("a single server's");
        let single = Track::take_over(store.db.clone(), writer(&store)).await.expect("taken over");
        edit(&store, &[change(1)]).await;
        assert_eq!(single.number_changes().await.expect("numbered").len(), 1);
        let (shard, later) = first_of_cluster(&store).await;
        assert!(!shard.goes_on_from(Audience::Everyone, first, later));
        assert!(shard.goes_on_from(Audience::Organization(ORGANIZATION), first, later));
    });
}
