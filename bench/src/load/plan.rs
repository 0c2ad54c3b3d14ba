//! What is sent on which connection when: every byte made before the clock starts.

use std::ops::Range;
use std::sync::Arc;

use crate::world::{Drive, Fix, Transition};

/// Some rounds of a world, and the oracle's transitions for them.
#[derive(Debug, Default)]
pub(crate) struct Slice {
    /// In the order of sending.
    pub(crate) fixes: Vec<Fix>,
    /// Sorted.
    pub(crate) expected: Vec<Transition>,
    /// Where each vehicle's fix of each round is in `fixes`.
    places: Vec<u32>,
    first_round: u32,
    vehicles: u32,
}

impl Slice {
    /// The next rounds of a drive, in each of which every vehicle reports.
    pub(crate) fn next(drive: &mut Drive, rounds: u32) -> Arc<Self> {
        Self::next_of(drive, rounds, |_, _| true)
    }

    /// The next rounds of a drive; `reports` says of a vehicle and a round whether it does.
    pub(crate) fn next_of(drive: &mut Drive, rounds: u32, reports: impl Fn(u32, u32) -> bool) -> Arc<Self> {
        let (fixes, transitions) = drive.next(rounds, reports);
        Arc::new(Self::new(fixes, transitions))
    }

    pub(crate) fn new(fixes: Vec<Fix>, mut expected: Vec<Transition>) -> Self {
        expected.sort_unstable();
        let first_round = fixes.iter().map(|fix| fix.round).min().unwrap_or_default();
        let vehicles = fixes.iter().map(|fix| fix.vehicle + 1).max().unwrap_or_default();
        let end = fixes.iter().map(|fix| fix.round + 1).max().unwrap_or_default();
        let places = vec![u32::MAX; ((end - first_round) * vehicles) as usize];
        let mut slice = Self { places, fixes, expected, first_round, vehicles };
        for (index, fix) in slice.fixes.iter().enumerate() {
            let place = (fix.round - first_round) * vehicles + fix.vehicle;
            slice.places[place as usize] = index as u32;
        }
        slice
    }

    /// The index of a vehicle's fix of a round, if it is in this slice.
    pub(crate) fn find(&self, vehicle: u32, round: u32) -> Option<usize> {
        let place =
            u64::from(round.checked_sub(self.first_round)?) * u64::from(self.vehicles) + u64::from(vehicle);
        let index = *self.places.get(usize::try_from(place).ok()?)?;
        (vehicle < self.vehicles && index != u32::MAX).then_some(index as usize)
    }
}

/// One write.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// The connection it goes out on.
    pub(crate) connection: u32,
    /// Its bytes in the plan.
    pub(crate) bytes: Range<usize>,
    /// How many fixes it has.
    pub(crate) fixes: u32,
    /// When it is sent, nanoseconds after the start.
    pub(crate) due_nanos: u64,
}

/// Everything to send, by when.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) frames: Vec<Frame>,
    pub(crate) bytes: Vec<u8>,
    /// The frame of each fix of the slice.
    pub(crate) frame_of: Vec<u32>,
}

impl Plan {
    /// Cuts a slice into frames of `fixes_per_frame` fixes. A vehicle's fixes stay on one connection, in order;
    /// each connection's frames take turns as the fixes do. `write` appends the bytes of one frame, given its
    /// connection and its fixes (numbers in the slice).
    pub(crate) fn new(
        slice: &Slice,
        connections: u32,
        fixes_per_frame: usize,
        per_second: f64,
        mut write: impl FnMut(u32, &[u32], &mut Vec<u8>),
    ) -> Self {
        let mut plan = Self { frame_of: vec![0; slice.fixes.len()], ..Self::default() };
        let mut open: Vec<Vec<u32>> = vec![Vec::with_capacity(fixes_per_frame); connections as usize];
        let mut sent = 0_u64;
        let mut close = |connection: u32, fixes: &mut Vec<u32>, plan: &mut Self| {
            let begin = plan.bytes.len();
            write(connection, fixes, &mut plan.bytes);
            for fix in fixes.iter() {
                plan.frame_of[*fix as usize] = plan.frames.len() as u32;
            }
            plan.frames.push(Frame {
                connection,
                bytes: begin..plan.bytes.len(),
                fixes: fixes.len() as u32,
                due_nanos: (sent as f64 / per_second * 1e9) as u64,
            });
            sent += fixes.len() as u64;
            fixes.clear();
        };
        for (index, fix) in slice.fixes.iter().enumerate() {
            let connection = fix.vehicle % connections;
            let fixes = &mut open[connection as usize];
            fixes.push(index as u32);
            if fixes.len() == fixes_per_frame {
                close(connection, fixes, &mut plan);
            }
        }
        for (connection, mut fixes) in open.into_iter().enumerate().filter(|(_, fixes)| !fixes.is_empty()) {
            close(connection as u32, &mut fixes, &mut plan);
        }
        plan
    }

    /// When a fix was to be sent, nanoseconds after the start.
    pub(crate) fn due_nanos(&self, fix: usize) -> u64 {
        self.frames[self.frame_of[fix] as usize].due_nanos
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(vehicles: u32, rounds: u32) -> Slice {
        let fix = |n: u32| Fix {
            vehicle: n % vehicles,
            round: 5 + n / vehicles,
            place: Default::default(),
            heading: 0,
        };
        Slice::new((0..vehicles * rounds).map(fix).collect(), vec![])
    }

    #[test]
    fn each_fix_is_sent_once_in_order_on_its_connection_at_the_rate() {
        let slice = slice(10, 7);
        let mut sent = Vec::new();
        let plan = Plan::new(&slice, 3, 4, 100.0, |connection, fixes, bytes| {
            bytes.push(1);
            sent.extend(fixes.iter().map(|fix| (connection, *fix)));
        });
        assert_eq!((sent.len(), plan.bytes.len()), (70, plan.frames.len()));
        for connection in 0..3 {
            let own: Vec<u32> =
                sent.iter().filter(|(of, _)| *of == connection).map(|(_, fix)| *fix).collect();
            assert!(
                own.is_sorted() && own.iter().all(|fix| slice.fixes[*fix as usize].vehicle % 3 == connection)
            );
        }
        assert_eq!(plan.frames.iter().map(|frame| frame.fixes).sum::<u32>(), 70);
        assert!(plan.frames.is_sorted_by_key(|frame| frame.due_nanos));
        assert_eq!(plan.frames[1].due_nanos, 40_000_000);
    }

    #[test]
    fn a_fix_is_found_by_vehicle_and_round() {
        let slice = slice(10, 7);
        assert_eq!(slice.find(3, 6), Some(13));
        assert_eq!((slice.find(3, 4), slice.find(3, 12), slice.find(10, 6)), (None, None, None));
    }
}
