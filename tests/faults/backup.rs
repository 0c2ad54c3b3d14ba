//! `waypost backup` and `waypost restore` by the real program, beside a server under load: whole, or refused.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rand::RngExt;
use tokio::time::{Instant, sleep};
use waypost::store::open::Location;
use waypost_test_support::{Engine, scratch};

use crate::drill::{Drill, Load};
use crate::figures::{figure, megabytes};
use crate::ground::{Ground, on};
use crate::ledger::at_any_moment;
use crate::seed::{number, seed};
use crate::shelf::Shelf;

#[test]
fn a_backup_under_load_holds_all_that_was_acknowledged_before_sqlite() {
    on(Engine::Sqlite, async |ground| under_load(ground).await);
}

#[test]
fn a_backup_under_load_holds_all_that_was_acknowledged_before_postgres() {
    on(Engine::Postgres, async |ground| under_load(ground).await);
}

#[test]
fn killed_at_any_moment_a_backup_is_whole_or_refused_sqlite() {
    on(Engine::Sqlite, async |ground| killed(ground).await);
}

#[test]
fn killed_at_any_moment_a_backup_is_whole_or_refused_postgres() {
    on(Engine::Postgres, async |ground| killed(ground).await);
}

fn program(arguments: [&str; 2], place: &Path, store: &Location) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waypost"));
    command.args(arguments).arg(place).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    match store {
        Location::Embedded(directory) => command.arg("--data-dir").arg(directory),
        Location::Postgres(url) => command.args(["--database-url", url]),
    };
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn backup(store: &Location, to: &Path) -> Command {
    program(["backup", "--to"], to, store)
}

fn restore(from: &Path, store: &Location) -> Command {
    program(["restore", "--from"], from, store)
}

async fn ended(mut command: Command) -> Output {
    actix_rt::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

async fn succeeds(command: Command) -> Vec<String> {
    let output = ended(command).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The lines with the sums of the tables.
fn sums(told: &[String]) -> Vec<&String> {
    told.iter().filter(|line| line.starts_with("  ")).collect()
}

async fn under_load(ground: &mut Ground) {
    let seed = seed();
    let mut drill = Drill::begin(ground, seed, Load::every(8)).await;
    let folder = scratch("backup");
    for (number, moment) in drill.moments(2).into_iter().enumerate() {
        drill.answered(moment).await;
        let (to, target) = (folder.join(format!("{number}")), ground.empty().await);
        let before = drill.book.transcript();
        let began = Instant::now();
        let told = succeeds(backup(&drill.launch.location, &to)).await;
        figure(
            &format!("backup under load, {:?}", ground.engine),
            &format!("{:.1?}", began.elapsed()),
            "told",
        );
        let restored = succeeds(restore(&to, &target)).await;
        assert_eq!(sums(&told), sums(&restored));
        assert!(sums(&told).len() > 20, "hardly a table: {told:#?}");
        let shelf = Shelf::open(&target).await;
        let stored = shelf.keys().await;
        shelf.close().await;
        let missing = at_any_moment(&before, &stored);
        assert!(missing.is_empty(), "seed {seed}: {} of {:?}", missing.len(), drill.summary());
        ground.drop_copy(&target).await;
    }
    let counts = drill.finish(ground).await;
    assert!(counts.retries == 0, "the load was held up: {:?}", counts.ends);
}

async fn killed(ground: &mut Ground) {
    let seed = seed();
    let mut drill = Drill::begin(ground, seed, Load::every(8)).await;
    let folder = scratch("backup");
    let began = Instant::now();
    succeeds(backup(&drill.launch.location, &folder.join("undisturbed"))).await;
    // Up to a little longer than one takes.
    let most = began.elapsed().as_micros() as u64 * 11 / 10;
    let (mut whole, kills) = (0, number("WAYPOST_TEST_KILLS", 6));
    for kill in 0..kills {
        let to = folder.join(format!("{kill}"));
        let mut running = backup(&drill.launch.location, &to).stdout(Stdio::null()).spawn().unwrap();
        sleep(Duration::from_micros(drill.dice.random_range(0..most))).await;
        end(&mut running);
        whole += usize::from(is_whole_or_refused(ground, &to).await);
    }
    let size = folder
        .join("undisturbed")
        .read_dir()
        .unwrap()
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    let told = format!("{kills} kills, {whole} whole, of {:.1} MB", megabytes(size));
    figure(&format!("backups killed, {:?}", ground.engine), &told, "each whole or refused");
    drill.finish(ground).await;
}

fn end(running: &mut Child) {
    running.kill().unwrap();
    running.wait().unwrap();
}

/// What a backup left after it was killed: a whole one, which is restored, or one that is refused and can be begun
/// anew. Returns whether it was whole.
async fn is_whole_or_refused(ground: &mut Ground, to: &Path) -> bool {
    let target = ground.empty().await;
    let is_whole = to.exists();
    if is_whole {
        succeeds(restore(to, &target)).await;
    } else {
        let refused = ended(restore(&to.with_extension("part"), &target)).await;
        let told = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && told.contains("is no whole backup"), "{told}");
    }
    ground.drop_copy(&target).await;
    is_whole
}
