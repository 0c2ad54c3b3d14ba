//! `waypost doctor` and `waypost upgrade --check`, by the real program: what is well, and each thing that is not.

use std::net::TcpListener;
use std::process::Command;

use waypost::store::lock::acquire;
use waypost::store::open::Location;
use waypost_test_support::{TestStore, for_each_engine};

for_each_engine!(
    a_store_is_looked_at_and_its_server_seen,
    a_store_of_a_newer_program_is_refused,
    a_store_that_no_server_starts_on_is_not_well,
    each_thing_that_is_wrong_has_a_line_of_its_own,
    a_master_key_that_does_not_read_the_store_is_told,
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

async fn a_store_that_no_server_starts_on_is_not_well(store: TestStore) {
    let marks = match &store.options.location {
        Location::Embedded(_) => [
            ("waypost.moved", "was moved to PostgreSQL"),
            ("waypost.sqlite.part", "a restore has not gone through"),
        ],
        Location::Postgres(_) => [("", "a transfer into this database has not gone through"); 2],
    };
    for (mark, what) in marks {
        match &store.options.location {
            Location::Embedded(directory) => {
                std::fs::write(directory.join(mark), "moved to PostgreSQL").unwrap()
            }
            Location::Postgres(_) => {
                let mark = "create table if not exists transfer_under_way ()";
                store.db.write().sql(mark).run().await.unwrap();
            }
        }
        let (is_well, told) = said(&store, &["upgrade", "--check"]).await;
        assert!(!is_well && told.contains(what), "{told}");
        let (is_well, told) = said(&store, &DOCTOR).await;
        let line = told.lines().find(|line| line.starts_with("WRONG") && line.contains(what));
        assert!(!is_well && line.is_some(), "{told}");
        if let Location::Embedded(directory) = &store.options.location {
            std::fs::remove_file(directory.join(mark)).unwrap();
        }
    }
}

#[test]
fn a_demos_directory_is_no_servers() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("waypost-demo.txt"), "").unwrap();
    for command in ["doctor", "serve"] {
        // Without the refusal a server goes on.
        let mut program = Command::new("timeout");
        program.args(["20", env!("CARGO_BIN_EXE_waypost"), command]).args(&DOCTOR[1..]).arg("--data-dir");
        let output = program.arg(folder.path()).env_clear().env("WAYPOST_LOG", "warn").output().unwrap();
        let told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(!output.status.success() && told.contains("is a demo's"), "{command}: {told}");
    }
}

async fn each_thing_that_is_wrong_has_a_line_of_its_own(store: TestStore) {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let nobody = "0190b3c2-7a51-7c3e-9d0a-5b7f6c1e2d43";
    let device = format!("h02://{address}/{nobody}");
    let twice = format!("h02://127.0.0.1:5013/{nobody},gt06://0.0.0.0:5013/{nobody}");
    let ours = format!("h02://0.0.0.0:8080/{nobody}");
    let broker = format!("mqtt://user:hunter2@127.0.0.1:1/{nobody}?payload=traccar&topic=a");
    for (arguments, about, what) in [
        (["--listen", &address], "ports", "is taken by another program"),
        (["--redis-url", "redis://127.0.0.1:1"], "redis", "Redis: "),
        (["--smtp-url", "smtp://127.0.0.1:1"], "mail", "the SMTP server: "),
        (["--master-key", "short"], "settings", "master"),
        (["--map-pmtiles", "/nowhere.pmtiles"], "settings", "/nowhere.pmtiles is not there"),
        (["--statement-timeout", "soon"], "settings", "--statement-timeout"),
        (["--device-listeners", &device], "ports", "(deviceListeners)"),
        (
            ["--device-listeners", &twice],
            "ports",
            "is named twice, by deviceListeners and by deviceListeners",
        ),
        (["--device-listeners", &ours], "ports", "is named twice, by listen and by deviceListeners"),
        (["--node-listen", "127.0.0.1:8080"], "ports", "is named twice, by listen and by nodeListen"),
        (["--node-listen", "0.0.0.0:7300"], "settings", "the one address of this machine"),
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

async fn a_master_key_that_does_not_read_the_store_is_told(store: TestStore) {
    let folder = tempfile::tempdir().unwrap();
    let with = |name: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, format!("{name} is a master key of at least 32 characters")).unwrap();
        file.to_string_lossy().into_owned()
    };
    let (right, wrong) = (with("right"), with("wrong"));
    let (is_done, told) = said(&store, &["keys", "rotate", "--master-key-file", &right]).await;
    assert!(is_done, "{told}");
    let looked = async |more: &[&str]| said(&store, &[&DOCTOR[..], more].concat()).await;
    let (_, told) = looked(&["--master-key-file", &right]).await;
    assert!(told.contains("are wrapped, with this master key"), "{told}");
    let wrong = ["--master-key-file", wrong.as_str()];
    for (more, what) in [
        (&wrong[..], "are wrapped with another key than these settings give: the server does not start"),
        (&[], "are wrapped with a key, and these settings give none: the server does not start"),
    ] {
        let (is_well, told) = looked(more).await;
        let line = told.lines().find(|line| line.starts_with("WRONG") && line.contains(what));
        assert!(!is_well && line.is_some_and(|line| line.contains("masterKeyFile")), "{told}");
    }
}

#[test]
fn the_file_takes_every_setting_by_the_name_and_value_that_config_prints() {
    let folder = tempfile::tempdir().unwrap();
    let config = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_waypost"));
        let output = command.arg("config").env_clear().current_dir(folder.path()).output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(output.status.success(), "{text}");
        text
    };
    let printed = config();
    let rows: Vec<(&str, &str)> =
        printed.lines().filter_map(|line| line.strip_suffix("  (by default)")?.split_once(" = ")).collect();
    assert!(rows.len() > 30, "{printed}");
    let given = rows.iter().filter(|(_, value)| *value != "(none)");
    let file: String = given.clone().map(|(name, value)| format!("{name} = {value:?}\n")).collect();
    std::fs::write(folder.path().join("waypost.toml"), file).unwrap();
    let printed = config();
    assert_eq!(printed.matches("in waypost.toml, as ").count(), given.count(), "{printed}");
    // Explanations name other settings in the same way.
    assert!(printed.contains("instead of masterKey\n") && !printed.contains("master_key"), "{printed}");
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
