//! The two folders of migrations make the same tables, as far as two engines allow.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use waypost::store::sql::Db;
use waypost_test_support::{Engine, TestStore, postgres, run};

/// What both engines must agree on.
#[derive(Debug, Default, PartialEq)]
struct Schema {
    /// `table.column` and whether it may be null, with its class of types.
    columns: BTreeMap<String, (bool, &'static str)>,
    /// Names of constraints, by table.
    constraints: BTreeMap<String, BTreeSet<String>>,
    /// Names of indexes, by table, without those a constraint brings.
    indexes: BTreeMap<String, BTreeSet<String>>,
    /// Names of rules on several rows at once, by table: exclusion constraints there, pairs of triggers here.
    exclusions: BTreeMap<String, BTreeSet<String>>,
}

#[test]
fn both_folders_have_the_same_files() {
    let names = |folder: &str| -> BTreeSet<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(folder);
        let entries = std::fs::read_dir(folder).expect("the migrations are there");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    };
    let postgres = names("postgres");
    assert!(!postgres.is_empty(), "no migration was found");
    assert_eq!(postgres, names("sqlite"));
}

#[test]
fn both_engines_have_the_same_tables_columns_and_names() {
    if postgres().is_none() {
        println!("skipped: not installed");
        return;
    }
    let read = |engine| {
        let (sender, receiver) = std::sync::mpsc::channel();
        run(engine, async |store: TestStore| {
            let found = match engine {
                Engine::Postgres => postgres_schema(&store.db).await,
                Engine::Sqlite => sqlite_schema(&store.db).await,
            };
            sender.send(found).expect("the test waits for it");
        });
        receiver.recv().expect("a schema was read")
    };
    let (postgres, sqlite) = (read(Engine::Postgres), read(Engine::Sqlite));
    assert!(postgres.columns.len() > 50 && postgres.constraints.len() > 5, "hardly anything was read");
    assert_eq!(postgres.columns, sqlite.columns);
    assert_eq!(postgres.constraints, sqlite.constraints);
    assert_eq!(postgres.indexes, sqlite.indexes);
    assert!(!postgres.exclusions.is_empty(), "no exclusion was read");
    assert_eq!(postgres.exclusions, sqlite.exclusions);
}

/// A new table has to say when its rows are deleted.
#[test]
fn retention_names_every_table() {
    run(Engine::Sqlite, async |store: TestStore| {
        let schema = sqlite_schema(&store.db).await;
        let tables: BTreeSet<&str> =
            schema.columns.keys().filter_map(|column| column.split('.').next()).collect();
        let text = include_str!("../../docs/retention.md");
        let (_, text) = text.split_once("## Every table").expect("the section is there");
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('|').next());
        let named: BTreeSet<&str> =
            rows.flat_map(|cell| cell.trim_end_matches([' ', '`']).split("`, `")).collect();
        assert_eq!(named, tables);
    });
}

async fn postgres_schema(db: &Db) -> Schema {
    let mut schema = Schema::default();
    // Partitions repeat their parent: left out.
    let columns =
        "select c.relname::text, a.attname::text, not a.attnotnull, format_type(a.atttypid, a.atttypmod)
        from pg_attribute a join pg_class c on c.oid = a.attrelid
        where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
          and a.attnum > 0 and not a.attisdropped and c.relname <> '_sqlx_migrations'";
    let rows: Vec<(String, String, bool, String)> = db.read().sql(columns).all().await.expect("columns");
    for (table, column, nullable, ty) in rows {
        schema.columns.insert(format!("{table}.{column}"), (nullable, class_of_postgres(&ty)));
    }
    // PostgreSQL 18 lists `not null` here too; the columns compare that.
    let constraints =
        "select c.relname::text, k.conname::text from pg_constraint k join pg_class c on c.oid = k.conrelid
        where c.relnamespace = 'public'::regnamespace and not c.relispartition and k.contype not in ('n', 'x')
          and c.relname <> '_sqlx_migrations'";
    schema.constraints = by_table(db.read().sql(constraints).all().await.expect("constraints"));
    let exclusions =
        "select c.relname::text, k.conname::text from pg_constraint k join pg_class c on c.oid = k.conrelid
        where c.relnamespace = 'public'::regnamespace and k.contype = 'x'";
    schema.exclusions = by_table(db.read().sql(exclusions).all().await.expect("exclusions"));
    let indexes = "select c.relname::text, i.relname::text from pg_index x
        join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
        where c.relnamespace = 'public'::regnamespace and not c.relispartition and c.relname <> '_sqlx_migrations'
          and not exists (select from pg_constraint k where k.conindid = x.indexrelid)";
    schema.indexes = by_table(db.read().sql(indexes).all().await.expect("indexes"));
    schema
}

async fn sqlite_schema(db: &Db) -> Schema {
    let mut schema = Schema::default();
    let tables = "select name, sql from sqlite_schema
        where type = 'table' and name not like 'sqlite@_%' escape '@' and name <> '_sqlx_migrations'";
    let tables: Vec<(String, String)> = db.read().sql(tables).all().await.expect("tables");
    for (table, definition) in tables {
        let columns =
            db.read().sql("select name, \"notnull\", type from pragma_table_info($1)").bind(table.clone());
        let columns: Vec<(String, i64, String)> = columns.all().await.expect("columns");
        for (column, not_null, ty) in columns {
            let class = class_of_sqlite(&ty);
            schema.columns.insert(format!("{table}.{column}"), (not_null == 0, class));
        }
        let named = definition.split_whitespace().collect::<Vec<_>>();
        let names = named.windows(2).filter(|pair| pair[0].eq_ignore_ascii_case("constraint"));
        let names: BTreeSet<String> = names.map(|pair| pair[1].to_owned()).collect();
        schema.constraints.insert(table, names);
    }
    let indexes = "select tbl_name, name from sqlite_schema where type = 'index' and sql is not null";
    schema.indexes = by_table(db.read().sql(indexes).all().await.expect("indexes"));
    let triggers = "select i.tbl_name, replace(i.name, '_insert', '') from sqlite_schema i
        join sqlite_schema u on u.type = 'trigger' and u.name = replace(i.name, '_insert', '_update')
        where i.type = 'trigger' and i.name like '%@_insert' escape '@'";
    schema.exclusions = by_table(db.read().sql(triggers).all().await.expect("triggers"));
    schema
}

fn by_table(rows: Vec<(String, String)>) -> BTreeMap<String, BTreeSet<String>> {
    let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (table, name) in rows {
        names.entry(table).or_default().insert(name);
    }
    names
}

/// SQLite has fewer types: each of PostgreSQL's is mapped to the one that holds it there.
fn class_of_postgres(ty: &str) -> &'static str {
    match ty {
        "uuid" | "bytea" => "bytes",
        "boolean" | "smallint" | "bigint" | "timestamp with time zone" => "integer",
        "double precision" => "float",
        "text" | "jsonb" => "text",
        other => panic!("{other} is no type of the house: see the head of src/store/sql/mod.rs"),
    }
}

fn class_of_sqlite(ty: &str) -> &'static str {
    match ty.to_ascii_lowercase().as_str() {
        "blob" => "bytes",
        "integer" => "integer",
        "real" => "float",
        "text" => "text",
        other => panic!("{other} is no type of a strict table"),
    }
}
