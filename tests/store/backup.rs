//! Backups and the way back: what is refused, and that nothing half done is taken for whole.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use uuid::Uuid;
use waypost::store::backup::{BackupError, Manifest, back_up, restore};
use waypost::store::open::{Location, OpenError, Options, open, open_and_migrate};
use waypost_test_support::{Engine, TestStore, for_each_engine, run};

use crate::fleet::at;

/// Room enough for any log of a test, in MiB.
const ROOM: u64 = 1024;

for_each_engine!(
    what_is_restored_is_what_was_backed_up,
    nothing_is_overwritten,
    a_damaged_backup_is_refused,
    a_backup_of_a_newer_program_is_refused,
);

/// A store with a row that has something of each kind, and a folder for backups.
async fn filled(store: &TestStore) -> TempDir {
    let text = "insert into organization (id, name, search_key, slug, contact_email, status, settings, subscription, \
        created_at, updated_at) values ($1, 'Ö''s \"1\"', 'o', 'o', 'o@example.org', 'active', $2, $2, $3, $3)";
    let settings = sqlx::types::Json(serde_json::json!({ "a": [1.5, null, "Ω"] }));
    let insert = store.db.write().sql(text).bind(Uuid::from_u128(7)).bind(settings);
    insert.bind(waypost::store::time::Time(at(1))).run().await.expect("a row");
    tempfile::tempdir().expect("a folder")
}

async fn backed_up(store: &TestStore, folder: &TempDir, name: &str) -> (PathBuf, Manifest) {
    let to = folder.path().join(name);
    let made = back_up(&store.options.location, &to, at(9), ROOM).await.expect("backed up");
    (to, made)
}

fn rows(made: &Manifest, table: &str) -> u64 {
    made.tables.iter().find(|held| held.table == table).expect("the table is named").rows
}

async fn what_is_restored_is_what_was_backed_up(store: TestStore) {
    let folder = filled(&store).await;
    let (from, made) = backed_up(&store, &folder, "one/").await;
    assert_eq!((rows(&made, "organization"), rows(&made, "vehicle")), (1, 0));
    let target = store.empty().await;
    restore(&from, &target.location).await.expect("restored");
    let again = folder.path().join("again");
    let second = back_up(&target.location, &again, at(10), ROOM).await.expect("backed up");
    assert_eq!(second.tables, made.tables);
    let db = open_and_migrate(&target).await.expect("it opens");
    let name: String = db.read().sql("select name from organization").scalar().await.expect("the row");
    assert_eq!(name, "Ö's \"1\"");
    let wrong = db.write().sql("update organization set status = 'odd'").run().await;
    assert!(wrong.is_err(), "constraints came along");
    db.close().await;
}

async fn nothing_is_overwritten(store: TestStore) {
    let folder = filled(&store).await;
    let (from, _) = backed_up(&store, &folder, "one").await;
    let same = back_up(&store.options.location, &from, at(9), ROOM).await;
    assert!(matches!(same, Err(BackupError::Exists(_))), "{same:?}");
    let used = restore(&from, &store.options.location).await;
    assert!(matches!(used, Err(BackupError::NotEmpty { .. })), "{used:?}");
    let other = match store.engine() {
        Engine::Sqlite => Location::Postgres("postgres://nobody@127.0.0.1:1/none".to_owned()),
        Engine::Postgres => Location::Embedded(folder.path().join("data")),
    };
    let other = restore(&from, &other).await;
    assert!(matches!(other, Err(BackupError::Engine(_))), "{other:?}");
}

async fn a_damaged_backup_is_refused(store: TestStore) {
    let folder = filled(&store).await;
    let (from, _) = backed_up(&store, &folder, "one").await;
    let data = ["waypost.sqlite", "waypost.dump"].map(|name| from.join(name));
    let data = data.iter().find(|file| file.exists()).expect("its data");
    let mut bytes = fs::read(data).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(data, &bytes).expect("written");
    let target = store.empty().await;
    let damaged = restore(&from, &target.location).await;
    assert!(matches!(damaged, Err(BackupError::Damaged(_))), "{damaged:?}");
    bytes[middle] ^= 1;
    fs::write(data, &bytes).expect("written");
    restore(&from, &target.location).await.expect("nothing was left in the way");

    let (part, _) = backed_up(&store, &folder, "two").await;
    let renamed = folder.path().join("two.part");
    fs::rename(&part, &renamed).expect("renamed");
    let half = restore(&renamed, &store.empty().await.location).await;
    assert!(matches!(half, Err(BackupError::NoBackup(_))), "{half:?}");
    fs::remove_file(renamed.join("manifest.json")).expect("removed");
    fs::rename(&renamed, &part).expect("renamed");
    let half = restore(&part, &store.empty().await.location).await;
    assert!(matches!(half, Err(BackupError::NoBackup(_))), "{half:?}");
}

async fn a_backup_of_a_newer_program_is_refused(store: TestStore) {
    let folder = filled(&store).await;
    let (from, made) = backed_up(&store, &folder, "one").await;
    let file = from.join("manifest.json");
    let text = fs::read_to_string(&file).expect("read");
    let (now, later) = (format!("\"migration\": {}", made.migration), "\"migration\": 9999");
    assert!(text.contains(&now), "{text}");
    fs::write(&file, text.replace(&now, later)).expect("written");
    let newer = restore(&from, &store.empty().await.location).await;
    assert!(matches!(newer, Err(BackupError::Newer(_))), "{newer:?}");
}

#[test]
fn a_directory_with_half_a_store_is_refused_until_it_is_restored() {
    run(Engine::Sqlite, async |store: TestStore| {
        let folder = filled(&store).await;
        let (from, made) = backed_up(&store, &folder, "one").await;
        let directory = folder.path().join("data");
        fs::create_dir(&directory).expect("made");
        fs::write(directory.join("waypost.sqlite.part"), "half").expect("written");
        let target = Options::new(Location::Embedded(directory));
        let half = open_and_migrate(&target).await;
        assert!(matches!(half, Err(OpenError::HalfRestored(_))), "a half restored store opens");
        restore(&from, &target.location).await.expect("restored");
        let db = open_and_migrate(&target).await.expect("it opens");
        db.close().await;
        assert_eq!(rows(&made, "organization"), 1);
    });
}

#[test]
fn a_database_with_half_a_restore_is_refused() {
    run(Engine::Postgres, async |store: TestStore| {
        let folder = filled(&store).await;
        let (from, _) = backed_up(&store, &folder, "one").await;
        let target = store.empty().await;
        let db = open(&target).await.expect("it opens");
        db.write().sql("create table transfer_under_way ()").run().await.expect("marked");
        db.close().await;
        let half = open_and_migrate(&target).await;
        assert!(matches!(half, Err(OpenError::HalfTransferred)), "a half restored database opens");
        let nothing = back_up(&target.location, &folder.path().join("two"), at(9), ROOM).await;
        assert!(matches!(nothing, Err(BackupError::Open(OpenError::HalfTransferred))), "{nothing:?}");
        restore(&from, &target.location).await.expect("restored");
        open_and_migrate(&target).await.expect("it opens").close().await;
    });
}

#[test]
fn a_restore_that_was_killed_after_its_commit_is_completed() {
    run(Engine::Postgres, async |store: TestStore| {
        let folder = filled(&store).await;
        let (from, _) = backed_up(&store, &folder, "one").await;
        let target = store.empty().await;
        restore(&from, &target.location).await.expect("restored");
        let db = open(&target).await.expect("it opens");
        let marked = async |also: &'static str| {
            db.write().sql("create table transfer_under_way ()").run().await.expect("marked");
            db.write().sql(also).run().await.expect("changed");
        };
        marked("update organization set name = 'other'").await;
        let other = restore(&from, &target.location).await;
        assert!(
            matches!(&other, Err(BackupError::NotRestored(table)) if table == "organization"),
            "{other:?}"
        );
        db.write().sql("drop table transfer_under_way").run().await.expect("no mark");
        marked("update organization set name = 'Ö''s \"1\"'").await;
        db.close().await;
        restore(&from, &target.location).await.expect("completed");
        open_and_migrate(&target).await.expect("it opens").close().await;
    });
}

#[test]
fn a_store_that_was_moved_away_is_not_backed_up() {
    run(Engine::Sqlite, async |store: TestStore| {
        let folder = filled(&store).await;
        let Location::Embedded(directory) = &store.options.location else { panic!("it is embedded") };
        fs::write(directory.join("waypost.moved"), "moved to PostgreSQL").expect("written");
        let stale = back_up(&store.options.location, &folder.path().join("one"), at(9), ROOM).await;
        assert!(matches!(stale, Err(BackupError::Open(OpenError::Moved { .. }))), "{stale:?}");
    });
}

#[test]
fn a_log_that_grows_too_long_ends_the_backup() {
    run(Engine::Sqlite, async |store: TestStore| {
        let folder = filled(&store).await;
        let many = "insert into sign_in_address (email_key, address, last_at) \
            with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000) \
            select cast(i as text), cast(i as text), i from n";
        let many = store.db.write().sql(many).run().await.expect("many rows");
        assert!(many > 100_000, "too few for a look at the log");
        let to = folder.path().join("one");
        let given_up = back_up(&store.options.location, &to, at(9), 0).await;
        assert!(matches!(given_up, Err(BackupError::LogTooLong(0))), "{given_up:?}");
        assert!(!to.exists(), "a backup that was given up has a name");
        assert!(!folder.path().join("one.part").exists(), "what was given up is there still");
        // What it left is no hindrance.
        back_up(&store.options.location, &to, at(9), ROOM).await.expect("backed up");
    });
}

#[test]
fn of_two_backups_to_one_place_one_is_refused() {
    run(Engine::Sqlite, async |store: TestStore| {
        let folder = filled(&store).await;
        let to = folder.path().join("one");
        let part = folder.path().join("one.part");
        fs::create_dir(&part).expect("made");
        let other = fs::File::open(&part).expect("opened");
        other.lock().expect("locked");
        let second = back_up(&store.options.location, &to, at(9), ROOM).await;
        assert!(matches!(second, Err(BackupError::UnderWay(_))), "{second:?}");
        drop(other);
        back_up(&store.options.location, &to, at(9), ROOM).await.expect("backed up");
    });
}
