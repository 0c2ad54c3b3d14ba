//! A connection as the HTTP server and the devices' listeners read and write it. It ends by itself once the other side
//! has kept the server waiting for too long, or was chosen to make room.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep_until};

use super::peer::{Listed, OpenConnection, Peer};

/// A connection of the HTTP server, with its count.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    peer: Listed,
    open_connection: OpenConnection,
    silence: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    pub(super) const fn new(stream: TcpStream, peer: Arc<Peer>, open_connection: OpenConnection) -> Self {
        Self { stream, peer: Listed(peer), open_connection, silence: None }
    }

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
        // A waker that a task left on the stream would keep that task's memory until something arrives.
        let _replaced = self.stream.poll_read_ready(&mut Context::from_waker(Waker::noop()));
        (self.stream, self.open_connection)
    }

    /// Ready once the other side has kept the server waiting for too long, or was chosen to make room.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let until = match self.peer.0.patience(cx) {
            Ok(Some(until)) => until,
            Ok(None) => return Poll::Pending,
            Err(error) => return Poll::Ready(error),
        };
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
        match self.peer.0.poll_read_ready(cx) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(closed) => return Poll::Ready(closed),
            Poll::Pending => return self.poll_patience(cx).map(Err),
        }
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Pending => self.poll_patience(cx).map(Err),
            read => {
                self.peer.0.sent(buffer.filled().len() - before);
                read
            }
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(cx, bytes) {
            Poll::Pending => {
                self.peer.0.untaken(bytes.len());
                self.poll_patience(cx).map(Err)
            }
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
