//! The composition root: puts the parts together, starts and stops them in order. Only the program (`cli/`) imports it.

mod deliveries;
mod devices;
mod error;
mod inputs;
mod listeners;
mod start;
mod tune;
mod upkeep;

use std::future::pending;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_rt::task::JoinHandle;
use actix_web::dev::{Server, ServerHandle};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use waypost_actors::model::OrganizationId;
use waypost_actors::ports::TrackStore;

use self::deliveries::Deliveries;
pub use self::error::StartError;
use self::listeners::{Admin, RetryListener, serve};
use self::start::{Start, Started};
use self::tune::tune;
use self::upkeep::{keep_key_uses, keep_keys, keep_log_small, keep_partitions, keep_reports, keep_retention};
use crate::auth::FirstStart;
use crate::clock::Clock;
use crate::config::Settings;
use crate::context::Context;
use crate::mail::Transport;
use crate::ops::tracker_reports::save;
use crate::readiness::Readiness;
use crate::store::lock::ServerLock;
use crate::store::probe::Probe;
use crate::store::sql::Writer;
use crate::store::track::Track;
use crate::telemetry::{Metrics, Serving};

/// How long a stopping server waits for its sockets to end. Together with the seconds for requests, for commits and
/// for the store, it stops in less than ten seconds, however stuck the store is.
const SOCKETS_WITHIN: Duration = Duration::from_secs(4);
/// How long it waits for commits that are on their way, and for mail that is being sent.
const FINISH_WITHIN: Duration = Duration::from_secs(2);
/// How long it waits for states known only through the fix log to be stored. The next start replays what is left.
const SAVE_WITHIN: Duration = Duration::from_millis(700);
/// How long it waits for connections to the store to close.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);
/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By request.
    Asked,
    /// Another server has taken over its store, or the store was put back to an earlier state.
    TakenOver,
    /// The server cannot go on, as the log explains; it should be started again.
    Broken,
}

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
    /// Organizations that the settings name and that do not exist.
    missing: Vec<OrganizationId>,
    writer: Writer,
    probe: Probe,
    lock: ServerLock,
}

impl Application {
    /// Listens first, so that an address in use is reported before anything is touched; then waits for the
    /// store and its lock, opens it, starts the live core and builds the server. Requests that arrive meanwhile are
    /// answered with a request to retry.
    pub async fn build(settings: Settings, clock: Clock) -> Result<Self, StartError> {
        Self::build_with(settings, clock, None).await
    }

    /// As [`Application::build`], with a mail transport that overrides the settings'.
    pub async fn build_with(
        settings: Settings,
        clock: Clock,
        mail: Option<Transport>,
    ) -> Result<Self, StartError> {
        Self::build_on(settings, clock, mail, |track| track).await
    }

    /// As [`Application::build_with`]; the live core runs on what `store` makes of the store of live data.
    pub async fn build_on(
        mut settings: Settings,
        clock: Clock,
        mail: Option<Transport>,
        store: impl Fn(Arc<Track>) -> Arc<dyn TrackStore> + 'static,
    ) -> Result<Self, StartError> {
        let wanted = settings.listen;
        let told = |error| StartError::Listen(wanted, error);
        let listener = TcpListener::bind(wanted).map_err(told)?;
        tune(&listener);
        let address = listener.local_addr().map_err(told)?;
        settings.listen = address;

        let devices = devices::bind(&settings.device_listeners)?;

        let readiness = Readiness::default();
        let metrics = Arc::new(Metrics::new(readiness.clone()));
        let admin = Admin::start(settings.admin_listen, wanted, &metrics)?;
        let room = RetryListener::open(&listener, readiness.clone())?;
        let workers = settings.workers;
        let started = {
            let (readiness, store) = (readiness.clone(), Box::new(store));
            Start { settings, clock, mail, readiness, store }.run().await
        };
        room.close().await;
        let Started { context, first_start, missing, writer, probe, lock } = match started {
            Ok(started) => started,
            Err(error) => {
                if let Some(admin) = admin {
                    admin.stop().await;
                }
                return Err(error);
            }
        };
        let sockets = TaskTracker::new();
        let devices: Vec<_> =
            devices.into_iter().filter(|it| !missing.contains(&it.organization())).collect();
        let device_addresses = devices.iter().map(devices::Bound::address).collect();
        let server = serve(listener, devices, workers, &context, &sockets)?;
        inputs::subscribe(&context, &missing, &sockets)?;
        metrics.serving(Serving {
            live: context.live.clone(),
            sessions: context.sessions.clone(),
            reports: context.report_log.clone(),
            webhooks: context.webhooks.meters.clone(),
            mqtt_out: context.mqtt_out.clone(),
        });
        readiness.serving();
        let admin_address = admin.as_ref().map(|admin| admin.address);
        Ok(Self {
            context,
            first_start,
            address,
            admin_address,
            device_addresses,
            server,
            sockets,
            admin,
            missing,
            writer,
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
        let handle = self.server.handle();
        let Context { live, mail, readiness, .. } = self.context.clone();
        let upkeep = keep_up(&self.context);
        let mut deliveries = Deliveries::start(self.context.clone(), self.missing);
        let mut looking = actix_rt::spawn(readiness.clone().keep_looking(self.probe));
        let post = Arc::clone(&mail);
        let post = actix_rt::spawn(async move { post.run().await });
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
            handle.stop(true).await;
            ended
        };
        let (ended, served) = tokio::join!(stop, self.server);
        served.map_err(StartError::Run)?;
        for task in upkeep {
            task.abort();
        }
        looking.abort();
        let (post, all_told, uses, delivered) = tokio::join!(
            timeout(FINISH_WITHIN, post),
            live.stop_within(FINISH_WITHIN),
            timeout(FINISH_WITHIN, self.context.auth.store_key_uses()),
            deliveries.end(FINISH_WITHIN)
        );
        if !matches!(uses, Ok(Ok(()))) {
            tracing::info!("when keys were last used is not stored for the last minute");
        }
        if !delivered {
            tracing::info!(
                "how far webhooks got is not stored for the last second; the next start delivers that again"
            );
        }
        if post.is_err() {
            // A delivery under way may still end; the rest goes out after the next start.
            tracing::warn!("a mail is still under way; it will be tried again after the next start");
        }
        if !all_told {
            tracing::warn!("the store is stuck: what was on its way is not acknowledged, and comes again");
        } else if !matches!(timeout(SAVE_WITHIN, self.context.track.save_states()).await, Ok(Ok(()))) {
            tracing::info!("not all states are stored; the next start finds them in the fix log");
        }
        if !matches!(timeout(SAVE_WITHIN, save(&self.context, true)).await, Ok(Ok(()))) {
            tracing::info!("the newest contacts of trackers are not stored");
        }
        let closed = async { tokio::join!(self.writer.close(), self.context.db.close()) };
        if timeout(CLOSE_WITHIN, closed).await.is_err() {
            tracing::warn!("connections to the store could not be closed in time");
        }
        deliveries.close();
        if let Some(admin) = self.admin {
            admin.stop().await;
        }
        Ok(ended)
    }
}

/// Starts the recurring work.
fn keep_up(context: &Context) -> [JoinHandle<()>; 6] {
    [
        actix_rt::spawn(keep_partitions(context.clone())),
        actix_rt::spawn(keep_retention(context.clone())),
        actix_rt::spawn(keep_keys(context.clone())),
        actix_rt::spawn(keep_key_uses(context.clone())),
        actix_rt::spawn(keep_log_small(context.db.clone())),
        actix_rt::spawn(keep_reports(context.clone())),
    ]
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
