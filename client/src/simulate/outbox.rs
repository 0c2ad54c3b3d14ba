//! What a tracker has sent and what of it is acknowledged. Pure: it knows the protocol's words and numbers, no
//! socket and no clock.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::trace::Point;

/// Frames that may wait for their commit until a welcome says otherwise.
const DOCUMENTED_CREDIT: usize = 8;

/// What a server says on a tracker's socket; other members and other types are passed over.
#[derive(Debug, Deserialize)]
pub(super) struct ServerMessage {
    /// `welcome`, `ack`, `retry`, `config` or `error`.
    #[serde(rename = "type")]
    pub kind: String,
    /// ack: everything up to here is committed or refused.
    #[serde(default)]
    pub seq: Option<u64>,
    /// welcome: what the server has of this boot.
    #[serde(default, rename = "ackedSeq")]
    pub acked_seq: Option<u64>,
    /// ack: what is refused, and why.
    #[serde(default)]
    pub rejected: Vec<Rejection>,
    /// ack: frames that may still be sent before the next one.
    #[serde(default)]
    pub credit: Option<usize>,
    /// welcome: the limits of this connection.
    #[serde(default)]
    pub limits: Option<Limits>,
    /// ack: fixes stored since the ack before.
    #[serde(default)]
    pub stored: u64,
    /// ack: fixes that were there already, since the ack before.
    #[serde(default)]
    pub duplicates: u64,
    /// retry: everything that is not acknowledged is to be sent again after this many milliseconds.
    #[serde(default, rename = "afterMs")]
    pub after_ms: Option<u64>,
    /// error: its code.
    #[serde(default)]
    pub code: Option<String>,
    /// error: in words.
    #[serde(default)]
    pub detail: Option<String>,
}

/// What a server allows on a connection.
#[derive(Debug, Deserialize)]
pub(super) struct Limits {
    /// Frames that may wait for their commit.
    #[serde(default)]
    pub credit: Option<usize>,
}

/// A fix refused.
#[derive(Debug, Deserialize)]
pub(super) struct Rejection {
    /// The fix's number.
    pub seq: u64,
    /// Why.
    pub code: String,
}

#[derive(Serialize)]
struct Frame<'a> {
    r#type: &'static str,
    items: Vec<Item<'a>>,
}

#[derive(Serialize)]
struct Item<'a> {
    seq: u64,
    #[serde(flatten)]
    point: &'a Point,
}

struct InFlight {
    last_seq: u64,
    text: Utf8Bytes,
    due: Instant,
}

/// What an ack brought.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Progress {
    /// Fixes newly committed or refused.
    pub acknowledged: u64,
    /// Of these, the codes of those refused.
    pub refused: Vec<String>,
    /// When each frame now complete was to be sent.
    pub dues: Vec<Instant>,
}

/// One tracker's frames between sending and ack.
pub(super) struct Outbox {
    next_seq: u64,
    acked: u64,
    /// The most frames that may wait, by the server's welcome.
    limit: usize,
    /// Frames that may wait now.
    window: usize,
    in_flight: VecDeque<InFlight>,
    refused: BTreeMap<u64, String>,
}

impl Outbox {
    /// An outbox that has sent nothing yet.
    #[must_use]
    pub(super) fn new() -> Self {
        Self {
            next_seq: 1,
            acked: 0,
            limit: DOCUMENTED_CREDIT,
            window: DOCUMENTED_CREDIT,
            in_flight: VecDeque::new(),
            refused: BTreeMap::new(),
        }
    }

    /// Whether the credit allows one more frame. Credit 0 still allows one: only its ack can bring more credit.
    #[must_use]
    pub(super) fn has_room(&self) -> bool {
        self.in_flight.len() < self.window.max(1)
    }

    /// The number up to which everything is committed or refused.
    #[must_use]
    pub(super) const fn acked(&self) -> u64 {
        self.acked
    }

    /// Frames that wait for their ack.
    #[must_use]
    pub(super) fn waiting(&self) -> usize {
        self.in_flight.len()
    }

    /// Numbers the fixes, makes a frame of them and remembers it until it is acknowledged.
    pub(super) fn frame(&mut self, points: &[Point], due: Instant) -> Utf8Bytes {
        let items = points.iter().zip(self.next_seq..).map(|(point, seq)| Item { seq, point }).collect();
        let json = serde_json::to_string(&Frame { r#type: "positions", items });
        let text = Utf8Bytes::from(json.expect("numbers of a trace are finite and texts need no escape"));
        self.next_seq += points.len() as u64;
        self.in_flight.push_back(InFlight { last_seq: self.next_seq - 1, text: text.clone(), due });
        text
    }

    /// Everything not acknowledged, to be sent again as it was.
    pub(super) fn unacknowledged(&self) -> impl Iterator<Item = Utf8Bytes> {
        self.in_flight.iter().map(|frame| frame.text.clone())
    }

    /// Takes an ack, or a welcome that says what the server already has.
    pub(super) fn take(&mut self, message: &ServerMessage) -> Progress {
        if let Some(limit) = message.limits.as_ref().and_then(|limits| limits.credit) {
            (self.limit, self.window) = (limit, limit);
        }
        for rejection in message.rejected.iter().filter(|rejection| rejection.seq > self.acked) {
            self.refused.insert(rejection.seq, rejection.code.clone());
        }
        let told = message.seq.or(message.acked_seq).unwrap_or(0).min(self.next_seq - 1);
        let mut progress = Progress { acknowledged: told.saturating_sub(self.acked), ..Progress::default() };
        self.acked = self.acked.max(told);
        let later = self.refused.split_off(&(self.acked + 1));
        progress.refused = std::mem::replace(&mut self.refused, later).into_values().collect();
        while let Some(frame) = self.in_flight.pop_front_if(|frame| frame.last_seq <= told) {
            progress.dues.push(frame.due);
        }
        // Credit is what may be sent beyond what the server holds, which is at most what is in flight.
        if let Some(credit) = message.credit {
            self.window = self.limit.min(credit + self.in_flight.len());
        }
        progress
    }
}

#[cfg(test)]
mod tests {
    use waypost_actors::model::{Place, Timestamp};

    use super::*;

    fn points(count: usize) -> Vec<Point> {
        let point = |n: usize| Point::new(Timestamp::from_micros(n as i64 * 1_000_000), Place::new(1.5, 2.0));
        (0..count).map(point).collect()
    }

    fn ack(json: &str) -> ServerMessage {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn frames_speak_the_protocol_and_number_on() {
        let mut outbox = Outbox::new();
        let now = Instant::now();
        assert_eq!(
            outbox.frame(&points(1), now).as_str(),
            r#"{"type":"positions","items":[{"seq":1,"recordedAt":"1970-01-01T00:00:00.000Z","latitude":1.5,"longitude":2.0}]}"#
        );
        assert!(outbox.frame(&points(2), now).contains(r#""seq":3"#));
    }

    #[test]
    fn an_ack_counts_each_fix_once_however_often_it_comes() {
        let mut outbox = Outbox::new();
        let now = Instant::now();
        outbox.frame(&points(3), now);
        outbox.frame(&points(3), now);
        let refusal = r#"{"type":"ack","seq":4,"rejected":[{"seq":2,"code":"nullIsland","detail":"x"},{"seq":5,"code":"outOfRange"}],"credit":7}"#;
        let first = outbox.take(&ack(refusal));
        assert_eq!(
            (first.acknowledged, first.refused, first.dues.len()),
            (4, vec!["nullIsland".to_owned()], 1)
        );
        assert_eq!(outbox.take(&ack(refusal)), Progress::default());
        assert_eq!(outbox.waiting(), 1);
        let rest = outbox.take(&ack(r#"{"type":"ack","seq":6}"#));
        assert_eq!((rest.acknowledged, rest.refused, rest.dues.len()), (2, vec!["outOfRange".to_owned()], 1));
        assert_eq!(outbox.waiting(), 0);
    }

    #[test]
    fn credit_bounds_what_waits_and_a_welcome_counts_as_an_ack() {
        let mut outbox = Outbox::new();
        let now = Instant::now();
        for _ in 0..DOCUMENTED_CREDIT {
            assert!(outbox.has_room());
            outbox.frame(&points(1), now);
        }
        assert!(!outbox.has_room());
        // One of eight is acknowledged: one more may follow.
        outbox.take(&ack(r#"{"type":"ack","seq":1,"credit":1}"#));
        assert!(outbox.has_room());
        outbox.frame(&points(1), now);
        assert!(!outbox.has_room());
        let welcome =
            outbox.take(&ack(r#"{"type":"welcome","ackedSeq":7,"limits":{"maxItems":500,"credit":2}}"#));
        assert_eq!(welcome.acknowledged, 6);
        assert!(!outbox.has_room());
        assert_eq!(outbox.unacknowledged().count(), 2);
        // A server cannot acknowledge what was never sent.
        assert_eq!(outbox.take(&ack(r#"{"type":"ack","seq":99,"credit":0}"#)).acknowledged, 2);
        assert!(outbox.has_room());
    }
}
