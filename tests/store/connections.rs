//! Records of connections: numbered with all others, written once, and no correction's business.

use waypost::store::time::Time;
use waypost_actors::model::{Connection, Place, Timestamp, VehicleId};
use waypost_actors::ports::{RecordLog, TrackStore};
use waypost_actors::tracking::{ConnectionChange, Record};
use waypost_actors::watch::Audience;
use waypost_test_support::{TestStore, for_each_engine};

use crate::fleet::{ORGANIZATION, VEHICLE, at, commit, correcting, correction, entry, log, recording, stand};

for_each_engine!(
    they_are_numbered_with_all_others_and_written_once,
    a_correction_leaves_them_alone,
    a_deleted_vehicle_gets_none,
);

fn changed(vehicle_id: VehicleId, state: Connection, since: Timestamp, seconds: i64) -> Record {
    let change = ConnectionChange {
        vehicle_id,
        organization_id: ORGANIZATION,
        state,
        silent_since: since,
        heard_at: since,
        occurred_at: at(seconds),
        location: Some(Place::new(30.25, -97.75)),
        was_moving: false,
    };
    change.record(at(seconds + 1))
}

fn stored(record: &Record, sequence: i64) -> Record {
    Record { sequence, vehicle_name: "Bus 1".into(), ..record.clone() }
}

async fn they_are_numbered_with_all_others_and_written_once(store: TestStore) {
    let track = stand(&store).await;
    let seed = async || track.seeds().await.expect("read").vehicles[0].connection;
    assert_eq!(seed().await, None);
    commit(&track, vec![recording(vec![entry(1, 5)])]).await;
    let (stale, offline) = (
        changed(VEHICLE, Connection::Stale, at(5), 300),
        changed(VEHICLE, Connection::Offline, at(5), 3_600),
    );
    let logged = track.log_connections(std::slice::from_ref(&stale)).await.expect("stored");
    assert_eq!(logged, [stored(&stale, 2)]);
    assert_eq!(seed().await, Some((Connection::Stale, at(5))));
    // What is stored is neither numbered nor answered again.
    let logged = track.log_connections(&[stale.clone(), offline.clone()]).await.expect("stored");
    assert_eq!(logged, [stored(&offline, 3)]);
    assert_eq!(track.log_connections(std::slice::from_ref(&stale)).await.expect("nothing to store"), []);
    commit(&track, vec![recording(vec![entry(4, 4_000)])]).await;
    assert_eq!(log(&track).await, [entry(1, 5), stored(&stale, 2), stored(&offline, 3), entry(4, 4_000)]);
    assert_eq!(seed().await, Some((Connection::Offline, at(5))));
    let reread = track.reread(&[VEHICLE], 2).await.expect("read");
    assert_eq!((reread.records.len(), reread.next_sequence), (3, 5));
    let foreign = Audience::Organization(uuid::Uuid::from_u128(99).into());
    assert_eq!(track.records_from(foreign, 1, 10).await.expect("read"), []);
}

async fn a_correction_leaves_them_alone(store: TestStore) {
    let track = stand(&store).await;
    commit(&track, vec![recording(vec![entry(1, 5)])]).await;
    let stale = changed(VEHICLE, Connection::Stale, at(5), 300);
    track.log_connections(std::slice::from_ref(&stale)).await.expect("stored");
    let committed = commit(&track, vec![correcting(correction(None, None, Vec::new()))]).await;
    assert_eq!(committed[0].records.len(), 1, "only the entry is taken back: {committed:?}");
    assert_eq!(log(&track).await[0], stored(&stale, 2));
}

async fn a_deleted_vehicle_gets_none(store: TestStore) {
    let track = stand(&store).await;
    let delete = "update vehicle set deleted_at = $1";
    store.db.write().sql(delete).bind(Time(at(0))).run().await.expect("deleted");
    let stale = changed(VEHICLE, Connection::Stale, at(5), 300);
    assert_eq!(track.log_connections(&[stale]).await.expect("nothing to store"), []);
    assert_eq!(log(&track).await, []);
    assert_eq!(track.seeds().await.expect("read").next_sequence, 1);
}
