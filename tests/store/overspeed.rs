//! Episodes that last and then end: a record under one id, revised on the live path and by corrections.

use uuid::Uuid;
use waypost_actors::model::{EventId, EventStatus};
use waypost_actors::tracking::{Detail, OverspeedDetail, Record};
use waypost_test_support::{TestStore, for_each_engine};

use crate::fleet::{FENCE, at, commit, correcting, correction, entry, log, recording, stand};

for_each_engine!(
    what_goes_on_gets_its_end_as_a_revision,
    what_begins_and_ends_in_one_batch_is_told_once,
    an_end_behind_a_corrected_part_stands,
    an_end_beside_what_is_told_already_leaves_no_gap,
);

/// An episode that began at a second and counted ten seconds later.
fn overspeed(seconds: i64, ended: Option<i64>) -> Record {
    let detail = OverspeedDetail {
        geofence_id: (seconds > 0).then_some(FENCE),
        geofence_name: (seconds > 0).then(|| "Depot".into()),
        limit_kmh: 50.0,
        max_speed_kmh: 0.1 + 0.2,
        distance_meters: 1.0 / 3.0,
        duration_seconds: ended.map_or(10.0, |ended| (ended - seconds) as f64),
    };
    Record {
        id: EventId(Uuid::from_u128(900 + seconds as u128)),
        ended_at: ended.map(at),
        confirmed_at: at(ended.unwrap_or(seconds + 10)),
        detail: Detail::Overspeed(detail),
        ..entry(0, seconds)
    }
}

fn numbered(record: Record, sequence: i64, revision: i64) -> Record {
    Record { sequence, revision, ..record }
}

async fn what_goes_on_gets_its_end_as_a_revision(store: TestStore) {
    let track = stand(&store).await;
    let committed = commit(&track, vec![recording(vec![overspeed(0, None)])]).await;
    assert_eq!(committed[0].records, [numbered(overspeed(0, None), 1, 1)]);
    let writes = vec![
        recording(vec![overspeed(0, None), entry(2, 5)]),
        recording(vec![overspeed(0, Some(20)), overspeed(40, None)]),
    ];
    let committed = commit(&track, writes).await;
    assert_eq!(committed[0].records, [entry(2, 5)], "it is told already");
    let told = [numbered(overspeed(0, Some(20)), 3, 2), numbered(overspeed(40, None), 4, 1)];
    assert_eq!(committed[1].records, told);
    assert_eq!(log(&track).await, [entry(2, 5), told[0].clone(), told[1].clone()]);
    // Neither comes twice, and no later end replaces the one that is known.
    let again = vec![recording(vec![overspeed(0, None), overspeed(0, Some(20)), overspeed(0, Some(30))])];
    assert_eq!(commit(&track, again).await[0].records, []);
    assert_eq!(log(&track).await.len(), 3);
}

async fn what_begins_and_ends_in_one_batch_is_told_once(store: TestStore) {
    let track = stand(&store).await;
    let writes = vec![
        recording(vec![overspeed(0, None), entry(5, 3)]),
        recording(vec![overspeed(0, Some(20))]),
        recording(vec![overspeed(40, None), overspeed(40, Some(60))]),
    ];
    let committed = commit(&track, writes).await;
    let numbers: Vec<Vec<(i64, i64)>> = committed
        .iter()
        .map(|write| write.records.iter().map(|record| (record.sequence, record.revision)).collect())
        .collect();
    assert_eq!(numbers, [vec![(2, 1)], vec![(1, 1)], vec![(3, 1)]]);
    let ends: Vec<_> = log(&track).await.iter().map(|record| record.ended_at).collect();
    assert_eq!(ends, [Some(at(20)), None, Some(at(60))]);
}

async fn an_end_behind_a_corrected_part_stands(store: TestStore) {
    let track = stand(&store).await;
    commit(&track, vec![recording(vec![overspeed(0, None)])]).await;
    commit(&track, vec![recording(vec![overspeed(0, Some(50))])]).await;
    let found = |until| correction(None, until, vec![overspeed(0, None)]);
    // Up to 30 it goes on; what was recorded later stands.
    assert_eq!(commit(&track, vec![correcting(found(Some(30)))]).await[0].records, []);
    // Up to the present it does.
    let told = commit(&track, vec![correcting(found(None))]).await.remove(0).records;
    assert_eq!((told[0].ended_at, told[0].revision, told[0].status), (None, 3, EventStatus::Active));
    let gone = correction(None, None, Vec::new());
    let told = commit(&track, vec![correcting(gone)]).await.remove(0).records;
    assert_eq!((told[0].revision, told[0].status), (4, EventStatus::Retracted));
}

async fn an_end_beside_what_is_told_already_leaves_no_gap(store: TestStore) {
    let track = stand(&store).await;
    commit(&track, vec![recording(vec![overspeed(0, None)])]).await;
    let batch = || {
        let second = vec![overspeed(40, None), overspeed(40, Some(60)), entry(5, 70)];
        vec![recording(vec![entry(2, 5), overspeed(0, Some(20))]), recording(second)]
    };
    commit(&track, batch()).await;
    let mut told = vec![
        entry(2, 5),
        numbered(overspeed(0, Some(20)), 3, 2),
        numbered(overspeed(40, Some(60)), 4, 1),
        entry(5, 70),
    ];
    assert_eq!(log(&track).await, told);
    // Once more, as after an unknown outcome.
    assert!(commit(&track, batch()).await.iter().all(|write| write.records.is_empty()));
    assert_eq!(log(&track).await, told);
    // With new ones before and behind what is told already.
    let mixed = vec![entry(6, 80), entry(2, 5), overspeed(0, Some(20)), overspeed(90, None)];
    let committed = commit(&track, vec![recording(mixed)]).await;
    assert_eq!(committed[0].records, [entry(6, 80), numbered(overspeed(90, None), 7, 1)]);
    let mixed = vec![entry(8, 95), entry(2, 5), overspeed(90, Some(110))];
    let committed = commit(&track, vec![recording(mixed)]).await;
    assert_eq!(committed[0].records, [entry(8, 95), numbered(overspeed(90, Some(110)), 9, 2)]);
    told.extend([entry(6, 80), entry(8, 95), numbered(overspeed(90, Some(110)), 9, 2)]);
    assert_eq!(log(&track).await, told);
}
