//! Connections to PostgreSQL: the settings of their sessions, and the refusal of a server that would not keep its
//! promises.

use std::sync::Arc;
use std::time::Duration;

use sqlx::Connection;
use sqlx::postgres::{PgConnectOptions, PgConnection};

use super::location::{OpenError, Options};
use super::pool::{LIST_WITHIN, is_local, pooled};
use crate::store::sql::{Db, Pools, Renewed, broken_at_start, in_time, is_encrypted};

/// Time PostgreSQL has for its first answer.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// How long a statement waits for a lock held by another session.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);
/// PostgreSQL ends a transaction that has been idle for this long: this process hangs, and its successor needs the
/// rows it has locked.
const IDLE_PATIENCE: Duration = Duration::from_secs(10);
/// A machine that vanished must not keep the lock of its server or the rows its transaction has locked, so PostgreSQL
/// ends its connections within half a minute.
const ALIVE: [(&str, &str); 4] = [
    ("tcp_keepalives_idle", "10"),
    ("tcp_keepalives_interval", "5"),
    ("tcp_keepalives_count", "3"),
    ("tcp_user_timeout", "25000"),
];

pub(in crate::store) fn millis(time: Duration) -> String {
    time.as_millis().to_string()
}

/// The options of the server's connections.
pub(in crate::store) fn postgres(url: &str, options: &Options) -> Result<PgConnectOptions, OpenError> {
    let statement = options.statement_timeout;
    Ok(parse(url)?.application_name("waypost").options(ALIVE).options([
        ("statement_timeout", millis(statement)),
        ("lock_timeout", millis(statement.min(LOCK_PATIENCE))),
        ("idle_in_transaction_session_timeout", millis(IDLE_PATIENCE)),
        ("timezone", "UTC".to_owned()),
        // A list that reads much would take CPU cores from the writer.
        ("max_parallel_workers_per_gather", "0".to_owned()),
    ]))
}

fn parse(url: &str) -> Result<PgConnectOptions, OpenError> {
    // sqlx accepts any scheme.
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    if !matches!(scheme, Some("postgres" | "postgresql")) {
        return Err(OpenError::Url);
    }
    url.parse().map_err(|_| OpenError::Url) // sqlx's error may quote the password
}

/// A database in readable form: `host:port/name`, without the password.
pub(in crate::store) fn place(url: &str) -> Result<String, OpenError> {
    let options = parse(url)?;
    let name = options.get_database().unwrap_or_else(|| options.get_username());
    Ok(format!("{}:{}/{name}", options.get_host(), options.get_port()))
}

/// Whether a database is reached without a network.
pub(in crate::store) fn is_on_this_machine(url: &str) -> Result<bool, OpenError> {
    Ok(is_local(parse(url)?.get_host()))
}

/// The options of a session outside any pool.
pub(in crate::store) fn postgres_session(url: &str) -> Result<PgConnectOptions, OpenError> {
    Ok(parse(url)?.options(ALIVE))
}

/// A connection outside any pool, which may stay idle for as long as it lives. Its errors are the server's own; a
/// pool would only report a timeout.
pub(in crate::store) async fn connect_postgres(url: &str) -> Result<PgConnection, OpenError> {
    let options = postgres_session(url)?.options([("idle_session_timeout", "0")]);
    let place = format!("{}:{}", options.get_host(), options.get_port());
    let connected = in_time(CONNECT_PATIENCE, PgConnection::connect_with(&options)).await;
    connected.map_err(|error| OpenError::Postgres(place, error))
}

pub(super) async fn open_postgres(url: &str, options: &Options) -> Result<Db, OpenError> {
    let mut session = connect_postgres(url).await?;
    if let Some(setting) = broken_at_start(&mut session).await? {
        return Err(OpenError::NotDurable(setting));
    }
    if !is_on_this_machine(url)? && !is_encrypted(&mut session).await? {
        let host = parse(url)?.get_host().to_owned();
        tracing::warn!(
            host,
            "PostgreSQL is spoken to in clear over a network; use sslmode=verify-full in its URL"
        );
    }
    session.close().await?;
    let renewed: Renewed = Arc::default();
    let pool = pooled(options.connections, &renewed).connect_with(postgres(url, options)?).await?;
    let time = millis(options.statement_timeout.min(LIST_WITHIN));
    let listing = postgres(url, options)?.options([("statement_timeout", time)]);
    let lists = pooled(options.places_for_lists(), &renewed).connect_lazy_with(listing);
    Ok(Db::new(Pools::Postgres { pool, lists }, renewed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_url_of_postgresql_is_refused_without_its_password() {
        for url in [
            "nonsense",
            "mysql://u:hunter2@h/x",
            "u:hunter2@h/x",
            "postgres://u:hunter2@h:port/x",
            "postgres:",
        ] {
            let error = format!("{:?}", anyhow::Error::from(parse(url).unwrap_err()));
            assert!(error.contains("postgres://user:password@host/name"), "{url}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
        assert_eq!(parse("postgresql://u:p@h:1/x").unwrap().get_port(), 1);
    }
}
