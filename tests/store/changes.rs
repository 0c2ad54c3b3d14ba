//! Numbers of changes of master data: given by the writer, in order, none before it is committed, once.

use uuid::Uuid;
use waypost::store::change_log;
use waypost_actors::model::{Change, ChangeKind, ChangedResource, OrganizationId, Timestamp};
use waypost_actors::ports::{MAX_NUMBERED, RecordLog, TrackStore};
use waypost_actors::watch::Audience;
use waypost_test_support::{Engine, TestStore, for_each_engine, run};

use crate::driven::{Driven, driving};
use crate::fleet::{VEHICLE, commit, stand};

for_each_engine!(
    changes_and_records_are_numbered_in_one_order,
    very_many_changes_are_numbered_in_several_steps,
    a_writer_that_was_taken_over_numbers_nothing,
);

pub(crate) const ORGANIZATION: OrganizationId = OrganizationId(Uuid::from_u128(7));

pub(crate) fn change(number: u128) -> Change {
    Change {
        sequence: 0,
        organization_id: Some(ORGANIZATION),
        resource: ChangedResource::Geofence,
        resource_id: Uuid::from_u128(number),
        kind: ChangeKind::Updated,
        changed_at: Timestamp::FIRST,
    }
}

pub(crate) async fn edit(store: &TestStore, changes: &[Change]) {
    let mut tx = store.db.begin().await.expect("begun");
    change_log::insert(&mut tx, changes).await.expect("inserted");
    tx.commit().await.expect("committed");
}

fn named(changes: &[Change]) -> Vec<(i64, u128)> {
    changes.iter().map(|change| (change.sequence, change.resource_id.as_u128())).collect()
}

async fn changes_and_records_are_numbered_in_one_order(store: TestStore) {
    let track = stand(&store).await;
    edit(&store, &[change(1), change(2)]).await;
    let first = track.number_changes().await.expect("numbered");
    assert_eq!(named(&first), [(1, 1), (2, 2)]);
    assert_eq!(track.number_changes().await.expect("nothing waits"), []);
    commit(&track, vec![Driven::new(VEHICLE).report(&[driving(0)])]).await;
    edit(&store, &[change(3)]).await;
    let next = track.reread(&[], 1).await.expect("read").next_sequence;
    assert_eq!(named(&track.number_changes().await.expect("numbered")), [(next, 3)]);
    let reread = track.reread(&[], 2).await.expect("read");
    assert_eq!((named(&reread.changes), reread.next_sequence), (vec![(2, 2), (next, 3)], next + 1));
    let of = async |audience| named(&track.changes_from(audience, 1, 2).await.expect("read"));
    assert_eq!(of(Audience::Everyone).await, [(1, 1), (2, 2)]);
    assert_eq!(of(Audience::Organization(ORGANIZATION)).await, [(1, 1), (2, 2)]);
    assert_eq!(of(Audience::Organization(OrganizationId(Uuid::nil()))).await, []);
}

async fn very_many_changes_are_numbered_in_several_steps(store: TestStore) {
    let track = stand(&store).await;
    let many: Vec<Change> = (1..=MAX_NUMBERED as u128 + 3).map(change).collect();
    edit(&store, &many).await;
    let mut numbered = track.number_changes().await.expect("numbered");
    assert_eq!(numbered.len(), MAX_NUMBERED);
    numbered.extend(track.number_changes().await.expect("numbered"));
    assert_eq!(named(&numbered), (1..).zip(1..=many.len() as u128).collect::<Vec<_>>());
}

async fn a_writer_that_was_taken_over_numbers_nothing(store: TestStore) {
    let old = stand(&store).await;
    let (new, _) = crate::fix_log::start(&store).await;
    edit(&store, &[change(1)]).await;
    old.number_changes().await.expect_err("taken over");
    assert_eq!(named(&new.number_changes().await.expect("numbered")), [(1, 1)]);
}

/// SQLite has one edit at a time.
#[test]
fn a_change_that_is_committed_late_gets_a_later_number() {
    run(Engine::Postgres, async |store: TestStore| {
        let track = stand(&store).await;
        let mut slow = store.db.begin().await.expect("begun");
        change_log::insert(&mut slow, &[change(1)]).await.expect("inserted");
        edit(&store, &[change(2)]).await;
        assert_eq!(named(&track.number_changes().await.expect("numbered")), [(1, 2)]);
        slow.commit().await.expect("committed");
        assert_eq!(named(&track.number_changes().await.expect("numbered")), [(2, 1)]);
    });
}
