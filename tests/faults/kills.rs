//! `kill -9` of the server, and of everything PostgreSQL consists of, at random moments under load.

use std::time::Duration;

use rand::RngExt;
use tokio::time::{Instant, sleep};
use waypost_test_support::Engine;

use crate::drill::{Drill, Load};
use crate::figures::{figure, spread};
use crate::ground::{Ground, on};
use crate::seed::{number, seed};

/// The longest time from the start after a kill to the first acknowledged fix.
const RECOVERY: Duration = Duration::from_secs(5);
/// Kills in one run of a full test, so that all of them come under load.
const IN_ONE_RUN: usize = 25;
/// One bus in this many takes part in it.
const STEP: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Victim {
    Server,
    Postgres,
}

#[test]
fn the_server_is_killed_sqlite() {
    on(Engine::Sqlite, async |ground| drop(run(ground, seed(), 8, 3, Victim::Server).await));
}

#[test]
fn the_server_is_killed_postgres() {
    on(Engine::Postgres, async |ground| drop(run(ground, seed(), 8, 3, Victim::Server).await));
}

#[test]
fn postgres_is_killed() {
    on(Engine::Postgres, async |ground| drop(run(ground, seed(), 8, 3, Victim::Postgres).await));
}

#[test]
#[ignore = "a full run: minutes"]
fn full_200_kills_of_the_server_postgres() {
    full(Engine::Postgres, Victim::Server, number("WAYPOST_TEST_KILLS", 200));
}

#[test]
#[ignore = "a full run: minutes"]
fn full_200_kills_of_the_server_sqlite() {
    full(Engine::Sqlite, Victim::Server, number("WAYPOST_TEST_KILLS", 200));
}

#[test]
#[ignore = "a full run: minutes"]
fn full_50_kills_of_postgres() {
    full(Engine::Postgres, Victim::Postgres, number("WAYPOST_TEST_KILLS", 50));
}

/// One run with `kills` kills; returns how long it took to the first ack after each.
async fn run(ground: &mut Ground, seed: u64, step: usize, kills: usize, victim: Victim) -> Vec<Duration> {
    let mut drill = Drill::begin(ground, seed, Load::every(step)).await;
    let mut recoveries = Vec::new();
    for moment in drill.moments(kills) {
        drill.answered(moment).await;
        if drill.is_through() {
            break;
        }
        // Not always right after an ack: anywhere within the next commits.
        sleep(Duration::from_micros(drill.dice.random_range(0..60_000))).await;
        recoveries.extend(match victim {
            Victim::Server => drill.kill_server().await,
            Victim::Postgres => kill_postgres(ground, &drill).await,
        });
    }
    let counts = drill.finish(ground).await;
    assert!(!recoveries.is_empty(), "seed {seed}: no kill came under load");
    println!(
        "seed {seed}: {victim:?} killed {kills} times: {:?}, reconnects and ends: {:?}",
        recoveries, counts.ends
    );
    recoveries
}

/// Kills all of PostgreSQL and starts it again; returns the time from there to the first ack.
async fn kill_postgres(ground: &mut Ground, drill: &Drill) -> Option<Duration> {
    drill.book.fault_begins();
    ground.postgres().kill();
    let since = Instant::now();
    ground.postgres().start_again();
    let started = since.elapsed();
    let recovery = drill.recovered(since).await;
    println!("PostgreSQL itself took {started:?} of {recovery:?}");
    drill.look().await;
    recovery
}

fn full(engine: Engine, victim: Victim, kills: usize) {
    let seed = seed();
    on(engine, async |ground| {
        let mut recoveries = Vec::new();
        // Kills that found nothing left to do are not counted.
        for round in 0.. {
            let some = IN_ONE_RUN.min(kills - recoveries.len());
            if some == 0 {
                break;
            }
            recoveries.extend(run(ground, seed + round, STEP, some, victim).await);
        }
        let name = format!("{kills} x kill -9 of {victim:?} under load, {engine:?}, seed {seed}");
        figure(&name, "0 acknowledged fixes lost, 0 records doubled, missing or different", "0");
        let value = spread(&recoveries);
        figure("start again to the first acknowledged fix", &value, "each at most 5 s");
        assert!(recoveries.iter().all(|recovery| *recovery <= RECOVERY), "{value}");
    });
}
