//! What a client says over a socket, message by message, of so many bytes at most.

use actix_http::ws::{Codec, Frame, Item};
use bytes::{Bytes, BytesMut};
use bytestring::ByteString;
use tokio::io::AsyncReadExt;
use tokio::net::tcp::OwnedReadHalf;
use tokio_util::codec::Decoder;

use crate::frames::{Broken, FrameLimit, Seen};

/// Room for one read: some frames of a fleet, many of one vehicle.
const READ_BYTES: usize = 16 * 1024;

/// A message.
#[derive(Debug, PartialEq, Eq)]
pub enum Message {
    /// A text.
    Text(ByteString),
    /// Bytes; nobody here wants any.
    Binary,
    /// To be answered by a pong with the same payload.
    Ping(Bytes),
    /// A sign of life.
    Pong,
    /// The client says goodbye.
    Close,
}

/// The messages of a socket.
pub struct Messages {
    connection: OwnedReadHalf,
    /// Read and not yet a message.
    read: BytesMut,
    codec: Codec,
    limit: FrameLimit,
    /// The message whose last part is still to come.
    parts: Option<Parts>,
}

struct Parts {
    is_text: bool,
    bytes: BytesMut,
}

impl Messages {
    pub(super) fn new(connection: OwnedReadHalf, read: BytesMut, most: usize) -> Self {
        let mut limit = FrameLimit::new(most as u64);
        limit.look(&read);
        Self { connection, read, codec: Codec::new().max_size(most), limit, parts: None }
    }

    /// Waits for the next message; `None` once the client has hung up. May be given up and asked again.
    pub async fn next(&mut self) -> Option<Result<Message, Broken>> {
        loop {
            match self.decode().transpose() {
                Some(message) => return Some(message),
                None => match self.read().await {
                    Ok(true) => {}
                    Ok(false) => return None,
                    Err(broken) => return Some(Err(broken)),
                },
            }
        }
    }

    /// Reads some bytes; `false` at the end.
    async fn read(&mut self) -> Result<bool, Broken> {
        let before = self.read.len();
        if before == 0 {
            // Whoever waits holds no buffer.
            self.read = BytesMut::new();
            self.connection.readable().await.map_err(|_| Broken::Gone)?;
        }
        self.read.reserve(READ_BYTES);
        let count = self.connection.read_buf(&mut self.read).await.map_err(|_| Broken::Gone)?;
        match self.limit.look(&self.read[before..]) {
            Seen::Within => {}
            Seen::Discard => self.read.truncate(before),
            Seen::TooLarge => return Err(Broken::TooLarge),
        }
        Ok(count > 0)
    }

    fn decode(&mut self) -> Result<Option<Message>, Broken> {
        while let Some(frame) = self.codec.decode(&mut self.read)? {
            let message = match frame {
                Frame::Text(text) => valid(text)?,
                Frame::Binary(_) => Message::Binary,
                Frame::Ping(payload) => Message::Ping(payload),
                Frame::Pong(_) => Message::Pong,
                Frame::Close(_) => Message::Close,
                Frame::Continuation(part) => match self.join(part) {
                    Some(Parts { is_text: true, bytes }) => valid(bytes.freeze())?,
                    Some(_) => Message::Binary,
                    None => continue,
                },
            };
            return Ok(Some(message));
        }
        Ok(None)
    }

    /// Takes up a part of a message; the message once it is whole. In which order parts may come, the codec knows.
    fn join(&mut self, part: Item) -> Option<Parts> {
        let begun = |is_text, bytes: Bytes| Some(Parts { is_text, bytes: bytes.into() });
        match part {
            Item::FirstText(bytes) => self.parts = begun(true, bytes),
            Item::FirstBinary(bytes) => self.parts = begun(false, bytes),
            Item::Continue(bytes) => self.parts.as_mut()?.bytes.extend_from_slice(&bytes),
            Item::Last(bytes) => {
                let mut whole = self.parts.take()?;
                whole.bytes.extend_from_slice(&bytes);
                return Some(whole);
            }
        }
        None
    }
}

fn valid(text: Bytes) -> Result<Message, Broken> {
    let text = ByteString::try_from(text);
    text.map(Message::Text).map_err(|error| Broken::Malformed(format!("not a text: {error}")))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::io::AsyncWriteExt;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    const MOST: usize = 1000;
    const TEXT: u8 = 0x81;
    const FIRST: u8 = 0x01;
    const LAST: u8 = 0x80;
    const PING: u8 = 0x89;

    async fn connection() -> (TcpStream, Messages) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (input, output) = listener.accept().await.unwrap().0.into_split();
        output.forget();
        (client, Messages::new(input, BytesMut::new(), MOST))
    }

    /// A client's frame, of at most 65,535 bytes.
    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mask = [1, 2, 3, 4];
        let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
        let head = [first, 0x80 | 126, length[0], length[1]];
        let masked = payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask);
        head.into_iter().chain(mask).chain(masked).collect()
    }

    fn text(text: &str) -> Option<Result<Message, Broken>> {
        Some(Ok(Message::Text(text.into())))
    }

    #[actix_web::test]
    async fn messages_come_as_they_were_sent_however_they_are_cut() {
        let (mut client, mut messages) = connection().await;
        let sent = [
            frame(TEXT, "größer".as_bytes()),
            frame(FIRST, "grö".as_bytes()),
            frame(PING, b"still there?"),
            frame(LAST, "ßer".as_bytes()),
            frame(0x82, b"bytes"),
            frame(0x88, &1000_u16.to_be_bytes()),
        ];
        for byte in sent.concat() {
            client.write_all(&[byte]).await.unwrap();
        }
        assert_eq!(messages.next().await, text("größer"));
        assert_eq!(messages.next().await, Some(Ok(Message::Ping(Bytes::from_static(b"still there?")))));
        assert_eq!(messages.next().await, text("größer"));
        assert_eq!(messages.next().await, Some(Ok(Message::Binary)));
        assert_eq!(messages.next().await, Some(Ok(Message::Close)));
        drop(client);
        assert_eq!(messages.next().await, None);
    }

    #[actix_web::test]
    async fn who_is_waited_for_holds_no_buffer() {
        let (mut client, mut messages) = connection().await;
        client.write_all(&frame(TEXT, b"one")).await.unwrap();
        assert_eq!(messages.next().await, text("one"));
        assert!(messages.next().now_or_never().is_none());
        assert_eq!(messages.read.capacity(), 0);
    }

    #[actix_web::test]
    async fn what_is_too_large_or_no_text_is_told() {
        let (mut client, mut messages) = connection().await;
        client.write_all(&frame(TEXT, b"\xff")).await.unwrap();
        assert!(matches!(messages.next().await, Some(Err(Broken::Malformed(_)))));
        let (mut client, mut messages) = connection().await;
        client.write_all(&frame(TEXT, &[b'x'; MOST + 1])).await.unwrap();
        assert_eq!(messages.next().await, Some(Err(Broken::TooLarge)));
    }

    #[actix_web::test]
    async fn what_came_with_the_handshake_is_not_lost() {
        let (_client, messages) = connection().await;
        let early = BytesMut::from(&frame(TEXT, b"early")[..]);
        let mut messages = Messages::new(messages.connection, early, MOST);
        assert_eq!(messages.next().await, text("early"));
    }
}
