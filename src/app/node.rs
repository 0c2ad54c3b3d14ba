//! A node of a cluster: a server that serves some shards of a database and hands requests for the others on to their owners.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::Arbiter;
use actix_web::dev::Server;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use waypost_actors::live::{LiveThreads, WatchdogConfig};

use super::devices;
use super::ending::{CLOSE_WITHIN, Ended, SOCKETS_WITHIN, Serving};
use super::error::StartError;
use super::listeners::{Admin, RetryListener, serve_cluster};
use super::ownership::{JOIN_EVERY, Ownership, join};
use super::shard_server::{Parts, Store};
use super::tune::bind;
use crate::clock::Clock;
use crate::cluster::router::RouterParts;
use crate::cluster::shards::Shards;
use crate::cluster::whose::Finder;
use crate::config::Settings;
use crate::context::Bounds;
use crate::meters::Meters;
use crate::readiness::Readiness;
use crate::store::claim_session::ClaimSession;
use crate::store::open::{Location, for_writer};
use crate::store::probe::Probe;
use crate::store::sql::Durability;
use crate::store::track::GroupCommit;
use crate::telemetry::Metrics;

/// How long a node that stops waits for its shards to be stored and given back, and for the others to know it.
const GIVE_BACK_WITHIN: Duration = Duration::from_secs(6);

/// A node that is ready to run.
pub struct Node {
    /// Where it listens.
    pub address: SocketAddr,
    /// Where other nodes hand requests on to it.
    pub node_address: SocketAddr,
    /// Where operators connect; `None` if that is off or its port is taken.
    pub admin_address: Option<SocketAddr>,
    /// Where the shards are.
    pub shards: Shards,
    parts: Rc<Parts>,
    url: String,
    session: ClaimSession,
    store: Store,
    probe: Probe,
    server: Server,
    sockets: TaskTracker,
    /// Ends what is handed on.
    stopping: CancellationToken,
    admin: Option<Admin>,
}

impl Node {
    /// Listens first, then joins the nodes of its database, and waits for as long as a single server has it.
    pub async fn build(mut settings: Settings, clock: Clock) -> Result<Self, StartError> {
        let (Some(wanted), Location::Postgres(url)) = (settings.node_listen, settings.store().location)
        else {
            return Err(StartError::NoCluster);
        };
        let (listener, address) = bind(settings.listen)?;
        let (nodes, node_address) = bind(wanted)?;
        let devices = devices::bind(&settings.device_listeners)?;
        settings.listen = address;
        settings.node_listen = Some(node_address);
        let (readiness, meters, bounds) = (Readiness::default(), Meters::default(), Bounds::of(&settings)?);
        let metrics = Arc::new(Metrics::new(readiness.clone(), meters.clone()));
        let admin = Admin::start(settings.admin_listen, address, &metrics)?;
        let room = RetryListener::open(&listener, readiness.clone())?;
        let threads = LiveThreads::start(1, WatchdogConfig::default(), &meters.live);
        let parts = Rc::new(Parts {
            settings,
            clock,
            mail: None,
            readiness: readiness.clone(),
            meters,
            bounds,
            store: Box::new(|track| track),
            threads,
            deliveries: Arbiter::new(),
        });
        let (shards, sockets) = (Shards::default(), TaskTracker::new());
        let joined = parts.patiently(|| joined(&parts, (&url, node_address), &shards)).await;
        room.close().await;
        let (session, store, probe) = match joined {
            Ok(joined) => joined,
            Err(error) => {
                if let Some(admin) = admin {
                    admin.stop().await;
                }
                return Err(error);
            }
        };
        metrics.cluster(shards.clone());
        let stopping = CancellationToken::new();
        let router = RouterParts {
            shards: shards.clone(),
            finder: Arc::new(Finder::new(store.db.clone())),
            readiness: readiness.clone(),
            node: node_address,
            stopping: stopping.clone(),
            settings: Arc::new(parts.settings.clone()),
        };
        let server = serve_cluster((listener, nodes, devices), &parts.settings, &router, &sockets)?;
        readiness.serving();
        let admin_address = admin.as_ref().map(|admin| admin.address);
        Ok(Self {
            address,
            node_address,
            admin_address,
            shards,
            parts,
            url,
            session,
            store,
            probe,
            server,
            sockets,
            stopping,
            admin,
        })
    }

    /// Serves until `asked` completes or a live core cannot go on. Then gives its shards back while it still hands requests on and
    /// says that it is not ready, ends its sockets and closes the store.
    pub async fn run(self, asked: impl Future<Output = ()>) -> Result<Ended, StartError> {
        let (handle, serving) = (self.server.handle(), Serving::default());
        let (sockets, readiness) = (self.sockets, self.parts.readiness.clone());
        let ownership = Ownership::new(
            Rc::clone(&self.parts),
            (self.url, self.node_address),
            (self.session, self.store.clone()),
            self.shards,
            sockets.clone(),
        );
        let looking = actix_rt::spawn(readiness.clone().keep_looking(self.probe));
        let (drain, draining) = watch::channel(false);
        let mut owning = actix_rt::spawn(ownership.run(draining));
        let stop = async {
            let mut session = None;
            let ended = tokio::select! {
                () = asked => Ended::Asked,
                owned = &mut owning => {
                    let why = owned.ok().and_then(|(_, why)| why).unwrap_or_else(|| "its shards are no longer looked after".to_owned());
                    tracing::error!(why, "the server cannot go on");
                    Ended::Broken
                }
            };
            tracing::info!(?ended, "stopping");
            readiness.stopping();
            if ended == Ended::Asked {
                drain.send_replace(true);
                match timeout(GIVE_BACK_WITHIN, &mut owning).await {
                    Ok(owned) => session = owned.ok().and_then(|(session, _)| session),
                    Err(_) => {
                        tracing::warn!(
                            "not every shard is stored and given back; others take them as they are"
                        );
                    }
                }
            }
            handle.pause().await;
            self.stopping.cancel();
            sockets.close();
            if timeout(SOCKETS_WITHIN, sockets.wait()).await.is_err() {
                tracing::debug!(open = sockets.len(), "sockets that do not end are cut");
            }
            serving.stop(&handle).await;
            drop(session);
            ended
        };
        let (ended, served) = tokio::join!(stop, serving.run(self.server));
        served.map_err(StartError::Run)?;
        looking.abort();
        if timeout(CLOSE_WITHIN, self.store.close()).await.is_err() {
            tracing::warn!("connections to the store could not be closed in time");
        }
        self.parts.deliveries.stop();
        if let Some(admin) = self.admin {
            admin.stop().await;
        }
        Ok(ended)
    }
}

async fn joined(
    parts: &Parts,
    node: (&str, SocketAddr),
    shards: &Shards,
) -> Result<(ClaimSession, Store, Probe), StartError> {
    loop {
        if let Some((session, db)) = join(parts, node, shards, None).await? {
            let durability = Durability::default();
            let probe = Probe::new(&parts.settings.store(), &db, None, durability.clone())?;
            // What a shard gathers waits half as long again, at most.
            let window = parts.settings.batch_interval / 2;
            let group = GroupCommit::new(for_writer(&db, &parts.settings.store())?, window);
            return Ok((session, Store { db, durability, group: Some(group) }, probe));
        }
        parts.readiness.starting("a single server has this store, or another node prepares it for a cluster");
        sleep(JOIN_EVERY).await;
    }
}
