//! Moving an embedded store: every table there is, every value bit for bit, and the refusals.

use std::path::Path;

use sqlx::AssertSqlSafe;
use tempfile::TempDir;
use uuid::Uuid;
use waypost::store::lock;
use waypost::store::open::{Location, OpenError, Options, migrate, open, open_and_migrate};
use waypost::store::sql::{Db, Engine};
use waypost::store::time::Time;
use waypost::store::transfer::{TableSum, TransferError, transfer};
use waypost_actors::model::Timestamp;
use waypost_test_support::{TestStore, run};

use crate::fleet::at;

const NEW_PARENT: &str = "create table zone (id uuid not null, made_at timestamptz, note text, \
    constraint zone_pkey primary key (id))";
/// Comes before its parent by name.
const NEW_CHILD: &str = "create table after_all (n bigint not null, zone_id uuid not null, f double precision, \
    yes boolean, data jsonb, bytes bytea, constraint after_all_pkey primary key (n), \
    constraint after_all_zone_fkey foreign key (zone_id) references zone (id))";
const NEW_PARENT_EMBEDDED: &str = "create table zone (id blob not null, made_at integer, note text, \
    constraint zone_pkey primary key (id)) strict";
/// Its columns stand in another order.
const NEW_CHILD_EMBEDDED: &str = "create table after_all (n integer not null, yes integer, f real, \
    zone_id blob not null, bytes blob, data text, constraint after_all_pkey primary key (n), \
    constraint after_all_zone_fkey foreign key (zone_id) references zone (id)) strict";

/// An embedded store and an empty database.
struct Sides {
    directory: TempDir,
    from: Db,
    target: Options,
}

impl Sides {
    async fn new(store: &TestStore) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let from = open_and_migrate(&embedded(directory.path())).await.expect("opened");
        Self { directory, from, target: store.empty().await }
    }

    fn url(&self) -> &str {
        match &self.target.location {
            Location::Postgres(url) => url,
            Location::Embedded(_) => panic!("the test runs on PostgreSQL"),
        }
    }

    async fn transfer(&self) -> Result<Vec<TableSum>, TransferError> {
        transfer(self.directory.path(), self.url(), at(0), |_| {}).await
    }

    /// The refusal of a transfer.
    async fn refused(&self) -> String {
        self.transfer().await.expect_err("it is refused").to_string()
    }

    /// The target with the current tables, and these statements run on it.
    async fn target_with(&self, statements: &[&'static str]) -> Db {
        let target = open(&self.target).await.expect("opened");
        migrate(&target).await.expect("migrated");
        execute(&target, statements).await;
        target
    }
}

fn embedded(directory: &Path) -> Options {
    Options::new(Location::Embedded(directory.to_owned()))
}

async fn execute(db: &Db, statements: &[&'static str]) {
    for statement in statements {
        db.write().sql(*statement).run().await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

#[test]
fn a_table_that_came_later_is_moved_and_every_value_is_the_same() {
    run(Engine::Postgres, async |store: TestStore| {
        let sides = Sides::new(&store).await;
        execute(&sides.from, &[NEW_PARENT_EMBEDDED, NEW_CHILD_EMBEDDED]).await;
        let target = sides.target_with(&[NEW_PARENT, NEW_CHILD]).await;
        let zone = Uuid::from_u128(u128::MAX - 7);
        let before = Time(Timestamp::from_micros(-1_234_567_000));
        let note = "tab\t, line\n, \\N, \"quoted\", Ωmega, 🚍";
        let insert = "insert into zone (id, made_at, note) values ($1, $2, $3)";
        sides.from.write().sql(insert).bind(zone).bind(before).bind(note).run().await.expect("zone");
        let floats =
            [0.1 + 0.2, f64::MAX, f64::MIN_POSITIVE / 3.0, 1e22, -97.740_000_000_000_01, f64::INFINITY];
        let json =
            r#"{"z":1.0,"a":[1e2,0.30000000000000004,-0.0,null,true],"ключ":"\\N \"\u0007 🚍","a b":{}}"#;
        for (number, float) in floats.iter().enumerate() {
            let insert =
                "insert into after_all (n, zone_id, f, yes, data, bytes) values ($1, $2, $3, $4, $5, $6)";
            let stmt = sides.from.write().sql(insert).bind(i64::MAX - number as i64).bind(zone).bind(*float);
            let stmt = stmt.bind(number % 2 == 0).bind(json).bind(vec![0_u8, 255, 10, number as u8]);
            stmt.run().await.expect("child");
        }
        execute(&sides.from, &["insert into after_all (n, zone_id) select 1, id from zone"]).await;

        let moved = sides.transfer().await.expect("moved");
        let names: Vec<&str> = moved.iter().map(|moved| moved.table.as_str()).collect();
        let place = |name: &str| names.iter().position(|known| *known == name).expect("moved");
        assert!(place("zone") < place("after_all") && place("organization") < place("vehicle"), "{names:?}");
        assert_eq!(
            (moved[place("zone")].sum.rows, moved[place("after_all")].sum.rows),
            (1, floats.len() as u64 + 1)
        );

        let read = "select made_at, note from zone where id = $1";
        let found: (Time, String) = target.read().sql(read).bind(zone).one().await.expect("read");
        assert_eq!(found, (before, note.to_owned()));
        type Row = (i64, Option<f64>, Option<bool>, Option<Vec<u8>>);
        let read = "select n, f, yes, bytes from after_all order by n desc";
        let rows: Vec<Row> = target.read().sql(read).all().await.expect("read");
        for (number, float) in floats.iter().enumerate() {
            let (n, f, yes, bytes) = &rows[number];
            assert_eq!((*n, *yes), (i64::MAX - number as i64, Some(number % 2 == 0)));
            assert_eq!(f.map(f64::to_bits), Some(float.to_bits()));
            assert_eq!(*bytes, Some(vec![0, 255, 10, number as u8]));
        }
        assert_eq!(rows[floats.len()], (1, None, None, None));
        let same = "select count(*) from after_all where data = $1::jsonb";
        let count: i64 = target.read().sql(same).bind(json).scalar().await.expect("counted");
        assert_eq!(count, floats.len() as i64);
        // What a server finds there is the writer that there was, and numbers go on.
        target.close().await;
        open_and_migrate(&sides.target).await.expect("a server may start").close().await;
    });
}

#[test]
fn positions_get_partitions_by_their_weeks() {
    run(Engine::Postgres, async |store: TestStore| {
        let sides = Sides::new(&store).await;
        // Two in one week, one in another, and some that have none of their own: one so old, and one that a broken clock has dated
        // far ahead.
        for seconds in [0, 86_400, 9 * 86_400, -30 * 365 * 86_400, 60 * 365 * 86_400] {
            let insert = "insert into position (vehicle_id, recorded_at, latitude, longitude, received_at) \
                values ($1, $2, 1.0, 2.0, $2)";
            let stmt = sides.from.write().sql(insert).bind(Uuid::nil()).bind(Time(at(seconds)));
            stmt.run().await.expect("position");
        }
        sides.transfer().await.expect("moved");
        let target = open(&sides.target).await.expect("opened");
        let read = "select tableoid::regclass::text, count(*) from position group by 1 order by 1";
        let found: Vec<(String, i64)> = target.read().sql(read).all().await.expect("read");
        let named = |name: &str, rows: i64| (name.to_owned(), rows);
        // at(0) is a Thursday, 2026-01-01.
        let expected =
            [named("position_20251229", 2), named("position_20260105", 1), named("position_default", 2)];
        assert_eq!(found, expected);
        target.close().await;
    });
}

#[test]
fn what_is_in_use_or_not_empty_is_left_alone() {
    run(Engine::Postgres, async |store: TestStore| {
        let sides = Sides::new(&store).await;
        let running = lock::acquire(&embedded(sides.directory.path()).location, || {}).await.expect("locked");
        assert!(sides.refused().await.contains("a server runs on"));
        drop(running);
        let running = lock::acquire(&sides.target.location, || {}).await.expect("locked");
        let told = sides.refused().await;
        assert!(told.contains("a server or another transfer has") && !told.contains("waypost:"), "{told}");
        drop(running);

        let nowhere = tempfile::tempdir().expect("a directory");
        let missing = transfer(nowhere.path(), sides.url(), at(0), |_| {}).await;
        assert!(matches!(missing, Err(TransferError::NoStore(_))), "{missing:?}");
        assert_eq!(nowhere.path().read_dir().expect("read").count(), 0, "nothing was made there");
        let wrong = transfer(sides.directory.path(), "mysql://x/y", at(0), |_| {}).await;
        assert!(matches!(wrong, Err(TransferError::Open(OpenError::Url))), "{wrong:?}");

        let foreign = open(&sides.target).await.expect("opened");
        execute(&foreign, &["create table shopping (item text)"]).await;
        assert!(sides.refused().await.contains("it has a table shopping that is not Waypost's"));
        execute(&foreign, &["drop table shopping"]).await;
        foreign.close().await;

        // As a server leaves it behind, even one that was never used.
        let used = sides.target_with(&["update writer set epoch = 1"]).await;
        assert!(sides.refused().await.contains("its table writer has rows"));
        execute(&used, &["update writer set epoch = 0"]).await;
        execute(&used, &["insert into login_attempt values ('x', '', 1, now())"]).await;
        assert!(sides.refused().await.contains("its table login_attempt has rows"));
        execute(&used, &["delete from login_attempt"]).await;
        // None of the refusals left a mark.
        open_and_migrate(&sides.target).await.expect("a server may start").close().await;
        sides.transfer().await.expect("moved");
        used.close().await;
    });
}

#[test]
fn a_difference_that_nobody_expected_moves_nothing() {
    run(Engine::Postgres, async |store: TestStore| {
        let sides = Sides::new(&store).await;
        execute(&sides.from, &[NEW_PARENT_EMBEDDED]).await;
        assert!(sides.refused().await.contains("zone.id"), "a table that PostgreSQL lacks is not forgotten");
        let target = open(&sides.target).await.expect("opened");
        execute(&target, &["create table zone (id uuid, made_at timestamptz, note inet)"]).await;
        assert!(sides.refused().await.contains("zone.note is of the type inet"));
        execute(&target, &["alter table zone alter note type text"]).await;
        // PostgreSQL stores something other than it was sent.
        execute(
            &target,
            &[
                "create function spoil() returns trigger language plpgsql as \
                $$ begin new.note := upper(new.note); return new; end $$",
                "create trigger spoil before insert on zone for each row execute function spoil()",
            ],
        )
        .await;
        let insert = "insert into zone (id, note) values ($1, 'small')";
        sides.from.write().sql(insert).bind(Uuid::nil()).run().await.expect("zone");
        let told = sides.refused().await;
        assert!(told.contains("zone: 1 rows") && told.contains("Nothing was kept"), "{told}");
        let rows: i64 = target.read().sql("select count(*) from zone").scalar().await.expect("counted");
        assert_eq!(rows, 0);
        let half = open_and_migrate(&sides.target).await.map(|_| ());
        assert!(matches!(half, Err(OpenError::HalfTransferred)), "{half:?}");
        // The old store is as good as before.
        open_and_migrate(&embedded(sides.directory.path())).await.expect("opened").close().await;

        execute(&target, &["drop trigger spoil on zone"]).await;
        let moved = sides.transfer().await.expect("moved");
        for TableSum { table, sum } in moved {
            let count = format!("select count(*) from {table}");
            let rows: i64 = target.read().sql(AssertSqlSafe(count)).scalar().await.expect("counted");
            assert_eq!(u64::try_from(rows), Ok(sum.rows), "{table}");
        }
        target.close().await;
    });
}
