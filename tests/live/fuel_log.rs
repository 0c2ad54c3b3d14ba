//! A labelled log of a fuel sensor, sent through a real socket: what the server found against the labels, by the
//! files and the score of the detector's benchmark.
//!
//! `WAYPOST_FUEL_LOG="FUEL.csv.gz EXPECTED.csv --tank-liters 45" cargo test --test live -- --ignored fuel_log --nocapture`

use serde_json::{Value, json};
use waypost_actors::fuel::{FuelEvent, Reading};
use waypost_actors::model::Place;
use waypost_actors::ports::RecordLog;
use waypost_actors::tracking::RecordView;
use waypost_actors::watch::Audience;
use waypost_test_support::{Engine, TestStore, run};

use crate::fuel::send;
use crate::input::{Arguments, expected, logs};
use crate::score::Score;
use crate::server::{Server, until_clean};

#[test]
#[ignore = "takes a log from outside"]
fn a_log_from_outside_is_found_as_it_is_labelled() {
    run(Engine::Sqlite, score_a_log);
}

/// Past the end of a log, so that its last event becomes certain. Minutes.
const AFTERMATH_MINUTES: i64 = 60;
/// Items in one frame.
const TOGETHER: usize = 400;
/// Where a vehicle begins whose log has no places, and how far it goes while nothing is logged. Metres.
const SOMEWHERE: Place = Place::new(48.0, 11.0);
const UNLOGGED_METERS: f64 = 1_000.0;
const SILENCE_SECONDS: f64 = 600.0;
/// Metres in a degree of longitude there.
const METERS_IN_DEGREE: f64 = 74_600.0;

/// A log as items. One without places is driven by its speed, and somewhere else after a silence: whether it stood
/// is not known then.
fn items(readings: &[Reading], tank_liters: f64) -> Vec<Value> {
    let (mut items, mut meters) = (Vec::new(), 0.0);
    let mut before: Option<&Reading> = None;
    for reading in readings {
        if let Some(before) = before {
            let seconds = reading.at.seconds_since(before.at);
            let driven = reading.speed_kmh.unwrap_or(0.0) / 3.6 * seconds;
            meters += if seconds > SILENCE_SECONDS { UNLOGGED_METERS } else { driven };
        }
        before = Some(reading);
        let there = Place::new(SOMEWHERE.latitude, SOMEWHERE.longitude + meters / METERS_IN_DEGREE);
        let place = reading.place.unwrap_or(there);
        let fuel = reading.level_liters.map(|liters| json!({ "percent": liters / tank_liters * 100.0 }));
        items.push(json!({
            "recordedAt": reading.at.as_millis(), "latitude": place.latitude, "longitude": place.longitude,
            "speedKmh": reading.speed_kmh, "ignition": reading.ignition, "fuel": fuel,
        }));
    }
    // The log ends; the tank does not: the last level is taken to stay.
    let last = items.iter().rfind(|item| !item["fuel"].is_null()).cloned();
    for minute in last.iter().flat_map(|_| 1..AFTERMATH_MINUTES) {
        let mut item = last.clone().unwrap_or_default();
        item["recordedAt"] = json!(item["recordedAt"].as_i64().unwrap() + minute * 60_000);
        item["speedKmh"] = json!(0);
        items.push(item);
    }
    items
}

async fn score_a_log(store: TestStore) {
    let given = std::env::var("WAYPOST_FUEL_LOG").expect("WAYPOST_FUEL_LOG names the files");
    let arguments = Arguments::parse(given.split_whitespace().map(str::to_owned)).unwrap();
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let (mut labels, mut score) = (expected(&arguments).unwrap(), Score::default());
    for (name, readings) in logs(&arguments).unwrap() {
        let bus = fleet.bus(&name).await;
        let tank = json!({ "fuel": { "tankCapacityLiters": arguments.tank_liters, "effectiveFrom": null } });
        server.put(&format!("/v1/vehicles/{}", bus.vehicle), &fleet.admin, tank).await.ok(200);
        send(&server, &bus, &items(&readings, arguments.tank_liters), TOGETHER).await;
        until_clean(&store.db).await;
        let told = server.context.track.records_from(Audience::Everyone, 1, 10_000).await.unwrap();
        let own = told.iter().filter(|record| record.vehicle_id.to_string() == bus.vehicle);
        let views = own.filter_map(|record| RecordView::from(record).fuel());
        let found: Vec<FuelEvent> = views.map(|record| record.event).collect();
        score.add(&found, &labels.remove(&name).unwrap_or_default(), &arguments);
    }
    score.print();
    server.stop().await;
}
