//! The listeners: the server's own, the operators', and the waiting room, which asks requests to retry while the
//! server cannot serve yet.

use std::future::ready;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_http::{HttpService, KeepAlive};
use actix_server::ServerBuilder;
use actix_service::{ServiceFactoryExt, fn_factory, map_config};
use actix_web::dev::{AppConfig, Server, ServerHandle};
use actix_web::middleware::from_fn;
use actix_web::web::Data;
use actix_web::{App, HttpServer};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use super::devices::{Bound, serve_devices};
use super::error::StartError;
use crate::cluster::from_node;
use crate::cluster::router::RouterParts;
use crate::config::{AdminListen, Settings};
use crate::connections::{Connection, Connections};
use crate::context::Context;
use crate::http::{Front, MakeFront, admin, edge, waiting};
use crate::readiness::Readiness;
use crate::socket;
use crate::telemetry::Metrics;

/// Time a client has to send a request.
const REQUEST_WITHIN: Duration = Duration::from_secs(10);
/// Time the other side has to hang up before its connection is dropped.
const HANG_UP_WITHIN: Duration = Duration::from_secs(1);
/// Seconds a stopping server waits for requests in progress, once its sockets are closed.
const SHUTDOWN_SECONDS: u64 = 2;
/// The waiting room opens only after this. During a shorter start, requests wait in the kernel's queue and are
/// served, so that a usual restart refuses no tracker.
const ROOM_AFTER: Duration = Duration::from_secs(1);

/// Starts the server itself. Assembled by hand, because actix-web's own server never hands a connection over.
pub(super) fn serve(
    listener: TcpListener,
    devices: Vec<Bound>,
    context: &Context,
    sockets: &TaskTracker,
) -> Result<Server, StartError> {
    let settings = &context.settings;
    let connections = connections(settings);
    // No proxy stands before the devices' ports.
    let device_connections = connections.bounded_by_address(settings.waiting_connections);
    let context = context.clone();
    let front: MakeFront = Arc::new(move || Front::Single(Data::new(context.clone())));
    let server = serve_devices(builder(settings), devices, &front, &device_connections, sockets)?;
    Ok(listen(server, listener, (front, false), connections, sockets)?.run())
}

/// Starts the server of a node, which also listens where other nodes hand requests on.
pub(super) fn serve_cluster(
    (listener, nodes, devices): (TcpListener, TcpListener, Vec<Bound>),
    settings: &Settings,
    router: &RouterParts,
    sockets: &TaskTracker,
) -> Result<Server, StartError> {
    let connections = connections(settings);
    let of_nodes = connections.of_nodes();
    let router = router.clone();
    let front: MakeFront = Arc::new(move || Front::Cluster(router.router()));
    let device_connections = connections.bounded_by_address(settings.waiting_connections);
    let server = serve_devices(builder(settings), devices, &front, &device_connections, sockets)?;
    let server = listen(server, listener, (Arc::clone(&front), false), connections, sockets)?;
    Ok(listen(server, nodes, (front, true), of_nodes, sockets)?.run())
}

fn connections(settings: &Settings) -> Connections {
    let is_behind_proxy = settings.client_address_header.is_some();
    Connections::new((!is_behind_proxy).then_some(settings.waiting_connections))
}

fn builder(settings: &Settings) -> ServerBuilder {
    let server = Server::build().shutdown_timeout(SHUTDOWN_SECONDS).disable_signals();
    match settings.workers {
        Some(workers) => server.workers(workers.max(1)),
        None => server,
    }
}

/// Adds a listener for requests, which other nodes hand on if `is_of_nodes`.
fn listen(
    server: ServerBuilder,
    listener: TcpListener,
    (front, is_of_nodes): (MakeFront, bool),
    connections: Connections,
    sockets: &TaskTracker,
) -> Result<ServerBuilder, StartError> {
    let (stopping, sockets) = (server.graceful_shutdown_signal(), sockets.clone());
    let served = move || {
        let stopping = stopping.clone();
        // On each thread that serves: the vehicles of its connections live on it.
        let front = front();
        front.lend_thread();
        let application = || map_config(crate::application!(front.clone()), |()| AppConfig::default());
        let http = HttpService::build()
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            .client_request_timeout(REQUEST_WITHIN)
            // Between requests `connections` is patient: longer than this library's five seconds, in which a phone
            // that reports every five would connect anew for each fix.
            .keep_alive(KeepAlive::Os)
            .client_disconnect_timeout(HANG_UP_WITHIN)
            .on_connect_ext(move |connection: &Connection, requests| {
                if is_of_nodes {
                    from_node::mark(connection, requests);
                } else {
                    requests.insert(connection.peer());
                }
            })
            .upgrade(socket::switching(application(), sockets.clone()))
            .finish(application());
        let connections = connections.clone();
        fn_factory(move || ready(Ok(connections.clone()))).and_then(http)
    };
    let name = if is_of_nodes { "waypost for nodes" } else { "waypost" };
    server.listen(name, listener, served).map_err(StartError::Run)
}

/// The operators' listener, from the start of the process to its end.
pub(super) struct Admin {
    /// Where it is.
    pub(super) address: SocketAddr,
    handle: ServerHandle,
}

impl Admin {
    /// Opens the operators' listener as the settings say. If the setting was left at its default, a failure does not
    /// keep the server from starting.
    pub(super) fn start(
        setting: AdminListen,
        server: SocketAddr,
        metrics: &Arc<Metrics>,
    ) -> Result<Option<Self>, StartError> {
        let listener = match setting {
            AdminListen::Off => return Ok(None),
            AdminListen::At(at) => TcpListener::bind(at).map_err(|error| StartError::Listen(at, error))?,
            AdminListen::Auto => {
                // Tests ask the system for any port for the server, and get any other one here.
                let port = if server.port() == 0 { 0 } else { server.port().wrapping_add(1) };
                match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
                    Ok(listener) => listener,
                    Err(error) => {
                        tracing::warn!(port, %error, "no metrics: their port is taken (another one: --admin-listen)");
                        return Ok(None);
                    }
                }
            }
        };
        let address = listener.local_addr().map_err(StartError::Run)?;
        let metrics = Arc::clone(metrics);
        let server = HttpServer::new(move || {
            let metrics = Arc::clone(&metrics);
            App::new().configure(move |config| admin::configure(config, metrics)).wrap(from_fn(edge))
        });
        let server = server.workers(1).shutdown_timeout(1).disable_signals();
        let server = server.listen(listener).map_err(StartError::Run)?.run();
        let handle = server.handle();
        actix_rt::spawn(server);
        Ok(Some(Self { address, handle }))
    }

    pub(super) async fn stop(self) {
        self.handle.stop(false).await;
    }
}

/// Asks requests on the server's own address to retry, until it is closed.
pub(super) struct RetryListener(JoinHandle<Option<ServerHandle>>);

impl RetryListener {
    /// Opens the room, if the start takes longer than usual.
    pub(super) fn open(listener: &TcpListener, readiness: Readiness) -> Result<Self, StartError> {
        let listener = listener.try_clone().map_err(StartError::Run)?;
        Ok(Self(actix_rt::spawn(async move {
            tokio::time::sleep(ROOM_AFTER).await;
            room(listener, readiness)
                .inspect_err(|error| tracing::warn!(%error, "requests wait until the server serves"))
                .ok()
        })))
    }

    /// Closes the room and waits for its last requests; later ones wait for the server itself.
    pub(super) async fn close(self) {
        self.0.abort();
        if let Ok(Some(room)) = self.0.await {
            room.stop(true).await;
        }
    }
}

fn room(listener: TcpListener, readiness: Readiness) -> std::io::Result<ServerHandle> {
    let server = HttpServer::new(move || {
        let readiness = readiness.clone();
        App::new().configure(move |config| waiting::configure(config, readiness)).wrap(from_fn(edge))
    });
    // On a connection that is kept alive, a client would only ever reach the waiting room.
    let server = server.workers(1).shutdown_timeout(1).keep_alive(None).disable_signals();
    let server = server.listen(listener)?.run();
    let handle = server.handle();
    actix_rt::spawn(server);
    Ok(handle)
}
