//! Connections of the server's listener: how many there may be at once, and for how long and how many per address may
//! keep the server waiting.
//!
//! A connection keeps the server waiting while none of its requests is being handled, or while the body of one is
//! awaited. One that has authenticated and waits for its next request is counted neither by its address, because many
//! trackers share that of their carrier, nor by its memory. Knows nothing of the requests' content. Sockets leave the
//! HTTP server together with their connection, and count only towards all connections once it is known whose they are.

mod connection;
pub mod descriptors;
mod peer;
mod waiting;

use std::future::{Ready, ready};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};

use actix_http::Protocol;
use actix_http::error::DispatchError;
use actix_service::Service;
use tokio::net::TcpStream;

pub use self::connection::Connection;
pub use self::peer::{Handled, OpenConnection, Peer};
use self::peer::{Shared, WAITING_BYTES};

/// Descriptors, besides those open at the start, for the store and mail, and for a burst of connections accepted
/// before they are counted.
pub const KEPT_BACK: usize = 128;

/// All connections.
#[derive(Clone, Debug)]
pub struct Connections {
    shared: Arc<Shared>,
    /// Most connections per address that may keep the server waiting; `None` behind a proxy, where all share its
    /// address.
    per_address: Option<usize>,
}

/// What the HTTP server needs to know of a connection.
pub type Admitted = (Connection, Protocol, Option<SocketAddr>);

impl Connections {
    /// `per_address` connections of one address may keep the server waiting.
    #[must_use]
    pub fn new(per_address: Option<usize>) -> Self {
        let open_at_start = std::fs::read_dir("/proc/self/fd").map_or(KEPT_BACK, Iterator::count);
        Self::limited(per_address, open_at_start + KEPT_BACK, descriptors::limit)
    }

    fn limited(per_address: Option<usize>, not_for_connections: usize, limit: fn() -> usize) -> Self {
        let shared = Shared::new(not_for_connections, limit, WAITING_BYTES);
        Self { shared: Arc::new(shared), per_address }
    }

    /// The same connections, for another listener: as many of one address may keep the server waiting there.
    #[must_use]
    pub fn bounded_by_address(&self, per_address: usize) -> Self {
        Self { shared: Arc::clone(&self.shared), per_address: Some(per_address) }
    }

    /// The same connections, for the listener of other nodes: each has many, and they wait for requests.
    #[must_use]
    pub fn of_nodes(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), per_address: None }
    }

    /// Admits a connection to the HTTP server. If there are as many as the process may have, another one that keeps
    /// the server waiting is closed to make room; if there is none, this one is closed.
    fn admit(&self, stream: TcpStream) -> Result<Admitted, DispatchError> {
        let (open_connection, others) = OpenConnection::of(&self.shared);
        let address = stream.peer_addr()?;
        let most = self.shared.most();
        // Connections closed to make room still count for a moment.
        if others >= most && (others >= most + KEPT_BACK / 2 || !self.shared.make_room()) {
            self.shared.tell("as many connections as the process may have (ulimit -n); new ones are closed");
            return Err(DispatchError::DisconnectTimeout);
        }
        // A compressed answer is sent in several pieces; each must go out without waiting for the previous one's ACK.
        stream.set_nodelay(true).ok();
        let peer = Peer::new(network(address.ip()), self.per_address, &self.shared);
        let connection = Connection::new(stream, peer, open_connection);
        Ok((connection, Protocol::Http1, Some(address)))
    }
}

/// What the listeners hand their connections to. Not ready while too many of them are unread or about to end.
impl Service<TcpStream> for Connections {
    type Response = Admitted;
    type Error = DispatchError;
    type Future = Ready<Result<Admitted, DispatchError>>;

    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<Result<(), DispatchError>> {
        self.shared.poll_room(cx).map(Ok)
    }

    fn call(&self, stream: TcpStream) -> Self::Future {
        ready(self.admit(stream))
    }
}

/// The network that an address is counted by: of IPv6 the /64, which usually belongs to one customer.
#[must_use]
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX))),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests;
