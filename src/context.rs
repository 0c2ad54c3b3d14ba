//! What every request may need: the store, the live core, who is who, the clock, the settings.

use std::sync::Arc;

use waypost_actors::live::Live;
use waypost_actors::ports::EventLog;

use crate::auth::{Auth, AuthError};
use crate::clock::Clock;
use crate::config::Settings;
use crate::mail::Post;
use crate::sessions::Sessions;
use crate::store::sql::Db;
use crate::turns::Turns;

/// Shared by all requests; cheap to clone.
#[derive(Clone)]
pub struct Context {
    /// The store.
    pub db: Db,
    /// The live core.
    pub live: Live,
    /// Credentials, sessions, permissions.
    pub auth: Arc<Auth>,
    /// Open sockets.
    pub sessions: Sessions,
    /// Changes of one thing reach the live core one after another.
    pub turns: Turns,
    /// Mail: put letters into the outbox, then wake it.
    pub mail: Arc<Post>,
    /// The log of events, for those who missed some.
    pub events: Arc<dyn EventLog>,
    /// The time.
    pub clock: Clock,
    /// The settings.
    pub settings: Arc<Settings>,
}

impl Context {
    /// Puts the parts together; makes the signing key at the first start.
    pub async fn start(
        db: Db,
        live: Live,
        events: Arc<dyn EventLog>,
        clock: Clock,
        settings: Settings,
        mail: Post,
    ) -> Result<Self, AuthError> {
        let (mail, sessions, turns) = (Arc::new(mail), Sessions::default(), Turns::default());
        let auth = Arc::new(Auth::start(db.clone(), clock.clone(), sessions.clone()).await?);
        Ok(Self { db, live, auth, sessions, turns, mail, events, clock, settings: Arc::new(settings) })
    }

    /// Why the server cannot do its work now, if it cannot.
    pub async fn readiness(&self) -> Result<(), &'static str> {
        if !self.live.is_available() {
            return Err("fixes cannot be stored now");
        }
        let answered: Result<i64, _> = self.db.read().sql("select count(*) from writer").scalar().await;
        answered.map(drop).map_err(|_| "the database does not answer")
    }
}
