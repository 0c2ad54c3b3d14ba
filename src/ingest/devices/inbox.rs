//! The bytes of a connection on their way to messages. Holds no more of them than one message may have.

use waypost_actors::model::Timestamp;

use super::message::{Dialect, Message, Step};
use crate::report_log::MOST_RAW_BYTES;

/// Bytes that belong to no message before the connection is given up: a device sends a message now and then.
const GARBAGE: usize = 4_096;

/// The bytes make no sense, and nothing after them would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    /// What is wrong with them.
    pub(super) what: &'static str,
    /// The first of them.
    pub(super) raw: Vec<u8>,
}

/// What a connection said that is not taken yet.
pub(super) struct Inbox {
    dialect: Box<dyn Dialect>,
    bytes: Vec<u8>,
    /// How many of the bytes are done with.
    done: usize,
    /// Bytes skipped since the last message.
    skipped: usize,
}

impl Inbox {
    /// Of a connection that begins.
    #[must_use]
    pub(super) fn new(dialect: Box<dyn Dialect>) -> Self {
        Self { dialect, bytes: Vec::new(), done: 0, skipped: 0 }
    }

    /// What a device is told that may not report.
    #[must_use]
    pub(super) fn refusal(&self) -> &'static [u8] {
        self.dialect.refusal()
    }

    /// Whether a message has begun and is not complete.
    #[must_use]
    pub(super) const fn is_begun(&self) -> bool {
        self.done < self.bytes.len()
    }

    /// Adds what was read. All messages must have been taken, so that a device that never stops sending fills
    /// nothing.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        if self.done == self.bytes.len() {
            // An idle connection holds no buffer.
            self.bytes = bytes.to_vec();
        } else {
            self.bytes.drain(..self.done);
            self.bytes.extend_from_slice(bytes);
        }
        self.done = 0;
    }

    /// Takes the next complete message.
    pub(super) fn take(&mut self, now: Timestamp) -> Result<Option<Message>, Broken> {
        loop {
            let rest = &self.bytes[self.done..];
            if rest.is_empty() {
                self.bytes = Vec::new();
                self.done = 0;
                return Ok(None);
            }
            let first = |count: usize| rest[..count.min(MOST_RAW_BYTES)].to_vec();
            let broken = |what| Err(Broken { what, raw: first(rest.len()) });
            match self.dialect.step(rest, now) {
                Step::More if rest.len() >= self.dialect.longest() => return broken("a message has no end"),
                Step::More => return Ok(None),
                Step::Skip(count) => {
                    let count = count.clamp(1, rest.len());
                    self.done += count;
                    self.skipped += count;
                    if self.skipped > GARBAGE {
                        return broken("4 KiB in a row belong to no message");
                    }
                }
                Step::Message(length, mut message) => {
                    let length = length.clamp(1, rest.len());
                    message.raw = first(length);
                    self.done += length;
                    self.skipped = 0;
                    return Ok(Some(message));
                }
                Step::Broken => return broken("where the next message begins cannot be told"),
            }
        }
    }

    #[cfg(test)]
    pub(super) const fn held(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DeviceProtocol;
    use crate::ingest::devices::protocols::dialect;

    #[test]
    fn what_a_connection_is_given_up_for_is_told_with_its_bytes() {
        let take = |inbox: &mut Inbox, bytes: &[u8]| {
            inbox.hear(bytes);
            inbox.take(Timestamp::from_micros(0))
        };
        let mut inbox = Inbox::new(dialect(DeviceProtocol::H02));
        let garbage = [b'x'; 2_048];
        assert_eq!(take(&mut inbox, &garbage), Ok(None));
        assert_eq!(take(&mut inbox, &garbage), Ok(None));
        let (what, raw) = ("4 KiB in a row belong to no message", vec![b'x'; MOST_RAW_BYTES]);
        assert_eq!(take(&mut inbox, &garbage), Err(Broken { what, raw }));
        let mut inbox = Inbox::new(dialect(DeviceProtocol::Teltonika));
        let raw = b"GET / HTTP/1.1".to_vec();
        let what = "where the next message begins cannot be told";
        assert_eq!(take(&mut inbox, &raw), Err(Broken { what, raw: raw.clone() }));
    }
}
