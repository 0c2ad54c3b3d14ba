//! Which vehicles a Home Assistant still has to be told of, so that it shows each without being set up by hand. Pure.
//!
//! The words are those of its MQTT discovery and of its `device_tracker` (<https://www.home-assistant.io/integrations/mqtt/>).

use std::collections::{BTreeMap, HashMap};

use serde_json::json;
use waypost_actors::model::VehicleId;

/// What a Home Assistant knows of a fleet, and what it is still to be told. Bounded by the number of vehicles.
pub(super) struct Discovery {
    /// What the topics begin with that it is told at.
    root: String,
    told: HashMap<VehicleId, String>,
    waiting: BTreeMap<VehicleId, String>,
    is_stale: bool,
}

impl Discovery {
    /// Of one that is told everything anew.
    pub(super) fn new(root: String) -> Self {
        Self { root, told: HashMap::new(), waiting: BTreeMap::new(), is_stale: true }
    }

    /// Notes that a vehicle was made or changed.
    pub(super) const fn changed(&mut self) {
        self.is_stale = true;
    }

    /// Whether the vehicles' names are to be read.
    pub(super) const fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// Takes in all vehicles of the fleet with their names.
    pub(super) fn look(&mut self, names: Vec<(VehicleId, String)>) {
        self.is_stale = false;
        for (vehicle, name) in names {
            if self.told.get(&vehicle) == Some(&name) {
                self.waiting.remove(&vehicle);
            } else {
                self.waiting.insert(vehicle, name);
            }
        }
    }

    /// Forgets a vehicle that is deleted.
    pub(super) fn delete(&mut self, vehicle: VehicleId) {
        self.told.remove(&vehicle);
        self.waiting.remove(&vehicle);
    }

    /// A vehicle that it is to be told of, with its name.
    pub(super) fn first(&self) -> Option<(VehicleId, &str)> {
        self.waiting.first_key_value().map(|(vehicle, name)| (*vehicle, name.as_str()))
    }

    /// Notes that the first was handed over.
    pub(super) fn pop(&mut self) {
        self.told.extend(self.waiting.pop_first());
    }

    /// Where it is told of a vehicle; an empty message there removes it.
    pub(super) fn topic_of(&self, vehicle: VehicleId) -> String {
        format!("{}/{}/config", self.root, vehicle.0)
    }
}

/// How a vehicle is shown whose positions are published under a topic.
pub(super) fn describe(vehicle: VehicleId, name: &str, position_topic: &str) -> String {
    let id = format!("waypost_{}", vehicle.0.simple());
    let template = "{% set p = value_json.position or {} %}{{ {\
        'latitude': p.latitude, 'longitude': p.longitude, \
        'gps_accuracy': value_json.accuracyMeters | default(0) | round(0) | int, \
        'altitude': value_json.altitudeMeters | default(none), \
        'speed_kmh': value_json.speedKmh, 'course': value_json.headingDegrees, \
        'motion': value_json.motion, 'connection': value_json.state, \
        'last_fix_at': value_json.lastFixAt} | tojson }}";
    let config = json!({
        // The entity is named after its device.
        "name": null,
        "unique_id": id,
        "source_type": "gps",
        "json_attributes_topic": position_topic,
        "json_attributes_template": template,
        "device": { "identifiers": [id], "name": name, "manufacturer": "Waypost" },
        "origin": { "name": "Waypost", "sw_version": env!("CARGO_PKG_VERSION") },
    });
    config.to_string()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn vehicle(number: u128) -> VehicleId {
        VehicleId(Uuid::from_u128(number))
    }

    fn told(discovery: &mut Discovery) -> Vec<(VehicleId, String)> {
        let next = |of: &mut Discovery| {
            let told = of.first().map(|(vehicle, name)| (vehicle, name.to_owned()));
            of.pop();
            told
        };
        std::iter::from_fn(|| next(discovery)).collect()
    }

    #[test]
    fn what_is_new_or_renamed_is_told_and_what_is_deleted_is_not() {
        let mut discovery = Discovery::new("homeassistant/device_tracker/waypost".to_owned());
        assert!(discovery.is_stale());
        let [one, two] = [(vehicle(1), "one".to_owned()), (vehicle(2), "two".to_owned())];
        discovery.look(vec![one.clone(), two.clone()]);
        assert!(!discovery.is_stale());
        assert_eq!(told(&mut discovery), [one.clone(), two.clone()]);
        let renamed = (vehicle(2), "three".to_owned());
        discovery.look(vec![one.clone(), renamed.clone()]);
        // Renamed back before it was told.
        discovery.look(vec![one.clone(), two]);
        assert!(told(&mut discovery).is_empty());
        discovery.look(vec![one.clone(), renamed]);
        discovery.delete(vehicle(2));
        assert!(told(&mut discovery).is_empty());
        // One with a former id of another is told anew.
        discovery.delete(vehicle(1));
        discovery.look(vec![one.clone()]);
        assert_eq!(told(&mut discovery), [one]);
    }
}
