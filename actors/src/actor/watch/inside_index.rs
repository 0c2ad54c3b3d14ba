//! Which vehicles are inside which fence. Knows no state: it is told who enters and who leaves.

use std::collections::{HashMap, HashSet};

use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::model::{GeofenceId, VehicleId};

/// Up to this many vehicles of a fence are looked through one by one.
const FEW: usize = 8;

/// The vehicles inside each fence that has any.
#[derive(Default)]
pub(super) struct InsideIndex {
    fences: HashMap<GeofenceId, Holders, FxBuildHasher>,
}

/// The vehicles inside a fence, each once: a few, which is usual and takes no allocation for one or two, or many, such as
/// a whole fleet.
enum Holders {
    Few(SmallVec<[VehicleId; 2]>),
    Many(HashSet<VehicleId, FxBuildHasher>),
}

impl InsideIndex {
    pub(super) fn enter(&mut self, fence: GeofenceId, vehicle: VehicleId) {
        self.fences.entry(fence).or_insert_with(|| Holders::Few(SmallVec::new())).add(vehicle);
    }

    pub(super) fn leave(&mut self, fence: GeofenceId, vehicle: VehicleId) {
        if let Some(holders) = self.fences.get_mut(&fence)
            && holders.remove(vehicle)
        {
            self.fences.remove(&fence);
        }
    }

    /// The vehicles inside a fence, in no order.
    pub(super) fn vehicles(&self, fence: GeofenceId) -> impl Iterator<Item = VehicleId> {
        let (few, many) = match self.fences.get(&fence) {
            None => (None, None),
            Some(Holders::Few(few)) => (Some(few), None),
            Some(Holders::Many(many)) => (None, Some(many)),
        };
        few.into_iter().flatten().chain(many.into_iter().flatten()).copied()
    }
}

impl Holders {
    fn add(&mut self, vehicle: VehicleId) {
        match self {
            Self::Few(few) if few.contains(&vehicle) => {}
            Self::Few(few) if few.len() < FEW => few.push(vehicle),
            Self::Few(few) => *self = Self::Many(few.iter().copied().chain([vehicle]).collect()),
            Self::Many(many) => {
                many.insert(vehicle);
            }
        }
    }

    /// Returns whether nobody is left.
    fn remove(&mut self, vehicle: VehicleId) -> bool {
        match self {
            Self::Few(few) => {
                few.retain(|known| *known != vehicle);
                few.is_empty()
            }
            Self::Many(many) => {
                many.remove(&vehicle);
                many.is_empty()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const FENCE: GeofenceId = GeofenceId(Uuid::nil());

    fn inside(index: &InsideIndex) -> Vec<u128> {
        let mut vehicles: Vec<u128> = index.vehicles(FENCE).map(|vehicle| vehicle.0.as_u128()).collect();
        vehicles.sort_unstable();
        vehicles
    }

    #[test]
    fn who_enters_is_inside_once_until_it_leaves_however_many_there_are() {
        for count in [1, 2, FEW as u128, FEW as u128 + 1, 100] {
            let mut index = InsideIndex::default();
            let vehicle = |number| VehicleId(Uuid::from_u128(number));
            for number in (0..count).chain(0..count) {
                index.enter(FENCE, vehicle(number));
            }
            assert_eq!(inside(&index), (0..count).collect::<Vec<_>>());
            index.leave(FENCE, vehicle(count));
            index.leave(GeofenceId(Uuid::max()), vehicle(0));
            for number in 0..count {
                index.leave(FENCE, vehicle(number));
                assert_eq!(inside(&index), (number + 1..count).collect::<Vec<_>>());
            }
            assert!(index.fences.is_empty(), "a fence without vehicles takes no room");
        }
    }
}
