//! `waypost doctor` and `waypost upgrade --check`, by the real program: what is well, and each thing that is not.

use std::net::TcpListener;
use std::process::Command;

use waypost::store::lock::acquire;
use waypost::store::open::Location;
use waypost_test_support::{TestStore, for_each_engine};

for_each_engine!(
    a_store_is_looked_at_and_its_server_seen,
    a_store_of_a_newer_program_is_refused,
    each_thing_that_is_wrong_has_a_line_of_its_own,
);

/// Runs the program on a test's store; whether it succeeds, and what it prints.
pub(crate) async fn said(store: &TestStore, arguments: &[&str]) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_waypost"));
    command.args(arguments).env_clear().current_dir(folder.path());
    match &store.options.location {
        Location::Embedded(directory) => command.arg("--data-dir").arg(directory),
        Location::Postgres(url) => command.args(["--database-url", url]),
    };
    let output = actix_rt::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

pub(crate) const DOCTOR: [&str; 5] = ["doctor", "--listen", "127.0.0.1:0", "--admin-listen", "off"];

async fn a_store_is_looked_at_and_its_server_seen(store: TestStore) {
    let (is_well, told) = said(&store, &DOCTOR).await;
    assert!(is_well && told.contains("0 wrong"), "{told}");
    assert!(
        told.contains("its tables are those of this version") && told.contains("no server has it"),
        "{told}"
    );
    let lock = acquire(&store.options.location, || {}).await.unwrap();
    let (is_well, told) = said(&store, &DOCTOR).await;
    assert!(is_well && told.contains("a server has it"), "{told}");
    drop(lock);
    let (is_well, told) = said(&store, &["upgrade", "--check"]).await;
    assert!(is_well && told.contains("Nothing to do to the tables"), "{told}");
}

async fn a_store_of_a_newer_program_is_refused(store: TestStore) {
    store.db.write().sql("update _sqlx_migrations set version = 9999 where version = 1").run().await.unwrap();
    let (is_well, told) = said(&store, &DOCTOR).await;
    assert!(!is_well && told.contains("a newer Waypost"), "{told}");
    let (is_well, told) = said(&store, &["upgrade", "--check"]).await;
    assert!(!is_well && told.contains("older than the store"), "{told}");
}

async fn each_thing_that_is_wrong_has_a_line_of_its_own(store: TestStore) {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let nobody = "0190b3c2-7a51-7c3e-9d0a-5b7f6c1e2d43";
    let device = format!("h02://{address}/{nobody}");
    let broker = format!("mqtt://user:hunter2@127.0.0.1:1/{nobody}?payload=traccar&topic=a");
    for (arguments, about, what) in [
        (["--listen", &address], "ports", "is taken by another program"),
        (["--redis-url", "redis://127.0.0.1:1"], "redis", "Redis: "),
        (["--smtp-url", "smtp://127.0.0.1:1"], "mail", "the SMTP server: "),
        (["--master-key", "short"], "settings", "master"),
        (["--map-pmtiles", "/nowhere.pmtiles"], "settings", "/nowhere.pmtiles is not there"),
        (["--statement-timeout", "soon"], "settings", "--statement-timeout"),
        (["--device-listeners", &device], "ports", "(deviceListeners)"),
        (["--device-listeners", &device], "inputs", "there is no organization"),
        (["--mqtt-brokers", &broker], "inputs", "the broker cannot be signed in to"),
    ] {
        let own = ["--admin-listen", "off"];
        let (is_well, told) = said(&store, &[&["doctor"], &own[..], &arguments[..]].concat()).await;
        let line = told.lines().find(|line| line.starts_with("WRONG") && line.contains(what));
        let line = line.unwrap_or_else(|| panic!("{arguments:?}: {told}"));
        assert!(!is_well && line.contains(about) && line.contains("To do: "), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
}

#[test]
fn the_limit_of_open_files_is_what_the_system_lets_a_server_take() {
    let asked = |script: &str| {
        let folder = tempfile::tempdir().unwrap();
        let program = env!("CARGO_BIN_EXE_waypost");
        let mut command = Command::new("sh");
        command.args(["-c", script, program]).args(DOCTOR).arg("--data-dir").arg(folder.path());
        let output = command.env_clear().current_dir(folder.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let told = asked(r#"ulimit -S -n 300 && ulimit -H -n 9000 && exec "$0" "$@""#);
    assert!(told.contains("9000 files and sockets may be open"), "{told}");
    let told = asked(r#"ulimit -S -n 300 && ulimit -H -n 400 && exec "$0" "$@""#);
    assert!(told.contains("a server may open 400 files and sockets here"), "{told}");
}
