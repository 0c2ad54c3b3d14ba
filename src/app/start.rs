//! From settings to working parts: the store, its lock, the live core, the context of requests. A start waits for a
//! store that is away; any other error ends it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use waypost_actors::live::{Live, LiveConfig, LiveParts};
use waypost_actors::model::OrganizationId;
use waypost_actors::ports::{LiveCache, TrackStore};

use super::error::StartError;
use super::inputs::missing_organizations;
use super::upkeep::renew_partitions;
use crate::auth::FirstStart;
use crate::clock::Clock;
use crate::config::Settings;
use crate::context::Context;
use crate::mail::{Post, Transport};
use crate::readiness::Readiness;
use crate::store::cache::RedisCache;
use crate::store::lock::{self, ServerLock};
use crate::store::open::{for_writer, open_and_migrate};
use crate::store::probe::Probe;
use crate::store::sql::{Db, Writer};
use crate::store::track::Track;

/// The first pause after a failed attempt; each is twice the previous one, up to a second.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Attempts between two log lines.
const LOG_EVERY: u32 = 60;
/// A live core that failed to start has nothing to finish, so it stops within this time.
const STOP_WITHIN: Duration = Duration::from_secs(1);

/// The parts of a server that has started.
pub(super) struct Started {
    pub(super) context: Context,
    pub(super) first_start: FirstStart,
    /// Organizations that the settings name and that do not exist.
    pub(super) missing: Vec<OrganizationId>,
    /// The track writer's own connection.
    pub(super) writer: Writer,
    pub(super) probe: Probe,
    pub(super) lock: ServerLock,
}

/// The inputs of a start.
pub(super) struct Start {
    pub(super) settings: Settings,
    pub(super) clock: Clock,
    pub(super) mail: Option<Transport>,
    pub(super) readiness: Readiness,
    /// Wraps the store of live data before the live core uses it.
    pub(super) store: Box<dyn Fn(Arc<Track>) -> Arc<dyn TrackStore>>,
}

impl Start {
    /// Tries until the store is there.
    pub(super) async fn run(self) -> Result<Started, StartError> {
        let (mut pause, mut attempts) = (FIRST_PAUSE, 0_u32);
        loop {
            let error = match self.attempt().await {
                Ok(started) => return Ok(started),
                Err(error) if error.is_passing() => anyhow::Error::from(error),
                Err(error) => return Err(error),
            };
            let why = format!("{error:#}");
            if attempts % LOG_EVERY == 0 {
                tracing::warn!(why, "the server cannot start yet; it tries again every second");
            }
            attempts += 1;
            self.readiness.starting(why);
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn attempt(&self) -> Result<Started, StartError> {
        let options = self.settings.store();
        let lock = lock::acquire(&options.location, || {
            tracing::warn!("another server has this store; waiting until it is gone");
            self.readiness.starting("another server has this store; this one waits until it is gone");
        })
        .await?;
        self.readiness.starting("the server starts");
        let db = open_and_migrate(&options).await?;
        renew_partitions(&db, &self.clock).await;
        let writer = for_writer(&db, &options)?;
        let track =
            Arc::new(Track::take_over(db.clone(), writer.clone()).await?.with_clock(self.clock.clone()));
        // From here on nothing is committed once another server has taken over.
        let db = db.of_epoch(track.epoch());
        let probe = Probe::new(&options, &db, track.epoch(), track.durability())?;
        let live = LiveParts {
            config: live_config(&self.settings),
            store: (self.store)(Arc::clone(&track)),
            cache: cache(&self.settings)?,
            clock: self.clock.shared(),
        };
        let live = Live::start(live).await?;
        match self.share(&db, &live, track).await {
            Ok((context, first_start, missing)) => {
                Ok(Started { context, first_start, missing, writer, probe, lock })
            }
            Err(error) => {
                live.stop_within(STOP_WITHIN).await;
                Err(error)
            }
        }
    }

    /// Builds the context of requests.
    async fn share(
        &self,
        db: &Db,
        live: &Live,
        track: Arc<Track>,
    ) -> Result<(Context, FirstStart, Vec<OrganizationId>), StartError> {
        let (clock, settings) = (self.clock.clone(), self.settings.clone());
        let mail = Post::new(db.clone(), clock.clone(), &settings, self.mail.clone())?;
        let readiness = self.readiness.clone();
        let context =
            Context::start(db.clone(), live.clone(), track, clock, settings, mail, readiness).await?;
        let missing = missing_organizations(&context).await?;
        let first_start = context.auth.first_start(&context.settings).await?;
        Ok((context, first_start, missing))
    }
}

fn live_config(settings: &Settings) -> LiveConfig {
    LiveConfig {
        batch_window: settings.batch_interval,
        commit_timeout: settings.commit_timeout,
        ..LiveConfig::default()
    }
}

fn cache(settings: &Settings) -> Result<Option<Arc<dyn LiveCache>>, StartError> {
    let Some(url) = &settings.redis_url else { return Ok(None) };
    Ok(Some(Arc::new(RedisCache::open(url.reveal())?)))
}
