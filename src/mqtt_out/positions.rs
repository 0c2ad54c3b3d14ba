//! Which positions a broker still has to be given: the newest of each vehicle, however slow it is. Pure.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use waypost_actors::live::VehicleNow;
use waypost_actors::model::VehicleId;

/// What a broker knows of positions, and what it is still to be given. Bounded by the number of vehicles.
#[derive(Default)]
pub(super) struct Positions {
    newest: HashMap<VehicleId, VehicleNow>,
    line: VecDeque<VehicleId>,
    waiting: HashSet<VehicleId>,
    /// Deleted by the log, and perhaps not yet by the live core.
    deleted: HashSet<VehicleId>,
}

impl Positions {
    /// Takes in the fleet as it is now.
    pub(super) fn look(&mut self, fleet: Vec<(VehicleId, VehicleNow)>) {
        let there: HashSet<VehicleId> = fleet.iter().map(|(vehicle, _)| *vehicle).collect();
        self.deleted.retain(|vehicle| there.contains(vehicle));
        for (vehicle, now) in fleet {
            let is_known = self.newest.get(&vehicle).is_some_and(|known| is_same(known, &now));
            if is_known || self.deleted.contains(&vehicle) {
                continue;
            }
            self.newest.insert(vehicle, now);
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

    /// The vehicle that has waited longest, as it is now; none if it is gone.
    pub(super) fn first(&self) -> Option<(VehicleId, Option<&VehicleNow>)> {
        let vehicle = *self.line.front()?;
        Some((vehicle, self.newest.get(&vehicle)))
    }

    /// Notes that the first was handed over.
    pub(super) fn pop(&mut self) {
        if let Some(vehicle) = self.line.pop_front() {
            self.waiting.remove(&vehicle);
        }
    }
}

/// Whether nothing was committed or told in between.
fn is_same(known: &VehicleNow, now: &VehicleNow) -> bool {
    Arc::ptr_eq(&known.state, &now.state)
        && known.settled_through == now.settled_through
        && known.connection == now.connection
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;
    use waypost_actors::model::Connection;
    use waypost_actors::tracking::VehicleState;

    use super::*;

    fn seen(vehicle: u128, state: &Arc<VehicleState>, connection: Connection) -> (VehicleId, VehicleNow) {
        let now = VehicleNow { state: Arc::clone(state), settled_through: None, connection };
        (VehicleId(Uuid::from_u128(vehicle)), now)
    }

    fn taken(positions: &mut Positions) -> Vec<(u128, Option<Arc<VehicleState>>)> {
        let next = |positions: &mut Positions| {
            let (vehicle, now) = positions.first()?;
            let taken = (vehicle.0.as_u128(), now.map(|now| Arc::clone(&now.state)));
            positions.pop();
            Some(taken)
        };
        std::iter::from_fn(|| next(positions)).collect()
    }

    #[test]
    fn a_slow_broker_gets_the_newest_of_each_vehicle() {
        let mut positions = Positions::default();
        let states: Vec<Arc<VehicleState>> = (0..3).map(|_| Arc::default()).collect();
        positions
            .look(vec![seen(1, &states[0], Connection::Online), seen(2, &states[0], Connection::Online)]);
        positions
            .look(vec![seen(1, &states[1], Connection::Online), seen(2, &states[0], Connection::Online)]);
        positions
            .look(vec![seen(1, &states[2], Connection::Online), seen(2, &states[0], Connection::Online)]);
        let got = taken(&mut positions);
        assert_eq!(got.iter().map(|(vehicle, _)| *vehicle).collect::<Vec<_>>(), [1, 2]);
        assert!(got[0].1.as_ref().is_some_and(|state| Arc::ptr_eq(state, &states[2])));
        // The same is not given twice, but a silence is.
        positions.look(vec![seen(1, &states[2], Connection::Online), seen(2, &states[0], Connection::Stale)]);
        assert_eq!(taken(&mut positions).iter().map(|(vehicle, _)| *vehicle).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn what_is_gone_is_emptied_and_stays_so() {
        let mut positions = Positions::default();
        let state: Arc<VehicleState> = Arc::default();
        positions.look(vec![seen(1, &state, Connection::Online), seen(2, &state, Connection::Online)]);
        taken(&mut positions);
        positions.look(vec![seen(2, &state, Connection::Online)]);
        let got = taken(&mut positions);
        assert!(matches!(&got[..], [(1, None)]));
        // By the log it is deleted, by the live core it is a moment later.
        positions.delete(VehicleId(Uuid::from_u128(2)));
        positions.look(vec![seen(2, &Arc::default(), Connection::Online)]);
        assert!(taken(&mut positions).is_empty());
        positions.look(Vec::new());
        assert!(taken(&mut positions).is_empty() && positions.deleted.is_empty());
    }
}
