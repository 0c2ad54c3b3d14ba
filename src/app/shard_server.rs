//! What serves the organizations of one track writer, from taking over to the end: the live core, the context of requests, the
//! deliveries and the recurring work. A single server has one, of every organization; a node of a cluster has one for each shard.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::task::JoinHandle;
use actix_rt::{Arbiter, ArbiterHandle};
use futures_util::future::OptionFuture;
use tokio::time::timeout;
use waypost_actors::live::{Live, LiveConfig, LiveParts, LiveThreads};
use waypost_actors::model::OrganizationId;
use waypost_actors::ports::{LiveCache, TrackStore};

use super::deliveries::Deliveries;
use super::error::StartError;
use super::inputs::missing_organizations;
use super::upkeep::{
    keep_key_uses, keep_keys, keep_log_small, keep_numbering, keep_partitions, keep_reports, keep_retention,
    keep_up,
};
use crate::auth::FirstStart;
use crate::clock::Clock;
use crate::config::Settings;
use crate::context::{Bounds, Context};
use crate::mail::{Post, Transport};
use crate::meters::Meters;
use crate::ops::tracker_reports::save;
use crate::readiness::Readiness;
use crate::store::cache::RedisCache;
use crate::store::open::for_writer;
use crate::store::shard::Shard;
use crate::store::sql::{Db, Durability, Writer};
use crate::store::track::{GroupCommit, Track};

/// How long it waits for commits that are on their way, and for mail that is being sent.
const FINISH_WITHIN: Duration = Duration::from_secs(2);
/// How long it waits for states known only through the fix log to be stored. The next start replays what is left.
const SAVE_WITHIN: Duration = Duration::from_millis(700);
/// How long it waits for the writer's connection to close.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);
/// A live core that failed to start has nothing to finish, so it stops within this time.
const STOP_WITHIN: Duration = Duration::from_secs(1);

/// How long a step of a shard's start may take.
const STEP_WITHIN: Duration = Duration::from_secs(120);

/// What wraps the store of live data before the live core uses it.
pub(super) type WrapStore = dyn Fn(Arc<Track>) -> Arc<dyn TrackStore>;

/// What all shards of a process share.
pub(super) struct Parts {
    pub(super) settings: Settings,
    pub(super) clock: Clock,
    pub(super) mail: Option<Transport>,
    pub(super) readiness: Readiness,
    pub(super) meters: Meters,
    pub(super) bounds: Bounds,
    pub(super) store: Box<WrapStore>,
    /// The threads of live cores.
    pub(super) threads: LiveThreads,
    /// The thread of what is sent by itself.
    pub(super) deliveries: Arbiter,
}

/// The answer to one step of a start, unless it takes too long.
async fn within<T, E>(limit: Duration, step: impl Future<Output = Result<T, E>>) -> Result<T, StartError>
where
    StartError: From<E>,
{
    Ok(timeout(limit, step).await.map_err(|_| StartError::TookTooLong)??)
}

/// The store as all shards of a process use it.
#[derive(Clone)]
pub(super) struct Store {
    pub(super) db: Db,
    pub(super) durability: Durability,
    /// What several shards commit through.
    pub(super) group: Option<GroupCommit>,
}

impl Store {
    /// Closes its connections, but for those of shards' writers.
    pub(super) async fn close(&self) {
        let group = OptionFuture::from(self.group.as_ref().map(GroupCommit::close));
        tokio::join!(self.db.close(), group);
    }
}

/// What serves the organizations of one track writer.
pub(super) struct ShardServer {
    pub(super) context: Context,
    /// The outcome of the first start, where what is of no organization is served.
    pub(super) first_start: Option<FirstStart>,
    /// Organizations that the settings name and that are not served here.
    pub(super) missing: Vec<OrganizationId>,
    writer: Writer,
    delivery_thread: ArbiterHandle,
    running: Option<Running>,
}

/// What runs beside requests.
struct Running {
    upkeep: Vec<JoinHandle<()>>,
    deliveries: Deliveries,
    post: JoinHandle<()>,
}

impl ShardServer {
    /// Takes over a shard's live tables and starts its live core; nothing recurs yet.
    pub(super) async fn open(
        parts: &Parts,
        Store { db, durability, group }: &Store,
        shard: Shard,
    ) -> Result<Self, StartError> {
        let writer = for_writer(db, &parts.settings.store())?;
        // A single server's start is waited for, however long it takes; a shard's may be tried again.
        let limit = group.as_ref().map_or(Duration::MAX, |_| STEP_WITHIN);
        let track = within(limit, Track::take_over_shard(db.clone(), writer.clone(), shard)).await?;
        let track = track.with_clock(parts.clock.clone()).with_durability(durability.clone());
        let track = match group {
            Some(group) => track.in_group(group.clone()),
            None => Arc::new(track),
        };
        let live = LiveParts {
            config: live_config(&parts.settings),
            store: (parts.store)(Arc::clone(&track)),
            cache: cache(&parts.settings, &track)?,
            clock: parts.clock.shared(),
            meters: parts.meters.live.clone(),
            threads: parts.threads.clone(),
        };
        let live = within(limit, Live::start(live)).await?;
        match within(limit, share(parts, &live, track)).await {
            Ok((context, first_start, missing)) => Ok(Self {
                context,
                first_start,
                missing,
                writer,
                delivery_thread: parts.deliveries.handle(),
                running: None,
            }),
            Err(error) => {
                live.stop_within(STOP_WITHIN).await;
                Err(error)
            }
        }
    }

    /// Begins with what recurs and what is sent by itself.
    pub(super) fn run(&mut self) {
        let context = &self.context;
        let mut upkeep = vec![
            keep_up("retention", keep_retention, context),
            keep_up("keys", keep_keys, context),
            keep_up("uses of keys", keep_key_uses, context),
            keep_up("size of the log", keep_log_small, context),
            keep_up("reports", keep_reports, context),
        ];
        if context.db.shard() != Shard::WHOLE {
            upkeep.push(keep_up("numbering", keep_numbering, context));
        }
        // One writes the letters to a recipient, or two would not count each other's.
        let sends = context.db.shard().holds_platform();
        if sends {
            upkeep.push(keep_up("partitions", keep_partitions, context));
        }
        let post = Arc::clone(&context.mail);
        let post = actix_rt::spawn(async move {
            if sends {
                post.run().await;
            }
        });
        let deliveries = Deliveries::start(&self.delivery_thread, context.clone(), self.missing.clone());
        self.running = Some(Running { upkeep, deliveries, post });
    }

    /// Ends once nobody asks it any more: commits and acknowledges what is on its way and stores what it knows, in some seconds,
    /// even if the store hangs.
    pub(super) async fn end(self) {
        let context = &self.context;
        context.mail.stop();
        let (post, deliveries) = match self.running {
            Some(Running { upkeep, deliveries, post }) => {
                upkeep.iter().for_each(JoinHandle::abort);
                (Some(post), Some(deliveries))
            }
            None => (None, None),
        };
        let posted = async {
            match post {
                Some(post) => timeout(FINISH_WITHIN, post).await.is_ok(),
                None => true,
            }
        };
        let delivered = async {
            match deliveries {
                Some(deliveries) => deliveries.end(FINISH_WITHIN).await,
                None => true,
            }
        };
        let (is_posted, all_told, uses, is_delivered) = tokio::join!(
            posted,
            context.live.stop_within(FINISH_WITHIN),
            timeout(FINISH_WITHIN, context.auth.store_key_uses()),
            delivered
        );
        if !matches!(uses, Ok(Ok(()))) {
            tracing::info!("when keys were last used is not stored for the last minute");
        }
        if !is_delivered {
            tracing::info!(
                "how far webhooks got is not stored for the last second; the next start delivers that again"
            );
        }
        if !is_posted {
            // A delivery under way may still end; the rest goes out after the next start.
            tracing::warn!("a mail is still under way; it will be tried again after the next start");
        }
        if !all_told {
            tracing::warn!("the store is stuck: what was on its way is not acknowledged, and comes again");
        } else if !matches!(timeout(SAVE_WITHIN, context.track.save_states()).await, Ok(Ok(()))) {
            tracing::info!("not all states are stored; the next start finds them in the fix log");
        }
        if !matches!(timeout(SAVE_WITHIN, save(context, true)).await, Ok(Ok(()))) {
            tracing::info!("the newest contacts of trackers are not stored");
        }
        if timeout(CLOSE_WITHIN, self.writer.close()).await.is_err() {
            tracing::warn!("the writer's connection to the store could not be closed in time");
        }
    }
}

/// Builds the context of requests.
async fn share(
    parts: &Parts,
    live: &Live,
    track: Arc<Track>,
) -> Result<(Context, Option<FirstStart>, Vec<OrganizationId>), StartError> {
    let (db, clock, settings) = (track.db().clone(), parts.clock.clone(), parts.settings.clone());
    let mail = Post::new(db.clone(), clock.clone(), &settings, parts.mail.clone())?;
    let holds_platform = db.shard().holds_platform();
    let shared = (parts.readiness.clone(), parts.meters.clone(), parts.bounds.clone());
    let context = Context::start(db, live.clone(), track, clock, settings, mail, shared).await?;
    let missing = missing_organizations(&context).await?;
    let first_start = match holds_platform {
        true => Some(context.auth.first_start(&context.settings).await?),
        false => None,
    };
    Ok((context, first_start, missing))
}

fn live_config(settings: &Settings) -> LiveConfig {
    LiveConfig {
        batch_window: settings.batch_interval,
        commit_timeout: settings.commit_timeout,
        ..LiveConfig::default()
    }
}

fn cache(settings: &Settings, track: &Track) -> Result<Option<Arc<dyn LiveCache>>, StartError> {
    let Some(url) = &settings.redis_url else { return Ok(None) };
    Ok(Some(Arc::new(RedisCache::open(url.reveal(), track.db().shard(), track.epoch())?)))
}
