//! What a client says over a socket, message by message, of so many bytes at most.

use actix_codec::Decoder;
use actix_http::ws::{Codec, Frame, Item};
use bytes::{Bytes, BytesMut};
use bytestring::ByteString;
use tokio::io::AsyncReadExt;
use tokio::net::tcp::OwnedReadHalf;

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
