//! WebSocket frames before they become messages: a size limit that holds while a frame arrives, and the errors of a
//! stream.
//!
//! actix-http checks a frame's length only once all of it is in memory, so a client that announces gigabytes could
//! fill it. Here the length is read as soon as it arrives, and an oversized frame is discarded instead of kept. Knows
//! the framing of RFC 6455, and nothing of the content.

use std::str::Utf8Error;

use actix_http::ws::ProtocolError;

/// Bytes of an oversized message that are read and discarded, so that an honest client gets to the end of it and
/// learns why the socket closes.
const DISCARD_AT_MOST: u64 = 16 << 20;
/// The longest head of a frame: two bytes, an eight-byte length, a mask.
const LONGEST_HEAD: usize = 14;

/// Why no more messages come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A message is larger than the limit.
    TooLarge,
    /// The stream is not made of WebSocket frames (RFC 6455); the text says why.
    Protocol(String),
    /// A text message is not UTF-8.
    NotText(Utf8Error),
    /// The connection is gone.
    Gone,
}

impl Broken {
    /// The close code, its word and the reason; `most` is the size limit of a message. `None` if the connection is
    /// gone.
    #[must_use]
    pub fn close(self, most: usize) -> Option<(u16, &'static str, String)> {
        match self {
            Self::TooLarge => Some((4413, "frameTooLarge", format!("a frame may have {most} bytes"))),
            Self::Protocol(detail) => Some((1002, "protocolError", detail)),
            Self::NotText(error) => Some((1007, "invalidText", format!("not a text: {error}"))),
            Self::Gone => None,
        }
    }
}

impl From<ProtocolError> for Broken {
    fn from(error: ProtocolError) -> Self {
        match error {
            ProtocolError::Overflow => Self::TooLarge,
            error => Self::Protocol(format!("not a WebSocket frame: {error}")),
        }
    }
}

/// What to do with some bytes of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitVerdict {
    /// They belong to messages within the limit.
    Within,
    /// They belong to an oversized message.
    Discard,
    /// The oversized message is over, or enough of it was read.
    TooLarge,
}

/// Follows the frames in a stream of bytes, however the stream is cut into pieces.
pub(crate) struct FrameLimit {
    most: u64,
    /// The head of the next frame, as far as it has arrived.
    head: Vec<u8>,
    /// Bytes of the frame still to come.
    left: u64,
    /// Announced length of the message so far.
    message: u64,
    too_large: bool,
    discarded: u64,
}

impl FrameLimit {
    /// Limits messages to `most` bytes, their fragments counted together.
    pub(crate) fn new(most: u64) -> Self {
        let head = Vec::with_capacity(LONGEST_HEAD);
        Self { most, head, left: 0, message: 0, too_large: false, discarded: 0 }
    }

    /// Looks at the next bytes of the stream.
    pub(crate) fn look(&mut self, mut bytes: &[u8]) -> LimitVerdict {
        while let [first, rest @ ..] = bytes {
            if self.left > 0 {
                let here = self.left.min(bytes.len() as u64);
                self.left -= here;
                self.discarded += if self.too_large { here } else { 0 };
                bytes = &bytes[here as usize..];
            } else if self.too_large {
                break;
            } else {
                self.head.push(*first);
                bytes = rest;
                self.begin_frame();
            }
        }
        match self.too_large {
            false => LimitVerdict::Within,
            true if self.left > 0 && self.discarded < DISCARD_AT_MOST => LimitVerdict::Discard,
            true => LimitVerdict::TooLarge,
        }
    }

    /// Begins a frame once its head is complete.
    fn begin_frame(&mut self) {
        let [first, second, length @ ..] = &self.head[..] else { return };
        let (extended, mask) = (second & 0x7f, if second & 0x80 == 0 { 0 } else { 4 });
        let length_bytes = match extended {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        if length.len() < length_bytes + mask {
            return;
        }
        let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        self.left = if length_bytes == 0 { u64::from(extended) } else { number(&length[..length_bytes]) };
        let (last, control) = (first & 0x80 != 0, first & 0x08 != 0);
        self.head.clear();
        // Control frames may come between the fragments of a message.
        let size = if control { self.left } else { self.message.saturating_add(self.left) };
        self.too_large = size > self.most;
        if !control {
            self.message = if last { 0 } else { size };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client's frame: masked by zeros.
    fn frame(first: u8, length: usize) -> Vec<u8> {
        let mut bytes = vec![first];
        match length {
            0..126 => bytes.push(0x80 | length as u8),
            126..65_536 => bytes.extend([0x80 | 126, (length >> 8) as u8, length as u8]),
            _ => {
                bytes.push(0x80 | 127);
                bytes.extend((length as u64).to_be_bytes());
            }
        }
        bytes.extend(vec![0; 4 + length]);
        bytes
    }

    const TEXT: u8 = 0x81;
    const FIRST: u8 = 0x01;
    const MIDDLE: u8 = 0x00;
    const LAST: u8 = 0x80;
    const PING: u8 = 0x89;

    #[test]
    fn messages_within_the_limit_pass_however_they_are_cut() {
        let stream = [
            frame(TEXT, 1000),
            frame(TEXT, 0),
            frame(FIRST, 400),
            frame(PING, 100),
            frame(MIDDLE, 300),
            frame(LAST, 300),
            frame(TEXT, 125),
        ]
        .concat();
        for cut in [1, 2, 3, 7, 100, stream.len()] {
            let mut limit = FrameLimit::new(1000);
            assert!(stream.chunks(cut).all(|part| limit.look(part) == LimitVerdict::Within), "{cut}");
        }
    }

    #[test]
    fn a_message_that_is_too_large_is_thrown_away_to_its_end() {
        for large in [frame(TEXT, 1001), frame(TEXT, 70_000), frame(PING, 1001)] {
            let mut limit = FrameLimit::new(1000);
            let (last, before) = large.split_last().unwrap();
            assert_eq!(limit.look(before), LimitVerdict::Discard);
            assert_eq!(limit.look(&[*last]), LimitVerdict::TooLarge);
        }
        let mut parts = FrameLimit::new(1000);
        assert_eq!(parts.look(&frame(FIRST, 600)), LimitVerdict::Within);
        assert_eq!(parts.look(&frame(MIDDLE, 600)), LimitVerdict::TooLarge);
    }

    #[test]
    fn of_an_endless_message_only_so_much_is_read() {
        let mut limit = FrameLimit::new(1000);
        let head = [&[TEXT, 0x80 | 127][..], &u64::MAX.to_be_bytes(), &[0; 4]].concat();
        assert_eq!(limit.look(&head), LimitVerdict::Discard);
        let megabyte = vec![0; 1 << 20];
        assert!((1..16).all(|_| limit.look(&megabyte) == LimitVerdict::Discard));
        assert_eq!(limit.look(&megabyte), LimitVerdict::TooLarge);
    }
}
