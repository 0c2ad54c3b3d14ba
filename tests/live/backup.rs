//! `waypost backup` by the real program on PostgreSQL, with programs of PostgreSQL that do what rarely happens.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use waypost::store::backup::restore;
use waypost::store::open::Location;
use waypost::store::partitions::{drop_partitions, make_partitions};
use waypost_actors::model::Timestamp;
use waypost_test_support::{Engine, TestStore, eventually, run};

use crate::server::DEADLINE;

/// `sh` with a script that ends in calling the program with what follows it.
fn backup(script: &str, path: &str, store: &TestStore, to: &Path) -> Command {
    let Location::Postgres(url) = &store.options.location else { panic!("this is about PostgreSQL") };
    let mut command = Command::new("sh");
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_waypost"), "backup", "--database-url", url, "--to"])
        .arg(to);
    command.env_clear().env("PATH", path);
    command
}

fn programs() -> String {
    std::env::var("PATH").unwrap()
}

#[test]
fn no_week_is_dropped_before_a_backup_has_all_sums() {
    run(Engine::Postgres, async |store: TestStore| {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let old = Timestamp::parse("2020-01-15T00:00:00Z").unwrap();
        make_partitions(&store.db, old).await.unwrap();
        // The dump is done then, and its locks are gone; the sums are not.
        let script = format!(
            "#!/bin/sh\nPATH='{}' pg_dump \"$@\"; code=$?\ntouch '{}'\n\
             for _ in $(seq 300); do [ ! -e '{}' ] || break; sleep 0.1; done\nexit $code\n",
            programs(),
            file("dumped").display(),
            file("go").display()
        );
        std::fs::write(file("pg_dump"), script).unwrap();
        std::fs::set_permissions(file("pg_dump"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", folder.path().display(), programs());
        let mut command = backup("exec \"$0\" \"$@\"", &path, &store, &file("one"));
        let running = actix_rt::task::spawn_blocking(move || command.output().unwrap());
        eventually(DEADLINE, async || file("dumped").exists()).await;
        let before = old.plus_seconds(-86_400.0);
        let drop_week = async || drop_partitions(&store.db, "position_chunk", before).await.unwrap();
        let dropped = drop_week().await;
        std::fs::write(file("go"), "").unwrap();
        let output = running.await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!((dropped, drop_week().await), (0, 1));
        restore(&file("one"), &store.empty().await.location).await.expect("it can be restored");
    });
}

#[test]
fn a_backup_for_which_there_is_no_room_says_so_and_leaves_nothing() {
    run(Engine::Postgres, async |store: TestStore| {
        let folder = tempfile::tempdir().unwrap();
        let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
        let mut command = backup(script, &programs(), &store, &folder.path().join("one"));
        let output = actix_rt::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && told.contains("File too large"), "{told}");
        assert!(folder.path().read_dir().unwrap().next().is_none(), "what failed is there still");
    });
}
