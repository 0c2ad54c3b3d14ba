//! What is known of a vehicle's connection, shared by those who hear it and those who tell it: a report costs two
//! atomic operations and no message.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, Ordering};

use crate::model::{Connection, Timestamp};

/// A vehicle that was never heard.
const NEVER: u8 = u8::MAX;

/// When a vehicle was last heard, and what the log says of it.
#[derive(Debug)]
pub(crate) struct Connectivity {
    /// When it was heard last, by the server's clock. Microseconds.
    heard_at: AtomicI64,
    /// What the log tells of it: the place of the word in [`Connection::WORDS`], or [`NEVER`].
    told: AtomicU8,
    /// Whether the wheel has it.
    is_tracked: AtomicBool,
    /// Whether it asked to be looked at, and was not answered yet.
    asks: AtomicBool,
}

impl Default for Connectivity {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Connectivity {
    /// Of a vehicle last heard at an instant and logged in that state, or never heard.
    pub(crate) fn new(heard: Option<(Timestamp, Connection)>) -> Self {
        let connectivity = Self {
            heard_at: AtomicI64::new(heard.map_or(i64::MIN, |(at, _)| at.as_micros())),
            told: AtomicU8::new(NEVER),
            is_tracked: AtomicBool::new(false),
            asks: AtomicBool::new(false),
        };
        if let Some((_, told)) = heard {
            connectivity.tell(told);
        }
        connectivity
    }

    /// Notes that the vehicle was heard; returns whether the connection monitor must check it: it was not online, or is
    /// heard for the first time. Hearing it for the first time makes it online without a record.
    pub(crate) fn hear(&self, at: Timestamp) -> bool {
        self.heard_at.fetch_max(at.as_micros(), Ordering::AcqRel);
        if self.told() == Some(Connection::Online) && self.is_tracked.load(Ordering::Acquire) {
            return false;
        }
        let online = Connection::Online as u8;
        self.told.compare_exchange(NEVER, online, Ordering::AcqRel, Ordering::Acquire).ok();
        !self.asks.swap(true, Ordering::AcqRel)
    }

    /// Notes that it was heard no later than now: the server's clock went back.
    pub(crate) fn hear_no_later(&self, than: Timestamp) {
        self.heard_at.fetch_min(than.as_micros(), Ordering::AcqRel);
    }

    /// Notes that it is in the wheel, and was looked at.
    pub(crate) fn track(&self) {
        self.is_tracked.store(true, Ordering::Release);
        self.answer();
    }

    /// Notes that it may ask again.
    pub(crate) fn answer(&self) {
        self.asks.store(false, Ordering::Release);
    }

    /// Notes what the log tells.
    pub(crate) fn tell(&self, state: Connection) {
        self.told.store(state as u8, Ordering::Release);
    }

    /// What the log tells; `None`: it was never heard.
    pub(crate) fn told(&self) -> Option<Connection> {
        let place = self.told.load(Ordering::Acquire);
        Connection::WORDS.get(usize::from(place)).map(|(_, state)| *state)
    }

    /// What it is for readers.
    pub(crate) fn state(&self) -> Connection {
        self.told().unwrap_or(Connection::Offline)
    }

    /// When it was heard last.
    pub(crate) fn heard_at(&self) -> Timestamp {
        Timestamp::from_micros(self.heard_at.load(Ordering::Acquire))
    }
}
