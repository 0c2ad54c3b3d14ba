//! What adapters take and give: a request, what it said, and the words that let its client forget it.

use std::borrow::Cow;

use bytes::Bytes;
use waypost_actors::model::Timestamp;

use crate::domain::tracker::SpeedUnit;
use crate::ingest::decode::{BadItem, Item};
use crate::report_log::MOST_RAW_BYTES;

/// Fields that are credentials.
const SECRETS: [&str; 2] = ["token", "pass"];

/// Most messages of one request.
pub const MOST_MESSAGES: usize = 10_000;

/// A request as adapters see it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The path behind the token, without a slash at either end.
    pub rest: String,
    /// The query as sent, without the `?`.
    pub query: String,
    /// The body's media type as sent; empty if it was not.
    pub content_type: String,
    /// The device as OwnTracks' headers `X-Limit-U` and `X-Limit-D` name it.
    pub limit_names: Option<(String, String)>,
    /// The body, unpacked.
    pub body: Bytes,
    /// When it arrived, for reports without a time of their own.
    pub received_at: Timestamp,
}

/// What one request or packet said.
#[derive(Debug, Default)]
pub struct Parsed<'a> {
    /// Positions in the order they came; one that cannot be read keeps its place.
    pub items: Vec<Result<Item<'a>, BadItem>>,
    /// Messages without a position (a heartbeat, a record without a fix): whose they are, if they say it.
    pub contacts: Vec<Option<Cow<'a, str>>>,
    /// The unit that was taken for that of the speeds, where the client's words leave it open.
    pub assumed_speed: Option<SpeedUnit>,
}

/// The answer that lets a client forget what it sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// The media type; `None` for an empty body.
    pub content_type: Option<&'static str>,
    /// The body, byte for byte.
    pub body: &'static str,
}

impl Request {
    /// What was sent, as it may be kept: the query and the body, without credentials.
    #[must_use]
    pub fn raw(&self) -> Vec<u8> {
        let mut raw = without_secrets(self.query.as_bytes());
        if !raw.is_empty() && !self.body.is_empty() {
            raw.push(b'\n');
        }
        let is_form = !self.body.trim_ascii_start().starts_with(b"{") && self.body.contains(&b'=');
        let has_secret = is_form && SECRETS.iter().any(|name| find(&self.body, name.as_bytes()));
        match has_secret {
            true => raw.extend(without_secrets(&self.body)),
            false => raw.extend_from_slice(&self.body[..self.body.len().min(MOST_RAW_BYTES)]),
        }
        raw.truncate(MOST_RAW_BYTES);
        raw
    }
}

impl Words {
    /// A status without a body.
    pub(super) const NONE: Self = Self { content_type: None, body: "" };

    /// A JSON text.
    pub(super) const fn json(body: &'static str) -> Self {
        Self { content_type: Some("application/json"), body }
    }
}

impl<'a> Parsed<'a> {
    /// How many messages these are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.items.len() + self.contacts.len()
    }

    /// Adds what one message was: a position, a sign of life of somebody, or something unreadable.
    pub(super) fn add(&mut self, message: Result<Message<'a>, BadItem>) {
        match message {
            Ok(Message::Position(item)) => self.items.push(Ok(*item)),
            Ok(Message::Contact(name)) => self.contacts.push(name),
            Err(bad) => self.items.push(Err(bad)),
        }
    }

    /// What a single message was.
    pub(super) fn one(message: Result<Message<'a>, BadItem>) -> Self {
        let mut parsed = Self::default();
        parsed.add(message);
        parsed
    }

    /// The same, without what it borrows.
    #[must_use]
    pub fn into_owned(self) -> Parsed<'static> {
        let name = |name: Option<Cow<'a, str>>| name.map(|name| Cow::Owned(name.into_owned()));
        let item = |item: Item<'a>| Item {
            seq: item.seq,
            tracker: name(item.tracker),
            recorded_at: item.recorded_at,
            reported: item.reported,
            attributes: item.attributes,
            ignored: item.ignored,
        };
        Parsed {
            items: self.items.into_iter().map(|read| read.map(item)).collect(),
            contacts: self.contacts.into_iter().map(name).collect(),
            assumed_speed: self.assumed_speed,
        }
    }
}

/// One message of a request.
#[derive(Debug)]
pub(super) enum Message<'a> {
    /// A position.
    Position(Box<Item<'a>>),
    /// No position; whose it is, if it says so.
    Contact(Option<Cow<'a, str>>),
}

/// Names and values without those of credentials, as many as are kept.
fn without_secrets(fields: &[u8]) -> Vec<u8> {
    let is_kept = |field: &&[u8]| {
        let name = field.split(|byte| *byte == b'=').next().unwrap_or_default();
        !SECRETS.iter().any(|secret| secret.as_bytes() == name)
    };
    let kept = fields.split(|byte| *byte == b'&').filter(is_kept);
    kept.take(MOST_RAW_BYTES).collect::<Vec<_>>().join(&b'&')
}

fn find(within: &[u8], wanted: &[u8]) -> bool {
    within.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
impl Request {
    /// A request with this body and nothing else, of 2026-05-01T12:00:00Z.
    pub(super) fn of(body: &'static str) -> Self {
        Self {
            rest: String::new(),
            query: String::new(),
            content_type: String::new(),
            limit_names: None,
            body: Bytes::from_static(body.as_bytes()),
            received_at: Timestamp::from_micros(1_777_636_800_000_000),
        }
    }
}
