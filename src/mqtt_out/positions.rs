//! Which positions a broker still has to be given: the newest of each vehicle, however slow it is. Pure.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use waypost_actors::model::VehicleId;
use waypost_actors::tracking::VehicleState;

use super::parts::Seen;

/// What a broker knows of positions, and what it is still to be given. Bounded by the number of vehicles.
#[derive(Default)]
pub(super) struct Positions {
    newest: HashMap<VehicleId, (Arc<VehicleState>, &'static str)>,
    line: VecDeque<VehicleId>,
    waiting: HashSet<VehicleId>,
    /// Deleted by the log, and perhaps not yet by the live core.
    deleted: HashSet<VehicleId>,
}

impl Positions {
    /// Takes in the fleet as it is now.
    pub(super) fn look(&mut self, fleet: Vec<Seen>) {
        let there: HashSet<VehicleId> = fleet.iter().map(|seen| seen.vehicle).collect();
        self.deleted.retain(|vehicle| there.contains(vehicle));
        for Seen { vehicle, state, connection } in fleet {
            let known = self.newest.get(&vehicle);
            let is_known = known.is_some_and(|(of, was)| Arc::ptr_eq(of, &state) && *was == connection);
            if is_known || self.deleted.contains(&vehicle) {
                continue;
            }
            self.newest.insert(vehicle, (state, connection));
            self.put(vehicle);
        }
        let gone: Vec<VehicleId> =
            self.newest.keys().filter(|vehicle| !there.contains(vehicle)).copied().collect();
        for vehicle in gone {
            self.newest.remove(&vehicle);
            self.put(vehicle);
        }
    }

    /// Forgets a vehicle that is deleted, so that no position of it follows.
    pub(super) fn delete(&mut self, vehicle: VehicleId) {
        self.newest.remove(&vehicle);
        self.deleted.insert(vehicle);
    }

    fn put(&mut self, vehicle: VehicleId) {
        if self.waiting.insert(vehicle) {
            self.line.push_back(vehicle);
        }
    }

    /// The vehicle that has waited longest, with its newest state; none if it is gone.
    pub(super) fn first(&self) -> Option<(VehicleId, Option<Arc<VehicleState>>)> {
        let vehicle = *self.line.front()?;
        Some((vehicle, self.newest.get(&vehicle).map(|(state, _)| Arc::clone(state))))
    }

    /// Notes that the first was handed over.
    pub(super) fn pop(&mut self) {
        if let Some(vehicle) = self.line.pop_front() {
            self.waiting.remove(&vehicle);
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn seen(vehicle: u128, state: &Arc<VehicleState>, connection: &'static str) -> Seen {
        Seen { vehicle: VehicleId(Uuid::from_u128(vehicle)), state: Arc::clone(state), connection }
    }

    fn taken(positions: &mut Positions) -> Vec<(u128, Option<Arc<VehicleState>>)> {
        let next = |positions: &mut Positions| {
            let (vehicle, state) = positions.first()?;
            positions.pop();
            Some((vehicle.0.as_u128(), state))
        };
        std::iter::from_fn(|| next(positions)).collect()
    }

    #[test]
    fn a_slow_broker_gets_the_newest_of_each_vehicle() {
        let mut positions = Positions::default();
        let states: Vec<Arc<VehicleState>> = (0..3).map(|_| Arc::default()).collect();
        positions.look(vec![seen(1, &states[0], "online"), seen(2, &states[0], "online")]);
        positions.look(vec![seen(1, &states[1], "online"), seen(2, &states[0], "online")]);
        positions.look(vec![seen(1, &states[2], "online"), seen(2, &states[0], "online")]);
        let got = taken(&mut positions);
        assert_eq!(got.iter().map(|(vehicle, _)| *vehicle).collect::<Vec<_>>(), [1, 2]);
        assert!(got[0].1.as_ref().is_some_and(|state| Arc::ptr_eq(state, &states[2])));
        // The same is not given twice, but a silence is.
        positions.look(vec![seen(1, &states[2], "online"), seen(2, &states[0], "stale")]);
        assert_eq!(taken(&mut positions).iter().map(|(vehicle, _)| *vehicle).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn what_is_gone_is_emptied_and_stays_so() {
        let mut positions = Positions::default();
        let state: Arc<VehicleState> = Arc::default();
        positions.look(vec![seen(1, &state, "online"), seen(2, &state, "online")]);
        taken(&mut positions);
        positions.look(vec![seen(2, &state, "online")]);
        let got = taken(&mut positions);
        assert!(matches!(&got[..], [(1, None)]));
        // By the log it is deleted, by the live core it is a moment later.
        positions.delete(VehicleId(Uuid::from_u128(2)));
        positions.look(vec![seen(2, &Arc::default(), "online")]);
        assert!(taken(&mut positions).is_empty());
        positions.look(Vec::new());
        assert!(taken(&mut positions).is_empty() && positions.deleted.is_empty());
    }
}
