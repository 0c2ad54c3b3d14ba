//! An event that a broker does not take, over the connections that ended with it. Pure.

/// Connections that may end with the same event unacknowledged, one after another.
const MOST_CONNECTIONS: u32 = 5;

/// The event with which the last connections ended, and how many of them did.
#[derive(Default)]
pub(super) struct Unacknowledged {
    sequence: i64,
    connections: u32,
}

impl Unacknowledged {
    /// Whether a connection ended with an event that is not acknowledged yet.
    pub(super) const fn is_any(&self) -> bool {
        self.connections > 0
    }

    /// Notes how a connection ended: up to which number everything is acknowledged, and the first event that went over it and
    /// is not. Returns whether that is to be passed over. A connection over which none went says nothing of any.
    pub(super) fn ended(&mut self, reached: i64, first: Option<i64>) -> bool {
        if reached > self.sequence {
            *self = Self::default();
        }
        let Some(sequence) = first else { return false };
        let before = if sequence == self.sequence { self.connections } else { 0 };
        *self = Self { sequence, connections: before + 1 };
        self.connections >= MOST_CONNECTIONS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fifth_connection_that_ends_with_an_event_is_the_last() {
        let mut unacknowledged = Unacknowledged::default();
        assert!(!unacknowledged.ended(7, None) && !unacknowledged.is_any());
        for _ in 0..4 {
            assert!(!unacknowledged.ended(7, Some(9)) && unacknowledged.is_any());
            // Over this one nothing went.
            assert!(!unacknowledged.ended(7, None) && unacknowledged.is_any());
        }
        assert!(unacknowledged.ended(7, Some(9)));
        // It was passed over; the next one has as many.
        for _ in 0..4 {
            assert!(!unacknowledged.ended(10, Some(12)));
        }
        // Acknowledged at last.
        assert!(!unacknowledged.ended(13, None) && !unacknowledged.is_any());
        assert!(!unacknowledged.ended(13, Some(14)));
    }
}
