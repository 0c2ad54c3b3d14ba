//! Fuel as trackers report it and dispatchers see it: real sockets, each engine.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use serde_json::{Value, json};
use waypost::store::time::Time;
use waypost_actors::fuel::FuelEventKind;
use waypost_test_support::{TestStore, for_each_engine};

use crate::server::{Bus, Fleet, Server, text, until_clean};
use crate::tank::{Rig, Simulation, Truth};
use crate::wire::Wire;

for_each_engine!(
    a_day_is_found_as_it_was_and_told_once,
    in_any_order_the_same_log_and_the_same_events_are_left,
    a_calibration_dated_back_recomputes_what_is_stored,
    what_is_known_now_is_shown,
);

pub(crate) const TANK_LITERS: f64 = 400.0;

/// A lorry's day, a reading each minute, its engine on while it refuels.
pub(crate) fn day() -> Simulation {
    Simulation::day(Rig { seconds_between: 60, ..Rig::quiet(TANK_LITERS) }, true)
}

/// The day as items.
pub(crate) fn items(day: &Simulation) -> Vec<Value> {
    let item = |(reading, seq): (&waypost_actors::fuel::Reading, i64)| {
        let place = reading.place.unwrap();
        let percent = reading.level_liters.unwrap() / TANK_LITERS * 100.0;
        json!({
            "seq": seq, "recordedAt": reading.at.as_millis(), "latitude": place.latitude,
            "longitude": place.longitude, "speedKmh": reading.speed_kmh, "ignition": reading.ignition,
            "fuel": { "percent": percent },
        })
    };
    day.readings.iter().zip(1..).map(item).collect()
}

/// A bus with that tank, as if it had always been known.
pub(crate) async fn lorry(fleet: &Fleet<'_>, name: &str) -> Bus {
    let bus = fleet.bus(name).await;
    let tank =
        json!({ "fuel": { "kind": "diesel", "tankCapacityLiters": TANK_LITERS, "effectiveFrom": null } });
    let path = format!("/v1/vehicles/{}", bus.vehicle);
    let said = fleet.server.put(&path, &fleet.admin, tank).await.ok(200);
    assert_eq!(said["fuel"]["effectiveFrom"], Value::Null, "{said}");
    bus
}

/// Sends items over a socket in frames, and waits until all are acknowledged.
pub(crate) async fn send(server: &Server, bus: &Bus, items: &[Value], together: usize) {
    let mut wire = Wire::bus(server, bus).await;
    let mut seq = 0;
    for some in items.chunks(together) {
        let mut some = some.to_vec();
        for item in &mut some {
            seq += 1;
            item["seq"] = json!(seq);
        }
        wire.report(some).await;
        let last = seq;
        let ack = wire.until(|said| said["type"] == "ack" && said["seq"] == last).await;
        assert_eq!(ack["rejected"], json!([]), "{ack}");
    }
}

/// A vehicle's active refuels and drains as stored, without the members that differ between vehicles.
pub(crate) async fn events(store: &TestStore, bus: &Bus) -> Vec<String> {
    type Row = (String, Time, Time, String);
    let sql = "select kind, occurred_at, ended_at, cast(detail as text) \
        from records where kind in ('refuel', 'drain') and status = 'active' and vehicle_id = $1 \
        order by occurred_at";
    let id: uuid::Uuid = bus.vehicle.parse().unwrap();
    let rows: Vec<Row> = store.db.read().sql(sql).bind(id).all().await.unwrap();
    rows.iter().map(|row| format!("{row:?}")).collect()
}

/// A vehicle's fuel log, without its arrival times.
pub(crate) async fn log(store: &TestStore, bus: &Bus) -> Vec<String> {
    type Row = (Time, f64, Option<f64>, Option<f64>, Option<f64>, Option<f64>, String, Option<i64>);
    let sql = "select recorded_at, raw_value, level_raw_liters, level_liters, level_percent, distance_meters, quality, \
        calibration_version from fuel_log where vehicle_id = $1 order by recorded_at";
    let id: uuid::Uuid = bus.vehicle.parse().unwrap();
    let rows: Vec<Row> = store.db.read().sql(sql).bind(id).all().await.unwrap();
    rows.iter().map(|row| format!("{row:?}")).collect()
}

#[track_caller]
fn assert_as_it_was(told: &Value, truth: &Truth) {
    let kind = if truth.kind == FuelEventKind::Refuel { "refuel" } else { "drain" };
    assert_eq!(told["type"], kind, "{told}");
    let off = (told["volumeLiters"].as_f64().unwrap() - truth.liters).abs() / truth.liters;
    assert!(off < 0.05, "off by {off}: {told}");
    let started = waypost_actors::model::Timestamp::parse(&text(&told["startedAt"])).unwrap();
    assert!(started.seconds_since(truth.from).abs() <= 120.0, "{told} {truth:?}");
}

async fn a_day_is_found_as_it_was_and_told_once(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let bus = lorry(&fleet, "one").await;
    let day = day();
    let subscribe = json!({ "type": "subscribe", "id": "a", "topics": ["fuel"], "minIntervalMs": 0 });
    let mut wire = Wire::feed(&server, &fleet.dispatcher).await;
    wire.say(&subscribe).await;
    let cursor = wire.hear("subscribed").await["cursor"].clone();
    send(&server, &bus, &items(&day), 20).await;
    let (mut told, mut newest) = (Vec::new(), None);
    let mut second_cursor = Value::Null;
    for truth in &day.truth {
        let said = wire.until(|said| said["type"] == "event").await;
        assert_as_it_was(&said["event"], truth);
        assert_eq!(said["event"]["vehicleId"], json!(bus.vehicle));
        assert_eq!((&said["event"]["revision"], &said["event"]["status"]), (&json!(1), &json!("active")));
        told.push(text(&said["event"]["id"]));
        newest = newest.max(said["event"]["sequence"].as_i64());
        if told.len() == 1 {
            second_cursor = said["cursor"].clone();
        }
    }
    // A client that resumes gets what it missed, once and in order; one that asked for other events gets none of
    // it.
    for (cursor, expected) in [(cursor.clone(), &told[..]), (second_cursor, &told[1..])] {
        let mut again = Wire::feed(&server, &fleet.dispatcher).await;
        let mut resumed = subscribe.clone();
        resumed["cursor"] = cursor;
        again.say(&resumed).await;
        for id in expected {
            let said = again.until(|said| said["type"] == "event").await;
            assert_eq!(said["event"]["id"], json!(id));
        }
    }
    let mut others = Wire::feed(&server, &fleet.dispatcher).await;
    others.say(&json!({ "type": "subscribe", "id": "b", "topics": ["events"], "cursor": cursor })).await;
    fleet.fence("depot").await;
    bus.cross(&server, 1, 1).await;
    let is_journey = |said: &Value| ["trip", "stop"].map(|kind| json!(kind)).contains(&said["event"]["type"]);
    let first = others.until(|said| said["type"] == "event" && !is_journey(said)).await;
    assert_eq!(first["event"]["type"], "entry", "refuels are no geofence events: {first}");
    assert!(first["event"]["sequence"].as_i64() > newest, "{first} after {newest:?}");
    server.stop().await;
}

async fn in_any_order_the_same_log_and_the_same_events_are_left(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let all = items(&day());
    let mut rng = StdRng::seed_from_u64(3);
    let mut shuffled: Vec<Value> = all.iter().chain(&all[40..90]).cloned().collect();
    shuffled.shuffle(&mut rng);
    let mut newest_first = all.clone();
    newest_first.reverse();
    // Every fix in two messages, the level in the second.
    let bare = |item: &Value| {
        let mut item = item.clone();
        item.as_object_mut().unwrap().remove("fuel");
        item
    };
    let in_two: Vec<Value> = all.iter().flat_map(|item| [bare(item), item.clone()]).collect();
    let mut left: BTreeMap<&str, (Vec<String>, Vec<String>)> = BTreeMap::new();
    for (name, items, together) in [
        ("in order", &all, 25),
        ("shuffled", &shuffled, 17),
        ("newest first", &newest_first, 31),
        ("in two messages", &in_two, 40),
    ] {
        let bus = lorry(&fleet, &name.replace(' ', "-")).await;
        send(&server, &bus, items, together).await;
        if name == "in two messages" {
            let dirty = "select count(*) from vehicle_state where dirty_from is not null";
            assert_eq!(store.db.read().sql(dirty).scalar::<i64>().await.unwrap(), 0, "nothing is late");
        }
        until_clean(&store.db).await;
        left.insert(name, (events(&store, &bus).await, log(&store, &bus).await));
    }
    let (expected_events, expected_log) = left.remove("in order").unwrap();
    assert_eq!((expected_events.len(), expected_log.len()), (3, all.len()));
    for (name, (events, log)) in left {
        assert_eq!(events, expected_events, "{name}");
        assert_eq!(log, expected_log, "{name}");
    }
    server.stop().await;
}

async fn a_calibration_dated_back_recomputes_what_is_stored(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let bus = fleet.bus("one").await;
    let path = format!("/v1/vehicles/{}", bus.vehicle);
    send(&server, &bus, &items(&day()), 50).await;
    assert_eq!(events(&store, &bus).await.len(), 0, "no tank is assumed");
    let uncalibrated = "select count(*) from fuel_log where quality = 'uncalibrated'";
    let uncalibrated = async || store.db.read().sql(uncalibrated).scalar::<i64>().await.unwrap();
    assert_eq!(uncalibrated().await, day().readings.len() as i64);
    // A calibration from now on does not affect the past.
    let from_now = json!({ "fuel": { "tankCapacityLiters": TANK_LITERS } });
    server.put(&path, &fleet.admin, from_now).await.ok(200);
    assert_eq!((events(&store, &bus).await.len(), uncalibrated().await), (0, day().readings.len() as i64));
    // The second half becomes known from the middle of the day on, and then all of it.
    let middle = day().readings[day().readings.len() / 2].at.to_string();
    server.put(&path, &fleet.admin, json!({ "fuel": { "effectiveFrom": middle } })).await.ok(200);
    until_clean(&store.db).await;
    assert_eq!(events(&store, &bus).await.len(), 2);
    server.put(&path, &fleet.admin, json!({ "fuel": { "effectiveFrom": null } })).await.ok(200);
    until_clean(&store.db).await;
    assert_eq!((events(&store, &bus).await.len(), uncalibrated().await), (3, 0));
    let versions = "select count(*) from fuel_calibration where settled";
    assert_eq!(store.db.read().sql(versions).scalar::<i64>().await.unwrap(), 3);
    server.stop().await;
}

async fn what_is_known_now_is_shown(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let (bus, other) = (lorry(&fleet, "one").await, fleet.bus("other").await);
    let path = format!("/v1/vehicles/{}", bus.vehicle);
    let mut wire = Wire::feed(&server, &fleet.dispatcher).await;
    wire.say(&json!({ "type": "subscribe", "id": "a", "topics": ["fuel"], "minIntervalMs": 0 })).await;
    wire.hear("subscribed").await;
    let snapshot = wire.hear("snapshot").await;
    assert_eq!(snapshot["vehicles"], json!([]), "nobody reported fuel yet");
    other.cross(&server, 1, 1).await;
    let all = items(&day());
    // Up to a quarter of an hour after the first refuel, which is found by then and not certain.
    let parked = all.iter().position(|item| item["ignition"] == false).unwrap();
    send(&server, &bus, &all[..parked + 22], 30).await;
    let live = server.get(&path, &fleet.dispatcher).await.ok(200)["live"]["fuel"].clone();
    assert_eq!(live["quality"], "ok");
    assert!((live["levelLiters"].as_f64().unwrap() - 280.0).abs() < 20.0, "{live}");
    assert!((live["levelPercent"].as_f64().unwrap() - 70.0).abs() < 5.0, "{live}");
    assert_eq!(live["provisional"]["type"], "refuel", "{live}");
    let delta = wire
        .until(|said| said["type"] == "delta" && said["vehicles"][0]["fuel"]["provisional"] != Value::Null)
        .await;
    assert_eq!(delta["vehicles"][0]["vehicleId"], json!(bus.vehicle), "the other one has no fuel: {delta}");
    // A broken sensor is reported as such, and after a while has no level any more.
    let mut broken = all[parked + 22].clone();
    for (seq, minutes) in (1..).zip(0..8) {
        broken["seq"] = json!(seq);
        broken["recordedAt"] = json!(all[parked + 22]["recordedAt"].as_i64().unwrap() + minutes * 60_000);
        broken["fuel"] = json!({ "percent": 101.0 });
        bus.report(&server, vec![broken.clone()]).await;
    }
    let live = server.get(&path, &fleet.dispatcher).await.ok(200)["live"]["fuel"].clone();
    assert_eq!((&live["quality"], live.get("levelLiters")), (&json!("outOfRange"), None), "{live}");
    let path = format!("/v1/vehicles/{}", other.vehicle);
    let live = server.get(&path, &fleet.dispatcher).await.ok(200)["live"].clone();
    assert_eq!(live.get("fuel"), None, "a vehicle without readings has none");
    server.stop().await;
}
