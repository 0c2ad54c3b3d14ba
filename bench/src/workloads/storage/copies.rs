//! Rows of a store multiplied by SQL: a fleet of which the product made the first vehicles, and the visits and events of a history
//! of which it wrote theirs. The copies differ in ids, names and numbers only. For a store on which no server runs.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result};
use sqlx::AssertSqlSafe;
use uuid::Uuid;
use waypost::store::sql::{Db, Engine};

use crate::systems::{Ready, keep_ready, kept_ready};

/// Ids that are bound by one statement.
const TOGETHER: usize = 500;

/// Adds vehicles until there are `vehicles`, the copies of all that are there taking turns.
pub(super) async fn copy_vehicles(db: &Db, directory: &Path, vehicles: u32) -> Result<()> {
    let mut ready = kept_ready(directory)?.context("nothing was prepared")?;
    note_copies(db, &mut ready, vehicles).await?;
    let name = "'v' || c.number";
    let of = "vehicle t join bench_copy c on c.template = t.id";
    insert_copies(db, "vehicle", of, &[("id", "c.vehicle"), ("name", name), ("search_key", name)]).await?;
    let of =
        "tracker t join installation i on i.tracker_id = t.id join bench_copy c on c.template = i.vehicle_id";
    let token = match db.engine() {
        Engine::Postgres => "sha256(uuid_send(gen_random_uuid()))",
        Engine::Sqlite => "randomblob(32)",
    };
    let other = [("id", "c.tracker"), ("unique_id", name), ("search_key", name), ("token_hash", token)];
    insert_copies(db, "tracker", of, &other).await?;
    let of = "installation t join bench_copy c on c.template = t.vehicle_id";
    let other = [("id", new_id(db)), ("tracker_id", "c.tracker"), ("vehicle_id", "c.vehicle")];
    insert_copies(db, "installation", of, &other).await?;
    keep_ready(directory, &ready)
}

/// Which vehicle is a copy of which, in a table that stays: `number`, `template`, and the ids of the copy and of its tracker.
async fn note_copies(db: &Db, ready: &mut Ready, vehicles: u32) -> Result<()> {
    let made = ready.vehicles.len() as u32;
    let id = if db.engine() == Engine::Postgres { "uuid" } else { "blob" };
    let table = format!("create table bench_copy (number bigint, template {id}, vehicle {id}, tracker {id})");
    db.write().sql(AssertSqlSafe(table)).run().await?;
    let mut copies = Vec::new();
    for number in made..vehicles {
        let template = ready.vehicles[(number % made) as usize].parse::<Uuid>()?;
        let vehicle = id_of(number, 0);
        ready.vehicles.push(vehicle.to_string());
        copies.push((i64::from(number), template, vehicle, id_of(number, 1)));
    }
    for some in copies.chunks(TOGETHER) {
        let insert = db.write().sql("insert into bench_copy (number, template, vehicle, tracker) values ");
        let insert = insert.push_each(some, |stmt, (number, template, vehicle, tracker)| {
            let stmt = stmt.push("(").push_bind(*number).push(", ").push_bind(*template);
            stmt.push(", ").push_bind(*vehicle).push(", ").push_bind(*tracker).push(")")
        });
        insert.run().await?;
    }
    Ok(())
}

/// Ids that sort by when they were made, as the product's (RFC 9562, version 7).
fn id_of(number: u32, kind: u32) -> Uuid {
    let millis = waypost_actors::clock::now().as_millis().unsigned_abs();
    Uuid::from_u128(
        u128::from(millis) << 80 | 7 << 76 | 2 << 62 | u128::from(kind) << 32 | u128::from(number),
    )
}

const fn new_id(db: &Db) -> &'static str {
    match db.engine() {
        Engine::Postgres => "gen_random_uuid()",
        Engine::Sqlite => "randomblob(16)",
    }
}

/// Gives each copy of a vehicle copies of the visits that ended, and of the records, of the one that it is a copy of. The indexes
/// are made anew behind them.
pub(super) async fn copy_visits(db: &Db) -> Result<()> {
    let indexes = drop_indexes(db).await?;
    for (kept, of) in [
        ("bench_visit", "visit where exited_at is not null"),
        ("bench_records", "records where kind not in ('online', 'stale', 'offline')"),
    ] {
        let keep = format!("create table {kept} as select * from {of}");
        db.write().sql(AssertSqlSafe(keep)).run().await?;
    }
    let count = "select min(number), count(*), count(distinct template) from bench_copy";
    let (first, copies, templates): (i64, i64, i64) = db.read().sql(count).one().await?;
    let mut next: i64 = db.read().sql("select next_sequence from writer").scalar().await?;
    for from in (0..copies).step_by(usize::try_from(templates)?) {
        let numbers = first + from..first + from + templates;
        next += copy_some(db, numbers, next).await?;
        eprintln!("{} of {copies} vehicles have copies of a history", (from + templates).min(copies));
    }
    db.write().sql("update writer set next_sequence = $1").bind(next).run().await?;
    for index in indexes {
        db.write().sql(AssertSqlSafe(index)).run().await?;
    }
    if db.engine() == Engine::Postgres {
        db.write().sql("vacuum analyze").run().await?;
    }
    Ok(())
}

/// Copies visits and records for some copies of vehicles; records are numbered from `next` on. Returns how many numbers that took.
async fn copy_some(db: &Db, copies: Range<i64>, next: i64) -> Result<i64> {
    let Range { start, end } = copies;
    let of = |kept: &str| {
        let condition = format!("c.template = t.vehicle_id and c.number >= {start} and c.number < {end}");
        format!("{kept} t join bench_copy c on {condition}")
    };
    // By when it was: as the product would have written them. Nothing else numbers as high as records are numbered.
    let id = id_by_number(db, &format!("({next} + row_number() over (order by t.entered_at, c.number))"));
    let other = [
        ("id", &*id),
        ("vehicle_id", "c.vehicle"),
        ("entry_event_id", new_id(db)),
        ("exit_event_id", new_id(db)),
    ];
    insert_copies(db, "visit", &of("bench_visit"), &other).await?;
    let sequence = format!("({} + row_number() over (order by t.sequence, c.number))", next - 1);
    let (id, visit) = (id_by_number(db, &sequence), new_id(db));
    let visit = format!("case when t.visit_id is null then null else {visit} end");
    let other = [("id", &*id), ("vehicle_id", "c.vehicle"), ("sequence", &*sequence), ("visit_id", &*visit)];
    Ok(i64::try_from(insert_copies(db, "records", &of("bench_records"), &other).await?)?)
}

/// Ids in order, which a large index takes sooner than those at random.
fn id_by_number(db: &Db, number: &str) -> String {
    match db.engine() {
        Engine::Postgres => format!("cast(lpad(to_hex({number}), 32, '0') as uuid)"),
        Engine::Sqlite => format!("unhex(printf('%032x', {number}))"),
    }
}

/// Drops the indexes of visits and records that are no constraint's; returns how they are made.
async fn drop_indexes(db: &Db) -> Result<Vec<String>> {
    let text = match db.engine() {
        Engine::Postgres => {
            "select cast(indexname as text), indexdef from pg_indexes where schemaname = current_schema() \
             and tablename in ('visit', 'records') and indexname not in (select conname from pg_constraint)"
        }
        Engine::Sqlite => {
            "select name, sql from sqlite_schema \
             where type = 'index' and tbl_name in ('visit', 'records') and sql is not null"
        }
    };
    let indexes: Vec<(String, String)> = db.read().sql(text).all().await?;
    for (name, _) in &indexes {
        db.write().sql(AssertSqlSafe(format!("drop index {name}"))).run().await?;
    }
    Ok(indexes.into_iter().map(|(_, made)| made).collect())
}

/// Inserts what a query on a table `t` finds into that table, with some columns replaced.
async fn insert_copies(db: &Db, table: &str, of: &str, other: &[(&str, &str)]) -> Result<u64> {
    let text = match db.engine() {
        Engine::Postgres => {
            "select cast(column_name as text) from information_schema.columns \
             where table_schema = current_schema() and table_name = $1 order by ordinal_position"
        }
        Engine::Sqlite => "select name from pragma_table_info($1)",
    };
    let columns: Vec<(String,)> = db.read().sql(text).bind(table.to_owned()).all().await?;
    let columns: Vec<String> = columns.into_iter().map(|(name,)| name).collect();
    Ok(db.write().sql(AssertSqlSafe(copying(table, &columns, of, other))).run().await?)
}

fn copying(table: &str, columns: &[String], of: &str, other: &[(&str, &str)]) -> String {
    let value = |column: &String| {
        let replaced = other.iter().find(|(name, _)| name == column);
        replaced.map_or_else(|| format!("t.{column}"), |(_, value)| (*value).to_owned())
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    format!("insert into {table} ({}) select {} from {of}", columns.join(", "), values.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_every_column_and_some_of_its_own() {
        let columns = ["id", "name", "kind"].map(str::to_owned);
        let text = copying("some", &columns, "some t join bench_copy c", &[("name", "'v' || c.number")]);
        assert_eq!(
            text,
            "insert into some (id, name, kind) select t.id, 'v' || c.number, t.kind from some t join bench_copy c"
        );
    }

    #[test]
    fn ids_of_copies_are_of_version_7_and_differ() {
        let (one, other, tracker) = (id_of(70_000, 0), id_of(70_001, 0), id_of(70_000, 1));
        assert_eq!((one.get_version_num(), one.get_variant()), (7, uuid::Variant::RFC4122));
        assert!(one < other && other < tracker);
    }
}
