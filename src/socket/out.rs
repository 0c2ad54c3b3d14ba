//! The sending side of a socket: frames wait here until the connection takes them.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{ErrorKind, IoSlice};
use std::pin::Pin;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;

use super::frame::Frame;

/// Frames per write.
const TOGETHER: usize = 64;
/// Bytes read and discarded at a time while waiting for the client to close.
const SCRAP_BYTES: usize = 4 * 1024;

/// The connection is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

/// The sending side of a socket. Frames wait until [`Out::flush`]; a cancelled flush is resumed by the next.
pub struct Out {
    connection: OwnedWriteHalf,
    waiting: VecDeque<Bytes>,
    waiting_bytes: usize,
}

impl Out {
    pub(super) fn new(connection: OwnedWriteHalf) -> Self {
        Self { connection, waiting: VecDeque::new(), waiting_bytes: 0 }
    }

    /// Queues a frame.
    pub fn give(&mut self, Frame(bytes): Frame) {
        self.waiting_bytes += bytes.len();
        self.waiting.push_back(bytes);
    }

    /// Bytes queued that the connection has not taken.
    #[must_use]
    pub const fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Waits until the connection has taken everything.
    pub async fn flush(&mut self) -> Result<(), Closed> {
        self.room(1).await?;
        // A socket with nothing to send holds no buffer.
        self.waiting = VecDeque::new();
        Ok(())
    }

    /// Waits until fewer than `bytes` bytes wait.
    pub async fn room(&mut self, bytes: usize) -> Result<(), Closed> {
        while self.waiting_bytes >= bytes {
            let written = poll_fn(|cx| {
                let mut slices = [IoSlice::new(&[]); TOGETHER];
                let count =
                    slices.iter_mut().zip(&self.waiting).map(|(slice, frame)| *slice = IoSlice::new(frame));
                let count = count.count();
                Pin::new(&mut self.connection).poll_write_vectored(cx, &slices[..count])
            });
            match written.await {
                Ok(0) | Err(_) => return Err(Closed),
                Ok(taken) => self.taken(taken),
            }
        }
        Ok(())
    }

    fn taken(&mut self, mut bytes: usize) {
        self.waiting_bytes -= bytes;
        while let Some(frame) = self.waiting.front_mut() {
            if bytes < frame.len() {
                frame.advance(bytes);
                return;
            }
            bytes -= frame.len();
            self.waiting.pop_front();
        }
    }

    /// Sends a close frame, and waits until the client has hung up.
    pub async fn close(&mut self, goodbye: Frame) {
        self.give(goodbye);
        if self.flush().await.is_ok() && self.connection.shutdown().await.is_ok() {
            hung_up(self.connection.as_ref()).await;
        }
    }
}

/// Waits until the other side has hung up. Dropping a connection with unread data would also discard what was sent
/// last.
pub(super) async fn hung_up(connection: &TcpStream) {
    let mut scrap = vec![0; SCRAP_BYTES];
    while connection.readable().await.is_ok() {
        match connection.try_read(&mut scrap) {
            Ok(0) => return,
            Err(error) if error.kind() != ErrorKind::WouldBlock => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    async fn connection() -> (TcpStream, Out) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (_, output) = listener.accept().await.unwrap().0.into_split();
        (client, Out::new(output))
    }

    #[actix_web::test]
    async fn what_is_given_goes_out_in_order_and_leaves_no_buffer() {
        let (mut client, mut out) = connection().await;
        let sent: Vec<String> = (0..3 * TOGETHER).map(|number| format!("{number:04}")).collect();
        sent.iter().for_each(|text| out.give(Frame::text(text)));
        assert_eq!(out.waiting_bytes(), 6 * sent.len());
        out.flush().await.unwrap();
        assert_eq!((out.waiting_bytes(), out.waiting.capacity()), (0, 0));
        let mut heard = vec![0; 6 * sent.len()];
        client.read_exact(&mut heard).await.unwrap();
        let texts: Vec<&[u8]> = heard.chunks(6).map(|frame| &frame[2..]).collect();
        assert_eq!(texts, sent.iter().map(|text| text.as_bytes()).collect::<Vec<_>>());
    }

    #[actix_web::test]
    async fn a_flush_that_is_given_up_goes_on_with_the_next() {
        let (mut client, mut out) = connection().await;
        let large = Frame::text(&"x".repeat(1 << 20));
        (0..64).for_each(|_| out.give(large.clone()));
        assert!(out.flush().now_or_never().is_none(), "no connection takes so much at once");
        let given = large.0.repeat(64);
        let reading = async {
            let mut heard = Vec::new();
            client.read_to_end(&mut heard).await.unwrap();
            heard
        };
        let closing = async move {
            out.flush().await.unwrap();
        };
        let (heard, ()) = tokio::join!(reading, closing);
        assert!(heard == given, "what was heard is not what was given");
    }

    #[actix_web::test]
    async fn a_goodbye_waits_for_the_client() {
        let (mut client, mut out) = connection().await;
        let mut closing = Box::pin(out.close(Frame::close(4400, "why")));
        assert!((&mut closing).now_or_never().is_none());
        let mut heard = Vec::new();
        client.read_to_end(&mut heard).await.unwrap();
        assert_eq!(heard, Frame::close(4400, "why").0);
        drop(client);
        closing.await;
    }
}
