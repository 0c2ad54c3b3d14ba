//! Connections to other nodes, kept alive between requests. Each thread has its own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

/// Time to connect to another node.
const CONNECT_WITHIN: Duration = Duration::from_secs(1);
/// A connection that nothing was sent over for this long is not used again: well before the other side closes it.
const IDLE: Duration = Duration::from_secs(10);
/// Idle connections kept for each node.
const KEPT: usize = 16;
/// A node that vanished without a word is noticed after a few of these.
const PROBE_EVERY: Duration = Duration::from_secs(5);

/// The idle connections of a thread.
#[derive(Clone, Default)]
pub(super) struct Pool(Rc<RefCell<Idle>>);

/// By node, the one used last at the end.
type Idle = HashMap<SocketAddr, Vec<(TcpStream, Instant)>>;

impl Pool {
    /// An idle connection, or a new one.
    pub(super) async fn take(&self, to: SocketAddr) -> io::Result<TcpStream> {
        match self.idle(to) {
            Some(stream) => Ok(stream),
            None => connect(to).await,
        }
    }

    fn idle(&self, to: SocketAddr) -> Option<TcpStream> {
        let mut all = self.0.borrow_mut();
        let idle = all.get_mut(&to)?;
        while let Some((stream, since)) = idle.pop() {
            if since.elapsed() < IDLE && is_quiet(&stream) {
                return Some(stream);
            }
        }
        None
    }

    /// Keeps a connection whose last answer was read to its end.
    pub(super) fn keep(&self, to: SocketAddr, stream: TcpStream) {
        let mut all = self.0.borrow_mut();
        for idle in all.values_mut() {
            idle.retain(|(_, since)| since.elapsed() < IDLE);
        }
        all.retain(|node, idle| *node == to || !idle.is_empty());
        let idle = all.entry(to).or_default();
        if idle.len() < KEPT {
            idle.push((stream, Instant::now()));
        }
    }
}

/// A new connection, on which a node that vanished is noticed.
async fn connect(to: SocketAddr) -> io::Result<TcpStream> {
    let stream = timeout(CONNECT_WITHIN, TcpStream::connect(to)).await.map_err(|_| ErrorKind::TimedOut)??;
    stream.set_nodelay(true)?;
    let probes = TcpKeepalive::new().with_time(PROBE_EVERY).with_interval(PROBE_EVERY);
    SockRef::from(&stream).set_tcp_keepalive(&probes)?;
    Ok(stream)
}

/// Whether the other side has neither closed an idle connection nor sent anything.
fn is_quiet(stream: &TcpStream) -> bool {
    matches!(stream.try_read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
}
