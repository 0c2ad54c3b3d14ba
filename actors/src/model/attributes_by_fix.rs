//! The attributes of the fixes of one report, which travel beside them: most fixes have none.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::attributes::Attributes;
use super::fix::Fix;
use super::ids::VehicleId;

/// The key under which a vehicle's fix is stored once: instant, latitude, longitude.
type Key = (VehicleId, i64, u64, u64);

fn key(vehicle: VehicleId, fix: &Fix) -> Key {
    let place = fix.place;
    (vehicle, fix.recorded_at.as_micros(), place.latitude.to_bits(), place.longitude.to_bits())
}

/// Attributes by vehicle and fix; cheap to clone, and nothing at all while there are none.
#[derive(Clone, Debug, Default)]
pub struct AttributesByFix(Option<Arc<HashMap<Key, Attributes>>>);

impl AttributesByFix {
    /// Adds what one report of a fix carries; several of one fix are merged.
    pub fn add(&mut self, vehicle: VehicleId, fix: &Fix, attributes: Attributes) {
        match Arc::make_mut(self.0.get_or_insert_default()).entry(key(vehicle, fix)) {
            Entry::Occupied(mut known) => {
                let merged = known.get().merge(&attributes);
                known.insert(merged);
            }
            Entry::Vacant(new) => {
                new.insert(attributes);
            }
        }
    }

    /// What a fix carries.
    #[must_use]
    pub fn of(&self, vehicle: VehicleId, fix: &Fix) -> Option<&Attributes> {
        self.0.as_ref()?.get(&key(vehicle, fix))
    }
}
