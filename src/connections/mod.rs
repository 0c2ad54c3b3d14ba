//! Connections of the server's listener: how many there may be at once, and for how long and how many per address may
//! keep the server waiting.
//!
//! A connection keeps the server waiting while none of its requests is being handled, or while the body of one is
//! awaited. One that has authenticated and waits for its next request is not counted by its address, because many
//! trackers share that of their carrier. Knows nothing of the requests' content. Sockets leave the HTTP server
//! together with their connection, and count only towards all connections.

pub mod descriptors;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_http::Protocol;
use actix_http::error::DispatchError;
use futures_util::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

/// A connection that keeps the server waiting for this long, without taking any of an answer, is closed.
pub const SILENT_FOR: Duration = Duration::from_secs(30);
/// Descriptors, besides those open at the start, for the store and mail, and for a burst of connections accepted
/// before they are counted.
pub const KEPT_BACK: usize = 128;
/// Pause between two log lines about connections closed for want of room.
const TOLD_EVERY: Duration = Duration::from_secs(60);

static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// All connections.
#[derive(Clone, Debug)]
pub struct Connections {
    shared: Arc<Shared>,
    /// Most connections per address that may keep the server waiting; `None` behind a proxy, where all share its
    /// address.
    per_address: Option<usize>,
}

#[derive(Debug)]
struct Shared {
    not_for_connections: usize,
    /// Reads how many descriptors the process may have, which can change while it runs.
    limit: fn() -> usize,
    open: AtomicUsize,
    waiting: Mutex<Waiting>,
    silent_until: AtomicU64,
}

/// The connections that keep the server waiting, by address, in the order in which they began to.
#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    by_address: HashMap<Group, BTreeMap<u64, Arc<Peer>>>,
}

/// An address, how many of its connections may wait, and whether these are authenticated and between two requests.
type Group = (IpAddr, Option<usize>, bool);

/// A connection's other side, shared with the requests on the connection.
#[derive(Debug)]
pub struct Peer {
    address: IpAddr,
    /// Most connections of its address that may keep the server waiting.
    per_address: Option<usize>,
    connections: Arc<Shared>,
    /// Its key in [`Waiting`]; 0 while it is not there.
    place: AtomicU64,
    /// A [`Stage`].
    stage: AtomicU8,
    /// Whether one of its requests had a valid credential.
    is_known: AtomicBool,
    moved_at: AtomicU64,
    is_closed: AtomicBool,
    waker: AtomicWaker,
}

/// The state of a connection's current request.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
enum Stage {
    /// No request since the last answer.
    BetweenRequests,
    /// The server is handling it.
    Handled,
    /// The server is handling it and waits for its body.
    Awaited,
}

/// Counts a connection as open.
#[derive(Debug)]
pub struct OpenConnection(Arc<Shared>);

/// Takes the peer out of [`Waiting`] when the connection is dropped.
#[derive(Debug)]
struct Listed(Arc<Peer>);

/// A connection of the HTTP server, with its count.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    peer: Listed,
    open_connection: OpenConnection,
    silence: Option<Pin<Box<Sleep>>>,
}

/// What the HTTP server needs to know of a connection.
pub type Admitted = (Connection, Protocol, Option<SocketAddr>);

/// While this exists, the server is handling a request or, within one, awaiting the body.
#[derive(Debug)]
pub struct Handled {
    peer: Arc<Peer>,
    /// The [`Stage`] to go back to.
    before: u8,
}

impl Connections {
    /// `per_address` connections of one address may keep the server waiting.
    #[must_use]
    pub fn new(per_address: Option<usize>) -> Self {
        let open_at_start = std::fs::read_dir("/proc/self/fd").map_or(KEPT_BACK, Iterator::count);
        Self::limited(per_address, open_at_start + KEPT_BACK, descriptors::limit)
    }

    fn limited(per_address: Option<usize>, not_for_connections: usize, limit: fn() -> usize) -> Self {
        let shared = Arc::new(Shared {
            not_for_connections,
            limit,
            open: AtomicUsize::new(0),
            waiting: Mutex::default(),
            silent_until: AtomicU64::new(0),
        });
        Self { shared, per_address }
    }

    /// The same connections, for another listener: as many of one address may keep the server waiting there.
    #[must_use]
    pub fn bounded_by_address(&self, per_address: usize) -> Self {
        Self { shared: Arc::clone(&self.shared), per_address: Some(per_address) }
    }

    /// Admits a connection to the HTTP server. If there are as many as the process may have, another one that keeps
    /// the server waiting is closed to make room; if there is none, this one is closed.
    pub fn admit(&self, stream: TcpStream) -> Result<Admitted, DispatchError> {
        let open_connection = OpenConnection(Arc::clone(&self.shared));
        let others = self.shared.open.fetch_add(1, Ordering::Relaxed);
        let address = stream.peer_addr()?;
        let most = (self.shared.limit)().saturating_sub(self.shared.not_for_connections);
        // Connections closed to make room still count for a moment.
        if others >= most && (others >= most + KEPT_BACK / 2 || !self.shared.make_room()) {
            self.shared.tell("as many connections as the process may have (ulimit -n); new ones are closed");
            return Err(DispatchError::DisconnectTimeout);
        }
        // A compressed answer is sent in several pieces; each must go out without waiting for the previous one's ACK.
        stream.set_nodelay(true).ok();
        let peer = Arc::new(Peer {
            address: network(address.ip()),
            per_address: self.per_address,
            connections: Arc::clone(&self.shared),
            place: AtomicU64::new(0),
            stage: AtomicU8::new(Stage::BetweenRequests as u8),
            is_known: AtomicBool::new(false),
            moved_at: AtomicU64::new(now()),
            is_closed: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        });
        let connection = Connection { stream, peer: Listed(peer), open_connection, silence: None };
        Ok((connection, Protocol::Http1, Some(address)))
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

fn now() -> u64 {
    EPOCH.elapsed().as_millis() as u64
}

impl Shared {
    fn waiting(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a peer keeps the server waiting. If too many unauthenticated ones of its address do, the one that
    /// has waited longest is closed.
    fn wait(&self, peer: &Arc<Peer>) {
        let mut waiting = self.waiting();
        waiting.last += 1;
        let place = waiting.last;
        peer.place.store(place, Ordering::Relaxed);
        let is_known = peer.is_known.load(Ordering::Relaxed) && peer.is(Stage::BetweenRequests);
        let of_address = waiting.by_address.entry((peer.address, peer.per_address, is_known)).or_default();
        of_address.insert(place, Arc::clone(peer));
        let one_too_many = !is_known && peer.per_address.is_some_and(|most| of_address.len() > most);
        let closed = one_too_many.then(|| of_address.pop_first()).flatten();
        drop(waiting);
        if let Some((_, peer)) = closed {
            self.tell("as many connections of one address wait for a request as may; the oldest are closed");
            peer.close();
        }
    }

    fn go_on(&self, peer: &Peer) {
        let place = peer.place.swap(0, Ordering::Relaxed);
        if place == 0 {
            return;
        }
        let mut waiting = self.waiting();
        for is_known in [false, true] {
            let group = (peer.address, peer.per_address, is_known);
            if let Some(of_address) = waiting.by_address.get_mut(&group) {
                of_address.remove(&place);
                if of_address.is_empty() {
                    waiting.by_address.remove(&group);
                }
            }
        }
    }

    /// Closes the longest-waiting connection of the address that has most of them waiting.
    fn make_room(&self) -> bool {
        let mut waiting = self.waiting();
        let most = waiting.by_address.values_mut().max_by_key(|of_address| of_address.len());
        let closed = most.and_then(BTreeMap::pop_first);
        drop(waiting);
        closed.inspect(|(_, peer)| peer.close()).is_some()
    }

    fn tell(&self, what: &str) {
        let now = now();
        if now >= self.silent_until.load(Ordering::Relaxed) {
            self.silent_until.store(now + TOLD_EVERY.as_millis() as u64, Ordering::Relaxed);
            tracing::warn!(open = self.open.load(Ordering::Relaxed), "{what}");
        }
    }
}

impl Peer {
    /// Marks a request as being handled until the result is dropped.
    #[must_use]
    pub fn handled(self: &Arc<Self>) -> Handled {
        self.enter(Stage::Handled)
    }

    /// Marks the request being handled as waiting for a part of it until the result is dropped.
    #[must_use]
    pub fn awaited(self: &Arc<Self>) -> Handled {
        self.enter(Stage::Awaited)
    }

    /// Notes that the request being handled had a valid credential.
    pub fn know(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }

    /// Notes that awaited data came in, or data went out.
    pub fn moved(&self) {
        self.moved_at.store(now(), Ordering::Relaxed);
    }

    fn is(&self, stage: Stage) -> bool {
        self.stage.load(Ordering::Relaxed) == stage as u8
    }

    fn enter(self: &Arc<Self>, stage: Stage) -> Handled {
        Handled { before: self.set_stage(stage as u8), peer: Arc::clone(self) }
    }

    /// Sets the stage and returns the previous one.
    fn set_stage(&self, stage: u8) -> u8 {
        self.moved();
        let before = self.stage.swap(stage, Ordering::Relaxed);
        if self.is(Stage::Handled) {
            self.connections.go_on(self);
        }
        before
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.waker.wake();
    }
}

impl Drop for Handled {
    fn drop(&mut self) {
        self.peer.set_stage(self.before);
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.0.connections.go_on(&self.0);
    }
}

impl Connection {
    /// The other side.
    #[must_use]
    pub fn peer(&self) -> Arc<Peer> {
        Arc::clone(&self.peer.0)
    }

    /// The underlying stream.
    #[must_use]
    pub const fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Takes the stream out of the HTTP server; it counts as open until the [`OpenConnection`] is dropped.
    #[must_use]
    pub fn into_parts(self) -> (TcpStream, OpenConnection) {
        (self.stream, self.open_connection)
    }

    /// Ready once the other side has kept the server waiting for too long, or was chosen to make room.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let peer = &self.peer.0;
        peer.waker.register(cx.waker());
        if peer.is_closed.load(Ordering::Acquire) {
            return Poll::Ready(io::Error::new(ErrorKind::ConnectionAborted, "closed to make room"));
        }
        if peer.is(Stage::Handled) {
            return Poll::Pending;
        }
        if peer.place.load(Ordering::Relaxed) == 0 {
            peer.connections.wait(peer);
        }
        let until = *EPOCH + Duration::from_millis(peer.moved_at.load(Ordering::Relaxed)) + SILENT_FOR;
        let silence = self.silence.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if silence.deadline() != until {
            silence.as_mut().reset(until);
        }
        ready!(silence.as_mut().poll(cx));
        Poll::Ready(ErrorKind::TimedOut.into())
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Pending => self.poll_patience(cx).map(Err),
            read => read,
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(cx, bytes) {
            Poll::Pending => self.poll_patience(cx).map(Err),
            written => {
                self.peer.0.moved();
                written
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
