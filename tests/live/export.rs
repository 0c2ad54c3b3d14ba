//! `waypost export positions`: all of them, wherever they are, beside a working server.

use std::process::{Command, Output};

use serde_json::{Value, json};
use waypost::store::open::Location;
use waypost_test_support::{TestStore, for_each_engine};

use crate::server::{Bus, Server};
use crate::wire::items;

for_each_engine!(
    positions_are_exported_beside_a_working_server,
    a_store_that_was_moved_away_or_is_not_whole_is_not_exported,
);

const START: i64 = 1_790_000_000_000;

/// Runs the program; the lines that it prints.
async fn exported(store: &TestStore, arguments: &[&str]) -> Vec<String> {
    let output = run(store, arguments).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

async fn run(store: &TestStore, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waypost"));
    command.env_clear().args(["export", "positions"]).args(arguments);
    match &store.options.location {
        Location::Embedded(directory) => command.arg("--data-dir").arg(directory),
        Location::Postgres(url) => command.args(["--database-url", url]),
    };
    actix_rt::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

async fn positions_are_exported_beside_a_working_server(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let (one, two) = (fleet.bus("one").await, fleet.bus("two").await);
    let mut all = items(1, 9, START);
    let late = all.remove(4);
    one.report(&server, all).await;
    server.context.track.save_states().await.unwrap();
    one.report(&server, vec![late]).await;
    one.report(&server, items(10, 12, START)).await;
    two.report(&server, items(1, 2, START)).await;

    let lines = exported(&store, &[]).await;
    assert!(
        lines[0].starts_with("vehicleId,recordedAt,receivedAt,latitude,longitude,speedKmh,"),
        "{}",
        lines[0]
    );
    let of = |bus: &Bus| lines.iter().filter(|line| line.starts_with(&bus.vehicle)).collect::<Vec<_>>();
    assert_eq!((of(&one).len(), of(&two).len(), lines.len()), (12, 2, 1 + 12 + 2));
    assert!(of(&one).is_sorted(), "oldest first: {lines:#?}");
    let first = of(&one)[0].split(',').collect::<Vec<_>>();
    assert_eq!((first.len(), first[1], first[3]), (17, "2026-09-21T14:13:21.000Z", "30.000001"));

    let narrowed =
        ["--vehicle", &one.vehicle, "--from", "2026-09-21T14:13:25Z", "--to", "2026-09-21T14:13:27Z"];
    assert_eq!(exported(&store, &narrowed).await.len(), 1 + 2);
    assert_eq!(exported(&store, &["--from", "2126-01-01T00:00:00Z"]).await, lines[..1]);

    let other = server.fleet("other").await;
    let three = other.bus("three").await;
    three.report(&server, items(1, 3, START)).await;
    let theirs = exported(&store, &["--organization", &other.id]).await;
    assert!(theirs.len() == 1 + 3 && theirs[1..].iter().all(|line| line.starts_with(&three.vehicle)));
    let nobodys = ["--organization", &fleet.id, "--vehicle", &three.vehicle];
    assert_eq!(exported(&store, &nobodys).await.len(), 1);
    for (flag, unknown) in [("--vehicle", &other.id), ("--organization", &three.vehicle)] {
        let refused = run(&store, &["--vehicle", &one.vehicle, flag, unknown]).await;
        let told = String::from_utf8(refused.stderr).unwrap();
        let what = format!("there is no {} {unknown}", &flag[2..]);
        assert!(!refused.status.success() && refused.stdout.is_empty() && told.contains(&what), "{told}");
    }
    let features = exported(&store, &["--organization", &other.id, "--format", "geojsonl"]).await;
    let features: Vec<Value> = features.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let longitude: f64 = theirs[1].split(',').nth(4).unwrap().parse().unwrap();
    let place = json!({ "type": "Point", "coordinates": [longitude, 30.000_001] });
    assert_eq!(
        (features.len(), &features[0]["type"], &features[0]["geometry"]),
        (3, &json!("Feature"), &place)
    );
    assert_eq!(features[0]["properties"]["vehicleId"], json!(three.vehicle));
    assert!(features[0]["properties"].get("fuelRaw").is_none(), "what it does not have: {}", features[0]);
    server.stop().await;
}

async fn a_store_that_was_moved_away_or_is_not_whole_is_not_exported(store: TestStore) {
    let told = match &store.options.location {
        Location::Embedded(directory) => {
            std::fs::write(directory.join("waypost.moved"), "moved to PostgreSQL").unwrap();
            "moved to PostgreSQL: set DATABASE_URL"
        }
        Location::Postgres(_) => {
            store.db.write().sql("create table transfer_under_way ()").run().await.unwrap();
            "has not gone through"
        }
    };
    let refused = run(&store, &[]).await;
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && refused.stdout.is_empty() && said.contains(told), "{said}");
}
