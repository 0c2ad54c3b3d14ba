//! The bytes of a connection on their way to messages. Holds no more of them than one message may have.

use waypost_actors::model::Timestamp;

use super::message::{Dialect, Message, Step};
use crate::report_log::MOST_RAW_BYTES;

/// Bytes that belong to no message before the connection is given up: a device sends a message now and then.
const GARBAGE: usize = 4_096;

/// The bytes make no sense, and nothing after them would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

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
            match self.dialect.step(rest, now) {
                Step::More if rest.len() >= self.dialect.longest() => return Err(Broken),
                Step::More => return Ok(None),
                Step::Skip(count) => {
                    let count = count.clamp(1, rest.len());
                    self.done += count;
                    self.skipped += count;
                    if self.skipped > GARBAGE {
                        return Err(Broken);
                    }
                }
                Step::Message(length, mut message) => {
                    let length = length.clamp(1, rest.len());
                    if !message.items.is_empty() {
                        message.raw = rest[..length.min(MOST_RAW_BYTES)].to_vec();
                    }
                    self.done += length;
                    self.skipped = 0;
                    return Ok(Some(message));
                }
                Step::Broken => return Err(Broken),
            }
        }
    }

    #[cfg(test)]
    pub(super) const fn held(&self) -> usize {
        self.bytes.capacity()
    }
}
