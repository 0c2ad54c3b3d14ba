//! What a protocol makes of bytes, and how devices write names and instants.

use waypost_actors::model::{NewAttributes, Timestamp};
use waypost_actors::tracking::Reported;

use crate::ingest::decode::{BadItem, Item};

/// Characters of the longest name a device may have; an IMEI has 15.
pub(super) const MAX_NAME: usize = 20;

/// What one message said.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Message {
    /// Who sends it, if it says so.
    pub(super) device: Option<String>,
    /// Its positions. A record without a fix is none: it is a sign of life, as every message is.
    pub(super) items: Vec<Result<Item<'static>, BadItem>>,
    /// What makes the device forget the message, to be sent after the commit; may be empty.
    pub(super) answer: Vec<u8>,
    /// Whether the message was damaged on its way: nothing of it was read, and the answer asks for it again.
    pub(super) is_damaged: bool,
    /// The beginning of its bytes: kept with what is refused for good.
    pub(super) raw: Vec<u8>,
}

/// What the bytes at the front of a buffer are.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// The beginning of a message.
    More,
    /// This many bytes that belong to none.
    Skip(usize),
    /// A message of this many bytes.
    Message(usize, Message),
    /// Neither, and where the next message begins cannot be told.
    Broken,
}

/// A protocol, as one connection speaks it.
pub(super) trait Dialect {
    /// The longest message in bytes: [`Step::More`] is never said of as many.
    fn longest(&self) -> usize;

    /// Reads the front of a buffer, which is not empty.
    fn step(&mut self, bytes: &[u8], now: Timestamp) -> Step;

    /// What a device is told that may not report; empty where the protocol has no words for it.
    fn refusal(&self) -> &'static [u8];
}

/// A position of the connection's own device.
pub(super) fn item(
    recorded_at: Result<Timestamp, String>,
    reported: Reported,
    carried: NewAttributes,
) -> Result<Item<'static>, BadItem> {
    Ok(Item::of(None, recorded_at, reported, carried))
}

/// An instant of UTC from the numbers of a calendar and a clock, as devices send them.
pub(super) fn instant(date: (i16, i8, i8), time: (i8, i8, i8)) -> Result<Timestamp, String> {
    let ((year, month, day), (hour, minute, second)) = (date, time);
    let wrong =
        || format!("recordedAt {year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} is no instant");
    let local = jiff::civil::DateTime::new(year, month, day, hour, minute, second, 0).map_err(|_| wrong())?;
    let at = local.to_zoned(jiff::tz::TimeZone::UTC).map_err(|_| wrong())?;
    Timestamp::from_millis(at.timestamp().as_millisecond()).map_err(|_| wrong())
}

/// A name that a device may have: letters and digits only.
pub(super) fn name(text: &str) -> Option<String> {
    let fits = (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    fits.then(|| text.to_owned())
}
