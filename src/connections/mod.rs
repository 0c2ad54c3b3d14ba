//! Connections of the server's listener: how many there may be at once, and for how long and how many of one address may
//! keep the server waiting.
//!
//! A connection keeps the server waiting while none of its requests is being handled, or while one's body is awaited. One
//! that said who it is and waits for its next request is not counted by its address: many trackers have that of their carrier.
//! Knows nothing of what is asked; sockets leave it with the HTTP server, and count among all connections only.

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
use rustix::process::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

/// A connection that keeps the server waiting so long, and takes nothing of an answer, is closed.
pub const SILENT_FOR: Duration = Duration::from_secs(30);
/// Descriptors, beside those open at the start, for what the store and mail open, and for a burst that is accepted
/// before it is counted.
pub const KEPT_BACK: usize = 128;
/// Between two log lines about connections closed for want of room.
const TOLD_EVERY: Duration = Duration::from_secs(60);

static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// All connections.
#[derive(Clone, Debug)]
pub struct Connections(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// How many of one address may keep the server waiting; none behind a proxy, where all have its address.
    per_address: Option<usize>,
    not_for_connections: usize,
    /// How many descriptors the process may have; it can be changed while the process runs.
    limit: fn() -> usize,
    open: AtomicUsize,
    waiting: Mutex<Waiting>,
    silent_until: AtomicU64,
}

/// Those that keep the server waiting, each address's in the order in which they began to.
#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    by_address: HashMap<Group, BTreeMap<u64, Arc<Peer>>>,
}

/// An address, and whether those of it are known and between two requests.
type Group = (IpAddr, bool);

/// What is known of a connection's other side, shared with the requests that come on it.
#[derive(Debug)]
pub struct Peer {
    address: IpAddr,
    connections: Arc<Shared>,
    /// Its place among those that wait; 0 when it does not.
    place: AtomicU64,
    /// A [`Stage`].
    stage: AtomicU8,
    /// Whether a request of it came with a credential in force.
    is_known: AtomicBool,
    moved_at: AtomicU64,
    is_closed: AtomicBool,
    waker: AtomicWaker,
}

/// How far a connection's request is.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
enum Stage {
    /// None has come since the last answer.
    BetweenRequests,
    /// The server handles it.
    Handled,
    /// The server handles it and waits for its body.
    Awaited,
}

/// Counts a connection as open.
#[derive(Debug)]
pub struct Seat(Arc<Shared>);

/// Ends its wait with its connection.
#[derive(Debug)]
struct Listed(Arc<Peer>);

/// A connection of the HTTP server.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    peer: Listed,
    seat: Seat,
    silence: Option<Pin<Box<Sleep>>>,
}

/// What the HTTP server wants to know of a connection.
pub type Admitted = (Connection, Protocol, Option<SocketAddr>);

/// While it is there, the server is handling a request or, of a request that it handles, awaiting the body.
#[derive(Debug)]
pub struct Handled {
    peer: Arc<Peer>,
    /// The [`Stage`] to go back to.
    before: u8,
}

impl Connections {
    /// None yet. `per_address` of one address may keep the server waiting.
    #[must_use]
    pub fn new(per_address: Option<usize>) -> Self {
        let open_at_start = std::fs::read_dir("/proc/self/fd").map_or(KEPT_BACK, Iterator::count);
        Self::limited(per_address, open_at_start + KEPT_BACK, descriptors)
    }

    fn limited(per_address: Option<usize>, not_for_connections: usize, limit: fn() -> usize) -> Self {
        Self(Arc::new(Shared {
            per_address,
            not_for_connections,
            limit,
            open: AtomicUsize::new(0),
            waiting: Mutex::default(),
            silent_until: AtomicU64::new(0),
        }))
    }

    /// Takes a connection in, for the HTTP server. When there are as many as the process may have, another one that keeps
    /// the server waiting makes room; if none does, this one is closed.
    pub fn admit(&self, stream: TcpStream) -> Result<Admitted, DispatchError> {
        let seat = Seat(Arc::clone(&self.0));
        let others = self.0.open.fetch_add(1, Ordering::Relaxed);
        let address = stream.peer_addr()?;
        let most = (self.0.limit)().saturating_sub(self.0.not_for_connections);
        // Those that were closed to make room are gone a moment later.
        if others >= most && (others >= most + KEPT_BACK / 2 || !self.0.make_room()) {
            self.0.tell("as many connections as the process may have (ulimit -n); new ones are closed");
            return Err(DispatchError::DisconnectTimeout);
        }
        // A compressed answer goes out in several pieces: each at once, not when the one before was acknowledged.
        stream.set_nodelay(true).ok();
        let peer = Arc::new(Peer {
            address: network(address.ip()),
            connections: Arc::clone(&self.0),
            place: AtomicU64::new(0),
            stage: AtomicU8::new(Stage::BetweenRequests as u8),
            is_known: AtomicBool::new(false),
            moved_at: AtomicU64::new(now()),
            is_closed: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        });
        let connection = Connection { stream, peer: Listed(peer), seat, silence: None };
        Ok((connection, Protocol::Http1, Some(address)))
    }
}

/// The network that an address is counted by: IPv6 by its /64, which one customer has whole.
#[must_use]
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX))),
        v4 => v4,
    }
}

fn descriptors() -> usize {
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| limit as usize)
}

fn now() -> u64 {
    EPOCH.elapsed().as_millis() as u64
}

impl Shared {
    fn waiting(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a peer keeps the server waiting; of too many strangers of its address the one that does so longest is
    /// closed.
    fn wait(&self, peer: &Arc<Peer>) {
        let mut waiting = self.waiting();
        waiting.last += 1;
        let place = waiting.last;
        peer.place.store(place, Ordering::Relaxed);
        let is_known = peer.is_known.load(Ordering::Relaxed) && peer.is(Stage::BetweenRequests);
        let of_address = waiting.by_address.entry((peer.address, is_known)).or_default();
        of_address.insert(place, Arc::clone(peer));
        let one_too_many = !is_known && self.per_address.is_some_and(|most| of_address.len() > most);
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
        for group in [(peer.address, false), (peer.address, true)] {
            if let Some(of_address) = waiting.by_address.get_mut(&group) {
                of_address.remove(&place);
                if of_address.is_empty() {
                    waiting.by_address.remove(&group);
                }
            }
        }
    }

    /// Closes the connection that keeps the server waiting longest, of the address that has most of them.
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
    /// The server handles a request, until this is dropped.
    #[must_use]
    pub fn handled(self: &Arc<Self>) -> Handled {
        self.enter(Stage::Handled)
    }

    /// The server waits for a part of the request that it handles, until this is dropped.
    #[must_use]
    pub fn awaited(self: &Arc<Self>) -> Handled {
        self.enter(Stage::Awaited)
    }

    /// The request that is being handled came with a credential in force.
    pub fn know(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }

    /// Something came that was awaited, or went out.
    pub fn moved(&self) {
        self.moved_at.store(now(), Ordering::Relaxed);
    }

    fn is(&self, stage: Stage) -> bool {
        self.stage.load(Ordering::Relaxed) == stage as u8
    }

    fn enter(self: &Arc<Self>, stage: Stage) -> Handled {
        Handled { before: self.set_stage(stage as u8), peer: Arc::clone(self) }
    }

    /// Sets the stage and answers the one before it.
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

impl Drop for Seat {
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
    /// Who is on the other side.
    #[must_use]
    pub fn peer(&self) -> Arc<Peer> {
        Arc::clone(&self.peer.0)
    }

    /// What it is on.
    #[must_use]
    pub const fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The stream, out of the HTTP server's hands; it counts as open until the seat is dropped.
    #[must_use]
    pub fn into_parts(self) -> (TcpStream, Seat) {
        (self.stream, self.seat)
    }

    /// Whether the other side keeps the server waiting for too long, or for longer than others may.
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
