//! Events between the log and the broker's acknowledgement, and how far everything is acknowledged. Pure.

use std::collections::VecDeque;

/// Bytes that may be under way, beyond which no other event is.
const MOST_BYTES: usize = 1 << 20;

struct UnderWay {
    /// With it, everything before this number is done.
    next: i64,
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
}

impl Window {
    /// A window of at most `most` unacknowledged events, from number `reached` on.
    pub(super) const fn new(reached: i64, most: usize) -> Self {
        Self { events: VecDeque::new(), reached, most }
    }

    pub(super) fn has_room(&self) -> bool {
        let bytes: usize = self.events.iter().map(|event| event.bytes).sum();
        self.events.len() < self.most && bytes < MOST_BYTES
    }

    /// Adds what was handed to the client last, of so many bytes. With it and what came before, everything before a number is done.
    pub(super) fn push(&mut self, next: i64, bytes: usize) {
        self.events.push_back(UnderWay { next, bytes, packet: None, is_acknowledged: false });
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
        while let Some(done) = self.events.pop_front_if(|event| event.is_acknowledged) {
            self.reached = self.reached.max(done.next);
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_moves_with_the_first_that_is_not_acknowledged() {
        let mut window = Window::new(5, 3);
        window.passed(7);
        for next in [8, 10, 13] {
            assert!(window.has_room());
            window.push(next, 1);
        }
        assert!(!window.has_room());
        window.passed(20);
        for packet in 1..=3 {
            window.sent(packet);
        }
        assert!(window.acknowledged(2) && !window.acknowledged(2) && !window.acknowledged(9));
        assert_eq!(window.reached(), 7);
        window.acknowledged(1);
        assert_eq!(window.reached(), 10);
        window.acknowledged(3);
        window.passed(20);
        assert_eq!(window.reached(), 20);
        window.push(21, MOST_BYTES);
        assert!(!window.has_room(), "it is large");
    }
}
