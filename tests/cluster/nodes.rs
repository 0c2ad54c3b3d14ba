//! Two nodes: one that has everything, and one that hands on everything to it.

use std::future::ready;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::time::Duration;

use actix_http::{HttpService, KeepAlive};
use actix_service::{ServiceFactoryExt, fn_factory, map_config};
use actix_web::dev::{AppConfig, Server, ServerHandle};
use actix_web::middleware::from_fn;
use actix_web::web::ServiceConfig;
use actix_web::{App, HttpServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;
use waypost::cluster::from_node;
use waypost::cluster::relay::Relay;
use waypost::cluster::shards::Shards;
use waypost::cluster::whose::Whose;
use waypost::connections::{Connection, Connections};
use waypost::socket::switching;
use waypost_actors::model::OrganizationId;

/// Whose everything is.
pub(crate) const FLEET: OrganizationId = OrganizationId(Uuid::from_u128(7));
/// Nothing here takes longer.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// A node that hands on.
pub(crate) struct Edge {
    pub(crate) address: SocketAddr,
    /// Ends its sockets.
    pub(crate) stopping: CancellationToken,
    handle: ServerHandle,
}

impl Drop for Edge {
    fn drop(&mut self) {
        drop(self.handle.stop(false));
    }
}

/// A node that hands on everything to `owner`; sockets without a credential by their first message, if `by_message`.
pub(crate) fn edge(owner: SocketAddr, by_message: bool) -> Edge {
    let (listener, address) = listener();
    let stopping = CancellationToken::new();
    let stops = stopping.clone();
    let connections = Connections::new(None);
    let sockets = TaskTracker::new();
    let served = move || {
        let relay = Relay::new(Shards::default(), stops.clone());
        let application = || {
            let relay = relay.clone();
            let app = App::new().wrap(from_fn(move |request: actix_web::dev::ServiceRequest, _next| {
                let relay = relay.clone();
                async move {
                    if by_message && request.headers().contains_key("upgrade") {
                        let found = async move |whose| (whose == Whose::Organization(FLEET)).then_some(owner);
                        return Ok(relay.socket_by_ticket(request, found));
                    }
                    Ok(relay.hand_on(request, Whose::Organization(FLEET), owner).await)
                }
            }));
            map_config(app, |()| AppConfig::default())
        };
        let http = HttpService::build()
            .keep_alive(KeepAlive::Os)
            .on_connect_ext(|connection: &Connection, requests| {
                requests.insert(connection.peer());
            })
            .upgrade(switching(application(), sockets.clone()))
            .finish(application());
        let connections = connections.clone();
        fn_factory(move || ready(Ok(connections.clone()))).and_then(http)
    };
    let server = Server::build().workers(1).disable_signals().listen("edge", listener, served).unwrap().run();
    let handle = server.handle();
    actix_rt::spawn(server);
    Edge { address, stopping, handle }
}

/// The node that has everything, with these routes.
pub(crate) fn owner(routes: impl Fn(&mut ServiceConfig) + Clone + Send + 'static) -> SocketAddr {
    let (listener, address) = listener();
    let server = HttpServer::new(move || App::new().configure(routes.clone()))
        .on_connect(|_, requests| {
            requests.insert(from_node::FromNode);
        })
        .workers(1)
        .disable_signals()
        .listen(listener)
        .unwrap()
        .run();
    actix_rt::spawn(server);
    address
}

/// A node of whose every connection `serve` makes what it wants.
pub(crate) fn bare<F>(serve: impl Fn(TcpStream) -> F + 'static) -> SocketAddr
where
    F: Future<Output = ()> + 'static,
{
    let (listener, address) = listener();
    listener.set_nonblocking(true).unwrap();
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let serve = Rc::new(serve);
    actix_rt::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let serve = Rc::clone(&serve);
            actix_rt::spawn(async move { serve(stream).await });
        }
    });
    address
}

/// An address where nobody listens.
pub(crate) fn nowhere() -> SocketAddr {
    listener().1
}

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A connection on which something was said.
pub(crate) async fn say(to: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// What comes until the end of a head.
pub(crate) async fn head(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let read = tokio::time::timeout(SOON, stream.read_u8()).await.expect("a head comes in time");
        match read {
            Ok(byte) => bytes.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Everything that comes until the end of a connection.
pub(crate) async fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    tokio::time::timeout(SOON, stream.read_to_end(&mut bytes)).await.expect("it ends in time").ok();
    bytes
}
