//! Charts and consumption over packed days of the fuel log are those over the log itself, whatever comes late.

use std::time::Instant;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use uuid::Uuid;
use waypost::ops::fuel_packing::pack_days;
use waypost::store::sql::Engine;
use waypost::store::time::Time;
use waypost_actors::model::Timestamp;
use waypost_test_support::{TestStore, for_each_engine, run};

use crate::fuel::{TANK_LITERS, day, items, lorry, send};
use crate::server::{Bus, Fleet, Server, until_clean};

for_each_engine!(whatever_comes_late_packed_days_tell_the_same, what_is_packed_is_not_read_again);

const DAY_MILLIS: i64 = 86_400_000;

/// Days of that lorry: each begins in the evening, so that it lies in two.
fn days() -> Vec<Value> {
    let one = items(&day());
    let moved = |days: i64| {
        let mut items = one.clone();
        for item in &mut items {
            item["recordedAt"] = json!(item["recordedAt"].as_i64().unwrap() + days * DAY_MILLIS);
        }
        items
    };
    [0, 1, 4].into_iter().flat_map(moved).collect()
}

fn instant(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap()
}

/// Charts and consumption of the whole time, and of some parts of it.
async fn told(server: &Server, fleet: &Fleet<'_>, bus: &Bus, seed: u64) -> Vec<Value> {
    let mut rng = StdRng::seed_from_u64(seed);
    let begin = items(&day())[0]["recordedAt"].as_i64().unwrap();
    let whole = (begin - DAY_MILLIS, begin + 7 * DAY_MILLIS);
    let mut periods = vec![whole, (begin - begin % DAY_MILLIS, begin - begin % DAY_MILLIS + 2 * DAY_MILLIS)];
    periods.extend((0..12).map(|_| {
        let from = rng.random_range(whole.0..whole.1);
        (from, rng.random_range(from + 1..whole.1 + 1))
    }));
    let mut said = Vec::new();
    for (from, to) in periods {
        let period = format!("vehicleId={}&from={}&to={}", bus.vehicle, instant(from), instant(to));
        let points = [4, 500, 5_000][rng.random_range(0..3)];
        for path in
            [format!("chart?points={points}&format=columns&{period}"), format!("consumption?{period}")]
        {
            said.push(server.get(&format!("/v1/fuel/{path}"), &fleet.dispatcher).await.ok(200));
        }
    }
    said
}

async fn packed(store: &TestStore) -> i64 {
    store.db.read().sql("select count(*) from fuel_day where levels is not null").scalar().await.unwrap()
}

/// What is told by the packed days that there are is what is told without them.
async fn assert_same(store: &TestStore, (server, fleet): (&Server, &Fleet<'_>), bus: &Bus, seed: u64) {
    let by_days = told(server, fleet, bus, seed).await;
    let hide = "update fuel_day set organization_id = vehicle_id";
    store.db.write().sql(hide).run().await.unwrap();
    let by_log = told(server, fleet, bus, seed).await;
    let show = "update fuel_day set organization_id = \
        (select v.organization_id from vehicle v where v.id = fuel_day.vehicle_id)";
    store.db.write().sql(show).run().await.unwrap();
    assert_eq!(by_days, by_log, "seed {seed}");
}

async fn whatever_comes_late_packed_days_tell_the_same(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let bus = lorry(&fleet, "one").await;
    let mut rng = StdRng::seed_from_u64(11);
    let (mut late, mut first) = (Vec::new(), Vec::new());
    for item in days() {
        if rng.random_range(0..4) == 0 { late.push(item) } else { first.push(item) }
    }
    late.shuffle(&mut rng);
    send(&server, &bus, &first, 60).await;
    until_clean(&store.db).await;
    assert_eq!(pack_days(&server.context).await.unwrap(), 5);
    assert_same(&store, (&server, &fleet), &bus, 1).await;
    // Late fixes, some alone and then all others: what is packed is made again, as far as it changed.
    let (some, rest) = late.split_at(3);
    for (items, seed) in [(some, 2), (rest, 3)] {
        send(&server, &bus, items, 60).await;
        until_clean(&store.db).await;
        let left = packed(&store).await;
        assert!(left < 5, "nothing changed");
        assert_same(&store, (&server, &fleet), &bus, seed).await;
        assert_eq!(pack_days(&server.context).await.unwrap() as i64, 5 - left);
        assert_same(&store, (&server, &fleet), &bus, seed + 10).await;
    }
    // All is calibrated anew from the middle on.
    let middle = first[first.len() / 2]["recordedAt"].as_i64().unwrap();
    let tank =
        json!({ "fuel": { "tankCapacityLiters": TANK_LITERS / 2.0, "effectiveFrom": instant(middle) } });
    server.put(&format!("/v1/vehicles/{}", bus.vehicle), &fleet.admin, tank).await.ok(200);
    until_clean(&store.db).await;
    let left = packed(&store).await;
    assert!((1..5).contains(&left), "those before stay packed: {left}");
    assert_same(&store, (&server, &fleet), &bus, 4).await;
    assert_eq!(pack_days(&server.context).await.unwrap() as i64, 5 - left);
    assert_same(&store, (&server, &fleet), &bus, 5).await;
    server.stop().await;
}

async fn what_is_packed_is_not_read_again(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let bus = lorry(&fleet, "one").await;
    send(&server, &bus, &days(), 60).await;
    until_clean(&store.db).await;
    let whole = told(&server, &fleet, &bus, 1).await;
    assert_eq!(pack_days(&server.context).await.unwrap(), 5);
    store.db.write().sql("update fuel_log set level_raw_liters = 1, level_liters = 2").run().await.unwrap();
    // The consumption begins with an entry of the log itself, if there is one before the period.
    assert_eq!(told(&server, &fleet, &bus, 1).await[..2], whole[..2]);
    server.stop().await;
}

#[test]
#[ignore = "measures"]
fn a_year_on_sqlite() {
    run(Engine::Sqlite, a_year);
}

#[test]
#[ignore = "measures"]
fn a_year_on_postgresql() {
    run(Engine::Postgres, a_year);
}

/// Readings of a working day of eight hours, one each ten seconds.
const READINGS: i64 = 2_880;
/// 2025-01-01T00:00:00Z.
const YEAR: Timestamp = Timestamp::from_micros(1_735_689_600_000_000);

/// Fills the log with a vehicle's days, as the gauge rounds its numbers.
async fn fill(store: &TestStore, organization: &str, bus: &Bus) {
    const POSTGRES: &str = "insert into fuel_log (vehicle_id, recorded_at, id, organization_id, received_at, latitude, \
        longitude, speed_kmh, odometer_km, ignition, distance_meters, unit, raw_value, level_raw_liters, level_liters, \
        level_percent, quality, calibration_version) select $1, $2 + make_interval(secs => n * 10), gen_random_uuid(), \
        $3, $2 + make_interval(secs => n * 10 + 1), 30.2672, -97.7431 + n * 1e-7, 52.5, 1000 + n * 0.029, true, 61.5, \
        'percent', 61.5, round((350 - n * 0.08 + n * 7919 % 113 * 0.031)::numeric, 3)::float8, \
        round((350 - n * 0.08)::numeric, 3)::float8, 61.59375, 'ok', 1 from generate_series(0, $4 - 1) n";
    const SQLITE: &str = "with recursive s(n) as (select 0 union all select n + 1 from s where n + 1 < $4) \
        insert into fuel_log (vehicle_id, recorded_at, id, organization_id, received_at, latitude, \
        longitude, speed_kmh, odometer_km, ignition, distance_meters, unit, raw_value, level_raw_liters, level_liters, \
        level_percent, quality, calibration_version) select $1, $2 + n * 10000000, randomblob(16), \
        $3, $2 + n * 10000000 + 1000000, 30.2672, -97.7431 + n * 1e-7, 52.5, 1000 + n * 0.029, true, 61.5, \
        'percent', 61.5, round(350 - n * 0.08 + n * 7919 % 113 * 0.031, 3), \
        round(350 - n * 0.08, 3), 61.59375, 'ok', 1 from s";
    let statement = match store.engine() {
        Engine::Postgres => POSTGRES,
        Engine::Sqlite => SQLITE,
    };
    for day in 0..365 {
        let begin = YEAR.plus_seconds((day * 86_400 + 6 * 3_600) as f64);
        let stmt =
            store.db.write().sql(statement).bind(bus.vehicle.parse::<Uuid>().unwrap()).bind(Time(begin));
        stmt.bind(organization.parse::<Uuid>().unwrap()).bind(READINGS).run().await.unwrap();
    }
}

async fn a_year(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let bus = lorry(&fleet, "one").await;
    fill(&store, &fleet.id, &bus).await;
    let period = format!("vehicleId={}&from={YEAR}&to={}", bus.vehicle, YEAR.plus_seconds(365.0 * 86_400.0));
    let measure = async |what: &str, times: usize| {
        let mut said = Vec::new();
        for path in [format!("chart?format=columns&{period}"), format!("consumption?{period}")] {
            let mut answers = 0;
            while answers < times {
                let began = Instant::now();
                let answer = server.get(&format!("/v1/fuel/{path}"), &fleet.dispatcher).await;
                let (name, took) = (path.split('?').next().unwrap(), began.elapsed().as_millis());
                println!("{:?}, {what}: {name} {} in {took} ms", store.engine(), answer.status);
                // A statement may take too long, without optimisations on a busy machine.
                if answer.status != 503 {
                    said.push(answer.ok(200));
                    answers += 1;
                }
            }
        }
        said.dedup();
        said
    };
    let by_log = measure("not packed", 1).await;
    let began = Instant::now();
    let mut days = 0;
    loop {
        let more = pack_days(&server.context).await.unwrap();
        if more == 0 {
            break;
        }
        days += more;
    }
    let bytes: i64 = store.db.read().sql("select sum(length(levels)) from fuel_day").scalar().await.unwrap();
    let readings = READINGS * 365;
    println!(
        "{days} days packed in {:.0?}, {:.2} bytes a reading",
        began.elapsed(),
        bytes as f64 / readings as f64
    );
    assert_eq!(measure("packed", 5).await, by_log);
    server.stop().await;
}
