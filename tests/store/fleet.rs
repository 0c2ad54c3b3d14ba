//! One vehicle and one fence, and what may be written of them.

use std::sync::Arc;

use uuid::Uuid;
use waypost::store::time::Time;
use waypost::store::track::Track;
use waypost_actors::model::{
    Analytics, Cause, EventFix, EventId, EventKind, EventStatus, Fix, GeofenceId, OrganizationId, Origin,
    Place, Timestamp, VehicleId, VisitId,
};
use waypost_actors::ports::{Batch, Committed, RecordLog, TrackStore, VehicleWrite};
use waypost_actors::tracking::{
    Checkpoint, Correction, Detail, Effects, Freshness, GeofenceDetail, Mark, PositionRow, Quarantine,
    Record, VehicleState,
};
use waypost_actors::watch::Audience;
use waypost_test_support::{TestStore, stored_positions};

pub(crate) const ORGANIZATION: OrganizationId = OrganizationId(Uuid::from_u128(1));
pub(crate) const VEHICLE: VehicleId = VehicleId(Uuid::from_u128(2));
pub(crate) const FENCE: GeofenceId = GeofenceId(Uuid::from_u128(3));

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_767_225_600_000 + seconds * 1000).expect("in range")
}

pub(crate) fn fix(seconds: i64) -> Fix {
    Fix::new(at(seconds), at(seconds + 1), Place::new(30.25, -97.75))
}

pub(crate) fn row(fix: Fix, freshness: Freshness) -> PositionRow {
    PositionRow { fix, quarantine: None, attributes: None, freshness }
}

pub(crate) fn write(rows: Vec<PositionRow>) -> VehicleWrite {
    let state = VehicleState { last: rows.last().map(|row| row.fix), ..VehicleState::default() };
    VehicleWrite {
        vehicle_id: VEHICLE,
        organization_id: ORGANIZATION,
        effects: Box::new(Effects { rows: rows.into(), ..Effects::default() }),
        state: Arc::new(state),
        judged_at: at(0),
    }
}

pub(crate) fn batch(writes: Vec<VehicleWrite>) -> Batch {
    Batch { writes }
}

const ANALYTICS: Analytics = Analytics {
    duration_seconds: 61.003,
    distance_meters: 812.345,
    avg_speed_kmh: Some(47.938),
    max_speed_kmh: None,
    moving_seconds: 60.003,
    stopped_seconds: 1.0,
    gap_seconds: 0.0,
    fix_count: 3,
    stops: 0,
    overspeed_seconds: Some(12.5),
    fuel_used_liters: None,
};

pub(crate) fn entry(sequence: i64, seconds: i64) -> Record {
    let fix = fix(seconds);
    let detail = GeofenceDetail {
        kind: EventKind::Entry,
        visit_id: VisitId(Uuid::from_u128(50)),
        geofence_id: FENCE,
        geofence_name: "Depot".into(),
        geofence_version: 1,
        time_uncertainty_seconds: 2.5,
        cause: Cause::Crossing,
        inferred: false,
        fix: EventFix::from(&fix),
        // An entry has none, but the store does not know that.
        analytics: (sequence % 2 == 1).then_some(ANALYTICS),
    };
    Record {
        id: EventId(Uuid::from_u128(100 + sequence as u128)),
        sequence,
        status: EventStatus::Active,
        revision: 1,
        organization_id: ORGANIZATION,
        vehicle_id: VEHICLE,
        vehicle_name: "Bus 1".into(),
        driver_id: None,
        occurred_at: at(seconds),
        ended_at: None,
        location: Some(fix.place),
        detected_at: at(seconds + 1),
        origin: Origin::Live,
        confirmed_at: at(seconds),
        detail: Detail::Geofence(Box::new(detail)),
    }
}

/// The record with another detail.
pub(crate) fn told_as(mut record: Record, change: impl FnOnce(&mut GeofenceDetail)) -> Record {
    match &mut record.detail {
        Detail::Geofence(detail) => change(detail),
        detail => panic!("{detail:?}"),
    }
    record
}

/// An organization with one vehicle and one fence, and the writer of their data.
pub(crate) async fn stand(store: &TestStore) -> Track {
    let now = Time(at(0));
    let sql = "insert into organization (id, name, search_key, slug, contact_email, status, settings, \
        subscription, created_at, updated_at) values ($1, 'O', 'o', 'o', 'o@example.org', 'active', $2, $2, $3, $3)";
    let empty = sqlx::types::Json(serde_json::json!({}));
    store
        .db
        .write()
        .sql(sql)
        .bind(ORGANIZATION.0)
        .bind(empty.clone())
        .bind(now)
        .run()
        .await
        .expect("organization");
    let sql = "insert into vehicle (id, organization_id, name, category, status, fuel, tracking, created_at, \
        updated_at) values ($1, $2, 'Bus 1', 'bus', 'active', $3, $3, $4, $4)";
    let vehicle =
        store.db.write().sql(sql).bind(VEHICLE.0).bind(ORGANIZATION.0).bind(empty.clone()).bind(now);
    vehicle.run().await.expect("vehicle");
    let sql = "insert into geofence (id, organization_id, name, search_key, enabled, shape, rules, west, south, \
        east, north, area_square_meters, version, created_at, updated_at) \
        values ($1, $2, 'Depot', 'depot', true, $3, $3, $4, $4, $4, $4, $4, 1, $5, $5)";
    let fence = store.db.write().sql(sql).bind(FENCE.0).bind(ORGANIZATION.0).bind(empty).bind(0.0).bind(now);
    fence.run().await.expect("fence");
    Track::take_over(store.db.clone(), store.db.clone()).await.expect("taken over")
}

pub(crate) async fn stored(store: &TestStore) -> i64 {
    stored_positions(&store.db).await.expect("read").len() as i64
}

/// Why the fix of a second is not evaluated, if it is not.
pub(crate) async fn quarantine_at(store: &TestStore, seconds: i64) -> Option<Quarantine> {
    let stored = stored_positions(&store.db).await.expect("read");
    let found = stored.iter().find(|(_, position)| position.recorded_at == at(seconds));
    found.expect("stored").1.quarantine
}

pub(crate) async fn dirty_from(store: &TestStore) -> Option<Time> {
    let row: Option<(Option<Time>,)> =
        store.db.read().sql("select dirty_from from vehicle_state").optional().await.expect("read");
    row.and_then(|(from,)| from)
}

/// A mark of late fixes between two seconds.
pub(crate) fn mark(from: i64, until: i64) -> Mark {
    Mark { from: at(from), until: at(until), origin: Origin::Backfill }
}

/// The one vehicle's mark.
pub(crate) async fn marked(store: &TestStore) -> Option<Mark> {
    let sql = "select dirty_from, dirty_until, dirty_origin from vehicle_state where dirty_from is not null";
    let row: Option<(Time, Time, String)> = store.db.read().sql(sql).optional().await.expect("read");
    row.map(|(from, until, origin)| Mark {
        from: from.into(),
        until: until.into(),
        origin: Origin::from_word(&origin).expect("a word"),
    })
}

/// The server's clock at every correction.
pub(crate) const FOUND: i64 = 9_000;

pub(crate) fn correction(after: Option<i64>, until: Option<i64>, records: Vec<Record>) -> Correction {
    Correction {
        after: after.map(at),
        until: until.map(at),
        origin: Origin::Backfill,
        detected_at: at(FOUND),
        records,
        adjustment: None,
        visits: Vec::new(),
        fuel_rows: Vec::new(),
        undecided: None,
        quarantines: Vec::new(),
        checkpoints: Vec::new(),
        dirty: None,
    }
}

pub(crate) fn correcting(correction: Correction) -> VehicleWrite {
    let mut write = write(Vec::new());
    write.effects.correction = Some(Box::new(correction));
    write
}

pub(crate) fn recording(records: Vec<Record>) -> VehicleWrite {
    let mut write = write(Vec::new());
    write.effects.records = records;
    write
}

pub(crate) fn exit(number: i64, seconds: i64) -> Record {
    told_as(entry(number, seconds), |detail| detail.kind = EventKind::Exit)
}

pub(crate) async fn commit(track: &Track, writes: Vec<VehicleWrite>) -> Vec<Committed> {
    track.commit(&batch(writes)).await.expect("committed")
}

pub(crate) async fn log(track: &Track) -> Vec<Record> {
    track.records_from(Audience::Everyone, 1, 10_000).await.expect("read")
}

pub(crate) fn checkpoint(second: i64, last: i64) -> Checkpoint {
    Checkpoint { at: at(second), state: VehicleState { last: Some(fix(last)), ..VehicleState::default() } }
}
