//! The composition root: puts the parts together, starts and stops them in order. Nothing imports it.

use std::net::TcpListener;

use actix_web::HttpServer;
use actix_web::dev::{Server, ServerHandle};
use waypost_actors::live::Live;

use crate::auth::{AuthError, FirstStart, SetupError};
use crate::clock::Clock;
use crate::config::Settings;
use crate::context::Context;
use crate::store::open::{OpenError, open_and_migrate};

/// Seconds a stopping server waits for requests in progress.
const SHUTDOWN_SECONDS: u64 = 10;

/// Why the server could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is taken, or not ours.
    #[error("cannot listen on {0}")]
    Listen(std::net::SocketAddr, #[source] std::io::Error),
    /// The store could not be opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The signing keys could not be loaded or made.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The first superAdmin could not be made.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The server could not be run.
    #[error("the server cannot run")]
    Run(#[source] std::io::Error),
}

/// A server that is ready to run.
pub struct Application {
    /// What its requests share.
    pub context: Context,
    /// What the first start did, or the link that it needs.
    pub first_start: FirstStart,
    /// Where it listens.
    pub address: std::net::SocketAddr,
    server: Server,
}

impl Application {
    /// Listens first, so that a taken address is told before anything is touched; then opens the
    /// store and builds the server.
    pub async fn build(mut settings: Settings, live: Live, clock: Clock) -> Result<Self, StartError> {
        let told = |error| StartError::Listen(settings.listen, error);
        let listener = TcpListener::bind(settings.listen).map_err(told)?;
        let address = listener.local_addr().map_err(told)?;
        settings.listen = address;
        let db = open_and_migrate(&settings.store()).await?;
        let workers = settings.workers;
        let context = Context::start(db, live, clock, settings).await?;
        let first_start = context.auth.first_start(&context.settings).await?;
        let shared = context.clone();
        let mut server = HttpServer::new(move || crate::application!(shared.clone()))
            .shutdown_timeout(SHUTDOWN_SECONDS)
            .disable_signals();
        if let Some(workers) = workers {
            server = server.workers(workers.max(1));
        }
        let server = server.listen(listener).map_err(StartError::Run)?.run();
        Ok(Self { context, first_start, address, server })
    }

    /// Stops the server from elsewhere.
    #[must_use]
    pub fn handle(&self) -> ServerHandle {
        self.server.handle()
    }

    /// Serves until it is stopped, then closes the store.
    pub async fn run(self) -> Result<(), StartError> {
        self.server.await.map_err(StartError::Run)?;
        self.context.db.close().await;
        Ok(())
    }
}
