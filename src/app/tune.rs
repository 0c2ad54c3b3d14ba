//! The kernel's side of a listener: buffers and queues.

use std::net::{SocketAddr, TcpListener};

use socket2::SockRef;

use super::error::StartError;

/// The kernel's send buffer per connection, for a client that does not read; Linux doubles it for bookkeeping.
const SEND_BUFFER_BYTES: usize = 128 * 1024;
/// Most connections that wait in the kernel to be accepted; the system may allow fewer (Linux: 4,096 unless told
/// otherwise). All trackers reconnect at once after a restart, strangers may come by thousands, and one whose first
/// packet finds no room retries only after a second.
const ACCEPT_BACKLOG: i32 = 4096;

/// Listens at an address; returns where that is, also if the port was left to the system.
pub(super) fn bind(wanted: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let told = |error| StartError::Listen(wanted, error);
    let listener = TcpListener::bind(wanted).map_err(told)?;
    tune(&listener);
    let address = listener.local_addr().map_err(told)?;
    Ok((listener, address))
}

/// Bounds two kernel buffers. The send buffer, which connections inherit, would otherwise grow to megabytes for a
/// client that hardly reads; the backlog holds connections not accepted yet.
pub(super) fn tune(listener: &TcpListener) {
    let socket = SockRef::from(listener);
    if let Err(error) = socket.set_send_buffer_size(SEND_BUFFER_BYTES) {
        tracing::warn!(%error, "the connections' buffers keep the system's size");
    }
    if let Err(error) = socket.listen(ACCEPT_BACKLOG) {
        tracing::warn!(%error, "the queue of new connections keeps its size");
    }
}
