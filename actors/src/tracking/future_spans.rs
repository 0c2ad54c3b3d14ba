//! Where stored fixes lie that were dated ahead of the server's clock: a few spans of time instead of each instant, because
//! a clock that is wrong is usually wrong for a while, and by about the same.

use serde::{Deserialize, Serialize};

use crate::model::Timestamp;

/// Spans at most; one more widens the nearest.
const MAX_SPANS: usize = 4;
/// An instant within this many seconds of a span belongs to it.
const NEAR_SECONDS: f64 = 86_400.0;

/// Spans of time, ends included, that hold every stored fix which was dated ahead.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FutureSpans(Vec<(Timestamp, Timestamp)>);

impl FutureSpans {
    /// Where such fixes may lie if nobody knows: within a day. A tracker does not send again what it dated further ahead once
    /// that day has come.
    #[must_use]
    pub fn unknown(newest_stored: Timestamp) -> Self {
        Self(vec![(newest_stored, newest_stored.plus_seconds(NEAR_SECONDS))])
    }

    /// Whether such a fix may be stored at an instant.
    #[must_use]
    pub fn may_hold(&self, at: Timestamp) -> bool {
        self.0.iter().any(|(from, to)| (*from..=*to).contains(&at))
    }

    /// Adds an instant, and forgets what is not after `newest_stored`.
    pub fn add(&mut self, at: Timestamp, newest_stored: Timestamp) {
        self.0.retain(|(_, to)| *to > newest_stored);
        let distance =
            |(from, to): &(Timestamp, Timestamp)| from.seconds_since(at).max(at.seconds_since(*to)).max(0.0);
        let is_full = self.0.len() >= MAX_SPANS;
        let nearest = self.0.iter_mut().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        match nearest.filter(|span| is_full || distance(span) <= NEAR_SECONDS) {
            Some((from, to)) => (*from, *to) = (at.min(*from), at.max(*to)),
            None => self.0.push((at, at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(days: f64) -> Timestamp {
        Timestamp::FIRST.plus_seconds(days * 86_400.0)
    }

    fn spans(days: &[f64], newest_stored: f64) -> FutureSpans {
        let mut spans = FutureSpans::default();
        days.iter().for_each(|at| spans.add(day(*at), day(newest_stored)));
        spans
    }

    #[test]
    fn instants_within_a_day_are_one_span() {
        let FutureSpans(spans) = spans(&[10.0, 11.0, 9.5, 13.0], 0.0);
        assert_eq!(spans, [(day(9.5), day(11.0)), (day(13.0), day(13.0))]);
    }

    #[test]
    fn a_span_holds_its_ends_and_nothing_beyond() {
        let spans = spans(&[10.0, 10.5], 0.0);
        let held = [9.99, 10.0, 10.2, 10.5, 10.51].map(|at| spans.may_hold(day(at)));
        assert_eq!(held, [false, true, true, true, false]);
    }

    #[test]
    fn there_are_few_spans_and_none_that_has_passed() {
        let FutureSpans(few) = spans(&[10.0, 20.0, 30.0, 40.0, 52.0], 0.0);
        assert_eq!(few.len(), MAX_SPANS);
        assert_eq!(few[3], (day(40.0), day(52.0)));
        let mut spans = spans(&[10.0, 20.0], 0.0);
        spans.add(day(30.0), day(10.0));
        assert_eq!(spans.0, [(day(20.0), day(20.0)), (day(30.0), day(30.0))]);
    }
}
