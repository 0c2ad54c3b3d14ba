//! The way out of a socket: frames wait here until the connection takes them.

use actix_http::ws::{CloseCode, CloseReason, Codec, Message};
use bytes::{Buf, Bytes, BytesMut};
use bytestring::ByteString;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;
use tokio_util::codec::Encoder;

/// What is read and thrown away at once while a client says its last.
const SCRAP_BYTES: usize = 4 * 1024;
/// A close frame carries so many bytes of reason at most.
const MAX_REASON_BYTES: usize = 123;

/// The connection is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

/// The way out of a socket. What is given waits until [`Out::flush`]; a flush that is given up goes on with the next.
pub struct Out {
    connection: OwnedWriteHalf,
    waiting: BytesMut,
}

impl Out {
    pub(super) fn new(connection: OwnedWriteHalf) -> Self {
        Self { connection, waiting: BytesMut::new() }
    }

    /// Gives a text.
    pub fn text(&mut self, text: impl Into<ByteString>) {
        self.give(Message::Text(text.into()));
    }

    /// Gives a ping without a payload.
    pub fn ping(&mut self) {
        self.give(Message::Ping(Bytes::new()));
    }

    /// Gives the answer to a ping.
    pub fn pong(&mut self, payload: Bytes) {
        self.give(Message::Pong(payload));
    }

    fn give(&mut self, message: Message) {
        let encoded = Codec::new().encode(message, &mut self.waiting);
        encoded.expect("only parts of a message can come in a wrong order");
    }

    /// Bytes given that the connection has not taken.
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        self.waiting.len()
    }

    /// Waits until the connection has taken everything.
    pub async fn flush(&mut self) -> Result<(), Closed> {
        while !self.waiting.is_empty() {
            match self.connection.write(&self.waiting).await {
                Ok(0) | Err(_) => return Err(Closed),
                Ok(taken) => self.waiting.advance(taken),
            }
        }
        // Whoever is silent holds no buffer.
        self.waiting = BytesMut::new();
        Ok(())
    }

    /// Says goodbye, then waits until the client has hung up: a connection that is dropped with something unread
    /// would take the goodbye with it.
    pub async fn close(mut self, code: u16, reason: &str) {
        let reason = reason[..reason.floor_char_boundary(MAX_REASON_BYTES)].to_owned();
        let reason = CloseReason { code: CloseCode::Other(code), description: Some(reason) };
        self.give(Message::Close(Some(reason)));
        if self.flush().await.is_err() || self.connection.shutdown().await.is_err() {
            return;
        }
        let input = self.connection.as_ref();
        let mut scrap = vec![0; SCRAP_BYTES];
        while input.readable().await.is_ok() {
            match input.try_read(&mut scrap) {
                Ok(0) => return,
                Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => return,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    async fn connection() -> (TcpStream, Out) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (_, output) = listener.accept().await.unwrap().0.into_split();
        (client, Out::new(output))
    }

    #[actix_web::test]
    async fn what_is_given_goes_out_together_and_leaves_no_buffer() {
        let (mut client, mut out) = connection().await;
        out.text("one");
        out.ping();
        out.pong(Bytes::from_static(b"p"));
        assert_eq!(out.waiting_bytes(), 10);
        out.flush().await.unwrap();
        assert_eq!((out.waiting_bytes(), out.waiting.capacity()), (0, 0));
        let mut heard = [0; 10];
        client.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"\x81\x03one\x89\x00\x8a\x01p");
    }

    #[actix_web::test]
    async fn a_flush_that_is_given_up_goes_on_with_the_next() {
        let (mut client, mut out) = connection().await;
        let large = "x".repeat(64 << 20);
        out.text(large.as_str());
        assert!(out.flush().now_or_never().is_none(), "no connection takes so much at once");
        let reading = async {
            let mut heard = Vec::new();
            client.read_to_end(&mut heard).await.unwrap();
            heard
        };
        let closing = async move {
            out.flush().await.unwrap();
        };
        let (heard, ()) = tokio::join!(reading, closing);
        assert_eq!(heard.len(), large.len() + 10);
    }

    #[actix_web::test]
    async fn a_goodbye_says_why_and_waits_for_the_client() {
        let (mut client, out) = connection().await;
        let mut closing = Box::pin(out.close(4400, &"ß".repeat(100)));
        assert!((&mut closing).now_or_never().is_none());
        let mut heard = Vec::new();
        client.read_to_end(&mut heard).await.unwrap();
        // 61 of these letters are the most that 123 bytes hold.
        let expected = [&[0x88, 124][..], &4400_u16.to_be_bytes(), "ß".repeat(61).as_bytes()].concat();
        assert_eq!(heard, expected);
        drop(client);
        closing.await;
    }
}
