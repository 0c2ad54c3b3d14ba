//! The connections' other sides, shared with the requests on them: what each is doing, and who keeps the server waiting.

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::waiting::{Closed, Waiting};

/// A connection that keeps the server waiting for this long, without taking any of an answer, is closed.
const SILENT_FOR: Duration = Duration::from_secs(30);
/// Memory that connections which keep the server waiting may take together.
pub(super) const WAITING_BYTES: usize = 44 << 20;
/// Memory of a connection that keeps the server waiting, without what it has sent: the two buffers (8 KiB each) and
/// the task of the HTTP server's connection.
pub(super) const WAITING_BYTES_EACH: usize = 26 << 10;
/// Memory of a request whose body is awaited, without the body: the tasks of its handler.
const REQUEST_BYTES: usize = 28 << 10;
/// What is sent waits in the connection's buffer and in that of the body, which grow by doubling.
const BYTES_PER_SENT_BYTE: usize = 7;
/// Of what a connection has sent, this much is counted at most: larger bodies take room of their own.
const SENT_BYTES_COUNTED: usize = 256 << 10;
/// Memory of connections that were closed and have not ended yet, beyond which strangers' data is left to the system.
pub(super) const ENDING_BYTES: usize = 4 << 20;
/// As many bytes of a stranger are read in any case: a request with its head.
pub(super) const READ_IN_ANY_CASE: usize = 8 << 10;
/// Connections let in that were not read from yet: more are left to the system meanwhile. A whole fleet may connect at
/// once, say after a restart; a client that has sent its request by then never keeps the server waiting.
pub(super) const MOST_UNREAD: usize = 16;
/// Pause between two log lines about connections closed for want of room.
const TOLD_EVERY: Duration = Duration::from_secs(60);

static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// What all connections share.
#[derive(Debug)]
pub(super) struct Shared {
    not_for_connections: usize,
    /// Reads how many descriptors the process may have, which can change while it runs.
    limit: fn() -> usize,
    open: AtomicUsize,
    waiting: Mutex<Waiting<Arc<Peer>>>,
    /// Connections that were not read from yet.
    unread: AtomicUsize,
    /// Tasks to be woken once there is room again.
    held_back: Mutex<Vec<Waker>>,
    silent_until: AtomicU64,
}

/// A connection's other side, shared with the requests on the connection.
#[derive(Debug)]
pub struct Peer {
    address: IpAddr,
    /// Most connections of its address that may keep the server waiting.
    per_address: Option<usize>,
    connections: Arc<Shared>,
    /// Its place in [`Waiting`]; 0 while it is not there.
    place: AtomicU64,
    /// Whether what it sends is counted: it waits there as a stranger.
    is_counted: AtomicBool,
    /// How much it has sent, since its last answer if it is known: to a stranger nothing is credited.
    sent_bytes: AtomicUsize,
    /// How much of an answer waits until it takes it.
    untaken_bytes: AtomicUsize,
    /// A [`Stage`].
    stage: AtomicU8,
    /// Whether nobody tried to read from it yet.
    is_unread: AtomicBool,
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
pub(super) struct Listed(pub(super) Arc<Peer>);

/// While this exists, the server is handling a request or, within one, awaiting the body.
#[derive(Debug)]
pub struct Handled {
    peer: Arc<Peer>,
    /// The [`Stage`] to go back to.
    before: u8,
}

fn now() -> u64 {
    EPOCH.elapsed().as_millis() as u64
}

impl Shared {
    pub(super) fn new(not_for_connections: usize, limit: fn() -> usize, waiting_bytes: usize) -> Self {
        Self {
            not_for_connections,
            limit,
            open: AtomicUsize::new(0),
            waiting: Mutex::new(Waiting::new(waiting_bytes)),
            unread: AtomicUsize::new(0),
            held_back: Mutex::default(),
            silent_until: AtomicU64::new(0),
        }
    }

    /// The most connections that the process may have.
    pub(super) fn most(&self) -> usize {
        (self.limit)().saturating_sub(self.not_for_connections)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<Arc<Peer>>> {
        self.waiting.lock()
    }

    /// Notes that a peer keeps the server waiting. If too many strangers of its address do, or all together take too
    /// much memory, the one that has waited longest is closed.
    fn wait(&self, peer: &Arc<Peer>) {
        let is_known = peer.is_known.load(Ordering::Relaxed) && peer.is(Stage::BetweenRequests);
        peer.is_counted.store(!is_known, Ordering::Relaxed);
        let mut waiting = self.waiting();
        let (place, closed) = if is_known {
            (waiting.add_known(Arc::clone(peer)), Vec::new())
        } else {
            let sent_bytes = peer.sent_bytes.load(Ordering::Relaxed).min(SENT_BYTES_COUNTED);
            let of_request = if peer.is(Stage::Awaited) { REQUEST_BYTES } else { 0 };
            let untaken_bytes = peer.untaken_bytes.load(Ordering::Relaxed);
            let bytes = WAITING_BYTES_EACH + of_request + BYTES_PER_SENT_BYTE * sent_bytes + untaken_bytes;
            waiting.add_stranger(Arc::clone(peer), (peer.address, peer.per_address), bytes)
        };
        peer.place.store(place, Ordering::Relaxed);
        drop(waiting);
        self.close(closed);
    }

    /// Notes that a peer takes this much more memory.
    fn grow(&self, peer: &Peer, bytes: usize) {
        let place = peer.place.load(Ordering::Relaxed);
        if place != 0 && bytes > 0 && peer.is_counted.load(Ordering::Relaxed) {
            let closed = self.waiting().grow(place, bytes);
            self.close(closed);
        }
    }

    fn go_on(&self, peer: &Peer) {
        peer.untaken_bytes.store(0, Ordering::Relaxed);
        let place = peer.place.swap(0, Ordering::Relaxed);
        if place != 0 {
            self.waiting().remove(place);
            self.wake_held_back();
        }
    }

    /// Ready while little is let in and not read from yet, and little closed and not ended yet. Both last for moments
    /// only, but a burst of connections would otherwise take memory before any of them is polled.
    pub(super) fn poll_room(&self, cx: &Context<'_>) -> Poll<()> {
        if self.has_room() {
            return Poll::Ready(());
        }
        self.held_back.lock().push(cx.waker().clone());
        // A connection that made room in between found nobody to wake.
        if self.has_room() { Poll::Ready(()) } else { Poll::Pending }
    }

    fn has_room(&self) -> bool {
        self.unread.load(Ordering::SeqCst) < MOST_UNREAD && self.waiting().ending_bytes() <= ENDING_BYTES
    }

    fn wake_held_back(&self) {
        if !self.held_back.lock().is_empty() && self.has_room() {
            let woken = std::mem::take(&mut *self.held_back.lock());
            woken.into_iter().for_each(Waker::wake);
        }
    }

    /// Closes the connection that has waited longest, of a stranger if there is one.
    pub(super) fn make_room(&self) -> bool {
        let closed = self.waiting().make_room();
        closed.inspect(|peer| peer.close()).is_some()
    }

    fn close(&self, all: Vec<Closed<Arc<Peer>>>) {
        for closed in all {
            let (peer, why) = match closed {
                Closed::OfAddress(peer) => {
                    (peer, "as many connections of one address wait for a request as may")
                }
                Closed::OfAll(peer) => {
                    (peer, "as many connections wait for a request as there is memory for")
                }
            };
            self.tell(&format!("{why}; the oldest are closed"));
            peer.close();
        }
    }

    pub(super) fn tell(&self, what: &str) {
        let now = now();
        if now >= self.silent_until.load(Ordering::Relaxed) {
            self.silent_until.store(now + TOLD_EVERY.as_millis() as u64, Ordering::Relaxed);
            tracing::warn!(open = self.open.load(Ordering::Relaxed), "{what}");
        }
    }
}

impl Peer {
    pub(super) fn new(address: IpAddr, per_address: Option<usize>, connections: &Arc<Shared>) -> Arc<Self> {
        connections.unread.fetch_add(1, Ordering::SeqCst);
        Arc::new(Self {
            address,
            per_address,
            connections: Arc::clone(connections),
            place: AtomicU64::new(0),
            is_counted: AtomicBool::new(false),
            sent_bytes: AtomicUsize::new(0),
            untaken_bytes: AtomicUsize::new(0),
            stage: AtomicU8::new(Stage::BetweenRequests as u8),
            is_unread: AtomicBool::new(true),
            is_known: AtomicBool::new(false),
            moved_at: AtomicU64::new(now()),
            is_closed: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        })
    }

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

    /// Counts a connection to elsewhere that a request on this one needs.
    #[must_use]
    pub fn another(&self) -> OpenConnection {
        OpenConnection::of(&self.connections).0
    }

    /// Notes that awaited data came in, or data went out.
    pub fn moved(&self) {
        self.moved_at.store(now(), Ordering::Relaxed);
    }

    /// To be asked before reading: pending while a stranger's data has to wait for room, and an error once it was
    /// chosen to make room.
    pub(super) fn poll_read_ready(self: &Arc<Self>, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.no_longer_unread();
        if self.is_closed.load(Ordering::Acquire) {
            return Poll::Ready(Err(closed_to_make_room()));
        }
        let is_large = self.sent_bytes.load(Ordering::Relaxed) > READ_IN_ANY_CASE;
        if is_large && self.is_counted.load(Ordering::Relaxed) {
            return self.connections.poll_room(cx).map(Ok);
        }
        Poll::Ready(Ok(()))
    }

    fn no_longer_unread(&self) {
        if self.is_unread.swap(false, Ordering::Relaxed) {
            self.connections.unread.fetch_sub(1, Ordering::SeqCst);
            self.connections.wake_held_back();
        }
    }

    /// Notes how many bytes were received.
    pub(super) fn sent(&self, bytes: usize) {
        let before = self.sent_bytes.fetch_add(bytes, Ordering::Relaxed);
        let counted = (before + bytes).min(SENT_BYTES_COUNTED).saturating_sub(before);
        self.connections.grow(self, BYTES_PER_SENT_BYTE * counted);
    }

    /// Notes that so many bytes of an answer wait until the other side takes them.
    pub(super) fn untaken(&self, bytes: usize) {
        let before = self.untaken_bytes.fetch_max(bytes, Ordering::Relaxed);
        self.connections.grow(self, bytes.saturating_sub(before));
    }

    /// Waits for what a client has to say first on a socket, which the HTTP server no longer holds: until then the client
    /// keeps the server waiting, as for a request. `None` if it was chosen to make room. `peer`: `None` if the connection is
    /// none of the listener's.
    pub async fn waits_for<T>(peer: Option<Arc<Self>>, said: impl Future<Output = T>) -> Option<T> {
        let Some(peer) = peer else { return Some(said.await) };
        let _listed = Listed(Arc::clone(&peer));
        let chosen = poll_fn(|cx| match peer.patience(cx) {
            Ok(_) => Poll::Pending,
            Err(_) => Poll::Ready(()),
        });
        tokio::select! {
            biased;
            () = chosen => None,
            said = said => Some(said),
        }
    }

    /// When the other side is no longer waited for; `None` while the server is handling its request. An error if it
    /// was chosen to make room. Wakes the task once it is chosen later.
    pub(super) fn patience(self: &Arc<Self>, cx: &Context<'_>) -> io::Result<Option<Instant>> {
        self.waker.register(cx.waker());
        if self.is_closed.load(Ordering::Acquire) {
            return Err(closed_to_make_room());
        }
        if self.is(Stage::Handled) {
            return Ok(None);
        }
        if self.place.load(Ordering::Relaxed) == 0 {
            self.connections.wait(self);
        }
        let moved_at = Duration::from_millis(self.moved_at.load(Ordering::Relaxed));
        Ok(Some(*EPOCH + moved_at + SILENT_FOR))
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
        } else if self.is(Stage::BetweenRequests) && self.is_known.load(Ordering::Relaxed) {
            self.sent_bytes.store(0, Ordering::Relaxed);
        }
        before
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.waker.wake();
    }
}

fn closed_to_make_room() -> io::Error {
    io::Error::new(ErrorKind::ConnectionAborted, "closed to make room")
}

impl Drop for Handled {
    fn drop(&mut self) {
        self.peer.set_stage(self.before);
    }
}

impl OpenConnection {
    /// Counts a connection; also returns how many were open before.
    pub(super) fn of(shared: &Arc<Shared>) -> (Self, usize) {
        (Self(Arc::clone(shared)), shared.open.fetch_add(1, Ordering::Relaxed))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.0.no_longer_unread();
        self.0.connections.go_on(&self.0);
    }
}
