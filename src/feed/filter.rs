//! What a subscription is narrowed to.

use std::collections::HashSet;

use waypost_actors::fuel::FuelRecord;
use waypost_actors::model::{Event, GeofenceId, Place, VehicleId};

use super::protocol::FilterSpec;

/// A filter ready to ask.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    vehicles: Option<HashSet<VehicleId>>,
    fences: Option<HashSet<GeofenceId>>,
    bbox: Option<[f64; 4]>,
}

impl Filter {
    /// Checks the numbers of a filter; the error names the member.
    pub(super) fn new(spec: &FilterSpec) -> Result<Self, String> {
        if let Some([west, south, east, north]) = spec.bbox {
            let longitudes = [west, east].iter().all(|degrees| (-180.0..=180.0).contains(degrees));
            let latitudes = (-90.0..=90.0).contains(&south) && (south..=90.0).contains(&north);
            if !longitudes || !latitudes {
                return Err("filter.bbox: west, south, east, north in degrees, south not above north".into());
            }
        }
        Ok(Self {
            vehicles: spec.vehicle_ids.as_ref().map(|ids| ids.iter().copied().collect()),
            fences: spec.geofence_ids.as_ref().map(|ids| ids.iter().copied().collect()),
            bbox: spec.bbox,
        })
    }

    pub(super) fn vehicle(&self, vehicle: VehicleId) -> bool {
        self.vehicles.as_ref().is_none_or(|ids| ids.contains(&vehicle))
    }

    pub(super) fn fence(&self, fence: GeofenceId) -> bool {
        self.fences.as_ref().is_none_or(|ids| ids.contains(&fence))
    }

    pub(super) fn event(&self, event: &Event) -> bool {
        self.vehicle(event.vehicle_id) && self.fence(event.geofence_id)
    }

    /// A refuel or drain: in any of the fences, where the filter names some.
    pub(super) fn fuel_event(&self, event: &FuelRecord) -> bool {
        let in_fence = || event.geofence_ids.iter().any(|fence| self.fence(*fence));
        self.vehicle(event.vehicle_id) && (self.fences.is_none() || in_fence())
    }

    /// Whether positions are narrowed to a box at all.
    pub(super) const fn has_box(&self) -> bool {
        self.bbox.is_some()
    }

    pub(super) fn place(&self, place: Place) -> bool {
        self.bbox.is_none_or(|[west, south, east, north]| {
            let within = if west <= east {
                (west..=east).contains(&place.longitude)
            } else {
                place.longitude >= west || place.longitude <= east
            };
            within && (south..=north).contains(&place.latitude)
        })
    }
}
