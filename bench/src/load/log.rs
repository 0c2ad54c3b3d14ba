//! What came back: acknowledgements, transitions, positions, each with its time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::{Plan, Slice};
use crate::world::Transition;

/// What came back in one run.
#[derive(Debug)]
pub(crate) struct Log {
    begun: Instant,
    slice: Arc<Slice>,
    plan: Arc<Plan>,
    /// Fixes acknowledged.
    pub(crate) acknowledged: u64,
    /// Transitions that came back, as counted by the ears that report them.
    pub(crate) transitions: Vec<Transition>,
    /// Messages to watchers: positions, however they are packed.
    pub(crate) deliveries: u64,
    /// The writes that carried them, as far as they can be told apart, and their bytes.
    pub(crate) delivered_frames: u64,
    pub(crate) delivered_bytes: u64,
    /// Subscriptions that stand.
    pub(crate) subscribed: u64,
    pub(crate) ack_micros: Vec<u32>,
    pub(crate) event_micros: Vec<u32>,
    pub(crate) position_micros: Vec<u32>,
    /// Whether the one watcher of a fix's vehicle heard of it.
    is_heard: Vec<bool>,
    /// Why the run does not count.
    pub(crate) failures: Vec<String>,
}

/// A log that ears write to and the run reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedLog(Arc<Mutex<Log>>);

impl Default for Log {
    fn default() -> Self {
        Self::new(Arc::default(), Arc::default())
    }
}

impl Log {
    pub(crate) fn new(slice: Arc<Slice>, plan: Arc<Plan>) -> Self {
        Self {
            is_heard: vec![false; slice.fixes.len()],
            begun: Instant::now(),
            slice,
            plan,
            acknowledged: 0,
            transitions: Vec::new(),
            deliveries: 0,
            delivered_frames: 0,
            delivered_bytes: 0,
            subscribed: 0,
            ack_micros: Vec::new(),
            event_micros: Vec::new(),
            position_micros: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// When the run began.
    pub(crate) fn begin_at(&mut self, begun: Instant) {
        self.begun = begun;
    }

    /// A frame's fixes are acknowledged.
    pub(crate) fn acknowledge(&mut self, frame: usize, at: Instant) {
        let Some(frame) = self.plan.frames.get(frame) else {
            return self.fail(format!("an ack for frame {frame}, which was never sent"));
        };
        let (due, fixes) = (frame.due_nanos, frame.fixes);
        self.acknowledged += u64::from(fixes);
        let micros = self.micros_since(due, at);
        self.ack_micros.push(micros);
    }

    /// A watcher received a transition.
    pub(crate) fn transition(&mut self, told: Transition, at: Instant) {
        if let Some(due) = self.due(told.vehicle, told.round) {
            let micros = self.micros_since(due, at);
            self.event_micros.push(micros);
        }
        self.transitions.push(told);
    }

    /// A watcher received a position. The second time, as stored, it has it already.
    pub(crate) fn position(&mut self, vehicle: u32, round: u32, at: Instant) {
        let Some(fix) = self.slice.find(vehicle, round) else { return };
        if std::mem::replace(&mut self.is_heard[fix], true) {
            return;
        }
        let micros = self.micros_since(self.plan.due_nanos(fix), at);
        self.position_micros.push(micros);
    }

    pub(crate) fn fail(&mut self, why: String) {
        if self.failures.len() < 20 {
            self.failures.push(why);
        }
    }

    fn due(&self, vehicle: u32, round: u32) -> Option<u64> {
        self.slice.find(vehicle, round).map(|fix| self.plan.due_nanos(fix))
    }

    fn micros_since(&self, due_nanos: u64, at: Instant) -> u32 {
        let nanos = at.saturating_duration_since(self.begun).as_nanos().saturating_sub(u128::from(due_nanos));
        u32::try_from(nanos / 1_000).unwrap_or(u32::MAX)
    }
}

impl SharedLog {
    /// The log. Do not hold on to it across a wait.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
