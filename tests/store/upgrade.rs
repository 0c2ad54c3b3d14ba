//! A store from before a migration is taken over with its contents.

use std::path::Path;

use sqlx::migrate::Migrator;
use uuid::Uuid;
use waypost::store::open::{migrate, open};
use waypost::store::sql::{Db, Pools};
use waypost::store::time::Time;
use waypost_actors::tracking::Mark;
use waypost_test_support::{Engine, TestStore, for_each_engine};

use crate::fleet::{at, mark};

for_each_engine!(
    late_data_begins_with_what_was_tracked_before,
    rules_of_before_hold_while_standing,
    what_the_creator_wrote_of_a_driver_becomes_the_creators_profile,
    both_logs_become_one_with_every_number_as_it_was,
    vehicles_of_a_deleted_organization_are_deleted_with_it,
    assignments_of_before_are_made_by_hand,
);

/// Brings an empty store up to a migration.
async fn migrate_to(db: &Db, last: i64) {
    let engine = if db.engine() == Engine::Sqlite { "sqlite" } else { "postgres" };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(engine);
    let migrator = Migrator::new(folder).await.expect("the migrations are read");
    match &db.pools {
        Pools::Postgres { pool, .. } => migrator.run_to(last, pool).await.expect("migrated"),
        Pools::Sqlite { writer, .. } => migrator.run_to(last, writer).await.expect("migrated"),
    }
}

async fn insert_organization(db: &Db, number: u128, status: &'static str) {
    let sql = "insert into organization (id, name, search_key, slug, contact_email, status, settings, \
        subscription, created_at, updated_at) values ($1, 'O', 'o', $2, 'o@example.org', $3, $4, $4, $5, $5)";
    let empty = sqlx::types::Json(serde_json::json!({}));
    let stmt = db.write().sql(sql).bind(Uuid::from_u128(number)).bind(format!("o{number}")).bind(status);
    stmt.bind(empty).bind(Time(at(0))).run().await.expect("organization");
}

async fn insert_vehicle(db: &Db, number: u128, status: &'static str, deleted_at: Option<i64>) {
    let sql = "insert into vehicle (id, organization_id, name, category, status, fuel, tracking, created_at, \
        updated_at, deleted_at) values ($1, $2, 'Bus', 'bus', $3, $4, $4, $5, $5, $6)";
    let empty = sqlx::types::Json(serde_json::json!({}));
    let stmt = db.write().sql(sql).bind(Uuid::from_u128(number)).bind(Uuid::from_u128(1)).bind(status);
    let stmt = stmt.bind(empty).bind(Time(at(0))).bind(deleted_at.map(|second| Time(at(second))));
    stmt.run().await.expect("vehicle");
}

/// A record of when something happened, and of the fix it rests on.
async fn insert_event(db: &Db, number: i64, occurred: i64, fix: i64) {
    let sql = "insert into geofence_event (id, sequence, kind, status, revision, visit_id, organization_id, \
        vehicle_id, geofence_id, geofence_version, occurred_at, time_uncertainty_seconds, detected_at, origin, \
        cause, inferred, latitude, longitude, fix_recorded_at, fix_latitude, fix_longitude) \
        values ($1, $2, 'entry', 'active', 1, $1, $1, $1, $1, 1, $3, 0.0, $3, 'live', 'crossing', false, 1.0, \
        1.0, $4, 1.0, 1.0)";
    let stmt = db.write().sql(sql).bind(Uuid::from_u128(number as u128)).bind(number);
    stmt.bind(Time(at(occurred))).bind(Time(at(fix))).run().await.expect("event");
}

async fn late_data_begins_with_what_was_tracked_before(store: TestStore) {
    let db = open(&store.empty().await).await.expect("opened");
    migrate_to(&db, 8).await;
    insert_organization(&db, 1, "active").await;
    let empty = sqlx::types::Json(serde_json::json!({}));
    insert_vehicle(&db, 10, "active", None).await;
    insert_vehicle(&db, 11, "inactive", Some(70)).await;
    insert_vehicle(&db, 12, "decommissioned", None).await;
    insert_vehicle(&db, 13, "maintenance", None).await;
    insert_event(&db, 1, 10, 15).await; // crossed on the way to the fix
    insert_event(&db, 2, 20, 12).await; // a change, after the fix
    let sql =
        "insert into vehicle_state (vehicle_id, organization_id, state, dirty_from) values ($1, $1, $2, $3)";
    for (number, dirty) in [(10, Some(Time(at(33)))), (13, None)] {
        let state = db.write().sql(sql).bind(Uuid::from_u128(number)).bind(empty.clone()).bind(dirty);
        state.run().await.expect("state");
    }
    migrate(&db).await.expect("migrated");

    let confirmed: Vec<(Time,)> =
        db.read().sql("select confirmed_at from records order by sequence").all().await.expect("read");
    assert_eq!(confirmed, [(Time(at(15)),), (Time(at(20)),)]);
    let marks = "select dirty_from, dirty_until, dirty_origin from vehicle_state order by vehicle_id";
    type Row = (Option<Time>, Option<Time>, Option<String>);
    let marks: Vec<Row> = db.read().sql(marks).all().await.expect("read");
    let Mark { from, until, origin } = mark(33, 33);
    assert_eq!(marks[0], (Some(Time(from)), Some(Time(until)), Some(origin.as_str().to_owned())));
    assert_eq!(marks[1], (None, None, None));
    let spans = "select vehicle_id, began_at, ended_at from out_of_service order by vehicle_id";
    let spans: Vec<(Uuid, Time, Option<Time>)> = db.read().sql(spans).all().await.expect("read");
    let of = |number| Uuid::from_u128(number);
    assert_eq!((spans.len(), spans[0]), (2, (of(11), Time(at(70)), None)));
    assert_eq!((spans[1].0, spans[1].2), (of(12), None));
    assert!(spans[1].1 > Time(at(0)), "since the migration: what was tracked until then stands");
    assert_eq!(spans[1].1.0.as_micros() % 1000, 0);
    db.close().await;
}

async fn rules_of_before_hold_while_standing(store: TestStore) {
    use sqlx::types::Json;
    use waypost_actors::model::Rules;

    let db = open(&store.empty().await).await.expect("opened");
    migrate_to(&db, 15).await;
    let before = serde_json::json!({ "exitMarginMeters": 5.0, "minInsideSeconds": 0.0, "minOutsideSeconds": 0.0,
        "inferPassages": false, "maxGapSeconds": 600.0, "dwellAfterSeconds": null, "speedLimitKmh": null });
    let organization = "insert into organization (id, name, search_key, slug, contact_email, status, settings, \
        subscription, created_at, updated_at) values ($1, 'O', $2, $2, $2, 'active', $3, $3, $4, $4)";
    let settings =
        [serde_json::json!({ "geofenceDefaults": before, "units": "metric" }), serde_json::json!({})];
    for (number, settings) in (1..).zip(settings) {
        let stmt = db.write().sql(organization).bind(Uuid::from_u128(number)).bind(number.to_string());
        stmt.bind(Json(settings)).bind(Time(at(0))).run().await.expect("organization");
    }
    let fence = "insert into geofence (id, organization_id, name, search_key, enabled, shape, rules, west, south, \
        east, north, area_square_meters, version, created_at, updated_at) values ($1, $1, 'F', 'f', $2, $3, $4, \
        0.0, 0.0, 1.0, 1.0, 1.0, 1, $5, $5)";
    let stmt = db.write().sql(fence).bind(Uuid::from_u128(1)).bind(true).bind(Json(serde_json::json!({})));
    stmt.bind(Json(before.clone())).bind(Time(at(0))).run().await.expect("fence");
    let version = "insert into geofence_version (geofence_id, version, changed_at, active, deleted, shape, rules, \
        settled) values ($1, 1, $2, $3, $4, $5, $6, $3)";
    let stmt = db.write().sql(version).bind(Uuid::from_u128(1)).bind(Time(at(0))).bind(true).bind(false);
    stmt.bind(Json(serde_json::json!({}))).bind(Json(before)).run().await.expect("version");
    migrate(&db).await.expect("migrated");

    for table in ["select rules from geofence", "select rules from geofence_version"] {
        let (Json(said),): (Json<serde_json::Value>,) = db.read().sql(table).one().await.expect("read");
        assert_eq!(said["holdWhileStanding"], serde_json::json!(true), "{table}");
        let rules: Rules = serde_json::from_value(said).expect("rules");
        assert_eq!((rules.exit_margin_meters, rules.hold_while_standing), (5.0, true));
    }
    let settings: Vec<(Json<serde_json::Value>,)> =
        db.read().sql("select settings from organization order by search_key").all().await.expect("read");
    assert_eq!(settings[0].0["geofenceDefaults"]["holdWhileStanding"], serde_json::json!(true));
    assert_eq!(settings[0].0["units"], serde_json::json!("metric"));
    assert_eq!(settings[1].0.0, serde_json::json!({}));
    db.close().await;
}

/// A driver from before profiles: who made it, who holds it, and whether it was deleted.
async fn insert_driver(db: &Db, number: u128, creator: u128, holder: Option<u128>, deleted_at: Option<i64>) {
    let sql = "insert into driver (id, creator_organization_id, lock_organization_id, locked_at, first_name, last_name, \
        search_key, email, phone, employee_code, license, license_country, license_key, documents, status, created_at, \
        updated_at, deleted_at) values ($1, $2, $3, $4, 'Ana  Maria', 'Ruiz', 'ana maria ruiz a@b.de +49 1 e7 l 1 l1', \
        'a@b.de', '+49 1', 'E7', $5, 'DE', $6, $7, 'suspended', $8, $9, $10)";
    let (uuid, json) = (Uuid::from_u128, |value| sqlx::types::Json(value));
    let stmt = db.write().sql(sql).bind(uuid(number)).bind(uuid(creator)).bind(holder.map(uuid));
    let stmt = stmt.bind(holder.map(|_| Time(at(5)))).bind(json(serde_json::json!({ "number": "L 1" })));
    let stmt = stmt.bind(format!("L{number}")).bind(json(serde_json::json!([{ "note": "insulin" }])));
    let stmt = stmt.bind(Time(at(1))).bind(Time(at(9))).bind(deleted_at.map(|second| Time(at(second))));
    stmt.run().await.expect("driver");
}

async fn what_the_creator_wrote_of_a_driver_becomes_the_creators_profile(store: TestStore) {
    let db = open(&store.empty().await).await.expect("opened");
    migrate_to(&db, 15).await;
    for (number, status) in [(1, "active"), (2, "active"), (3, "deleted")] {
        insert_organization(&db, number, status).await;
    }
    insert_driver(&db, 20, 1, None, None).await;
    insert_driver(&db, 21, 1, Some(2), None).await;
    insert_driver(&db, 22, 1, None, Some(7)).await;
    insert_driver(&db, 23, 3, None, None).await;
    insert_driver(&db, 24, 3, Some(2), None).await;
    insert_vehicle(&db, 10, "active", None).await;
    let assigned = "insert into assignment (id, organization_id, driver_id, vehicle_id, started_at, assigned_by, \
        created_at, updated_at) values ($1, $2, $3, $1, $4, $2, $4, $4)";
    let assigned = db.write().sql(assigned).bind(Uuid::from_u128(10)).bind(Uuid::from_u128(1));
    assigned.bind(Uuid::from_u128(20)).bind(Time(at(2))).run().await.expect("assigned");
    migrate(&db).await.expect("migrated");

    let persons =
        "select id, lock_organization_id, search_key, license_key, deleted_at from driver order by id";
    type Person = (Uuid, Option<Uuid>, String, String, Option<Time>);
    let persons: Vec<Person> = db.read().sql(persons).all().await.expect("read");
    let person = |number, holder: Option<u128>, deleted: Option<i64>| -> Person {
        let (id, names) = (Uuid::from_u128(number), "ana maria ruiz".to_owned());
        (id, holder.map(Uuid::from_u128), names, format!("L{number}"), deleted.map(|second| Time(at(second))))
    };
    assert_eq!(
        persons,
        [
            person(20, None, None),
            person(21, Some(2), None),
            person(22, None, Some(7)),
            person(23, None, Some(9)), // nobody has it on record any more
            person(24, Some(2), None),
        ]
    );
    let profiles = "select driver_id, organization_id, email, status, search_key, created_at, deleted_at \
        from driver_profile order by driver_id, organization_id";
    type Profile = (Uuid, Uuid, Option<String>, String, String, Time, Option<Time>);
    let profiles: Vec<Profile> = db.read().sql(profiles).all().await.expect("read");
    let creators = |number, creator, deleted: Option<i64>| -> Profile {
        let (ids, email) = ((Uuid::from_u128(number), Uuid::from_u128(creator)), Some("a@b.de".to_owned()));
        let (status, key) = ("suspended".to_owned(), "a@b.de +49 1 e7 l 1 l1".to_owned());
        (ids.0, ids.1, email, status, key, Time(at(1)), deleted.map(|second| Time(at(second))))
    };
    let holders = |number| -> Profile {
        let ids = (Uuid::from_u128(number), Uuid::from_u128(2));
        (ids.0, ids.1, None, "active".to_owned(), String::new(), Time(at(5)), None)
    };
    assert_eq!(
        profiles,
        [
            creators(20, 1, None),
            creators(21, 1, None),
            holders(21),
            creators(22, 1, Some(7)),
            creators(23, 3, Some(0)),
            holders(24),
            creators(24, 3, Some(0)),
        ]
    );
    let documents = "select documents from driver_profile where organization_id = $1 and driver_id = $2";
    let documents = async |organization| {
        let stmt = db.read().sql(documents).bind(Uuid::from_u128(organization)).bind(Uuid::from_u128(21));
        stmt.scalar::<sqlx::types::Json<serde_json::Value>>().await.expect("read").0
    };
    assert_eq!(documents(1).await, serde_json::json!([{ "note": "insulin" }]));
    assert_eq!(documents(2).await, serde_json::json!([]));
    // Assignments keep their drivers as before.
    let removed = db.write().sql("delete from driver_profile").run().await.expect("deleted");
    assert_eq!(removed, 7);
    let refused = db.write().sql("delete from driver where id = $1").bind(Uuid::from_u128(20)).run().await;
    assert!(refused.is_err(), "a driver with assignments was deleted");
    db.close().await;
}

async fn both_logs_become_one_with_every_number_as_it_was(store: TestStore) {
    use sqlx::types::Json;
    use waypost_actors::tracking::FuelDetail;

    let db = open(&store.empty().await).await.expect("opened");
    migrate_to(&db, 18).await;
    // Neither has a decimal of fewer than 17 digits.
    let (third, sum) = (1.0 / 3.0, 0.1 + 0.2);
    let event = "insert into geofence_event (id, sequence, kind, status, revision, visit_id, organization_id, \
        vehicle_id, geofence_id, geofence_version, driver_id, occurred_at, time_uncertainty_seconds, detected_at, \
        origin, cause, inferred, latitude, longitude, fix_recorded_at, fix_latitude, fix_longitude, fix_speed_kmh, \
        analytics, confirmed_at) values ($1, 7, 'exit', 'retracted', 3, $1, $1, $1, $1, 2, $1, $2, $3, $2, \
        'backfill', 'geofenceChanged', $4, $3, $5, $2, $3, $5, null, $6, $2)";
    let analytics = serde_json::json!({ "durationSeconds": sum });
    let stmt = db.write().sql(event).bind(Uuid::from_u128(1)).bind(Time(at(10))).bind(third).bind(true);
    stmt.bind(sum).bind(Json(&analytics)).run().await.expect("event");
    let fuel = "insert into fuel_event (id, sequence, kind, status, revision, organization_id, vehicle_id, driver_id, \
        started_at, ended_at, level_before_liters, level_after_liters, volume_liters, latitude, longitude, \
        geofence_ids, motion, confidence, calibration_version, detected_at, origin, confirmed_at) \
        values ($1, 9, 'drain', 'active', 2, $1, $1, null, $2, $3, $4, $5, 40.0, null, null, $6, 'unknown', 1e-7, 4, \
        $3, 'live', $3)";
    let fences = Json(serde_json::json!([Uuid::from_u128(8)]));
    let stmt = db.write().sql(fuel).bind(Uuid::from_u128(2)).bind(Time(at(20))).bind(Time(at(30)));
    stmt.bind(third).bind(sum).bind(fences).run().await.expect("fuel event");
    migrate(&db).await.expect("migrated");

    type Row = (Uuid, i64, String, String, i64, Option<Time>, Option<f64>, Option<f64>, Option<bool>);
    let rows = "select id, sequence, kind, status, revision, ended_at, longitude, fix_latitude, inferred \
        from records where shard = 0 order by sequence";
    let rows: Vec<Row> = db.read().sql(rows).all().await.expect("read");
    let of = |number, word: [&str; 2]| (Uuid::from_u128(number), word.map(str::to_owned));
    let [(id, number, kind, status, ..), ..] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((of(1, ["exit", "retracted"]), 7), ((*id, [kind.clone(), status.clone()]), *number));
    assert_eq!(
        (rows[0].4, rows[0].5, rows[0].6, rows[0].7, rows[0].8),
        (3, None, Some(sum), Some(third), Some(true))
    );
    assert_eq!((rows.len(), rows[1].0, rows[1].1, rows[1].4), (2, Uuid::from_u128(2), 9, 2));
    assert_eq!((rows[1].5, rows[1].6, rows[1].8), (Some(Time(at(30))), None, None));
    let details = "select detail from records order by sequence";
    let details: Vec<(String,)> = db.read().sql(details).all().await.expect("read");
    let read: serde_json::Value = serde_json::from_str(&details[0].0).expect("JSON");
    assert_eq!(read, analytics);
    let detail: FuelDetail = serde_json::from_str(&details[1].0).expect("a detail");
    assert_eq!((detail.level_before_liters, detail.level_after_liters), (third, sum));
    assert_eq!((detail.volume_liters, detail.confidence, detail.calibration_version), (40.0, 1e-7, 4));
    assert_eq!(detail.geofence_ids, [Uuid::from_u128(8).into()]);
    db.close().await;
}

async fn vehicles_of_a_deleted_organization_are_deleted_with_it(store: TestStore) {
    for status in ["deleted", "inactive"] {
        let db = open(&store.empty().await).await.expect("opened");
        migrate_to(&db, 61).await;
        insert_organization(&db, 1, status).await;
        insert_vehicle(&db, 10, "active", None).await;
        insert_vehicle(&db, 11, "active", None).await;
        insert_vehicle(&db, 12, "active", Some(-5)).await;
        let out = "insert into out_of_service (vehicle_id, began_at) values ($1, $2)";
        let stmt = db.write().sql(out).bind(Uuid::from_u128(11)).bind(Time(at(-9)));
        stmt.run().await.expect("out of service");
        migrate(&db).await.expect("migrated");

        let select = "select v.deleted_at, o.began_at from vehicle v \
            left join out_of_service o on o.vehicle_id = v.id order by v.id";
        let found: Vec<(Option<Time>, Option<Time>)> = db.read().sql(select).all().await.expect("read");
        let at = |second| Some(Time(at(second)));
        let expected = match status {
            "deleted" => [(at(0), at(0)), (at(0), at(-9)), (at(-5), None)],
            _ => [(None, None), (None, at(-9)), (at(-5), None)],
        };
        assert_eq!(found, expected, "{status}");
    }
}

async fn assignments_of_before_are_made_by_hand(store: TestStore) {
    let db = open(&store.empty().await).await.expect("opened");
    migrate_to(&db, 64).await;
    insert_organization(&db, 1, "active").await;
    insert_vehicle(&db, 10, "active", None).await;
    let of = Uuid::from_u128;
    let driver = "insert into driver (id, creator_organization_id, first_name, last_name, search_key, created_at, \
        updated_at) values ($1, $2, 'a', 'b', 'a b', $3, $3)";
    db.write().sql(driver).bind(of(20)).bind(of(1)).bind(Time(at(0))).run().await.expect("a driver");
    let insert = "insert into assignment (id, organization_id, driver_id, vehicle_id, started_at, ended_at, assigned_by, \
        end_reason, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $5, $5)";
    let assign = async |id: u128, from: i64, to: Option<i64>| {
        let stmt =
            db.write().sql(insert).bind(of(id)).bind(of(1)).bind(of(20)).bind(of(10)).bind(Time(at(from)));
        let stmt = stmt.bind(to.map(|to| Time(at(to)))).bind(of(30));
        stmt.bind(to.map(|_| "unassigned")).run().await
    };
    assign(40, 0, Some(10)).await.expect("an assignment that is over");
    assign(41, 20, None).await.expect("an open one");
    migrate(&db).await.expect("migrated");

    let select = "select id, started_at, ended_at, assigned_by, end_reason, origin from assignment order by started_at";
    type Row = (Uuid, Time, Option<Time>, Option<Uuid>, Option<String>, String);
    let found: Vec<Row> = db.read().sql(select).all().await.expect("read");
    let (by, hand) = (Some(of(30)), || "manual".to_owned());
    let over = (of(40), Time(at(0)), Some(Time(at(10))), by, Some("unassigned".to_owned()), hand());
    assert_eq!(found, [over, (of(41), Time(at(20)), None, by, None, hand())]);
    assign(42, 5, Some(15)).await.expect_err("two at once are refused still");
    assign(43, 12, Some(15)).await.expect("between them");
    db.close().await;
}
