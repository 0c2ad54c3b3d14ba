//! The composition root: puts the parts together, starts and stops them in order. Nothing imports it.

use std::future::pending;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpServer;
use actix_web::dev::{Server, ServerHandle};
use socket2::SockRef;
use tokio::time::timeout;
use waypost_actors::live::{Live, LiveConfig, LiveParts};
use waypost_actors::ports::{LiveCache, StoreError};

use crate::auth::{AuthError, FirstStart, SetupError};
use crate::clock::Clock;
use crate::config::Settings;
use crate::context::{Context, ContextError};
use crate::mail::{MailError, Post, Transport};
use crate::store::cache::{CacheError, RedisCache};
use crate::store::lock::{self, ServerLock};
use crate::store::open::{OpenError, for_writer, open_and_migrate};
use crate::store::partitions::make_partitions;
use crate::store::sql::{Db, SqlError};
use crate::store::track::Track;

/// Seconds a stopping server waits for requests in progress.
const SHUTDOWN_SECONDS: u64 = 5;
/// What the kernel keeps for a client that does not read, per connection; Linux doubles it for its books.
const SEND_BUFFER_BYTES: usize = 128 * 1024;
/// How long a stopping server waits for mail that is under way.
const MAIL_WITHIN: Duration = Duration::from_secs(5);
/// Between two looks at the partitions to come.
const PARTITIONS_EVERY: Duration = Duration::from_secs(24 * 3600);

/// Why the server could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is taken, or not ours.
    #[error("cannot listen on {0} (another address: --listen)")]
    Listen(SocketAddr, #[source] std::io::Error),
    /// The store could not be opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The store could not be used.
    #[error("the database failed")]
    Database(#[from] SqlError),
    /// The live core could not be started.
    #[error(transparent)]
    Live(#[from] StoreError),
    /// The address of Redis cannot be read.
    #[error("redisUrl cannot be used")]
    Redis(#[from] CacheError),
    /// Mail cannot be sent that way.
    #[error(transparent)]
    Mail(#[from] MailError),
    /// The signing keys could not be loaded or made.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// What requests share could not be put together.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// The first superAdmin could not be made.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The server could not be run.
    #[error("the server cannot run")]
    Run(#[source] std::io::Error),
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was asked to.
    Asked,
    /// Another server has taken over its store.
    TakenOver,
}

/// A server that is ready to run.
pub struct Application {
    /// What its requests share.
    pub context: Context,
    /// What the first start did, or the link that it needs.
    pub first_start: FirstStart,
    /// Where it listens.
    pub address: SocketAddr,
    server: Server,
    writer: Db,
    _lock: ServerLock,
}

impl Application {
    /// Listens first, so that a taken address is told before anything is touched; then waits for the
    /// store's lock, opens it, starts the live core and builds the server.
    pub async fn build(settings: Settings, clock: Clock) -> Result<Self, StartError> {
        Self::build_with(settings, clock, None).await
    }

    /// As [`Application::build`], with another way for mail to leave than the settings say.
    pub async fn build_with(
        mut settings: Settings,
        clock: Clock,
        mail: Option<Transport>,
    ) -> Result<Self, StartError> {
        let told = |error| StartError::Listen(settings.listen, error);
        let listener = TcpListener::bind(settings.listen).map_err(told)?;
        bound_sending(&listener);
        let address = listener.local_addr().map_err(told)?;
        settings.listen = address;

        let options = settings.store();
        let lock = lock::acquire(&options.location, || {
            tracing::warn!("another server has this store; waiting until it is gone");
        })
        .await?;
        let db = open_and_migrate(&options).await?;
        renew_partitions(&db, &clock).await;
        let writer = for_writer(&db, &options)?;
        let track = Arc::new(Track::take_over(db.clone(), writer.clone()).await?);
        let live = LiveParts {
            config: live_config(&settings),
            store: Arc::clone(&track) as _,
            cache: cache(&settings)?,
            clock: clock.shared(),
        };
        let live = Live::start(live).await?;

        let workers = settings.workers;
        let mail = Post::new(db.clone(), clock.clone(), &settings, mail)?;
        let context = Context::start(db, live, track, clock, settings, mail).await?;
        let first_start = context.auth.first_start(&context.settings).await?;
        let server = serve(listener, workers, &context)?;
        Ok(Self { context, first_start, address, server, writer, _lock: lock })
    }

    /// Stops the server from elsewhere.
    #[must_use]
    pub fn handle(&self) -> ServerHandle {
        self.server.handle()
    }

    /// Serves until `asked` comes or another server takes over. Then sockets are told and end, what is
    /// on its way is committed and acknowledged, and the store is closed.
    pub async fn run(self, asked: impl Future<Output = ()>) -> Result<Ended, StartError> {
        let handle = self.server.handle();
        let live = self.context.live.clone();
        let partitions = actix_rt::spawn(keep_partitions(self.context.clone()));
        let mail = Arc::clone(&self.context.mail);
        let post = actix_rt::spawn(async move { mail.run().await });
        let stop = async {
            let ended = tokio::select! {
                () = asked => Ended::Asked,
                () = live.taken_over() => Ended::TakenOver,
            };
            tracing::info!(?ended, "stopping");
            self.context.sessions.end_all();
            handle.stop(true).await;
            ended
        };
        let (ended, served) = tokio::join!(stop, self.server);
        served.map_err(StartError::Run)?;
        partitions.abort();
        self.context.mail.stop();
        // What is under way may end; the rest goes out after the next start.
        if timeout(MAIL_WITHIN, post).await.is_err() {
            tracing::warn!("a mail is still under way; it will be tried again after the next start");
        }
        self.context.live.stop().await;
        self.writer.close().await;
        self.context.db.close().await;
        Ok(ended)
    }
}

/// Every connection inherits it: left to itself the kernel keeps megabytes for a client that hardly reads.
fn bound_sending(listener: &TcpListener) {
    if let Err(error) = SockRef::from(listener).set_send_buffer_size(SEND_BUFFER_BYTES) {
        tracing::warn!(%error, "the connections' buffers keep the system's size");
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

fn serve(listener: TcpListener, workers: Option<usize>, context: &Context) -> Result<Server, StartError> {
    let shared = context.clone();
    let mut server = HttpServer::new(move || crate::application!(shared.clone()))
        .shutdown_timeout(SHUTDOWN_SECONDS)
        .client_request_timeout(Duration::from_secs(10))
        .disable_signals();
    if let Some(workers) = workers {
        server = server.workers(workers.max(1));
    }
    Ok(server.listen(listener).map_err(StartError::Run)?.run())
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

/// Makes partitions ahead of their time, for as long as the server runs.
async fn keep_partitions(context: Context) {
    loop {
        tokio::time::sleep(PARTITIONS_EVERY).await;
        renew_partitions(&context.db, &context.clock).await;
    }
}

/// Nothing is lost without them, so a server starts and runs on: the default partition may hold so
/// much that looking through it takes longer than a statement may.
async fn renew_partitions(db: &Db, clock: &Clock) {
    if let Err(error) = make_partitions(db, clock.now()).await {
        tracing::error!(%error, "partitions could not be made; fixes go to the default one");
    }
}
