//! WebSocket frames (RFC 6455) of a client that sends text and reads text.

/// The mask of all frames. The server unmasks whatever it is; a fixed one lets frames be made ahead.
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// Appends a masked text frame.
pub(crate) fn push_text(text: &str, out: &mut Vec<u8>) {
    out.push(0x81);
    match text.len() {
        length @ 0..126 => out.push(0x80 | length as u8),
        length @ 126..65_536 => {
            out.push(0x80 | 126);
            out.extend((length as u16).to_be_bytes());
        }
        length => {
            out.push(0x80 | 127);
            out.extend((length as u64).to_be_bytes());
        }
    }
    out.extend(MASK);
    out.extend(text.bytes().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
}

/// The request that opens a socket.
pub(crate) fn upgrade(host: &str, path: &str, protocol: Option<&str>, bearer: &str) -> String {
    let protocol = protocol.map_or_else(String::new, |name| format!("Sec-WebSocket-Protocol: {name}\r\n"));
    format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{protocol}\
         Authorization: Bearer {bearer}\r\n\r\n"
    )
}

/// A frame of the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard<'a> {
    /// A text, whole: the server never splits one.
    Text(&'a [u8]),
    /// It closes, and why.
    Close(u16),
    /// A ping or a pong.
    Beat,
}

/// The first frame in some bytes, and its length with its head; `None` while it is not all there.
pub(crate) fn first_frame(bytes: &[u8]) -> Option<(Heard<'_>, usize)> {
    let (&[first, second], rest) = bytes.split_first_chunk()?;
    let (length, head) = match second & 0x7f {
        126 => (u64::from(u16::from_be_bytes(*rest.first_chunk()?)), 4),
        127 => (u64::from_be_bytes(*rest.first_chunk()?), 10),
        length => (u64::from(length), 2),
    };
    let end = head + usize::try_from(length).ok()?;
    let payload = bytes.get(head..end)?;
    let heard = match first & 0x0f {
        0x1 => Heard::Text(payload),
        0x8 => Heard::Close(payload.first_chunk().map_or(1005, |code| u16::from_be_bytes(*code))),
        _ => Heard::Beat,
    };
    Some((heard, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a server makes of a client's frame.
    fn unmasked(frame: &[u8]) -> String {
        let head = match frame[1] & 0x7f {
            126 => 4,
            127 => 10,
            _ => 2,
        };
        let (mask, payload) = frame[head..].split_at(4);
        String::from_utf8(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect())
            .unwrap()
    }

    #[test]
    fn texts_of_every_length_arrive() {
        for length in [0, 1, 125, 126, 65_535, 65_536] {
            let (text, mut frame) = ("x".repeat(length), Vec::new());
            push_text(&text, &mut frame);
            assert_eq!(unmasked(&frame), text, "{length}");
        }
    }

    #[test]
    fn frames_are_cut_where_they_end() {
        let mut bytes = vec![0x81, 2, b'h', b'i', 0x89, 0, 0x88, 2];
        bytes.extend(1012_u16.to_be_bytes());
        assert_eq!(first_frame(&bytes), Some((Heard::Text(b"hi"), 4)));
        assert_eq!(first_frame(&bytes[4..]), Some((Heard::Beat, 2)));
        assert_eq!(first_frame(&bytes[6..]), Some((Heard::Close(1012), 4)));
        let long = [&[0x81, 126, 1, 0][..], &[b'x'; 256]].concat();
        assert_eq!(first_frame(&long).map(|(_, end)| end), Some(260));
        assert!((0..260).all(|cut| first_frame(&long[..cut]).is_none()));
    }
}
