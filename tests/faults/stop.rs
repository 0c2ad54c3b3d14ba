//! SIGTERM under load: everything acknowledged is stored, clients are notified, and it is quick.

use std::time::Duration;

use rand::RngExt;
use tokio::time::{Instant, sleep};
use waypost_test_support::{Engine, Program, eventually};

use crate::book::Counts;
use crate::drill::{Drill, Load};
use crate::figures::{figure, spread};
use crate::ground::{DEADLINE, Ground, on};
use crate::seed::{number, seed};

/// The longest time from the signal to the exit.
const EXIT: Duration = Duration::from_secs(10);

#[test]
fn asked_to_stop_under_load_sqlite() {
    on(Engine::Sqlite, async |ground| run(ground, 8, 2).await);
}

#[test]
fn asked_to_stop_under_load_postgres() {
    on(Engine::Postgres, async |ground| run(ground, 8, 2).await);
}

#[test]
#[ignore = "a full run: minutes"]
fn full_asked_to_stop_under_load() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        on(engine, async |ground| run(ground, 1, number("WAYPOST_TEST_STOPS", 20)).await);
    }
}

async fn run(ground: &mut Ground, step: usize, stops: usize) {
    let seed = seed();
    let mut drill = Drill::begin(ground, seed, Load::every(step)).await;
    let mut exits = Vec::new();
    let mut not_told = 0;
    for moment in drill.moments(stops) {
        drill.answered(moment).await;
        sleep(Duration::from_micros(drill.dice.random_range(0..60_000))).await;
        let before = drill.summary();
        let since = Instant::now();
        drill.server.stop().await;
        exits.push(since.elapsed());
        // The clients read what was sent before the server was gone.
        let others = |counts: &Counts| {
            let told_or_away = |why: &str| matches!(why, "1012" | "unreachable");
            counts.lost().iter().filter(|(why, _)| !told_or_away(why)).map(|(_, n)| n).sum::<usize>()
        };
        let told = |counts: &Counts| counts.ends.get("1012").copied().unwrap_or_default();
        eventually(DEADLINE, || async { told(&drill.summary()) > told(&before) }).await;
        drill.look().await;
        drill.server = Program::spawn(&drill.launch);
        drill.server.ready().await;
        not_told += others(&drill.summary()) - others(&before);
    }
    let engine = ground.engine;
    let counts = drill.finish(ground).await;
    let name = format!("{stops} x SIGTERM under load, {engine:?}, seed {seed}");
    figure(&name, "0 acknowledged fixes lost", "0");
    figure("exit after", &spread(&exits), "at most 10 s");
    let told = counts.ends.get("1012").copied().unwrap_or_default();
    figure("clients told 1012", &format!("{told}, not told {not_told}"), "all");
    assert!(exits.iter().all(|exit| *exit <= EXIT), "{}", spread(&exits));
    assert_eq!(not_told, 0, "{:?}", counts.ends);
}
