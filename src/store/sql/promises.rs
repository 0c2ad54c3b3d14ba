//! What PostgreSQL must keep so that an acknowledgement means stored: looked at when the store is opened, and once a
//! second while it is used.

use std::sync::{Arc, Mutex, PoisonError};

use sqlx::postgres::PgConnection;
use sqlx::{Executor, Row};

use super::error::Result;

/// Settings that must not be off, of the whole server.
const DURABLE: [&str; 2] = ["fsync", "full_page_writes"];
/// And at the start; once it runs, its sessions keep to what they began with.
const COMMITS: &str = "synchronous_commit";

/// What PostgreSQL does not keep now; shared between who looks and who would acknowledge.
#[derive(Clone, Debug, Default)]
pub struct Promises(Arc<Mutex<Option<&'static str>>>);

impl Promises {
    /// The setting that is off.
    #[must_use]
    pub fn broken(&self) -> Option<&'static str> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::store) fn note(&self, broken: Option<&'static str>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = broken;
    }
}

/// What is wrong with a setting, and what to do.
pub(in crate::store) fn not_durable(setting: &str) -> String {
    format!("PostgreSQL runs with {setting} = off: an acknowledgement would not mean stored. Turn it on")
}

/// A setting that is off for a session as it begins.
pub(in crate::store) async fn broken_at_start(session: &mut PgConnection) -> Result<Option<&'static str>> {
    for setting in DURABLE.into_iter().chain([COMMITS]) {
        let value = sqlx::query("select current_setting($1)").bind(setting).fetch_one(&mut *session).await?;
        if value.try_get::<String, _>(0)? == "off" {
            return Ok(Some(setting));
        }
    }
    Ok(None)
}

/// Whether nobody on the way can read what the session says.
pub(in crate::store) async fn is_encrypted(session: &mut PgConnection) -> Result<bool> {
    let look = "select coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false)";
    sqlx::query(look).fetch_one(session).await?.try_get(0)
}

/// The session keeps to the way of committing that it has now, and never to none.
pub(in crate::store) async fn pin(session: &mut PgConnection) -> Result<()> {
    let pin = "select set_config('synchronous_commit', case current_setting('synchronous_commit') \
        when 'off' then 'on' else current_setting('synchronous_commit') end, false)";
    session.execute(pin).await?;
    Ok(())
}

/// What a session sees: the writer's epoch, a setting that is off, whether nothing can be written.
#[derive(Default)]
pub(in crate::store) struct Sight {
    pub(in crate::store) epoch: Option<i64>,
    pub(in crate::store) broken: Option<&'static str>,
    pub(in crate::store) is_read_only: bool,
}

/// Looks.
pub(in crate::store) async fn look(session: &mut PgConnection) -> Result<Sight> {
    let look = "select (select epoch from writer where name = 'main'), current_setting('transaction_read_only') = 'on', \
        current_setting('fsync') = 'off', current_setting('full_page_writes') = 'off'";
    let row = sqlx::query(look).fetch_one(session).await?;
    let mut broken = None;
    for (index, setting) in DURABLE.into_iter().enumerate() {
        if row.try_get(2 + index)? {
            broken = Some(setting);
        }
    }
    Ok(Sight { epoch: row.try_get(0)?, broken, is_read_only: row.try_get(1)? })
}
