//! What this server answers to fixes: acks on the tracker socket, answers to requests, counts of Teltonika's records.

use std::collections::VecDeque;
use std::time::Instant;

use crate::load::{Awaited, Ear, SharedLog};
use crate::wire::{http, ws};

/// Reads acks.
#[derive(Default)]
pub(super) struct AckEar {
    /// Frames to come, with the number of their last item.
    awaited: VecDeque<(u32, i64)>,
    last: i64,
}

impl Ear for AckEar {
    fn expect(&mut self, frames: Vec<Awaited>) {
        for Awaited { frame, fixes } in frames {
            self.last += i64::from(fixes);
            self.awaited.push_back((frame, self.last));
        }
    }

    fn hear(&mut self, bytes: &[u8], at: Instant, log: &SharedLog) -> usize {
        let mut heard = 0;
        while let Some((message, length)) = ws::first_frame(&bytes[heard..]) {
            heard += length;
            match message {
                ws::Heard::Text(text) => self.text(&String::from_utf8_lossy(text), at, log),
                ws::Heard::Close(code) => log.lock().fail(format!("a tracker's socket closed: {code}")),
                ws::Heard::Beat => {}
            }
        }
        heard
    }
}

impl AckEar {
    fn text(&mut self, text: &str, at: Instant, log: &SharedLog) {
        let number = text
            .strip_prefix(r#"{"type":"ack","seq":"#)
            .and_then(|rest| rest.split(',').next()?.parse().ok());
        let mut log = log.lock();
        let (Some(number), true) = (number, text.contains(r#""rejected":[]"#)) else {
            return log.fail(format!("not a plain ack: {text}"));
        };
        while let Some((frame, _)) = self.awaited.pop_front_if(|(_, last)| *last <= number) {
            log.acknowledge(frame as usize, at);
        }
    }
}

/// Reads the answers of requests, which come in order.
#[derive(Default)]
pub(super) struct AnswerEar {
    awaited: VecDeque<u32>,
}

impl Ear for AnswerEar {
    fn may_end(&self) -> bool {
        self.awaited.is_empty()
    }

    fn expect(&mut self, frames: Vec<Awaited>) {
        self.awaited.extend(frames.iter().map(|awaited| awaited.frame));
    }

    fn hear(&mut self, bytes: &[u8], at: Instant, log: &SharedLog) -> usize {
        let mut heard = 0;
        while let Some((status, body, length)) = http::first_answer(&bytes[heard..]) {
            heard += length;
            let mut log = log.lock();
            match self.awaited.pop_front() {
                Some(frame) if (200..300).contains(&status) => log.acknowledge(frame as usize, at),
                _ => log.fail(format!("{status} {}", String::from_utf8_lossy(&body))),
            }
        }
        heard
    }
}

/// Reads how many records of each packet are stored, in four bytes.
#[derive(Default)]
pub(super) struct CountEar {
    awaited: VecDeque<Awaited>,
}

impl Ear for CountEar {
    fn may_end(&self) -> bool {
        self.awaited.is_empty()
    }

    fn expect(&mut self, frames: Vec<Awaited>) {
        self.awaited.extend(frames);
    }

    fn hear(&mut self, bytes: &[u8], at: Instant, log: &SharedLog) -> usize {
        let (counts, rest) = bytes.as_chunks();
        for count in counts {
            let mut log = log.lock();
            match self.awaited.pop_front() {
                Some(Awaited { frame, fixes }) if u32::from_be_bytes(*count) == fixes => {
                    log.acknowledge(frame as usize, at);
                }
                _ => log.fail(format!("not the count of a packet's records: {count:?}")),
            }
        }
        bytes.len() - rest.len()
    }
}
