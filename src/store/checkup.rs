//! Looks at a store, and at Redis, without changing anything: what `waypost doctor` and `waypost upgrade --check` tell.

use std::fmt;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::lock::is_taken;
use super::open::{
    Location, OpenError, SQLITE_PATIENCE, connect_postgres, embedded_file, is_on_this_machine,
    known_migration, newest_migration, refuse_marked,
};
use super::signing_key::{self, SigningKey};
use super::sql::{On, broken_at_start, in_time, is_encrypted, not_durable};
use super::transfer::marks::is_half;
use super::webhook_secret::{self, WebhookSecret};

/// How long Redis has to answer.
const REDIS_WITHIN: Duration = Duration::from_secs(3);
/// How long PostgreSQL has for all that is asked.
const POSTGRES_WITHIN: Duration = Duration::from_secs(5);
/// The oldest PostgreSQL that is supported, as `server_version_num`.
const OLDEST_POSTGRES: i32 = 150_000;

/// What was found.
#[derive(Clone, Debug)]
pub struct Checkup {
    /// The engine and its version.
    pub engine: String,
    /// The newest migration; `None` of a store without tables, which the first start makes.
    pub migration: Option<i64>,
    /// Its organizations; `None` of a store whose tables are not those of this version.
    pub organizations: Option<Vec<Uuid>>,
    /// What is sealed in it; `None` of a store whose tables are not those of this version.
    pub sealed: Option<Sealed>,
    /// Whether a server has it now.
    pub is_served: bool,
    /// By how many seconds the store's clock, or what it wrote last, is ahead of this machine's.
    pub ahead_seconds: f64,
    /// What is wrong with it, each with its remedy.
    pub wrong: Vec<String>,
    /// What is doubtful, each with its remedy.
    pub doubtful: Vec<String>,
}

/// What may be wrapped with the master key.
#[derive(Clone)]
pub struct Sealed {
    /// The signing keys.
    pub keys: Vec<SigningKey>,
    /// The secrets of all webhooks.
    pub webhooks: Vec<WebhookSecret>,
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} signing keys, {} webhooks", self.keys.len(), self.webhooks.len())
    }
}

/// Looks at a store. An embedded store that is not there yet is none; what a start refuses to open is an error.
pub async fn check_up(location: &Location, now: Timestamp) -> Result<Option<Checkup>, OpenError> {
    if let Location::Embedded(directory) = location {
        refuse_marked(directory)?;
    }
    match location {
        Location::Postgres(url) => postgres(location, url, now).await.map(Some),
        Location::Embedded(directory) if !embedded_file(directory).exists() => Ok(None),
        Location::Embedded(directory) => embedded(location, directory, now).await.map(Some),
    }
}

async fn embedded(location: &Location, directory: &Path, now: Timestamp) -> Result<Checkup, OpenError> {
    let failed = |error| OpenError::Embedded(directory.to_owned(), error);
    let options = SqliteConnectOptions::new().filename(embedded_file(directory));
    // Not with the options of a server, which would change the journal of a store that was just restored.
    let options = options.create_if_missing(false).read_only(true).busy_timeout(SQLITE_PATIENCE);
    let mut conn = options.connect().await.map_err(failed)?;
    let facts = "select sqlite_version(), count(*) from sqlite_schema where name = '_sqlx_migrations'";
    let facts = sqlx::query_as(facts).fetch_one(&mut conn).await;
    let (version, made): (String, i64) = facts.map_err(failed)?;
    let migration = if made > 0 { Some(newest_migration(On::LiteConn(&mut conn)).await?) } else { None };
    let organizations = organizations(On::LiteConn(&mut conn), migration).await?;
    let sealed = match organizations {
        Some(_) => {
            let keys = signing_key::all(On::LiteConn(&mut conn)).await?;
            Some(Sealed { keys, webhooks: webhook_secret::all(On::LiteConn(&mut conn)).await? })
        }
        None => None,
    };
    conn.close().await?;
    Ok(Checkup {
        engine: format!("SQLite {version}"),
        migration,
        organizations,
        sealed,
        is_served: is_taken(location).await?,
        ahead_seconds: written_after(directory, now),
        wrong: Vec::new(),
        doubtful: Vec::new(),
    })
}

async fn organizations(on: On<'_>, migration: Option<i64>) -> Result<Option<Vec<Uuid>>, OpenError> {
    if migration != Some(known_migration()) {
        return Ok(None);
    }
    let ids: Vec<(Uuid,)> = on.sql("select id from organization where status <> 'deleted'").all().await?;
    Ok(Some(ids.into_iter().map(|(id,)| id).collect()))
}

/// By how many seconds the file was written after `now`: the clock was set back.
fn written_after(directory: &Path, now: Timestamp) -> f64 {
    let written = embedded_file(directory).metadata().and_then(|file| file.modified()).ok();
    let since = written.and_then(|written| written.duration_since(UNIX_EPOCH).ok());
    since.map_or(0.0, |since| since.as_secs_f64() - now.as_micros() as f64 / 1e6).max(0.0)
}

async fn postgres(location: &Location, url: &str, now: Timestamp) -> Result<Checkup, OpenError> {
    let mut conn = connect_postgres(url).await?;
    if is_half(&mut conn).await? {
        return Err(OpenError::HalfTransferred);
    }
    let facts = "select current_setting('server_version'), current_setting('server_version_num')::int, \
        current_setting('server_encoding'), extract(epoch from clock_timestamp())::float8, \
        to_regclass('_sqlx_migrations') is not null, \
        (select rolsuper from pg_roles where rolname = current_user)";
    let facts = sqlx::query_as(facts).fetch_one(&mut conn);
    let facts: (String, i32, String, f64, bool, bool) = in_time(POSTGRES_WITHIN, facts).await?;
    let (version, number, encoding, clock, is_made, is_superuser) = facts;
    let migration = if is_made { Some(newest_migration(On::PgConn(&mut conn)).await?) } else { None };
    let mut wrong: Vec<String> = broken_at_start(&mut conn).await?.map(not_durable).into_iter().collect();
    let mut doubtful = Vec::new();
    if number < OLDEST_POSTGRES {
        wrong
            .push(format!("PostgreSQL {version} is too old: 15 is the oldest that is supported. Upgrade it"));
    }
    if encoding != "UTF8" {
        wrong.push(format!(
            "the database's encoding is {encoding}: make it anew with createdb --encoding=UTF8"
        ));
    }
    if is_superuser {
        doubtful.push(
            "the server's role is a superuser: give it a role of its own that owns the database".to_owned(),
        );
    }
    if !is_encrypted(&mut conn).await? && !is_on_this_machine(url)? {
        doubtful.push(
            "PostgreSQL is spoken to in clear over a network: add sslmode=verify-full to its URL".to_owned(),
        );
    }
    let organizations = organizations(On::PgConn(&mut conn), migration).await?;
    let sealed = match organizations {
        Some(_) => {
            let keys = signing_key::all(On::PgConn(&mut conn)).await?;
            Some(Sealed { keys, webhooks: webhook_secret::all(On::PgConn(&mut conn)).await? })
        }
        None => None,
    };
    conn.close().await?;
    Ok(Checkup {
        engine: format!("PostgreSQL {version}"),
        migration,
        organizations,
        sealed,
        is_served: is_taken(location).await?,
        ahead_seconds: clock - now.as_micros() as f64 / 1e6,
        wrong,
        doubtful,
    })
}

/// Asks Redis whether it is there; its version.
pub async fn redis_version(url: &str) -> Result<String, String> {
    let asked = async {
        let client = redis::Client::open(url)?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        redis::cmd("INFO").arg("server").query_async::<String>(&mut connection).await
    };
    let told = tokio::time::timeout(REDIS_WITHIN, asked).await;
    let told = told.map_err(|_| "it does not answer".to_owned())?;
    let info = told.map_err(|error: redis::RedisError| error.to_string())?;
    let version = info.lines().find_map(|line| line.strip_prefix("redis_version:"));
    Ok(version.unwrap_or("of an unknown version").trim().to_owned())
}
