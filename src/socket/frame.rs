//! Frames as a server sends them.

use bytes::{BufMut, Bytes, BytesMut};

/// The last frame of a message.
const FINAL: u8 = 0x80;
const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xa;
/// Most bytes of reason that a close frame can carry.
const MAX_REASON_BYTES: usize = 123;

/// A message in wire format. Cheap to clone, so that it is encoded once for all its recipients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame(pub(super) Bytes);

impl Frame {
    /// Text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::new(TEXT, text.as_bytes())
    }

    /// Text that is there in parts.
    #[must_use]
    pub fn text_of(parts: &[&str]) -> Self {
        let mut frame = Self::begun(TEXT, parts.iter().map(|part| part.len()).sum());
        parts.iter().for_each(|part| frame.put_slice(part.as_bytes()));
        Self(frame.freeze())
    }

    /// Bytes.
    #[must_use]
    pub fn binary(bytes: &[u8]) -> Self {
        Self::new(BINARY, bytes)
    }

    /// A ping without a payload.
    #[must_use]
    pub fn ping() -> Self {
        Self::new(PING, b"")
    }

    /// The answer to a ping, with its payload.
    #[must_use]
    pub fn pong(payload: &[u8]) -> Self {
        Self::new(PONG, payload)
    }

    /// A close frame, with the reason cut to fit.
    #[must_use]
    pub fn close(code: u16, reason: &str) -> Self {
        let reason = &reason[..reason.floor_char_boundary(MAX_REASON_BYTES)];
        Self::new(CLOSE, &[&code.to_be_bytes(), reason.as_bytes()].concat())
    }

    /// The answer to a client's close frame: its own code, if it had one (RFC 6455 §5.5.1).
    #[must_use]
    pub fn close_answer(code: Option<u16>) -> Self {
        code.map_or_else(|| Self::new(CLOSE, b""), |code| Self::close(code, ""))
    }

    /// Builds a frame without a mask, as servers must.
    fn new(kind: u8, payload: &[u8]) -> Self {
        let mut frame = Self::begun(kind, payload.len());
        frame.put_slice(payload);
        Self(frame.freeze())
    }

    /// The head of such a frame, with room for its payload.
    fn begun(kind: u8, payload_bytes: usize) -> BytesMut {
        let mut frame = BytesMut::with_capacity(payload_bytes + 10);
        frame.put_u8(FINAL | kind);
        match payload_bytes {
            short @ 0..126 => frame.put_u8(short as u8),
            middle @ 126..65_536 => {
                frame.put_u8(126);
                frame.put_u16(middle as u16);
            }
            long => {
                frame.put_u8(127);
                frame.put_u64(long as u64);
            }
        }
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_those_of_rfc_6455() {
        let frames = [Frame::ping(), Frame::pong(b"ab"), Frame::text("é"), Frame::close(4408, "slow")];
        let bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.0.clone()).collect();
        assert_eq!(bytes, b"\x89\x00\x8a\x02ab\x81\x02\xc3\xa9\x88\x06\x11\x38slow");
        let frames = [Frame::binary(b"ab"), Frame::close_answer(Some(1000)), Frame::close_answer(None)];
        let bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.0.clone()).collect();
        assert_eq!(bytes, b"\x82\x02ab\x88\x02\x03\xe8\x88\x00");
        assert_eq!(Frame::text_of(&["a", "", "é"]), Frame::text("aé"));
        let long = [126, 65_535, 65_536].map(|size| Frame::text(&"x".repeat(size)).0);
        let heads = [&long[0][..4], &long[1][..4], &long[2][..10]];
        let want: [&[u8]; 3] =
            [&[0x81, 126, 0, 126], &[0x81, 126, 255, 255], &[0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]];
        assert_eq!(heads, want);
        // 61 two-byte letters are the most that fit into 123 bytes.
        let cut = [&[0x88, 124][..], &4400_u16.to_be_bytes(), "ß".repeat(61).as_bytes()].concat();
        assert_eq!(&Frame::close(4400, &"ß".repeat(100)).0[..], cut);
    }
}
