//! A timer wheel: many keys, each due once, by an instant that is told. Putting one in and taking it out cost the same
//! however many there are. Pure; knows no clock and not what the keys stand for.

use crate::model::Timestamp;

/// Slots: one turn of the wheel, in ticks.
const SLOTS: i64 = 4_096;
/// A tick, microseconds.
const TICK: i64 = 1_000_000;

/// The wheel. A key that is due farther ahead than a turn comes out at the end of the turn: its taker looks
/// whether it is its time, and puts it in again.
#[derive(Debug)]
pub(crate) struct TimerWheel<K> {
    slots: Vec<Vec<K>>,
    /// The next tick to come out.
    next: i64,
}

impl<K> TimerWheel<K> {
    /// An empty wheel that stands at an instant.
    pub(crate) fn new(now: Timestamp) -> Self {
        Self { slots: (0..SLOTS).map(|_| Vec::new()).collect(), next: tick_of(now) }
    }

    /// Puts a key in, to come out by [`Self::turn`] as soon as that is told `due` or a later instant, and not before the
    /// next one.
    pub(crate) fn put(&mut self, key: K, due: Timestamp) {
        // A tick is over with its last microsecond, so a key never comes out early.
        let tick = tick_of(due) + i64::from(due.as_micros().rem_euclid(TICK) > 0);
        let tick = tick.clamp(self.next, self.next + SLOTS - 1);
        self.slots[tick.rem_euclid(SLOTS) as usize].push(key);
    }

    /// Turns it on to an instant; returns the keys that come out. A clock that goes back brings nothing.
    pub(crate) fn turn(&mut self, now: Timestamp) -> Vec<K> {
        let until = tick_of(now);
        let mut out = Vec::new();
        // After a jump, one turn brings all of them.
        let first = self.next.max(until - SLOTS + 1);
        for tick in first..=until {
            out.append(&mut self.slots[tick.rem_euclid(SLOTS) as usize]);
        }
        self.next = self.next.max(until + 1);
        out
    }
}

const fn tick_of(instant: Timestamp) -> i64 {
    instant.as_micros().div_euclid(TICK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Timestamp {
        Timestamp::from_micros(1_700_000_000_000_000).plus_seconds(seconds)
    }

    #[test]
    fn a_key_comes_out_once_and_never_early() {
        for due in [0.0, 0.001, 0.999, 1.0, 59.5, 4_094.9, 4_095.0, 4_096.0, 100_000.0] {
            let mut wheel = TimerWheel::new(at(0.0));
            wheel.put("key", at(due));
            let mut turns = Vec::new();
            for second in 0..8_192 {
                turns.extend(wheel.turn(at(f64::from(second))).iter().map(|_| second));
            }
            let expected = due.ceil().min(4_095.0) as i32;
            assert_eq!(turns, [expected], "due after {due} s");
        }
    }

    #[test]
    fn a_jump_brings_all_and_a_clock_that_goes_back_brings_nothing() {
        let mut wheel = TimerWheel::new(at(0.0));
        (0..10_000).for_each(|key| wheel.put(key, at(f64::from(key))));
        assert_eq!(wheel.turn(at(-50.0)).len(), 0);
        assert_eq!(wheel.turn(at(1_000_000.0)).len(), 10_000);
        wheel.put(1, at(5.0));
        assert_eq!(wheel.turn(at(1_000_000.5)).len(), 0, "its slot of this tick is over");
        assert_eq!(wheel.turn(at(1_000_001.0)), [1]);
    }
}
