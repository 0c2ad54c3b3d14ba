//! Data past its organization's retention is deleted, and the rest is judged as if nothing had been deleted.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use waypost::ops::retention::{Gone, enforce};
use waypost::store::time::Time;
use waypost_actors::model::Timestamp;
use waypost_test_support::{Engine, TestStore, eventually, for_each_engine, run};

use crate::all_organizations;
use crate::feed::subscribe;
use crate::fuel;
use crate::nodes::nodes;
use crate::server::{Bus, DEADLINE, Fleet, INSIDE, OUTSIDE, Server, text, until_clean};
use crate::wire::Wire;

for_each_engine!(
    what_is_past_retention_goes_and_the_rest_stays,
    an_organization_that_cannot_be_read_does_not_keep_the_others_data,
    what_comes_late_is_judged_as_if_nothing_had_gone,
    what_a_silent_device_kept_from_before_the_horizon_is_judged_once,
    cursors_stay_good_for_seven_days,
    fuel_goes_by_its_own_days,
);

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

/// A fix `ago` seconds before an instant.
fn fix(now: Timestamp, ago: i64, latitude: f64) -> Value {
    json!({ "recordedAt": now.as_millis() - ago * 1000, "latitude": latitude, "longitude": -97.74 })
}

async fn keep(fleet: &Fleet<'_>, retention: Value) {
    let path = format!("/v1/organizations/organization/{}", fleet.id);
    let settings = json!({ "settings": { "retention": retention } });
    fleet.server.put(&path, &fleet.admin, settings).await.ok(200);
}

async fn keep_ten_days(fleet: &Fleet<'_>) {
    keep(fleet, json!({ "positionsDays": 10, "eventsDays": 10 })).await;
}

/// Deletes what is past by the server's clock.
async fn delete_past(server: &Server) -> Gone {
    enforce(&server.context).await.unwrap()
}

/// A list's entries, as one who may see it.
async fn listed(server: &Server, path: &str, token: &str) -> Vec<Value> {
    server.get(path, token).await.ok(200)["data"].as_array().unwrap().clone()
}

/// Instants at which a bus was somewhere, as seconds before `now`.
async fn recorded(server: &Server, bus: &Bus, token: &str, now: Timestamp) -> Vec<i64> {
    let (from, to) = (now.plus_seconds(-100.0 * DAY as f64), now.plus_seconds(100.0 * DAY as f64));
    let path = format!("/v1/vehicles/{}/positions?from={from}&to={to}", bus.vehicle);
    let ago = |fix: &Value| {
        let at: Timestamp = serde_json::from_value(fix["recordedAt"].clone()).unwrap();
        now.seconds_since(at) as i64
    };
    listed(server, &path, token).await.iter().map(ago).collect()
}

async fn what_is_past_retention_goes_and_the_rest_stays(store: TestStore) {
    let server = Server::start(&store).await;
    let (fleet, other) = (server.fleet("org").await, server.fleet("other").await);
    let now = server.context.clock.now();
    let mut buses = Vec::new();
    for fleet in [&fleet, &other] {
        fleet.fence("depot").await;
        let (bus, inside) = (fleet.bus("bus").await, fleet.bus("inside").await);
        let short = [(40 * DAY, OUTSIDE), (40 * DAY - 60, INSIDE), (40 * DAY - 120, OUTSIDE)];
        let long = [(20 * DAY, INSIDE), (12 * DAY, INSIDE), (2 * HOUR, INSIDE), (HOUR, OUTSIDE)];
        let all = short.iter().chain(&long).map(|(ago, latitude)| fix(now, *ago, *latitude)).collect();
        bus.report(&server, all).await;
        inside.report(&server, vec![fix(now, 30 * DAY, INSIDE), fix(now, 12 * DAY, INSIDE)]).await;
        buses.push((bus, inside));
    }
    keep_ten_days(&fleet).await;
    // Ten days are past, and old events may be deleted from the log: the horizon is a day before `now`.
    server.pass(9 * DAY);
    let token = server.sign_in(&fleet.id, waypost::domain::account::Role::Dispatcher).await.0;
    let foreign = server.sign_in(&other.id, waypost::domain::account::Role::Dispatcher).await.0;

    let gone = delete_past(&server).await;
    // Fixes of one week are one chunk.
    assert!(gone.chunks >= 3 + 2, "{gone:?}");
    // Entry and exit of a visit.
    assert_eq!((gone.events, gone.visits), (2, 1), "{gone:?}");
    assert_eq!(delete_past(&server).await, Gone::default(), "nothing is left to delete");
    let (bus, inside) = &buses[0];
    assert_eq!(recorded(&server, bus, &token, now).await, [2 * HOUR, HOUR]);
    assert!(recorded(&server, inside, &token, now).await.is_empty());
    // The visit that has ended since, and the one that has not, keep all of their records.
    let visits = listed(&server, "/v1/visits", &token).await;
    assert_eq!(visits.len(), 2, "{visits:?}");
    let visit = visits.iter().find(|visit| visit["vehicleId"] == *bus.vehicle).unwrap();
    assert!(visit["exitedAt"].is_string(), "{visit}");
    let events = listed(&server, "/v1/geofence-events", &token).await;
    let kinds = |bus: &Bus| -> BTreeSet<String> {
        let of = events.iter().filter(|event| event["vehicleId"] == *bus.vehicle);
        of.map(|event| text(&event["type"])).collect()
    };
    assert_eq!(kinds(bus), BTreeSet::from(["entry".to_owned(), "exit".to_owned()]));
    assert_eq!(kinds(inside), BTreeSet::from(["entry".to_owned()]));
    assert_eq!(events.len(), 3);
    // So does a stop that goes on, since before the horizon.
    let stops = listed(&server, "/v1/stops?open=true", &token).await;
    assert!(stops.iter().any(|stop| stop["vehicleId"] == *inside.vehicle), "{stops:?}");
    // It is still inside, and its last position is known.
    let path = format!("/v1/vehicles/{}", inside.vehicle);
    let live = server.get(&path, &token).await.ok(200)["live"].clone();
    assert!(live["position"].is_object(), "{live}");
    // Organizations without a setting keep everything.
    let (bus, inside) = &buses[1];
    assert_eq!(recorded(&server, bus, &foreign, now).await.len(), 7);
    assert_eq!(recorded(&server, inside, &foreign, now).await.len(), 2);
    assert_eq!(listed(&server, "/v1/visits", &foreign).await.len(), 3);
    assert_eq!(listed(&server, "/v1/geofence-events", &foreign).await.len(), 5);

    // It is refused when reported, so it does not return by that way.
    let items = json!({ "items": [fix(now, 2 * DAY, INSIDE)] });
    let said = server.post("/v1/positions", &buses[0].0.token, items).await.ok(200);
    assert_eq!(said["rejected"][0]["code"], "olderThanRetention", "{said}");
    server.stop().await;
}

async fn an_organization_that_cannot_be_read_does_not_keep_the_others_data(store: TestStore) {
    let server = Server::start(&store).await;
    let fleets = [server.fleet("first").await, server.fleet("broken").await, server.fleet("last").await];
    let now = server.context.clock.now();
    let mut buses = Vec::new();
    for fleet in &fleets {
        let bus = fleet.bus("bus").await;
        bus.report(&server, [40 * DAY, 12 * DAY, HOUR].map(|ago| fix(now, ago, OUTSIDE)).to_vec()).await;
        keep_ten_days(fleet).await;
        buses.push(bus);
    }
    server.pass(9 * DAY);
    server.context.track.save_states().await.unwrap();
    let vehicle: uuid::Uuid = buses[1].vehicle.parse().unwrap();
    let damage = server.context.db.write().sql("update position_chunk set fixes = $1 where vehicle_id = $2");
    assert!(damage.bind(vec![9_u8]).bind(vehicle).run().await.unwrap() > 0, "it has chunks");

    enforce(&server.context).await.expect_err("one could not be read");
    for number in [0, 2] {
        let (fleet, bus) = (&fleets[number], &buses[number]);
        let token = server.sign_in(&fleet.id, waypost::domain::account::Role::Dispatcher).await.0;
        assert_eq!(recorded(&server, bus, &token, now).await, [HOUR], "fleet {number}");
    }
    let left = server.context.db.read().sql("select count(*) from position_chunk where vehicle_id = $1");
    assert!(left.bind(vehicle).scalar::<i64>().await.unwrap() > 0, "nothing goes that was not looked at");
    server.stop().await;
}

/// The active records of a fleet since an instant, comparable between fleets; and those before it, complete.
async fn records(fleet: &Fleet<'_>, token: &str, since: Timestamp) -> (BTreeSet<String>, BTreeSet<String>) {
    let events = listed(fleet.server, "/v1/geofence-events?limit=200&status=active", token).await;
    let members = [
        "type",
        "cause",
        "geofenceName",
        "occurredAt",
        "timeUncertaintySeconds",
        "location",
        "fix",
        "analytics",
    ];
    let (mut later, mut before) = (BTreeSet::new(), BTreeSet::new());
    for event in &events {
        let at: Timestamp = serde_json::from_value(event["occurredAt"].clone()).unwrap();
        if at >= since {
            later.insert(json!(members.map(|member| &event[member])).to_string());
        } else {
            before.insert(event.to_string());
        }
    }
    (later, before)
}

async fn what_comes_late_is_judged_as_if_nothing_had_gone(store: TestStore) {
    let server = Server::start(&store).await;
    let (fleet, control) = (server.fleet("org").await, server.fleet("control").await);
    let now = server.context.clock.now();
    let mut buses = Vec::new();
    for fleet in [&fleet, &control] {
        fleet.fence("depot").await;
        let bus = fleet.bus("bus").await;
        // 700 fixes up to yesterday noon, in and out: a checkpoint is among them, and the horizon behind it. The
        // bus is inside at the horizon.
        let all: Vec<Value> = (0..700)
            .map(|n| fix(now, 3 * DAY - n * 300, if (n / 7) % 2 == 0 { INSIDE } else { OUTSIDE }))
            .collect();
        for some in all.chunks(200) {
            bus.report(&server, some.to_vec()).await;
        }
        buses.push(bus);
    }
    keep_ten_days(&fleet).await;
    server.pass(9 * DAY);
    let horizon = now.plus_seconds(-DAY as f64);
    let gone = delete_past(&server).await;
    assert!(gone.chunks > 3 && gone.events > 50, "{gone:?}");
    let role = waypost::domain::account::Role::Dispatcher;
    let token = server.sign_in(&fleet.id, role).await.0;
    let other = server.sign_in(&control.id, role).await.0;
    let (kept, past) = records(&fleet, &token, horizon).await;
    assert_eq!(kept, records(&control, &other, horizon).await.0);
    assert!(kept.len() > 5, "hardly anything is left: {kept:?}");

    // Late fixes since the horizon, one of them right behind it.
    for bus in &buses {
        let late =
            [(DAY - 30, OUTSIDE), (DAY - 3_000, OUTSIDE), (18 * HOUR, INSIDE), (17 * HOUR + 1, OUTSIDE)];
        bus.report(&server, late.iter().map(|(ago, latitude)| fix(now, *ago, *latitude)).collect()).await;
    }
    until_clean(&store.db).await;
    let (corrected, still_past) = records(&fleet, &token, horizon).await;
    assert_eq!(corrected, records(&control, &other, horizon).await.0);
    assert_ne!(corrected, kept, "the late fixes changed nothing");
    assert_eq!(still_past, past, "what is past stands");

    // A geofence that has always been in force is judged from the horizon on, and brings back nothing from before.
    for fleet in [&fleet, &control] {
        let admin = server.sign_in(&fleet.id, waypost::domain::account::Role::OrgAdmin).await.0;
        let renewed = Fleet { server: &server, id: fleet.id.clone(), admin, dispatcher: String::new() };
        renewed.fence("late").await;
    }
    until_clean(&store.db).await;
    let (judged, still_past) = records(&fleet, &token, horizon).await;
    assert_eq!(still_past, past, "a late fence brings nothing back");
    let all = records(&control, &other, horizon).await.0;
    assert!(judged.len() > corrected.len() && judged.is_subset(&all), "{judged:#?}\n{all:#?}");
    let Gone { chunks, positions, .. } = delete_past(&server).await;
    assert_eq!((chunks, positions), (0, 0));
    server.stop().await;
}

/// The device of a bus that stood inside was silent for weeks; events are kept for ten days and positions for ever.
async fn what_a_silent_device_kept_from_before_the_horizon_is_judged_once(store: TestStore) {
    let server = Server::start(&store).await;
    let (fleet, control) = (server.fleet("org").await, server.fleet("control").await);
    let now = server.context.clock.now();
    let mut buses = Vec::new();
    for fleet in [&fleet, &control] {
        fleet.fence("depot").await;
        let bus = fleet.bus("bus").await;
        bus.report(&server, [40 * DAY + 60, 40 * DAY].map(|ago| fix(now, ago, INSIDE)).to_vec()).await;
        buses.push(bus);
        fleet.bus("unheard").await;
    }
    keep(&fleet, json!({ "eventsDays": 10 })).await;
    server.pass(9 * DAY);
    delete_past(&server).await;
    let role = waypost::domain::account::Role::Dispatcher;
    let (token, other) = (server.sign_in(&fleet.id, role).await.0, server.sign_in(&control.id, role).await.0);
    let all = now.plus_seconds(-100.0 * DAY as f64);
    let buffered = [(30 * DAY, OUTSIDE), (20 * DAY, INSIDE), (12 * HOUR, INSIDE), (11 * HOUR, OUTSIDE)];
    for late in [vec![], vec![(20 * DAY - 600, INSIDE)], vec![(HOUR * 23, OUTSIDE), (HOUR * 22, INSIDE)]] {
        for bus in &buses {
            let all = buffered.iter().filter(|_| late.is_empty()).chain(&late);
            bus.report(&server, all.map(|(ago, latitude)| fix(now, *ago, *latitude)).collect()).await;
        }
        until_clean(&store.db).await;
        let (told, expected) = (records(&fleet, &token, all).await.0, records(&control, &other, all).await.0);
        assert_eq!(told, expected, "{late:?}");
        let visits = async |token: &str| {
            let visits = listed(&server, "/v1/visits", token).await;
            let times = |visit: &Value| json!([visit["enteredAt"], visit["exitedAt"]]).to_string();
            visits.iter().map(times).collect::<BTreeSet<_>>()
        };
        assert_eq!(visits(&token).await, visits(&other).await, "{late:?}");
    }
    server.stop().await;
}

async fn cursors_stay_good_for_seven_days(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    fleet.fence("depot").await;
    let bus = fleet.bus("bus").await;
    let now = server.context.clock.now();
    keep_ten_days(&fleet).await;
    let role = waypost::domain::account::Role::Dispatcher;
    let cursor = async || {
        let token = server.sign_in(&fleet.id, role).await.0;
        let mut wire = Wire::feed(&server, &token).await;
        wire.say(&subscribe("all")).await;
        wire.hear("subscribed").await["cursor"].clone()
    };
    let resumed = async |cursor: &Value| {
        let token = server.sign_in(&fleet.id, role).await.0;
        let mut wire = Wire::feed(&server, &token).await;
        let mut asked = subscribe("all");
        asked["cursor"] = cursor.clone();
        wire.say(&asked).await;
        wire
    };
    let first = cursor().await;
    // Recorded now, nine days after it happened: soon past retention, but not past the log's.
    bus.report(&server, vec![fix(now, 9 * DAY, INSIDE), fix(now, 9 * DAY - 60, OUTSIDE)]).await;
    server.pass(6 * DAY);
    assert_eq!(delete_past(&server).await.events, 0);
    let mut wire = resumed(&first).await;
    assert_eq!(wire.hear("subscribed").await["mode"], "resumed");
    for kind in ["entry", "exit"] {
        let event = wire.until(|said| said["type"] == "event").await["event"].clone();
        assert_eq!(event["type"], kind);
    }
    let second = cursor().await;
    server.pass(3 * DAY);
    assert_eq!(delete_past(&server).await.events, 2);
    assert_eq!(resumed(&first).await.hear("reset").await["reason"], "cursorExpired");
    assert_eq!(resumed(&second).await.hear("subscribed").await["mode"], "resumed");
    server.stop().await;
}

async fn fuel_goes_by_its_own_days(store: TestStore) {
    let server = Server::start(&store).await;
    let (fleet, control) = (server.fleet("org").await, server.fleet("control").await);
    let (lorry, other) = (fuel::lorry(&fleet, "one").await, fuel::lorry(&control, "one").await);
    // The day as it was, moved so that the horizon is half an hour behind its first refuel.
    let (day, now) = (fuel::day(), server.context.clock.now());
    let horizon = now.plus_seconds(-DAY as f64);
    let moved_millis = horizon.as_millis() - day.truth[0].from.as_millis() - 1_800_000;
    let mut all = fuel::items(&day);
    for item in &mut all {
        item["recordedAt"] = json!(item["recordedAt"].as_i64().unwrap() + moved_millis);
    }
    let is_later = |item: &&Value| item["recordedAt"].as_i64().unwrap() > horizon.as_millis();
    let late: Vec<Value> = all.iter().filter(is_later).step_by(7).cloned().collect();
    let first: Vec<Value> = all.iter().filter(|item| !late.contains(*item)).cloned().collect();
    for bus in [&lorry, &other] {
        bus.report(&server, first.clone()).await;
    }
    keep(&fleet, json!({ "fuelDays": 10 })).await;
    server.pass(9 * DAY);
    let before = fuel::log(&store, &other).await.len() as u64;
    let gone = delete_past(&server).await;
    assert_eq!((gone.fuel_events, gone.positions, gone.events), (1, 0, 0), "{gone:?}");
    let kept = fuel::log(&store, &lorry).await;
    assert!(
        gone.fuel_rows > 30 && kept.len() > 30 && kept.len() as u64 + gone.fuel_rows == before,
        "{gone:?}"
    );

    for bus in [&lorry, &other] {
        bus.report(&server, late.clone()).await;
    }
    until_clean(&store.db).await;
    let (log, whole) = (fuel::log(&store, &lorry).await, fuel::log(&store, &other).await);
    assert!(log.len() > kept.len(), "nothing came late");
    assert_eq!(log, whole[whole.len() - log.len()..], "what is kept is as if nothing had gone");
    let (events, whole) = (fuel::events(&store, &lorry).await, fuel::events(&store, &other).await);
    assert_eq!(events, whole[1..]);
    assert!(events.len() > 1, "{whole:?}");
    server.stop().await;
}

#[test]
fn old_changes_go_whichever_shard_they_are_of() {
    run(Engine::Postgres, async |store| {
        let [(_, mut node)] = nodes(&store, &[]).await;
        let api = node.operator().await;
        for number in 0..4 {
            all_organizations::Fleet::make(&api, number).await;
        }
        let waiting = "select count(*) from change where sequence is null";
        let are_numbered = async || store.db.read().sql(waiting).scalar::<i64>().await.unwrap() == 0;
        eventually(DEADLINE, are_numbered).await;
        node.stop().await;
        let long_ago = Time(Timestamp::FIRST);
        store.db.write().sql("update change set changed_at = $1").bind(long_ago).run().await.unwrap();
        let old = async || {
            let old = store.db.read().sql("select count(*) from change where changed_at = $1");
            old.bind(long_ago).scalar::<i64>().await.unwrap()
        };
        assert!(old().await > 0);
        let [(_, mut node)] = nodes(&store, &[]).await;
        eventually(DEADLINE, async || old().await == 0).await;
        node.stop().await;
    });
}
