//! What was recorded of a vehicle that was deleted with all of it: nothing is left in any table, whatever is read or put right
//! meanwhile, and however often the server stops.

use std::collections::BTreeMap;

use sqlx::AssertSqlSafe;
use uuid::Uuid;
use waypost::store::purge::{Recorded, begin, finish, vehicles};
use waypost::store::sql::Engine;
use waypost::store::time::Time;
use waypost::store::track::Track;
use waypost_actors::model::VehicleId;
use waypost_actors::ports::TrackStore;
use waypost_actors::tracking::Freshness;
use waypost_test_support::{TestStore, for_each_engine};

use crate::driver_at::{FIRST, hire};
use crate::fleet::{
    FENCE, ORGANIZATION, VEHICLE, at, checkpoint, commit, entry, fix, log, mark, recording, row, stand, write,
};

for_each_engine!(
    nothing_recorded_is_left_of_the_vehicle,
    a_server_that_stops_in_the_middle_goes_on,
    what_goes_is_not_put_right_before,
    assignments_by_card_outlive_what_they_followed_from,
);

const OTHER: VehicleId = VehicleId(Uuid::from_u128(9));

/// Tables with vehicles that keep their rows: who changed what, and what the vehicle was, which is no record of where.
const STAY: [&str; 6] =
    ["assignment", "change", "fuel_calibration", "installation", "out_of_service", "share_vehicle"];
/// Tables without vehicles that have rows about one all the same.
const BESIDE: [&str; 4] = ["alert_state", "fuel_verdict", "pending_fix", "rejected_report"];

/// Writes values as text of the store's engine.
#[derive(Clone, Copy)]
struct Literals(Engine);

impl Literals {
    fn id(self, number: u128) -> String {
        let id = Uuid::from_u128(number);
        match self.0 {
            Engine::Sqlite => format!("x'{}'", id.simple()),
            Engine::Postgres => format!("cast('{id}' as uuid)"),
        }
    }

    fn at(self, seconds: i64) -> String {
        match self.0 {
            Engine::Sqlite => at(seconds).as_micros().to_string(),
            Engine::Postgres => format!("cast('{}' as timestamptz)", at(seconds)),
        }
    }

    const fn bytes(self) -> &'static str {
        match self.0 {
            Engine::Sqlite => "x'00'",
            Engine::Postgres => "cast('\\x00' as bytea)",
        }
    }
}

async fn run(store: &TestStore, text: String) {
    store
        .db
        .write()
        .sql(AssertSqlSafe(text.clone()))
        .run()
        .await
        .unwrap_or_else(|error| panic!("{text}: {error}"));
}

/// A row for every table that tells something of a vehicle: `#n#` is an id, and what begins with a colon a value.
const ROWS: [&str; 24] = [
    "position (vehicle_id, recorded_at, latitude, longitude, received_at) values (:vehicle, :now, 1, 1, :now), \
     (:vehicle, :later, 1, 1, :later), (:vehicle, :far, 1, 1, :now)",
    "position_chunk (vehicle_id, recorded_at, ended_at, fixes) values (:vehicle, :now, :later, :bytes)",
    "refused_fix (vehicle_id, recorded_at, latitude, longitude, received_at, reason, fix) \
     values (:vehicle, :now, 1, 1, :now, 'poison', '{}')",
    "fuel_log (vehicle_id, recorded_at, id, organization_id, received_at, unit, raw_value, quality) \
     values (:vehicle, :now, #7#, :organization, :now, 'percent', 1, 'ok')",
    "fuel_day (vehicle_id, day, organization_id, claim) values (:vehicle, :now, :organization, #7#)",
    "records (id, sequence, kind, status, revision, organization_id, vehicle_id, occurred_at, confirmed_at, \
     detected_at, origin) values (#1#, :number000, 'drain', 'active', 1, :organization, :vehicle, :now, :now, :now, \
     'live'), (#2#, :number001, 'alert', 'active', 1, :organization, :vehicle, :now, :now, :now, 'live')",
    "alert_state (alert_id, organization_id, updated_at) values (#2#, :organization, :now)",
    "fuel_verdict (event_id, organization_id) values (#1#, :organization)",
    "visit (id, organization_id, vehicle_id, geofence_id, entry_event_id, entered_at) \
     values (#8#, :organization, :vehicle, :fence, #9#, :now)",
    "checkpoint (vehicle_id, at, state) values (:vehicle, :now, :bytes)",
    "card_run (vehicle_id, reported_at, card_key) values (:vehicle, :now, 'A1')",
    "card_scan (vehicle_id, scan_from, scan_until, noted_at) values (:vehicle, :now, :later, :later)",
    "tracker (id, organization_id, unique_id, status, created_at, updated_at) \
     values (#3#, :organization, 't:number', 'active', :now, :now)",
    "installation (id, tracker_id, vehicle_id, installed_from, installed_to) \
     values (#10#, #3#, :vehicle, :now, :later)",
    "rejected_report (tracker_id, id, received_at, input, code, detail, raw) \
     values (#3#, #11#, :now, 'waypost', 'c', 'd', :bytes)",
    "pending_tracker (id, organization_id, unique_id, input, first_seen_at, last_seen_at) \
     values (#4#, :organization, 't:number', 'waypost', :now, :now)",
    "pending_fix (pending_id, id, recorded_at, fix) values (#4#, #12#, :now, :bytes)",
    "out_of_service (vehicle_id, began_at) values (:vehicle, :now)",
    "fuel_calibration (vehicle_id, version, created_at, settled) values (:vehicle, 1, :now, true)",
    "driver (id, creator_organization_id, first_name, last_name, search_key, created_at, updated_at) \
     values (#5#, :organization, 'A', 'B', '', :now, :now)",
    "assignment (id, organization_id, driver_id, vehicle_id, started_at, ended_at, end_reason, origin, created_at, \
     updated_at) values (#13#, :organization, #5#, :vehicle, :now, :later, 'cardEnded', 'card', :now, :now)",
    "change (id, organization_id, resource, resource_id, kind, changed_at, vehicle_id) \
     values (#14#, :organization, 'vehicle', :vehicle, 'updated', :now, :vehicle)",
    "share (id, organization_id, token_hash, ends_at, created_by, created_at) \
     values (#6#, :organization, :hash, :later, #5#, :now)",
    "share_vehicle (share_id, vehicle_id, arrived_at) values (#6#, :vehicle, :now)",
];

/// Puts a row into every table that tells something of a vehicle. `number`: of its rows; they belong to second 10.
async fn fill(store: &TestStore, vehicle: VehicleId, number: u128) {
    let literals = Literals(store.engine());
    let hash = match store.engine() {
        Engine::Sqlite => literals.id(number),
        Engine::Postgres => format!("uuid_send({})", literals.id(number)),
    };
    let values = [
        (":vehicle", literals.id(vehicle.0.as_u128())),
        (":organization", literals.id(ORGANIZATION.0.as_u128())),
        (":fence", literals.id(FENCE.0.as_u128())),
        (":now", literals.at(10)),
        (":later", literals.at(20)),
        (":far", literals.at(40 * 86_400)),
        (":bytes", literals.bytes().to_owned()),
        (":hash", hash),
        (":number", number.to_string()),
    ];
    for row in ROWS {
        let row = values.iter().fold(row.to_owned(), |row, (name, value)| row.replace(name, value));
        let with_ids =
            |row: String, kind| row.replace(&format!("#{kind}#"), &literals.id(number * 1_000 + kind));
        run(store, format!("insert into {}", (1..=14).fold(row, with_ids))).await;
    }
}

/// How many rows each table that has vehicles has of one, and each of [`BESIDE`] in all.
async fn rows_of(store: &TestStore, vehicle: VehicleId) -> BTreeMap<String, i64> {
    let tables = match store.engine() {
        Engine::Sqlite => {
            "select m.name from sqlite_schema m join pragma_table_info(m.name) c \
             where m.type = 'table' and c.name = 'vehicle_id'"
        }
        Engine::Postgres => {
            "select c.relname::text from pg_attribute a join pg_class c on c.oid = a.attrelid \
             where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition \
             and a.attname = 'vehicle_id'"
        }
    };
    let tables: Vec<(String,)> = store.db.read().sql(tables).all().await.expect("tables");
    let mut rows = BTreeMap::new();
    for (table,) in tables {
        let count = format!("select count(*) from {table} where vehicle_id = $1");
        let count = store.db.read().sql(AssertSqlSafe(count)).bind(vehicle.0).scalar().await.expect("count");
        rows.insert(table, count);
    }
    for table in BESIDE {
        let count = store.db.read().sql(AssertSqlSafe(format!("select count(*) from {table}")));
        rows.insert(table.to_owned(), count.scalar().await.expect("count"));
    }
    rows
}

/// Two vehicles of which every table has something, and the writer.
async fn stand_of_two(store: &TestStore) -> Track {
    let track = stand(store).await;
    let copy = "insert into vehicle (id, organization_id, name, category, status, fuel, tracking, created_at, \
        updated_at) select $1, organization_id, 'Bus 2', category, status, fuel, tracking, created_at, updated_at from vehicle";
    store.db.write().sql(copy).bind(OTHER.0).run().await.expect("another");
    for vehicle_id in [VEHICLE, OTHER] {
        let mut written = write((100..103).map(|second| row(fix(second), Freshness::Fresh)).collect());
        written.vehicle_id = vehicle_id;
        written.effects.checkpoints = vec![checkpoint(102, 102)];
        commit(&track, vec![written]).await;
    }
    track.save_states().await.expect("saved");
    track
}

/// Deletes a vehicle as `ops::vehicles` does, with all of it.
async fn delete(store: &TestStore, vehicle: VehicleId) {
    let update = "update vehicle set deleted_at = created_at, purge_asked_at = created_at where id = $1";
    store.db.write().sql(update).bind(vehicle.0).run().await.expect("marked");
}

/// Deletes in small slices what is marked, as `ops::purge` does.
async fn purge(store: &TestStore, track: &Track) {
    for waiting in vehicles(&store.db).await.expect("read") {
        assert!(begin(track, waiting.id).await.expect("begun"));
        for table in Recorded::ALL {
            while table.delete(&store.db, waiting.id, 2).await.expect("deleted") > 0 {}
        }
        finish(track, waiting, at(1_000)).await.expect("finished");
    }
}

/// Asserts that nothing is left of the one vehicle, and all of the other.
async fn assert_gone(store: &TestStore, before: &BTreeMap<String, i64>, of_other: &BTreeMap<String, i64>) {
    let beside = |table: &str| BESIDE.contains(&table);
    for (table, rows) in rows_of(store, VEHICLE).await {
        let expected = match STAY.contains(&table.as_str()) {
            true => before[&table],
            false if beside(&table) => 1,
            false => 0,
        };
        assert_eq!(rows, expected, "{table}");
    }
    let mut other = rows_of(store, OTHER).await;
    other.iter_mut().filter(|(table, _)| beside(table)).for_each(|(_, rows)| *rows += 1);
    assert_eq!(&other, of_other);
    let arrived = "select count(*) from share_vehicle where arrived_at is not null and vehicle_id = $1";
    for (vehicle, expected) in [(VEHICLE, 0_i64), (OTHER, 1)] {
        let arrived = store.db.read().sql(arrived).bind(vehicle.0).scalar::<i64>().await.expect("count");
        assert_eq!(arrived, expected);
    }
    assert!(vehicles(&store.db).await.expect("read").is_empty());
}

async fn nothing_recorded_is_left_of_the_vehicle(store: TestStore) {
    let track = stand_of_two(&store).await;
    fill(&store, VEHICLE, 7).await;
    fill(&store, OTHER, 8).await;
    let (before, of_other) = (rows_of(&store, VEHICLE).await, rows_of(&store, OTHER).await);
    let empty: Vec<_> = before.iter().filter(|(_, rows)| **rows == 0).collect();
    assert!(
        empty.is_empty() && before.len() > 15,
        "a table of vehicles that this test does not fill: {empty:?}"
    );
    delete(&store, VEHICLE).await;
    purge(&store, &track).await;
    assert_gone(&store, &before, &of_other).await;
    // Once more, as after another deletion.
    delete(&store, VEHICLE).await;
    run(&store, "update vehicle set purged_at = null where purge_asked_at is not null".to_owned()).await;
    purge(&store, &track).await;
    assert_gone(&store, &before, &of_other).await;
}

async fn a_server_that_stops_in_the_middle_goes_on(store: TestStore) {
    let former = stand_of_two(&store).await;
    fill(&store, VEHICLE, 7).await;
    fill(&store, OTHER, 8).await;
    let (before, of_other) = (rows_of(&store, VEHICLE).await, rows_of(&store, OTHER).await);
    delete(&store, VEHICLE).await;
    let dirty = "update vehicle_state set dirty_from = $1, dirty_until = $1, dirty_origin = 'backfill' where vehicle_id = $2";
    let dirty = store.db.write().sql(dirty).bind(Time(at(5))).bind(VEHICLE.0);
    dirty.run().await.expect("dirty");
    // Stopped before anything was begun: a start does not take it up, though it is dirty and inside.
    let track = Track::take_over(store.db.clone(), store.db.clone()).await.expect("taken over");
    let seeds = track.seeds().await.expect("read");
    assert_eq!(seeds.vehicles.iter().map(|seed| seed.vehicle.id).collect::<Vec<_>>(), [OTHER]);
    assert!(!begin(&former, VEHICLE).await.expect("asked"), "another server has taken over");
    // Stopped within a table.
    assert!(begin(&track, VEHICLE).await.expect("begun"));
    assert_eq!(Recorded::Records.delete(&store.db, VEHICLE, 1).await.expect("deleted"), 1);
    let track = Track::take_over(store.db.clone(), store.db.clone()).await.expect("taken over");
    track.seeds().await.expect("read");
    assert_eq!(vehicles(&store.db).await.expect("read").len(), 1);
    purge(&store, &track).await;
    assert_gone(&store, &before, &of_other).await;
}

/// Has the writer look who drove both vehicles from second 0 on.
async fn revise(store: &TestStore, track: &Track, number: u128) {
    let literals = Literals(store.engine());
    for (place, vehicle) in [VEHICLE, OTHER].into_iter().enumerate() {
        let (id, vehicle) = (literals.id(number + place as u128), literals.id(vehicle.0.as_u128()));
        let (from, to, organization) =
            (literals.at(0), literals.at(200), literals.id(ORGANIZATION.0.as_u128()));
        let change = format!(
            "insert into change (id, organization_id, resource, resource_id, kind, changed_at, vehicle_id, driven_from, \
             driven_to) values ({id}, {organization}, 'vehicle', {vehicle}, 'updated', {from}, {vehicle}, {from}, {to})"
        );
        run(store, change).await;
    }
    while track.revise_drivers().await.expect("put right").1 {}
}

async fn what_goes_is_not_put_right_before(store: TestStore) {
    let track = stand_of_two(&store).await;
    for (vehicle, number) in [(VEHICLE, 1), (OTHER, 2)] {
        let mut record = entry(number, 150);
        record.vehicle_id = vehicle;
        let mut written = recording(vec![record]);
        written.vehicle_id = vehicle;
        written.effects.late = Some(mark(100, 101));
        commit(&track, vec![written]).await;
    }
    let literals = Literals(store.engine());
    let (organization, driver, now) =
        (literals.id(ORGANIZATION.0.as_u128()), literals.id(FIRST.0.as_u128()), literals.at(10));
    hire(&store).await;
    for (id, vehicle) in [(501, VEHICLE), (502, OTHER)] {
        run(&store, format!("insert into assignment (id, organization_id, driver_id, vehicle_id, started_at, assigned_by, \
            created_at, updated_at) values ({}, {organization}, {driver}, {}, {now}, {driver}, {now}, {now})",
            literals.id(id), literals.id(vehicle.0.as_u128()))).await;
    }
    delete(&store, VEHICLE).await;
    assert!(
        track.slice(VEHICLE).await.expect("read").is_none(),
        "nothing of it awaits a correction any more"
    );
    assert!(track.slice(OTHER).await.expect("read").is_some());
    revise(&store, &track, 600).await;
    let driven: Vec<_> =
        log(&track).await.iter().map(|record| (record.vehicle_id, record.driver_id.is_some())).collect();
    assert_eq!(driven, [(VEHICLE, false), (OTHER, true)]);
}

async fn assignments_by_card_outlive_what_they_followed_from(store: TestStore) {
    let track = stand_of_two(&store).await;
    // Each has a driver by card; the other vehicle has one more, whose card is known still and was never said.
    fill(&store, VEHICLE, 7).await;
    fill(&store, OTHER, 8).await;
    for unread in ["card_scan", "records", "position_chunk"] {
        run(&store, format!("delete from {unread}")).await;
    }
    let literals = Literals(store.engine());
    let (organization, now, later) =
        (literals.id(ORGANIZATION.0.as_u128()), literals.at(30), literals.at(40));
    let driver = literals.id(7_005);
    let holding = format!(
        "insert into card_holding (id, organization_id, card_key, driver_id, held_from) \
         values ({}, {organization}, 'B2', {driver}, {now})",
        literals.id(700)
    );
    run(&store, holding).await;
    run(&store, format!("insert into assignment (id, organization_id, driver_id, vehicle_id, started_at, ended_at, \
        end_reason, origin, created_at, updated_at) values ({}, {organization}, {driver}, {}, {now}, {later}, \
        'cardEnded', 'card', {now}, {now})", literals.id(701), literals.id(OTHER.0.as_u128()))).await;
    delete(&store, VEHICLE).await;
    purge(&store, &track).await;
    revise(&store, &track, 800).await;
    let select = "select vehicle_id, driver_id from assignment order by vehicle_id";
    let left: Vec<(Uuid, Uuid)> = store.db.read().sql(select).all().await.expect("read");
    let of = |vehicle: VehicleId, driver: u128| (vehicle.0, Uuid::from_u128(driver));
    assert_eq!(left, [of(VEHICLE, 7_005), of(OTHER, 8_005)], "but what a known card did not say is gone");
}
