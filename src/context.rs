//! What every request may need: store, live core, identities, clock, settings.

use std::sync::Arc;

use tokio::sync::Notify;
use waypost_actors::live::Live;
use waypost_actors::watch::Audience;

use crate::auth::{Auth, AuthError, Hasher, MasterKey};
use crate::clock::Clock;
use crate::config::{DeviceListener, Settings};
use crate::ingest::devices::{ListenerContext, LookUps};
use crate::large_bodies::LargeBodies;
use crate::locks::{IdempotencyKeys, KeyedLock, Turns};
use crate::mail::Post;
use crate::meters::Meters;
use crate::rate_limit::RateLimits;
use crate::readiness::Readiness;
use crate::report_log::ReportLog;
use crate::sessions::Sessions;
use crate::store::cache::RedisError;
use crate::store::redis_limit::RedisLimits;
use crate::store::shard::Shard;
use crate::store::sql::Db;
use crate::store::track::Track;
use crate::webhooks::{Guard, Webhooks};

/// Dry runs of geofences at the same time, each of another organization.
const DRY_RUNS_AT_ONCE: usize = 2;

/// Why the parts could not be put together.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    /// The signing keys could not be loaded or made.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The address of Redis cannot be read.
    #[error("redisUrl cannot be used")]
    Redis(#[from] RedisError),
}

/// What bounds the work of a process, over all contexts that it has; cheap to clone.
#[derive(Clone)]
pub struct Bounds {
    /// Dry runs of geofences.
    pub dry_runs: Turns,
    /// What large request bodies share.
    pub large_bodies: LargeBodies,
    /// Hashes passwords, few at a time.
    pub hasher: Arc<Hasher>,
    /// Rate limits.
    pub rate_limits: Arc<RateLimits>,
}

impl Bounds {
    /// Those that the settings say.
    pub fn of(settings: &Settings) -> Result<Self, ContextError> {
        let shared = match &settings.redis_url {
            Some(url) => Some(RedisLimits::open(url.reveal())?),
            None => None,
        };
        Ok(Self {
            dry_runs: Turns::of(DRY_RUNS_AT_ONCE),
            large_bodies: LargeBodies::default(),
            hasher: Arc::default(),
            rate_limits: Arc::new(RateLimits::new(settings, shared)),
        })
    }
}

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
    /// Makes changes to one thing reach the live core one after another.
    pub keyed_lock: KeyedLock,
    /// Mail: after putting letters into the outbox, wake it.
    pub mail: Arc<Post>,
    /// The store of live data: the log of records, for clients that missed some, and the vehicles' states.
    pub track: Arc<Track>,
    /// Wakes the deletion of what was recorded of what is deleted: after marking something, notify it.
    pub purges: Arc<Notify>,
    /// Idempotency keys of requests under way.
    pub idempotency_keys: IdempotencyKeys,
    /// Dry runs of geofences.
    pub dry_runs: Turns,
    /// What large request bodies share.
    pub large_bodies: LargeBodies,
    /// Whether the server can do its work.
    pub readiness: Readiness,
    /// Rate limits.
    pub rate_limits: Arc<RateLimits>,
    /// When trackers were heard, and what was refused of them.
    pub report_log: ReportLog,
    /// Devices that are looked up by datagrams.
    pub look_ups: LookUps,
    /// Deliveries to webhooks: after changing what they send, tell them.
    pub webhooks: Webhooks,
    /// What is counted for operators.
    pub meters: Meters,
    /// The clock.
    pub clock: Clock,
    /// The settings.
    pub settings: Arc<Settings>,
}

impl Context {
    /// Whether an audience is served here alone. On a node of a cluster that is one of the organizations of this context's shard:
    /// who watches everything watches every node.
    #[must_use]
    pub fn serves(&self, audience: Audience) -> bool {
        match audience {
            Audience::Organization(organization) => self.db.shard().holds(organization),
            Audience::Everyone => self.db.shard() == Shard::WHOLE,
        }
    }

    /// What the connections of a listener for devices share.
    #[must_use]
    pub fn device_listener(&self, listener: DeviceListener) -> ListenerContext {
        ListenerContext {
            auth: self.auth.clone(),
            live: self.live.clone(),
            sessions: self.sessions.clone(),
            report_log: self.report_log.clone(),
            look_ups: self.look_ups.clone(),
            listener,
        }
    }

    /// Builds the context; creates the signing key at the first start.
    pub async fn start(
        db: Db,
        live: Live,
        track: Arc<Track>,
        clock: Clock,
        settings: Settings,
        mail: Post,
        (readiness, meters, bounds): (Readiness, Meters, Bounds),
    ) -> Result<Self, ContextError> {
        let Bounds { dry_runs, large_bodies, hasher, rate_limits } = bounds;
        let (mail, sessions, keyed_lock) = (Arc::new(mail), Sessions::default(), KeyedLock::default());
        let auth = Auth::start(db.clone(), clock.clone(), sessions.clone(), hasher, &settings).await?;
        let auth = Arc::new(auth);
        let guard = Guard::new(settings.webhook_networks.clone());
        let webhooks = Webhooks::new(
            guard,
            MasterKey::of(&settings).map_err(AuthError::from)?,
            Arc::clone(&meters.webhooks),
        );
        let (idempotency_keys, settings) = (IdempotencyKeys::default(), Arc::new(settings));
        Ok(Self {
            db,
            live,
            auth,
            sessions,
            keyed_lock,
            mail,
            track,
            purges: Arc::default(),
            idempotency_keys,
            dry_runs,
            large_bodies,
            readiness,
            rate_limits,
            report_log: ReportLog::new(meters.inputs.clone()),
            look_ups: LookUps::default(),
            webhooks,
            meters,
            clock,
            settings,
        })
    }
}
