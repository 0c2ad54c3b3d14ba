//! When an event that failed is sent again.

use waypost_actors::model::Timestamp;

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3_600.0;
/// Seconds after each failed attempt. Together 75 hours.
const PAUSES_SECONDS: [f64; 9] = [
    5.0,
    5.0 * MINUTE,
    0.5 * HOUR,
    2.0 * HOUR,
    5.0 * HOUR,
    10.0 * HOUR,
    14.0 * HOUR,
    20.0 * HOUR,
    24.0 * HOUR,
];
/// A pause is longer by up to this part of it, so that what failed together does not come together.
const JITTER: f64 = 0.1;
/// The longest time that a receiver may ask to wait, in seconds.
pub(super) const LONGEST_WAIT_SECONDS: f64 = 24.0 * HOUR;
/// A webhook with nothing but failures for this long is disabled. Seconds: 5 days.
pub(super) const DISABLED_AFTER_SECONDS: f64 = 5.0 * 24.0 * HOUR;

/// When an event is sent again after this many attempts, the last of which ended now; `None`: it is given up.
/// `asked`: the seconds that the receiver asked to wait; `random`: 0 to 1.
pub(super) fn next_at(attempts: i64, now: Timestamp, asked: Option<f64>, random: f64) -> Option<Timestamp> {
    let pause = PAUSES_SECONDS.get(usize::try_from(attempts - 1).ok()?)?;
    let pause = pause * (1.0 + JITTER * random);
    Some(now.plus_seconds(pause).max(asked_until(now, asked)))
}

/// Until when a receiver asked, now, to be sent nothing.
pub(super) fn asked_until(now: Timestamp, asked: Option<f64>) -> Timestamp {
    now.plus_seconds(asked.unwrap_or(0.0).min(LONGEST_WAIT_SECONDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_attempts_take_three_days() {
        let now = Timestamp::from_millis(0).unwrap();
        let pause = |attempts, asked, random| {
            next_at(attempts, now, asked, random).map(|at| at.seconds_since(now).round())
        };
        assert_eq!(pause(1, None, 0.0), Some(5.0));
        assert_eq!(pause(2, None, 1.0), Some(330.0));
        assert_eq!(pause(9, None, 0.0), Some(86_400.0));
        assert_eq!(pause(10, None, 0.0), None);
        let hours = (1..10).filter_map(|n| pause(n, None, 0.0)).sum::<f64>() / HOUR;
        assert!((75.0..77.0).contains(&hours), "{hours}");
    }

    #[test]
    fn a_receiver_may_ask_for_a_longer_pause_within_bounds_and_for_no_shorter_one() {
        let now = Timestamp::from_millis(0).unwrap();
        let pause = |asked| next_at(1, now, Some(asked), 0.0).unwrap().seconds_since(now);
        assert_eq!((pause(60.0), pause(1.0), pause(1e9)), (60.0, 5.0, 86_400.0));
    }
}
