//! The composition root: puts the parts together, starts and stops them in order. Only the program (`cli/`) imports it.

mod deliveries;
mod devices;
mod ending;
mod error;
mod inputs;
mod listeners;
mod node;
mod ownership;
mod rest;
mod shard_server;
mod start;
mod tune;
mod upkeep;

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;

use actix_rt::Arbiter;
use actix_web::dev::{Server, ServerHandle};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use waypost_actors::live::{LiveThreads, WatchdogConfig};
use waypost_actors::ports::TrackStore;

pub use self::ending::Ended;
use self::ending::{CLOSE_WITHIN, SOCKETS_WITHIN, Serving};
pub use self::error::StartError;
use self::listeners::{Admin, RetryListener, serve};
pub use self::node::Node;
use self::shard_server::{Parts, ShardServer};
use self::start::Started;
use self::tune::bind;
use crate::auth::FirstStart;
use crate::clock::Clock;
use crate::config::Settings;
use crate::context::{Bounds, Context};
use crate::mail::Transport;
use crate::meters::Meters;
use crate::readiness::Readiness;
use crate::store::lock::ServerLock;
use crate::store::probe::Probe;
use crate::store::track::Track;
use crate::telemetry::Metrics;

/// A server that is ready to run.
pub struct Application {
    /// What requests share.
    pub context: Context,
    /// The outcome of the first start, or the setup link.
    pub first_start: FirstStart,
    /// Where it listens.
    pub address: SocketAddr,
    /// Where operators connect; `None` if that is off or its port is taken.
    pub admin_address: Option<SocketAddr>,
    /// Where devices connect, in the order of the settings.
    pub device_addresses: Vec<SocketAddr>,
    server: Server,
    /// The tasks of open sockets, which have left the HTTP server.
    sockets: TaskTracker,
    admin: Option<Admin>,
    organizations: ShardServer,
    deliveries: Arbiter,
    probe: Probe,
    lock: ServerLock,
}

impl Application {
    /// Listens first, so that an address in use is reported before anything is touched; then waits for the
    /// store and its lock, opens it, starts the live core and builds the server. Requests that arrive meanwhile are
    /// answered with a request to retry.
    pub async fn build(settings: Settings, clock: Clock) -> Result<Self, StartError> {
        Self::build_on(settings, clock, None, |track| track).await
    }

    /// As [`Application::build`], with a mail transport that overrides the settings'; the live core runs on what `store`
    /// makes of the store of live data.
    pub async fn build_on(
        mut settings: Settings,
        clock: Clock,
        mail: Option<Transport>,
        store: impl Fn(Arc<Track>) -> Arc<dyn TrackStore> + 'static,
    ) -> Result<Self, StartError> {
        let wanted = settings.listen;
        let (listener, address) = bind(wanted)?;
        settings.listen = address;

        let devices = devices::bind(&settings.device_listeners)?;

        let (readiness, meters, bounds) = (Readiness::default(), Meters::default(), Bounds::of(&settings)?);
        let metrics = Arc::new(Metrics::new(readiness.clone(), meters.clone()));
        let admin = Admin::start(settings.admin_listen, wanted, &metrics)?;
        let room = RetryListener::open(&listener, readiness.clone())?;
        let threads = LiveThreads::start(1, WatchdogConfig::default(), &meters.live);
        let parts = Parts {
            settings,
            clock,
            mail,
            readiness: readiness.clone(),
            meters,
            bounds,
            store: Box::new(store),
            threads,
            deliveries: Arbiter::new(),
        };
        let started = parts.start().await;
        room.close().await;
        let Started { server: organizations, probe, lock } = match started {
            Ok(started) => started,
            Err(error) => {
                if let Some(admin) = admin {
                    admin.stop().await;
                }
                return Err(error);
            }
        };
        let (context, missing) = (&organizations.context, &organizations.missing);
        let sockets = TaskTracker::new();
        let devices: Vec<_> =
            devices.into_iter().filter(|it| !missing.contains(&it.organization())).collect();
        let device_addresses = devices.iter().map(devices::Bound::address).collect();
        let server = serve(listener, devices, context, &sockets)?;
        inputs::subscribe(context, missing, &sockets)?;
        metrics.serving(context.live.clone(), context.sessions.clone());
        readiness.serving();
        let admin_address = admin.as_ref().map(|admin| admin.address);
        Ok(Self {
            context: context.clone(),
            first_start: organizations.first_start.clone().unwrap_or(FirstStart::SetUp),
            address,
            admin_address,
            device_addresses,
            organizations,
            deliveries: parts.deliveries,
            server,
            sockets,
            admin,
            probe,
            lock,
        })
    }

    /// A handle to stop the server from elsewhere.
    #[must_use]
    pub fn handle(&self) -> ServerHandle {
        self.server.handle()
    }

    /// Serves until `asked` completes, another server takes over, or this one cannot go on. Then ends the sockets,
    /// commits and acknowledges what is on its way, and closes the store: within ten seconds, even if the store hangs.
    pub async fn run(mut self, asked: impl Future<Output = ()>) -> Result<Ended, StartError> {
        let (handle, serving) = (self.server.handle(), Serving::default());
        let Context { live, mail, readiness, .. } = self.context.clone();
        self.organizations.run();
        let mut looking = actix_rt::spawn(readiness.clone().keep_looking(self.probe));
        let stop = async {
            let ended = tokio::select! {
                () = asked => Ended::Asked,
                () = live.taken_over() => Ended::TakenOver,
                _ = &mut looking => Ended::TakenOver,
                never = self.lock.keep() => match never {},
                why = live.broken() => {
                    tracing::error!(why, "the server cannot go on");
                    Ended::Broken
                }
            };
            tracing::info!(?ended, "stopping");
            readiness.stopping();
            mail.stop();
            // A client that retries should reach the next server, not this one.
            handle.pause().await;
            self.context.sessions.end_all();
            self.sockets.close();
            // Before the threads that serve the sockets stop.
            if timeout(SOCKETS_WITHIN, self.sockets.wait()).await.is_err() {
                tracing::warn!(open = self.sockets.len(), "sockets that do not end are cut");
            }
            serving.stop(&handle).await;
            ended
        };
        let (ended, served) = tokio::join!(stop, serving.run(self.server));
        served.map_err(StartError::Run)?;
        looking.abort();
        self.organizations.end().await;
        if timeout(CLOSE_WITHIN, self.context.db.close()).await.is_err() {
            tracing::warn!("connections to the store could not be closed in time");
        }
        self.deliveries.stop();
        if let Some(admin) = self.admin {
            admin.stop().await;
        }
        Ok(ended)
    }
}

/// Completes when the process gets SIGTERM or SIGINT.
pub async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let wait = |kind| async move {
        match signal(kind) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(error) => {
                tracing::warn!(%error, "signals cannot be heard");
                pending().await
            }
        }
    };
    tokio::select! {
        () = wait(SignalKind::terminate()) => {}
        () = wait(SignalKind::interrupt()) => {}
    }
}
