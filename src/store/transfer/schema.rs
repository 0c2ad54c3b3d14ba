//! The tables of both stores, their order, and whether they are the same.
//!
//! Owns the queries on both catalogs. Knows our column types (`tests/store/schema.rs`), and no table by name but the
//! writer's, the only one that has a row before a server ever ran.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, PgConnection};

use super::error::TransferError;
use super::marks::HALF;
use super::table::{Kind, Table};
use crate::store::partitions::{WEEKS_AHEAD, week_of};
use crate::store::sql::SqlError;
use waypost_actors::model::Timestamp;

/// Weeks (ten years) up to which old positions get partitions of their own; older ones go to the default one.
const PARTITIONED_WEEKS: i64 = 520;

/// The product's ordinary and partitioned tables, without single partitions.
const TABLES: &str = "from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') \
    and not c.relispartition and c.relname <> '_sqlx_migrations' and c.relname <> $1";

/// Why a target is not empty, if it is not: a table that is not ours, or one with rows that no migration made.
pub(super) async fn used_table(conn: &mut PgConnection) -> Result<Option<String>, SqlError> {
    let has_migrations: bool = sqlx::query_scalar("select to_regclass('_sqlx_migrations') is not null")
        .fetch_one(&mut *conn)
        .await?;
    let text = format!("select c.relname::text {TABLES} order by 1");
    let names: Vec<String> = sqlx::query_scalar(AssertSqlSafe(text)).bind(HALF).fetch_all(&mut *conn).await?;
    for name in names {
        let used = if name == "writer" { " where epoch > 0" } else { "" };
        let text = format!("select exists (select from {name}{used})");
        if !has_migrations {
            return Ok(Some(format!("it has a table {name} that is not Waypost's")));
        }
        if sqlx::query_scalar(AssertSqlSafe(text)).fetch_one(&mut *conn).await? {
            return Ok(Some(format!("its table {name} has rows")));
        }
    }
    Ok(None)
}

/// Begins a transaction of one moment before which all tables are locked: none, and no partition of one, is dropped or
/// written anew until it ends. What is dropped is gone for earlier moments, too.
pub(in crate::store) async fn begin_moment(conn: &mut PgConnection) -> Result<(), SqlError> {
    let text = format!("select string_agg(quote_ident(c.relname), ', ') {TABLES}");
    let names: Option<String> =
        sqlx::query_scalar(AssertSqlSafe(text)).bind(HALF).fetch_one(&mut *conn).await?;
    sqlx::query("begin isolation level repeatable read read only").execute(&mut *conn).await?;
    if let Some(names) = names {
        let text = format!("lock table {names} in access share mode");
        sqlx::query(AssertSqlSafe(text)).execute(conn).await?;
    }
    Ok(())
}

/// A table of any kind, if the database has one; the mark of a transfer aside.
pub(in crate::store) async fn any_table(conn: &mut PgConnection) -> Result<Option<String>, SqlError> {
    let text = "select c.relname::text from pg_class c where c.relnamespace = 'public'::regnamespace \
        and c.relkind in ('r', 'p') and c.relname <> $1 order by 1 limit 1";
    sqlx::query_scalar(text).bind(HALF).fetch_optional(conn).await
}

/// The target's tables, each after those its foreign keys refer to.
pub(super) async fn tables(conn: &mut PgConnection) -> Result<Vec<Table>, TransferError> {
    let text = format!(
        "select c.relname::text, coalesce(pg_get_partkeydef(c.oid), ''), a.attname::text, \
        format_type(a.atttypid, a.atttypmod) \
        from pg_attribute a join (select c.oid, c.relname {TABLES}) c on c.oid = a.attrelid \
        where a.attnum > 0 and not a.attisdropped order by c.relname, a.attnum"
    );
    let rows: Vec<(String, String, String, String)> =
        sqlx::query_as(AssertSqlSafe(text)).bind(HALF).fetch_all(&mut *conn).await?;
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    for (name, cut, column, type_name) in rows {
        let kind = Kind::of_postgres(&type_name)
            .ok_or_else(|| TransferError::Schema(format!("{name}.{column} is of the type {type_name}")))?;
        let partitioned_by = cut.strip_prefix("RANGE (").map(|cut| cut.trim_end_matches(')').to_owned());
        let empty = Table { name: name.clone(), columns: Vec::new(), partitioned_by };
        tables.entry(name).or_insert(empty).columns.push((column, kind));
    }
    let keys = "select c.relname::text, p.relname::text from pg_constraint k join pg_class c on c.oid = k.conrelid \
        join pg_class p on p.oid = k.confrelid \
        where k.contype = 'f' and c.relnamespace = 'public'::regnamespace and c.oid <> p.oid";
    let keys: Vec<(String, String)> = sqlx::query_as(keys).fetch_all(conn).await?;
    in_order(tables, &keys)
}

/// Parents before children; `keys` are pairs of child and parent.
fn in_order(
    mut tables: BTreeMap<String, Table>,
    keys: &[(String, String)],
) -> Result<Vec<Table>, TransferError> {
    let mut ordered = Vec::new();
    while !tables.is_empty() {
        let waits =
            |name: &String| keys.iter().any(|(child, parent)| child == name && tables.contains_key(parent));
        let Some(next) = tables.keys().find(|name| !waits(name)).cloned() else {
            let names: Vec<&str> = tables.keys().map(String::as_str).collect();
            return Err(TransferError::Schema(format!("the keys of {} go round", names.join(", "))));
        };
        ordered.extend(tables.remove(&next));
    }
    Ok(ordered)
}

/// The tables of an embedded store, by name.
pub(super) async fn embedded_tables(conn: &mut SqliteConnection) -> Result<Vec<Table>, SqlError> {
    let columns = "select t.name, c.name, c.type from sqlite_schema t join pragma_table_info(t.name) c \
        where t.type = 'table' and t.name not like 'sqlite@_%' escape '@' and t.name <> '_sqlx_migrations' \
        order by t.name, c.cid";
    let rows: Vec<(String, String, String)> = sqlx::query_as(columns).fetch_all(conn).await?;
    let mut tables: Vec<Table> = Vec::new();
    for (name, column, type_name) in rows {
        let kind = Kind::of_sqlite(&type_name)
            .ok_or_else(|| SqlError::Protocol(format!("{name}.{column} is of the type {type_name}")))?;
        match tables.last_mut() {
            Some(last) if last.name == name => last.columns.push((column, kind)),
            _ => tables.push(Table { name, columns: vec![(column, kind)], partitioned_by: None }),
        }
    }
    Ok(tables)
}

/// Checks that both stores have the same tables with the same columns.
pub(super) async fn compare(source: &mut SqliteConnection, tables: &[Table]) -> Result<(), TransferError> {
    let columns = "select t.name || '.' || c.name from sqlite_schema t join pragma_table_info(t.name) c \
        where t.type = 'table' and t.name not like 'sqlite@_%' escape '@' and t.name <> '_sqlx_migrations'";
    let here: BTreeSet<String> =
        sqlx::query_scalar::<_, String>(columns).fetch_all(source).await?.into_iter().collect();
    let named = |table: &Table| -> Vec<String> {
        table.columns.iter().map(|(column, _)| format!("{}.{column}", table.name)).collect()
    };
    let there: BTreeSet<String> = tables.iter().flat_map(named).collect();
    let different: Vec<&str> = here.symmetric_difference(&there).map(String::as_str).collect();
    if different.is_empty() { Ok(()) } else { Err(TransferError::Schema(different.join(", "))) }
}

/// The weeks of the last ten years in which the source has rows of a partitioned table, with those to come that a server would have
/// made partitions for. A fix that a broken clock has dated far ahead or back is in none of them.
pub(super) async fn weeks(
    source: &mut SqliteConnection,
    table: &Table,
    now: Timestamp,
) -> Result<Vec<i64>, SqlError> {
    let Some(column) = &table.partitioned_by else { return Ok(Vec::new()) };
    let text = format!("select distinct {column} / 86400000000 from {}", table.name);
    let days: Vec<i64> = sqlx::query_scalar(AssertSqlSafe(text)).fetch_all(source).await?;
    let at = |day: i64| Timestamp::from_micros(day.saturating_mul(86_400_000_000));
    let weeks: BTreeSet<i64> = days.into_iter().map(|day| week_of(at(day))).collect();
    let newest = week_of(now) + WEEKS_AHEAD;
    Ok(weeks.range(newest - PARTITIONED_WEEKS + 1..=newest).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(names: &[&str], keys: &[(&str, &str)]) -> Result<Vec<String>, TransferError> {
        let table = |name: &&str| Table { name: (*name).into(), columns: Vec::new(), partitioned_by: None };
        let tables = names.iter().map(|name| ((*name).to_owned(), table(name))).collect();
        let keys: Vec<(String, String)> = keys.iter().map(|(c, p)| ((*c).into(), (*p).into())).collect();
        Ok(in_order(tables, &keys)?.into_iter().map(|table| table.name).collect())
    }

    #[test]
    fn parents_fill_before_their_children() {
        let keys = [("a", "c"), ("b", "a"), ("b", "c")];
        assert_eq!(order(&["a", "b", "c", "d"], &keys).unwrap(), ["c", "a", "b", "d"]);
        assert!(order(&["a", "b"], &[("a", "b"), ("b", "a")]).unwrap_err().to_string().contains("a, b"));
    }
}
