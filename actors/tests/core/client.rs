//! A tracker that keeps its fixes until they are acknowledged.

use std::collections::VecDeque;

use waypost_actors::live::{Live, LiveError};
use waypost_actors::model::{Fix, VehicleId};
use waypost_actors::report::{Pending, Reporter};

use crate::store::Store;
use crate::world::{eventually, within};

/// Frames under way at once.
const CREDIT: usize = 4;

/// One frame: the index of its first fix, and of the first one after it.
type Frame = (usize, usize);

/// Sends all fixes in frames, several under way at once, again from the first unacknowledged one whenever something
/// fails. At each acknowledgement, checks that the store holds what was acknowledged.
pub(crate) async fn deliver(live: &Live, store: &Store, vehicle: VehicleId, fixes: &[Fix], frame: usize) {
    let mut reporter = live.reporter();
    let mut acked = 0;
    while acked < fixes.len() {
        eventually("the store is back", || live.is_available()).await;
        acked = send_on(&mut reporter, store, vehicle, fixes, acked, frame).await;
    }
}

/// Sends until the end or the first failure. Returns how far it is acknowledged.
async fn send_on(
    reporter: &mut Reporter,
    store: &Store,
    vehicle: VehicleId,
    fixes: &[Fix],
    mut acked: usize,
    frame: usize,
) -> usize {
    let mut waiting: VecDeque<(Frame, Pending)> = VecDeque::new();
    let mut next = acked;
    loop {
        if next < fixes.len() && waiting.len() < CREDIT {
            let end = fixes.len().min(next + frame);
            match within(reporter.report(vehicle, fixes[next..end].to_vec())).await {
                Ok(pending) => waiting.push_back(((next, end), pending)),
                Err(error) => {
                    assert_eq!(error, LiveError::Unavailable);
                    return acked;
                }
            }
            next = end;
            continue;
        }
        let Some(((first, end), pending)) = waiting.pop_front() else { return acked };
        match within(pending.committed()).await {
            Ok(counts) => {
                assert!(store.holds(vehicle, &fixes[first..end]), "acknowledged and not stored");
                assert_eq!(counts.stored + counts.duplicates, (end - first) as u64);
                acked = end;
            }
            Err(error) => {
                assert_eq!(error, LiveError::Unavailable);
                return acked;
            }
        }
    }
}
