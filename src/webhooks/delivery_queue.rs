//! The queue of one webhook's events: which one is sent next, and how far the webhook got. Pure: no clock, no network.
//!
//! At most eight are under way, one of each vehicle, so that a receiver hears of a vehicle in order. The first that fails
//! stops the queue: it alone is sent again until it succeeds or is given up.

use std::collections::VecDeque;
use std::rc::Rc;

use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::message::Message;
use super::schedule::{self, LONGEST_WAIT_SECONDS};
use crate::domain::webhook::AttemptOutcome;
use crate::store::webhook_delivery::{Progress, Stopped};

/// Deliveries of a webhook that may be under way.
const MOST_UNDER_WAY: usize = 8;
/// Events that may wait in a queue.
pub(super) const MOST_WAITING: usize = 100;
/// Bytes of their bodies, beyond which no other is read: that of a geofence may have megabytes.
const MOST_WAITING_BYTES: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    UnderWay,
    Done,
}

struct Item {
    message: Rc<Message>,
    sequence: i64,
    attempts: i64,
    state: State,
}

/// The queue.
pub(super) struct DeliveryQueue {
    items: VecDeque<Item>,
    /// The next number to be read from the log.
    read_to: i64,
    stopped: Option<Stopped>,
    failing_since: Option<Timestamp>,
    moves: i64,
}

/// How an attempt ended, for the queue.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ended {
    /// The receiver took it.
    Delivered,
    /// It did not, and asked to wait for this many seconds.
    Failed(Option<f64>),
}

impl DeliveryQueue {
    /// Goes on where a webhook was.
    pub(super) const fn new(progress: Progress) -> Self {
        let Progress { next_sequence, moves, failing_since, stopped } = progress;
        Self { items: VecDeque::new(), read_to: next_sequence, stopped, failing_since, moves }
    }

    /// The next number to be read from the log.
    pub(super) const fn read_to(&self) -> i64 {
        self.read_to
    }

    /// How many more events may wait.
    pub(super) fn room(&self) -> usize {
        let bytes: usize = self.items.iter().map(|item| item.message.body.len()).sum();
        if bytes >= MOST_WAITING_BYTES { 0 } else { MOST_WAITING.saturating_sub(self.items.len()) }
    }

    /// Adds an event of the log.
    pub(super) fn push(&mut self, sequence: i64, message: Message) {
        self.items.push_back(Item {
            message: Rc::new(message),
            sequence,
            attempts: 0,
            state: State::Waiting,
        });
        self.read_to = self.read_to.max(sequence + 1);
    }

    /// Notes that the log has nothing else for this webhook before a number.
    pub(super) fn passed(&mut self, next: i64) {
        self.read_to = self.read_to.max(next);
    }

    /// How far the webhook got.
    pub(super) fn progress(&self) -> Progress {
        Progress {
            next_sequence: self.items.front().map_or(self.read_to, |item| item.sequence),
            moves: self.moves,
            failing_since: self.failing_since,
            stopped: self.stopped,
        }
    }

    /// When the first event came into the log that is not done.
    pub(super) fn oldest(&self) -> Option<Timestamp> {
        self.items.front().map(|item| item.message.logged_at)
    }

    /// Since when every attempt has failed, without days between them in which nothing was tried.
    pub(super) const fn failing_since(&self) -> Option<Timestamp> {
        self.failing_since
    }

    /// Whether the queue waits for a time.
    pub(super) const fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// Takes the next event to send now, with the number of its attempt.
    pub(super) fn next(&mut self, now: Timestamp) -> Option<(i64, i64, Rc<Message>)> {
        let under_way = self.items.iter().filter(|item| item.state == State::UnderWay).count();
        let index = match self.stopped {
            Some(stopped) if now < stopped.next_at || under_way > 0 => return None,
            Some(stopped) => {
                let index = self.in_place_of(stopped)?;
                let item = &mut self.items[index];
                if item.sequence == stopped.sequence {
                    item.attempts = item.attempts.max(stopped.attempts);
                }
                self.stopped = Some(Stopped { sequence: item.sequence, attempts: item.attempts, ..stopped });
                index
            }
            None if under_way >= MOST_UNDER_WAY => return None,
            None => self.first_of_its_vehicle()?,
        };
        let item = &mut self.items[index];
        item.state = State::UnderWay;
        Some((item.sequence, item.attempts + 1, Rc::clone(&item.message)))
    }

    /// The event that stopped the queue. If the log has it no more, since it was revised and has another number, the first one
    /// takes its place: after the same pause, but with attempts of its own.
    fn in_place_of(&self, stopped: Stopped) -> Option<usize> {
        let waits = |item: &Item| item.state == State::Waiting;
        let same = self.items.iter().position(|item| item.sequence == stopped.sequence && waits(item));
        let is_read = self.read_to > stopped.sequence || self.room() == 0;
        same.or_else(|| self.items.iter().position(waits).filter(|_| is_read))
    }

    fn first_of_its_vehicle(&self) -> Option<usize> {
        let mut before: Vec<Uuid> = Vec::new();
        for (index, item) in self.items.iter().enumerate().filter(|(_, item)| item.state != State::Done) {
            if item.state == State::Waiting && !before.contains(&item.message.about) {
                return Some(index);
            }
            before.push(item.message.about);
        }
        None
    }

    /// Notes how an attempt ended.
    pub(super) fn done(
        &mut self,
        sequence: i64,
        ended: Ended,
        now: Timestamp,
        random: f64,
    ) -> AttemptOutcome {
        let stopped_by_another = self.stopped.filter(|stopped| stopped.sequence != sequence);
        let item = self.items.iter_mut().find(|item| item.sequence == sequence);
        let Some(item) = item else { return AttemptOutcome::Delivered };
        item.attempts += 1;
        let outcome = match ended {
            Ended::Delivered => {
                self.failing_since = None;
                AttemptOutcome::Delivered
            }
            Ended::Failed(asked) => {
                let is_late = |stopped: Stopped| now.seconds_since(stopped.next_at) > LONGEST_WAIT_SECONDS;
                // The server or its organization was away meanwhile: what failed before that says nothing of today.
                if self.stopped.is_some_and(is_late) {
                    self.failing_since = None;
                }
                self.failing_since.get_or_insert(now);
                match schedule::next_at(item.attempts, now, asked, random) {
                    Some(next_at) => {
                        item.state = State::Waiting;
                        let asked_until = schedule::asked_until(now, asked);
                        self.stopped = Some(match stopped_by_another {
                            None => Stopped { sequence, attempts: item.attempts, next_at },
                            Some(other) => Stopped { next_at: other.next_at.max(asked_until), ..other },
                        });
                        return AttemptOutcome::Failed;
                    }
                    None => AttemptOutcome::GivenUp,
                }
            }
        };
        item.state = State::Done;
        self.stopped = stopped_by_another;
        while self.items.front().is_some_and(|item| item.state == State::Done) {
            self.items.pop_front();
        }
        // Until something happens again nothing is tried, for however long: that is no row of failures.
        if outcome == AttemptOutcome::GivenUp && self.items.is_empty() {
            self.failing_since = None;
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> DeliveryQueue {
        DeliveryQueue::new(Progress { next_sequence: 1, moves: 0, failing_since: None, stopped: None })
    }

    fn of(vehicle: u128) -> Message {
        let (id, event_type) = (format!("e{vehicle}_1"), "geofence.entry".into());
        Message { id, event_type, about: Uuid::from_u128(vehicle), logged_at: at(0), body: "{}".to_owned() }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000).unwrap()
    }

    fn sent(queue: &mut DeliveryQueue, now: Timestamp) -> Vec<i64> {
        std::iter::from_fn(|| queue.next(now).map(|(sequence, ..)| sequence)).collect()
    }

    #[test]
    fn eight_are_under_way_and_one_of_each_vehicle() {
        let mut queue = queue();
        for sequence in 1..=12 {
            queue.push(sequence, of(sequence as u128 % 10));
        }
        // 11 and 12 are of the vehicles of 1 and 2.
        assert_eq!(sent(&mut queue, at(0)), [1, 2, 3, 4, 5, 6, 7, 8]);
        queue.done(3, Ended::Delivered, at(0), 0.0);
        assert_eq!(sent(&mut queue, at(0)), [9]);
        queue.done(4, Ended::Delivered, at(0), 0.0);
        queue.done(5, Ended::Delivered, at(0), 0.0);
        assert_eq!(sent(&mut queue, at(0)), [10]);
        assert_eq!(queue.progress().next_sequence, 1);
        queue.done(1, Ended::Delivered, at(0), 0.0);
        assert_eq!(sent(&mut queue, at(0)), [11]);
        queue.done(2, Ended::Delivered, at(0), 0.0);
        assert_eq!(queue.progress().next_sequence, 6);
    }

    #[test]
    fn as_much_waits_as_there_is_memory_for() {
        let mut queue = queue();
        for sequence in 1..=3 {
            assert!(queue.room() > 0);
            let body = "x".repeat(MOST_WAITING_BYTES / 2 - 1);
            queue.push(sequence, Message { body, ..of(sequence as u128) });
        }
        assert_eq!((queue.room(), sent(&mut queue, at(0)).len()), (0, 3));
        queue.done(1, Ended::Delivered, at(0), 0.0);
        assert_eq!(queue.room(), MOST_WAITING - 2);
    }

    #[test]
    fn the_first_that_fails_is_sent_alone_until_it_succeeds() {
        let mut queue = queue();
        for sequence in 1..=4 {
            queue.push(sequence, of(sequence as u128));
        }
        assert_eq!(sent(&mut queue, at(0)).len(), 4);
        assert_eq!(queue.done(2, Ended::Failed(None), at(0), 0.0), AttemptOutcome::Failed);
        queue.done(1, Ended::Failed(None), at(0), 0.0);
        queue.done(3, Ended::Delivered, at(1), 0.0);
        queue.done(4, Ended::Failed(None), at(1), 0.0);
        assert_eq!(queue.failing_since(), Some(at(1)));
        assert!(sent(&mut queue, at(4)).is_empty());
        assert_eq!(queue.next(at(5)).map(|(sequence, attempt, _)| (sequence, attempt)), Some((2, 2)));
        assert!(sent(&mut queue, at(5)).is_empty());
        queue.done(2, Ended::Delivered, at(6), 0.0);
        assert_eq!((sent(&mut queue, at(6)), queue.failing_since()), (vec![1, 4], None));
    }

    #[test]
    fn one_that_is_given_up_is_passed_over() {
        let mut queue = queue();
        queue.push(1, of(1));
        queue.push(2, of(1));
        let mut now = at(0);
        for attempt in 1..=10 {
            assert_eq!(queue.next(now).map(|(sequence, attempt, _)| (sequence, attempt)), Some((1, attempt)));
            let outcome = queue.done(1, Ended::Failed(None), now, 0.0);
            assert_eq!(outcome == AttemptOutcome::GivenUp, attempt == 10);
            now = queue.progress().stopped.map_or(now, |stopped| stopped.next_at);
        }
        assert_eq!((queue.progress().next_sequence, sent(&mut queue, now)), (2, vec![2]));
    }

    #[test]
    fn a_line_goes_on_with_the_attempts_that_it_had() {
        let mut queue = queue();
        queue.push(1, of(1));
        queue.next(at(0));
        queue.done(1, Ended::Failed(Some(600.0)), at(0), 0.0);
        let mut again = DeliveryQueue::new(queue.progress());
        again.push(1, of(1));
        again.push(2, of(2));
        assert!(again.next(at(599)).is_none());
        assert_eq!(again.next(at(600)).map(|(sequence, attempt, _)| (sequence, attempt)), Some((1, 2)));
        // Its event was revised, and has another number now: that is waited for, and what failed was another event.
        let mut revised = DeliveryQueue::new(queue.progress());
        revised.push(7, of(1));
        assert!(revised.next(at(599)).is_none());
        assert_eq!(revised.next(at(600)).map(|(sequence, attempt, _)| (sequence, attempt)), Some((7, 1)));
        revised.done(7, Ended::Delivered, at(600), 0.0);
        assert!(!revised.is_stopped());
    }

    #[test]
    fn no_other_event_goes_first_before_the_log_is_read_up_to_the_one_that_failed() {
        let stopped = Some(Stopped { sequence: 5, attempts: 1, next_at: at(0) });
        let mut queue = DeliveryQueue::new(Progress { stopped, ..queue().progress() });
        queue.push(2, of(2));
        assert!(queue.next(at(1)).is_none());
        queue.push(5, of(5));
        assert_eq!(queue.next(at(1)).map(|(sequence, attempt, _)| (sequence, attempt)), Some((5, 2)));
    }

    #[test]
    fn whichever_failure_asks_for_the_longest_pause_is_heard() {
        let mut queue = queue();
        for sequence in 1..=3 {
            queue.push(sequence, of(sequence as u128));
        }
        assert_eq!(sent(&mut queue, at(0)).len(), 3);
        queue.done(1, Ended::Failed(None), at(0), 0.0);
        queue.done(2, Ended::Failed(Some(60.0)), at(1), 0.0);
        queue.done(3, Ended::Failed(Some(30.0)), at(2), 0.0);
        let expected = Stopped { sequence: 1, attempts: 1, next_at: at(61) };
        assert_eq!(queue.progress().stopped, Some(expected));
    }

    #[test]
    fn failures_with_days_of_silence_between_them_are_no_row() {
        let mut queue = queue();
        queue.push(1, of(1));
        let mut now = at(0);
        while queue.next(now).is_some() {
            queue.done(1, Ended::Failed(None), now, 0.0);
            now = queue.progress().stopped.map_or(now, |stopped| stopped.next_at);
        }
        assert_eq!((queue.progress().next_sequence, queue.failing_since()), (2, None));
        // The server, or its organization, was away for days.
        queue.push(2, of(2));
        queue.next(now);
        queue.done(2, Ended::Failed(None), now, 0.0);
        let later = now.plus_seconds(6.0 * 86_400.0);
        let mut again = DeliveryQueue::new(queue.progress());
        again.push(2, of(2));
        again.next(later);
        again.done(2, Ended::Failed(None), later, 0.0);
        assert_eq!((queue.failing_since(), again.failing_since()), (Some(now), Some(later)));
    }
}
