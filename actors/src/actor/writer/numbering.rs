//! Which steps beside the commits are due, and how long one that failed is left alone: what vehicles report does not wait for
//! it. Numbers nothing.

use std::time::Duration;

use tokio::time::Instant;

use crate::meters::NumberingStep;

/// Pause after a step failed; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// A pause is at least this many times what the failure cost: a step that never answers holds up few commits.
const PAUSE_TIMES_WAIT: u32 = 10;

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepEnd {
    /// Nothing of it waits any more.
    Done,
    /// It did a part of what waits, or left something for the others: who drove is a change too.
    More,
    /// It failed.
    Failed {
        /// How long it held up the commit, while the store answered all else.
        waited: Duration,
    },
}

/// The steps.
#[derive(Debug, Default)]
pub(super) struct Numbering([Step; NumberingStep::ALL.len()]);

#[derive(Debug, Default)]
struct Step {
    is_wanted: bool,
    /// The pause since it failed last, and its end.
    pause: Option<(Duration, Instant)>,
}

impl Step {
    fn is_due(&self, now: Instant) -> bool {
        self.is_wanted && self.pause.is_none_or(|(_, end)| end <= now)
    }
}

impl Numbering {
    /// All of them are to be taken.
    pub(super) fn wanted() -> Self {
        let mut all = Self::default();
        all.want();
        all
    }

    /// Something may wait for any of them.
    pub(super) fn want(&mut self) {
        self.0.iter_mut().for_each(|step| step.is_wanted = true);
    }

    /// Whether one is to be taken.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.0.iter().any(|step| step.is_due(now))
    }

    /// Takes those that are to be done now, in their order.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<NumberingStep> {
        let due: Vec<_> =
            NumberingStep::ALL.into_iter().filter(|which| self.0[*which as usize].is_due(now)).collect();
        for which in &due {
            self.0[*which as usize].is_wanted = false;
        }
        due
    }

    /// Notes how one ended; answers the pause after which it is due again, if it failed.
    pub(super) fn note(&mut self, which: NumberingStep, end: StepEnd, now: Instant) -> Option<Duration> {
        if end != StepEnd::Done {
            // Behind one that failed, the others were not taken.
            self.want();
        }
        let step = &mut self.0[which as usize];
        let StepEnd::Failed { waited } = end else {
            step.pause = None;
            return None;
        };
        let pause = step.pause.map_or(FIRST_PAUSE, |(pause, _)| pause * 2);
        let pause = pause.max(waited * PAUSE_TIMES_WAIT).min(LONGEST_PAUSE);
        step.pause = Some((pause, now + pause));
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use NumberingStep::{Changes, Drivers};

    const FAILED: StepEnd = StepEnd::Failed { waited: Duration::ZERO };

    #[test]
    fn a_step_that_fails_is_left_alone_for_longer_and_longer_and_the_other_goes_on() {
        let (mut numbering, mut now) = (Numbering::wanted(), Instant::now());
        assert_eq!(numbering.take_due(now), [Changes, Drivers]);
        assert!(!numbering.is_due(now), "they are taken");
        assert_eq!(numbering.note(Drivers, StepEnd::Done, now), None);
        let mut pauses = Vec::new();
        for _ in 0..11 {
            let pause = numbering.note(Changes, FAILED, now).unwrap();
            pauses.push(pause.as_secs());
            // Somebody changes something meanwhile.
            numbering.want();
            assert_eq!(numbering.take_due(now), [Drivers]);
            numbering.note(Drivers, StepEnd::Done, now);
            now += pause;
            assert_eq!(numbering.take_due(now), [Changes]);
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(numbering.note(Changes, StepEnd::More, now), None);
        assert_eq!(numbering.take_due(now), [Changes, Drivers], "there may be more of any");
        assert_eq!(numbering.note(Changes, FAILED, now), Some(FIRST_PAUSE));
    }

    #[test]
    fn a_step_that_gave_no_answer_is_left_alone_for_ten_times_as_long_and_the_others_are_taken() {
        let (mut numbering, now) = (Numbering::wanted(), Instant::now());
        assert_eq!(numbering.take_due(now), [Changes, Drivers]);
        let hung = StepEnd::Failed { waited: Duration::from_secs(6) };
        assert_eq!(numbering.note(Changes, hung, now), Some(Duration::from_secs(60)));
        assert_eq!(numbering.take_due(now), [Drivers], "the commit had no time left for it");
        assert_eq!(numbering.note(Changes, hung, now), Some(Duration::from_secs(120)));
        let hung = StepEnd::Failed { waited: Duration::from_secs(60) };
        assert_eq!(numbering.note(Changes, hung, now), Some(LONGEST_PAUSE));
    }
}
