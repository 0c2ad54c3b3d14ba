//! The receiving side of a socket: a client's messages, each limited in size.

use std::io::ErrorKind;
use std::str::from_utf8;

use actix_http::ws::{OpCode, Parser};
use bytes::{Bytes, BytesMut};
use bytestring::ByteString;
use tokio::net::tcp::OwnedReadHalf;

use super::frame_limit::{Broken, FrameLimit, LimitVerdict};

/// Room for one read: a few frames of a fleet, or many of one vehicle.
const READ_BYTES: usize = 16 * 1024;

/// A message.
#[derive(Debug, PartialEq, Eq)]
pub enum Message {
    /// A text.
    Text(ByteString),
    /// Bytes.
    Binary(Bytes),
    /// To be answered by a pong with the same payload.
    Ping(Bytes),
    /// A sign of life.
    Pong,
    /// The client says goodbye, with its code if it has one, and waits for [`Frame::close_answer`](super::Frame).
    Close(Option<u16>),
}

/// The messages of a socket.
pub struct Messages {
    connection: OwnedReadHalf,
    /// Bytes read that do not make a message yet.
    read: BytesMut,
    /// Largest message, in bytes.
    most: usize,
    limit: FrameLimit,
    /// The message whose last fragment is still to come.
    parts: Option<Parts>,
}

struct Parts {
    is_text: bool,
    bytes: BytesMut,
    /// Length of the prefix known to be valid UTF-8.
    text_bytes: usize,
}

impl Messages {
    pub(super) fn new(connection: OwnedReadHalf, read: BytesMut, most: usize) -> Self {
        let mut limit = FrameLimit::new(most as u64);
        limit.look(&read);
        Self { connection, read, most, limit, parts: None }
    }

    /// Waits for the next message; `None` once the client has hung up. Cancel safe.
    pub async fn next(&mut self) -> Option<Result<Message, Broken>> {
        self.next_within(usize::MAX).await
    }

    /// The same, of a client for whom no more than `most` bytes are kept, and those of one read, while its message is not
    /// whole.
    pub async fn next_within(&mut self, most: usize) -> Option<Result<Message, Broken>> {
        loop {
            match self.decode().transpose() {
                Some(message) => return Some(message),
                None if self.kept_bytes() > most => return Some(Err(Broken::TooLarge)),
                None => match self.read().await {
                    Ok(true) => {}
                    Ok(false) => return None,
                    Err(broken) => return Some(Err(broken)),
                },
            }
        }
    }

    /// Bytes kept of a message that is not whole.
    fn kept_bytes(&self) -> usize {
        self.read.len() + self.parts.as_ref().map_or(0, |parts| parts.bytes.len())
    }

    /// Reads some bytes; `false` at the end.
    async fn read(&mut self) -> Result<bool, Broken> {
        let before = self.read.len();
        let count = loop {
            if before == 0 {
                // A socket that waits holds no buffer.
                self.read = BytesMut::new();
            }
            self.connection.readable().await.map_err(|_| Broken::Gone)?;
            self.read.reserve(READ_BYTES);
            match self.connection.try_read_buf(&mut self.read) {
                Ok(count) => break count,
                // A connection may be said to be readable when it is not.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return Err(Broken::Gone),
            }
        };
        match self.limit.look(&self.read[before..]) {
            LimitVerdict::Within => {}
            LimitVerdict::Discard => self.read.truncate(before),
            LimitVerdict::TooLarge => return Err(Broken::TooLarge),
        }
        Ok(count > 0)
    }

    fn decode(&mut self) -> Result<Option<Message>, Broken> {
        while let Some((is_last, kind, payload)) = Parser::parse(&mut self.read, true, self.most)? {
            let payload = payload.unwrap_or_default();
            let message = match kind {
                OpCode::Ping if is_last => Message::Ping(payload.freeze()),
                OpCode::Pong if is_last => Message::Pong,
                OpCode::Close if is_last => Message::Close(close_code(&payload)?),
                OpCode::Text | OpCode::Binary | OpCode::Continue => {
                    match self.join(kind, payload, is_last)? {
                        Some(message) => message,
                        None => continue,
                    }
                }
                OpCode::Ping | OpCode::Pong | OpCode::Close | OpCode::Bad => {
                    return Err(violation("a control frame comes in one part"));
                }
            };
            return Ok(Some(message));
        }
        Ok(None)
    }

    /// Adds a fragment to a message; returns the message once it is complete.
    fn join(&mut self, kind: OpCode, part: BytesMut, is_last: bool) -> Result<Option<Message>, Broken> {
        let mut parts = match (self.parts.take(), kind) {
            (Some(mut begun), OpCode::Continue) => {
                begun.bytes.unsplit(part);
                begun
            }
            (Some(_), _) => return Err(violation("a message begins before the one before it ends")),
            (None, OpCode::Continue) => return Err(violation("there is no message to go on with")),
            (None, kind) => Parts { is_text: kind == OpCode::Text, bytes: part, text_bytes: 0 },
        };
        if !is_last {
            parts.look_at_text()?;
            self.parts = Some(parts);
            return Ok(None);
        }
        let bytes = parts.bytes.freeze();
        Ok(Some(if parts.is_text { Message::Text(text(bytes)?) } else { Message::Binary(bytes) }))
    }
}

impl Parts {
    /// Fails as soon as the bytes cannot become UTF-8, whatever follows.
    fn look_at_text(&mut self) -> Result<(), Broken> {
        match from_utf8(&self.bytes[self.text_bytes..]).map_err(|error| (error, error.error_len())) {
            _ if !self.is_text => {}
            Ok(_) => self.text_bytes = self.bytes.len(),
            Err((error, None)) => self.text_bytes += error.valid_up_to(),
            Err((error, Some(_))) => return Err(Broken::NotText(error)),
        }
        Ok(())
    }
}

fn text(bytes: Bytes) -> Result<ByteString, Broken> {
    ByteString::try_from(bytes).map_err(Broken::NotText)
}

/// The code of a close frame's payload: two bytes, then a reason, or nothing.
fn close_code(payload: &[u8]) -> Result<Option<u16>, Broken> {
    let Some((code, reason)) = payload.split_first_chunk() else {
        return if payload.is_empty() { Ok(None) } else { Err(violation("a close code has two bytes")) };
    };
    from_utf8(reason).map_err(Broken::NotText)?;
    match u16::from_be_bytes(*code) {
        // The other codes are reserved, or must not be sent.
        code @ (1000..=1003 | 1007..=1014 | 3000..=4999) => Ok(Some(code)),
        code => Err(violation(&format!("{code} is no close code"))),
    }
}

fn violation(detail: &str) -> Broken {
    Broken::Protocol(format!("not a WebSocket frame: {detail}"))
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
    const MIDDLE: u8 = 0x00;
    const LAST: u8 = 0x80;
    const CLOSE: u8 = 0x88;
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
        assert_eq!(messages.next().await, Some(Ok(Message::Binary(Bytes::from_static(b"bytes")))));
        assert_eq!(messages.next().await, Some(Ok(Message::Close(Some(1000)))));
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
    async fn who_seems_to_have_sent_something_is_waited_for_without_a_buffer() {
        let (mut client, mut messages) = connection().await;
        client.write_all(b"all").await.unwrap();
        // Bytes that fill the buffer leave the connection marked as readable.
        let connection = messages.connection.as_ref();
        connection.readable().await.unwrap();
        assert_eq!(connection.try_read(&mut [0; 3]).unwrap(), 3);
        assert!(messages.next().now_or_never().is_none());
        assert_eq!(messages.read.capacity(), 0);
    }

    /// The first message received from some frames.
    async fn heard(frames: &[Vec<u8>]) -> Result<Message, Broken> {
        let (mut client, mut messages) = connection().await;
        client.write_all(&frames.concat()).await.unwrap();
        messages.next().await.unwrap()
    }

    #[actix_web::test]
    async fn what_is_no_text_is_told_before_the_message_ends() {
        let cut = "€".as_bytes().split_at(1);
        for frames in [
            vec![frame(TEXT, b"\xff")],
            vec![frame(FIRST, b"\xff")],
            vec![frame(FIRST, cut.0), frame(MIDDLE, b"x")],
            vec![frame(FIRST, b"x"), frame(LAST, cut.0)],
            vec![frame(CLOSE, b"\x03\xe8\xff")],
        ] {
            let broken = heard(&frames).await.unwrap_err();
            assert_eq!(broken.close(MOST).unwrap().0, 1007, "{frames:?}");
        }
        let whole = [frame(FIRST, cut.0), frame(MIDDLE, b""), frame(LAST, cut.1)];
        assert_eq!(heard(&whole).await, Ok(Message::Text("€".into())));
        let bytes = [frame(0x02, b"\xff"), frame(LAST, b"\xfe")];
        assert_eq!(heard(&bytes).await, Ok(Message::Binary(Bytes::from_static(b"\xff\xfe"))));
    }

    #[actix_web::test]
    async fn what_is_no_frame_is_told() {
        let unmasked = vec![TEXT, 1, b'x'];
        for frames in [
            vec![frame(TEXT | 0x40, b"reserved bit")],
            vec![frame(0x83, b"no such kind")],
            vec![frame(PING, &[b'x'; 126])],
            vec![frame(0x09, b"a ping in parts")],
            vec![frame(LAST, b"nothing to go on with")],
            vec![frame(FIRST, b"one"), frame(TEXT, b"two")],
            vec![frame(CLOSE, b"\x03")],
            vec![frame(CLOSE, &1005_u16.to_be_bytes())],
            vec![unmasked],
        ] {
            let broken = heard(&frames).await.unwrap_err();
            assert_eq!(broken.close(MOST).unwrap().0, 1002, "{frames:?}");
        }
        assert_eq!(heard(&[frame(TEXT, &[b'x'; MOST + 1])]).await, Err(Broken::TooLarge));
        assert_eq!(heard(&[frame(CLOSE, b"")]).await, Ok(Message::Close(None)));
    }

    #[actix_web::test]
    async fn what_came_with_the_handshake_is_not_lost() {
        let (_client, messages) = connection().await;
        let early = BytesMut::from(&frame(TEXT, b"early")[..]);
        let mut messages = Messages::new(messages.connection, early, MOST);
        assert_eq!(messages.next().await, text("early"));
    }
}
