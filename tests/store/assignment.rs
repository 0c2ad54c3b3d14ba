//! The history of assignments: what the tables themselves refuse, and who drove at an instant.

use uuid::Uuid;
use waypost::store::assignment::drivers_at;
use waypost::store::sql::{self, Db, is_conflict};
use waypost::store::time::Time;
use waypost_actors::model::{DriverId, Timestamp, VehicleId};
use waypost_test_support::{TestStore, for_each_engine};

for_each_engine!(
    a_vehicle_has_one_open_assignment,
    assignments_of_a_vehicle_never_overlap,
    an_end_needs_its_reason_and_its_order,
    who_drove_is_known_for_any_number_of_instants,
);

/// The one organization.
const ORGANIZATION: Uuid = Uuid::from_u128(1);

fn at(seconds: i64) -> Time {
    Time(Timestamp::from_millis(1_767_225_600_000 + seconds * 1000).expect("in range"))
}

fn vehicle(n: u128) -> Uuid {
    Uuid::from_u128(100 + n)
}

fn driver(n: u128) -> Uuid {
    Uuid::from_u128(200 + n)
}

/// An organization with three vehicles and three drivers.
async fn people(store: &TestStore) {
    let on = || store.db.write();
    let organization = "insert into organization (id, name, slug, search_key, contact_email, status, settings, \
         subscription, created_at, updated_at) values ($1, 'a', 'a', 'a', 'a@b.de', 'active', '{}', '{}', $2, $2)";
    on().sql(organization).bind(ORGANIZATION).bind(at(0)).run().await.expect("an organization");
    for n in 0..3 {
        let insert = "insert into vehicle (id, organization_id, name, category, status, fuel, tracking, created_at, \
             updated_at) values ($1, $2, 'v', 'bus', 'active', '{}', '{}', $3, $3)";
        on().sql(insert).bind(vehicle(n)).bind(ORGANIZATION).bind(at(0)).run().await.expect("a vehicle");
        let insert = "insert into driver (id, creator_organization_id, first_name, last_name, search_key, \
             created_at, updated_at) values ($1, $2, 'a', 'b', 'a b', $3, $3)";
        on().sql(insert).bind(driver(n)).bind(ORGANIZATION).bind(at(0)).run().await.expect("a driver");
    }
}

/// Writes an assignment without the checks that the server makes before.
async fn assign(db: &Db, d: u128, v: u128, from: i64, to: Option<i64>) -> sql::Result<u64> {
    db.write()
        .sql(
            "insert into assignment (id, organization_id, driver_id, vehicle_id, started_at, ended_at, assigned_by, \
             end_reason, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $2, $7, $5, $5)",
        )
        .bind(Uuid::now_v7())
        .bind(ORGANIZATION)
        .bind(driver(d))
        .bind(vehicle(v))
        .bind(at(from))
        .bind(to.map(at))
        .bind(to.map(|_| "unassigned"))
        .run()
        .await
}

async fn a_vehicle_has_one_open_assignment(store: TestStore) {
    people(&store).await;
    assign(&store.db, 0, 0, 10, None).await.expect("the first");
    let second = assign(&store.db, 1, 0, 10, None).await;
    assert!(second.is_err(), "a vehicle has two drivers");
    assign(&store.db, 0, 1, 10, None).await.expect("a driver may have two vehicles");
    let found = store.db.read().sql("select count(*) from assignment where ended_at is null");
    assert_eq!(found.scalar::<i64>().await.expect("counted"), 2);
    // Two that never overlap are caught by the key alone, as by one who comes at the same instant.
    let end = "update assignment set ended_at = started_at, end_reason = 'unassigned' where vehicle_id = $1";
    store.db.write().sql(end).bind(vehicle(0)).run().await.expect("ended");
    assign(&store.db, 1, 0, 10, None).await.expect("free again");
    let reopen = "update assignment set ended_at = null, end_reason = null where vehicle_id = $1";
    let reopened = store.db.write().sql(reopen).bind(vehicle(0)).run().await;
    let refused = reopened.expect_err("an assignment that was over is open again beside another").to_string();
    assert!(refused.contains("assignment_o"), "{refused}");
}

async fn assignments_of_a_vehicle_never_overlap(store: TestStore) {
    people(&store).await;
    assign(&store.db, 0, 0, 100, Some(200)).await.expect("the first");
    for (from, to) in [
        (100, Some(200)),
        (150, Some(160)),
        (50, Some(101)),
        (199, Some(300)),
        (0, Some(500)),
        (0, None),
        (199, None),
    ] {
        let refused = assign(&store.db, 1, 0, from, to).await.expect_err("two drivers at one instant");
        assert!(refused.to_string().contains("assignment_overlap"), "{from}..{to:?}: {refused}");
        assert!(!is_conflict(&refused), "a history that does not fit is no race that was lost");
    }
    assign(&store.db, 1, 0, 50, Some(100)).await.expect("up to the start");
    assign(&store.db, 1, 0, 150, Some(150)).await.expect("no time at all");
    assign(&store.db, 1, 1, 150, Some(160)).await.expect("another vehicle");
    assign(&store.db, 1, 0, 200, None).await.expect("from the end on");
    let longer = "update assignment set ended_at = $2 where vehicle_id = $1 and started_at = $3";
    let longer = store.db.write().sql(longer).bind(vehicle(0)).bind(at(201)).bind(at(100)).run().await;
    let refused = longer.expect_err("an end was moved into the next one").to_string();
    assert!(refused.contains("assignment_overlap"), "{refused}");
}

async fn an_end_needs_its_reason_and_its_order(store: TestStore) {
    people(&store).await;
    let backwards = assign(&store.db, 0, 0, 100, Some(99)).await;
    assert!(backwards.is_err(), "it ended before it began");
    assign(&store.db, 0, 0, 100, None).await.expect("open");
    let silent = store.db.write().sql("update assignment set ended_at = $1").bind(at(200)).run().await;
    assert!(silent.is_err(), "it ended for no reason");
}

async fn who_drove_is_known_for_any_number_of_instants(store: TestStore) {
    people(&store).await;
    for (d, v, from, to) in [
        (0, 0, 100, Some(200)),
        (1, 0, 200, Some(300)),
        (2, 0, 250, Some(250)),
        (2, 0, 400, None),
        (0, 1, 150, None),
    ] {
        assign(&store.db, d, v, from, to).await.expect("assigned");
    }
    let expected = |v: u128, second: i64| match (v, second) {
        (0, 100..200) => Some(0),
        (0, 200..300) => Some(1),
        (0, 400..) => Some(2),
        (1, 150..) => Some(0),
        _ => None,
    };
    // Three vehicles and an unknown one, at every second, in no order: more than the parameters of one statement.
    let places = (0..20_000_u64).map(|n| n * 7919 % 20_000);
    let asked: Vec<(u128, i64)> = places.map(|n| (u128::from(n % 4), (n / 4 % 500) as i64)).collect();
    let questions: Vec<(VehicleId, Timestamp)> =
        asked.iter().map(|(v, second)| (VehicleId(vehicle(*v)), at(*second).0)).collect();
    let mut tx = store.db.begin().await.expect("begun");
    let found = drivers_at(&mut tx, &questions).await.expect("answered");
    assert_eq!(found.len(), asked.len());
    for ((v, second), found) in asked.into_iter().zip(found) {
        assert_eq!(found, expected(v, second).map(|d| DriverId(driver(d))), "vehicle {v} at {second}");
    }
    // The last instant of one and the first of the next, to the millisecond.
    let edge = [(VehicleId(vehicle(0)), at(200).0.plus_seconds(-0.001)), (VehicleId(vehicle(0)), at(200).0)];
    let found = drivers_at(&mut tx, &edge).await.expect("answered");
    assert_eq!(found, [Some(DriverId(driver(0))), Some(DriverId(driver(1)))]);
    assert_eq!(drivers_at(&mut tx, &[]).await.expect("answered"), []);
}
