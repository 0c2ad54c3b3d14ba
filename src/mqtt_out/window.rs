//! Events between the log and the broker's acknowledgement, and how far everything is acknowledged. Pure.

use std::collections::VecDeque;

/// Bytes that may be under way, beyond which no other event is.
const MOST_BYTES: usize = 1 << 20;

struct UnderWay {
    /// The number of its entry of the log.
    sequence: i64,
    /// Whether it is all, or the last, of what that entry has.
    is_last: bool,
    bytes: usize,
    /// The number of its packet, once it has one.
    packet: Option<u16>,
    is_acknowledged: bool,
}

/// The events of one connection that are on their way.
pub(super) struct Window {
    events: VecDeque<UnderWay>,
    /// Everything before this number is acknowledged.
    reached: i64,
    most: usize,
    /// Whether the first goes alone.
    is_cautious: bool,
}

impl Window {
    /// A window of at most `most` unacknowledged events, from number `reached` on. If it is cautious, the first is to be
    /// acknowledged before another goes, so that a connection that it ends is ended by nothing else.
    pub(super) const fn new(reached: i64, most: usize, is_cautious: bool) -> Self {
        Self { events: VecDeque::new(), reached, most, is_cautious }
    }

    pub(super) fn has_room(&self) -> bool {
        let bytes: usize = self.events.iter().map(|event| event.bytes).sum();
        let most = if self.is_cautious { 1 } else { self.most };
        self.events.len() < most && bytes < MOST_BYTES
    }

    /// Whether nothing was acknowledged yet by a broker that did not acknowledge the first on the connection before.
    pub(super) const fn is_cautious(&self) -> bool {
        self.is_cautious
    }

    /// Adds what was handed to the client last, of so many bytes, of an entry of the log; `is_last`: with it and what came before,
    /// the entry is done.
    pub(super) fn push(&mut self, sequence: i64, is_last: bool, bytes: usize) {
        self.events.push_back(UnderWay { sequence, is_last, bytes, packet: None, is_acknowledged: false });
    }

    /// Notes the number of the packet of the first that has none: the client sends in order.
    pub(super) fn sent(&mut self, packet: u16) {
        if let Some(first) = self.events.iter_mut().find(|event| event.packet.is_none()) {
            first.packet = Some(packet);
        }
    }

    /// Notes an acknowledgement; returns whether it was awaited.
    pub(super) fn acknowledged(&mut self, packet: u16) -> bool {
        let is_it = |event: &&mut UnderWay| event.packet == Some(packet) && !event.is_acknowledged;
        let Some(event) = self.events.iter_mut().find(is_it) else { return false };
        event.is_acknowledged = true;
        self.is_cautious = false;
        while let Some(done) = self.events.pop_front_if(|event| event.is_acknowledged) {
            self.reached = self.reached.max(done.sequence + i64::from(done.is_last));
        }
        true
    }

    /// Notes that the log has nothing to publish before a number, but what was pushed.
    pub(super) fn passed(&mut self, next: i64) {
        if self.events.is_empty() {
            self.reached = self.reached.max(next);
        }
    }

    /// Everything before this number is acknowledged.
    pub(super) const fn reached(&self) -> i64 {
        self.reached
    }

    /// The first that is not acknowledged: the number of its entry, and its bytes.
    pub(super) fn first(&self) -> Option<(i64, usize)> {
        self.events.front().map(|event| (event.sequence, event.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_moves_with_the_first_that_is_not_acknowledged() {
        let mut window = Window::new(5, 3, false);
        window.passed(7);
        // The second and the third are of one entry.
        for (sequence, is_last) in [(7, true), (10, false), (10, true)] {
            assert!(window.has_room());
            window.push(sequence, is_last, 1);
        }
        assert!(!window.has_room());
        window.passed(20);
        for packet in 1..=3 {
            window.sent(packet);
        }
        assert!(window.acknowledged(2) && !window.acknowledged(2) && !window.acknowledged(9));
        assert_eq!((window.reached(), window.first()), (7, Some((7, 1))));
        window.acknowledged(1);
        assert_eq!((window.reached(), window.first()), (10, Some((10, 1))));
        window.acknowledged(3);
        assert_eq!((window.reached(), window.first()), (11, None));
        window.passed(20);
        assert_eq!(window.reached(), 20);
        window.push(20, true, MOST_BYTES);
        assert!(!window.has_room(), "it is large");
    }

    #[test]
    fn one_that_was_not_acknowledged_before_goes_alone() {
        let mut window = Window::new(5, 3, true);
        assert!(window.has_room());
        window.push(5, true, 1);
        window.sent(1);
        assert!(!window.has_room() && window.is_cautious());
        assert!(window.acknowledged(1) && window.has_room() && !window.is_cautious());
        window.push(6, true, 1);
        assert!(window.has_room());
    }
}
