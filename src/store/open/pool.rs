//! PostgreSQL pools that neither wait for a connection gone silent nor reuse one from before a renewal; how long pools of
//! either engine are waited for.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::Connection;
use sqlx::postgres::{PgConnection, PgPoolOptions};

use crate::store::sql::{Renewed, SqlError, in_time, pin};

/// How long a request waits for a connection.
pub(super) const ACQUIRE_PATIENCE: Duration = Duration::from_secs(3);
/// Longest time for a statement of a long list.
pub(super) const LIST_WITHIN: Duration = Duration::from_secs(3);
/// How long a pooled connection may take to prove sound, before and after use. Without a bound, one that went silent
/// would keep its place in the pool until TCP gives up on it.
const SOUND_WITHIN: Duration = Duration::from_secs(1);

/// A PostgreSQL pool that checks its connections and discards those made before `renewed`.
pub(super) fn pooled(connections: u32, renewed: &Renewed) -> PgPoolOptions {
    let renewed = Arc::clone(renewed);
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_PATIENCE)
        .after_connect(|session, _| Box::pin(pin(session)))
        .test_before_acquire(false)
        .before_acquire(move |session, found| {
            let since = *renewed.lock();
            let is_of_before = since.is_some_and(|since| found.age > since.elapsed());
            Box::pin(async move { if is_of_before { Ok(false) } else { is_sound(session).await } })
        })
        .after_release(|session, _| Box::pin(is_sound(session)))
}

/// Whether traffic to a host stays on this machine.
pub(super) fn is_local(host: &str) -> bool {
    let is_socket = host.starts_with('/');
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    is_socket || host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Checks a session within a time limit, which the pool's own check does not have. An error makes the pool close it.
async fn is_sound(session: &mut PgConnection) -> Result<bool, SqlError> {
    in_time(SOUND_WITHIN, session.ping()).await.map(|()| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_this_machine_is_told_from_what_does_not() {
        for host in ["localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]", "/run/postgresql"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["10.0.0.1", "db.example.org", "localhost.example.org", "2001:db8::1"] {
            assert!(!is_local(host), "{host}");
        }
    }
}
