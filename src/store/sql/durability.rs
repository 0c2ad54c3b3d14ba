//! The settings of PostgreSQL without which an acknowledgement would not mean stored: checked when the store is
//! opened, and once a second while it is used.

use std::sync::Arc;

use parking_lot::Mutex;
use sqlx::postgres::PgConnection;
use sqlx::{Executor, Row};

use super::error::Result;

/// Server-wide settings that must not be off.
const DURABLE: [&str; 2] = ["fsync", "full_page_writes"];
/// Must not be off at the start; after that, sessions keep the value they began with.
const COMMITS: &str = "synchronous_commit";

/// The setting found off at last look, if any; shared between the probe and those who acknowledge.
#[derive(Clone, Debug, Default)]
pub struct Durability(Arc<Mutex<Option<&'static str>>>);

impl Durability {
    /// The setting that is off.
    #[must_use]
    pub fn broken(&self) -> Option<&'static str> {
        *self.0.lock()
    }

    pub(in crate::store) fn note(&self, broken: Option<&'static str>) {
        *self.0.lock() = broken;
    }
}

/// The problem with a setting, and the remedy.
pub(in crate::store) fn not_durable(setting: &str) -> String {
    format!("PostgreSQL runs with {setting} = off: an acknowledgement would not mean stored. Turn it on")
}

/// The first of the settings that is off for a new session, if any.
pub(in crate::store) async fn broken_at_start(session: &mut PgConnection) -> Result<Option<&'static str>> {
    for setting in DURABLE.into_iter().chain([COMMITS]) {
        let value = sqlx::query("select current_setting($1)").bind(setting).fetch_one(&mut *session).await?;
        if value.try_get::<String, _>(0)? == "off" {
            return Ok(Some(setting));
        }
    }
    Ok(None)
}

/// Whether the session is encrypted.
pub(in crate::store) async fn is_encrypted(session: &mut PgConnection) -> Result<bool> {
    let look = "select coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false)";
    sqlx::query(look).fetch_one(session).await?.try_get(0)
}

/// Fixes the session's `synchronous_commit` at its present value, or at `on` if it is off.
pub(in crate::store) async fn pin(session: &mut PgConnection) -> Result<()> {
    let pin = "select set_config('synchronous_commit', case current_setting('synchronous_commit') \
        when 'off' then 'on' else current_setting('synchronous_commit') end, false)";
    session.execute(pin).await?;
    Ok(())
}

/// The state of the store as a session sees it.
#[derive(Default)]
pub(in crate::store) struct StoreView {
    pub(in crate::store) epoch: Option<i64>,
    pub(in crate::store) broken: Option<&'static str>,
    pub(in crate::store) is_read_only: bool,
}

/// Reads the state of the store.
pub(in crate::store) async fn look(session: &mut PgConnection) -> Result<StoreView> {
    let look = "select (select epoch from writer where name = 'main'), current_setting('transaction_read_only') = 'on', \
        current_setting('fsync') = 'off', current_setting('full_page_writes') = 'off'";
    let row = sqlx::query(look).fetch_one(session).await?;
    let mut broken = None;
    for (index, setting) in DURABLE.into_iter().enumerate() {
        if row.try_get(2 + index)? {
            broken = Some(setting);
        }
    }
    Ok(StoreView { epoch: row.try_get(0)?, broken, is_read_only: row.try_get(1)? })
}
