//! The composition root: puts the parts together, starts and stops them in order. Nothing imports it.

mod error;
mod listeners;
mod start;
mod upkeep;

use std::future::pending;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::{Server, ServerHandle};
use socket2::SockRef;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use waypost_actors::ports::TrackStore;

pub use self::error::StartError;
use self::listeners::{Admin, WaitingRoom, serve};
use self::start::{Start, Started};
use self::upkeep::{keep_keys, keep_log_small, keep_partitions, keep_retention};
use crate::auth::FirstStart;
use crate::clock::Clock;
use crate::config::Settings;
use crate::context::Context;
use crate::mail::Transport;
use crate::readiness::Readiness;
use crate::store::lock::ServerLock;
use crate::store::probe::Probe;
use crate::store::sql::Writer;
use crate::store::track::Track;
use crate::telemetry::Metrics;

/// What the kernel keeps for a client that does not read, per connection; Linux doubles it for its books.
const SEND_BUFFER_BYTES: usize = 128 * 1024;
/// Connections that wait in the kernel to be accepted, at most; the system may allow fewer. All trackers come back at once
/// after a restart, and one whose first packet finds no room tries again only after a second.
const ACCEPT_BACKLOG: i32 = 1024;
/// How long a stopping server waits for its sockets to take leave. With the seconds for requests, for commits and for
/// the store after it, less than ten seconds in all, however stuck the store is.
const SOCKETS_WITHIN: Duration = Duration::from_secs(4);
/// How long it waits for what is on its way to a commit, and for mail that is under way.
const FINISH_WITHIN: Duration = Duration::from_secs(2);
/// How long for states to be stored that the fix log tells: what is left of them, the next start replays.
const SAVE_WITHIN: Duration = Duration::from_millis(700);
/// How long for the store to take leave.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);
/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was asked to.
    Asked,
    /// Another server has taken over its store, or an earlier state was put in its place.
    TakenOver,
    /// It found itself unable to go on, as the log says: start it again.
    Broken,
}

/// A server that is ready to run.
pub struct Application {
    /// What its requests share.
    pub context: Context,
    /// What the first start did, or the link that it needs.
    pub first_start: FirstStart,
    /// Where it listens.
    pub address: SocketAddr,
    /// Where operators look, unless that is off or its port is taken.
    pub admin_address: Option<SocketAddr>,
    server: Server,
    /// The sockets that left it.
    sockets: TaskTracker,
    admin: Option<Admin>,
    writer: Writer,
    probe: Probe,
    lock: ServerLock,
}

impl Application {
    /// Listens first, so that a taken address is told before anything is touched; then waits for the
    /// store and its lock, opens it, starts the live core and builds the server. Who asks meanwhile is told to
    /// come back.
    pub async fn build(settings: Settings, clock: Clock) -> Result<Self, StartError> {
        Self::build_with(settings, clock, None).await
    }

    /// As [`Application::build`], with another way for mail to leave than the settings say.
    pub async fn build_with(
        settings: Settings,
        clock: Clock,
        mail: Option<Transport>,
    ) -> Result<Self, StartError> {
        Self::build_on(settings, clock, mail, |track| track).await
    }

    /// As [`Application::build_with`], with the live core on what `store` makes of the store of live data.
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

        let readiness = Readiness::default();
        let metrics = Arc::new(Metrics::new(readiness.clone()));
        let admin = Admin::start(settings.admin_listen, wanted, &metrics)?;
        let room = WaitingRoom::open(&listener, readiness.clone())?;
        let workers = settings.workers;
        let started = {
            let (readiness, store) = (readiness.clone(), Box::new(store));
            Start { settings, clock, mail, readiness, store }.run().await
        };
        room.close().await;
        let Started { context, first_start, writer, probe, lock } = match started {
            Ok(started) => started,
            Err(error) => {
                if let Some(admin) = admin {
                    admin.stop().await;
                }
                return Err(error);
            }
        };
        let sockets = TaskTracker::new();
        let server = serve(listener, workers, &context, &sockets)?;
        metrics.serving(context.live.clone(), context.sessions.clone());
        readiness.serving();
        let admin_address = admin.as_ref().map(|admin| admin.address);
        Ok(Self { context, first_start, address, admin_address, server, sockets, admin, writer, probe, lock })
    }

    /// Stops the server from elsewhere.
    #[must_use]
    pub fn handle(&self) -> ServerHandle {
        self.server.handle()
    }

    /// Serves until `asked` comes, another server takes over, or this one cannot go on. Then sockets are told and
    /// end, what is on its way is committed and acknowledged, and the store is closed: within ten seconds, whatever
    /// the store does.
    pub async fn run(mut self, asked: impl Future<Output = ()>) -> Result<Ended, StartError> {
        let handle = self.server.handle();
        let Context { live, mail, readiness, .. } = self.context.clone();
        let partitions = actix_rt::spawn(keep_partitions(self.context.clone()));
        let retention = actix_rt::spawn(keep_retention(self.context.clone()));
        let keys = actix_rt::spawn(keep_keys(self.context.clone()));
        let log = actix_rt::spawn(keep_log_small(self.context.db.clone()));
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
            // Whoever is told to come back waits for the next server, not for this one.
            handle.pause().await;
            self.context.sessions.end_all();
            self.sockets.close();
            // Before the threads that serve them stop.
            if timeout(SOCKETS_WITHIN, self.sockets.wait()).await.is_err() {
                tracing::warn!(open = self.sockets.len(), "sockets that do not end are cut");
            }
            handle.stop(true).await;
            ended
        };
        let (ended, served) = tokio::join!(stop, self.server);
        served.map_err(StartError::Run)?;
        partitions.abort();
        retention.abort();
        keys.abort();
        log.abort();
        looking.abort();
        let (post, all_told) = tokio::join!(timeout(FINISH_WITHIN, post), live.stop_within(FINISH_WITHIN));
        if post.is_err() {
            // What is under way may end; the rest goes out after the next start.
            tracing::warn!("a mail is still under way; it will be tried again after the next start");
        }
        if !all_told {
            tracing::warn!("the store is stuck: what was on its way is not acknowledged, and comes again");
        } else if !matches!(timeout(SAVE_WITHIN, self.context.track.save_states()).await, Ok(Ok(()))) {
            tracing::info!("not all states are stored; the next start finds them in the fix log");
        }
        let closed = async { tokio::join!(self.writer.close(), self.context.db.close()) };
        if timeout(CLOSE_WITHIN, closed).await.is_err() {
            tracing::warn!("connections to the store could not be closed in time");
        }
        if let Some(admin) = self.admin {
            admin.stop().await;
        }
        Ok(ended)
    }
}

/// Bounds what the kernel keeps: for a client that hardly reads, megabytes if left to itself, and each connection inherits
/// the bound; of connections that nobody accepted yet.
fn tune(listener: &TcpListener) {
    let socket = SockRef::from(listener);
    if let Err(error) = socket.set_send_buffer_size(SEND_BUFFER_BYTES) {
        tracing::warn!(%error, "the connections' buffers keep the system's size");
    }
    if let Err(error) = socket.listen(ACCEPT_BACKLOG) {
        tracing::warn!(%error, "the queue of new connections keeps its size");
    }
}

/// Ends when the process is asked to stop: SIGTERM or SIGINT.
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
