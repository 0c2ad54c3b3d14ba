//! The filter of a subscription.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use waypost_actors::model::Place;
use waypost_actors::watch::{Audience, Interest};

use super::protocol::{Subscribe, Topic};
use crate::auth::Sees;
use crate::domain::bounding_box;

/// A validated filter.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    /// The part that the live core applies.
    pub(super) interest: Interest,
    /// The parts of a vehicle its caller may see.
    pub(super) sees: Sees,
    bbox: Option<[f64; 4]>,
}

impl Filter {
    /// Validates the numbers of a request; the error is about `bbox`.
    pub(super) fn new(asked: &Subscribe, audience: Audience, sees: Sees) -> Result<Self, String> {
        let spec = &asked.filter;
        if let Some([west, south, east, north]) = spec.bbox {
            let longitudes = [west, east].iter().all(|degrees| (-180.0..=180.0).contains(degrees));
            let latitudes = (-90.0..=90.0).contains(&south) && (south..=90.0).contains(&north);
            if !longitudes || !latitudes {
                return Err("west, south, east, north in degrees, south not above north".into());
            }
        }
        let wants = |topic| asked.topics.contains(&topic);
        let interest = Interest {
            audience,
            positions: wants(Topic::Positions),
            occupancy: wants(Topic::Occupancy),
            events: wants(Topic::Events),
            fuel_levels: wants(Topic::Fuel),
            fuel_events: wants(Topic::Fuel),
            changes: wants(Topic::Changes),
            vehicles: set(spec.vehicle_ids.as_deref()),
            fences: set(spec.geofence_ids.as_deref()),
        };
        Ok(Self { interest, sees, bbox: spec.bbox })
    }

    /// Whether the subscription includes a vehicle: all of them for positions, those that report fuel for fuel.
    pub(super) fn shows(&self, has_fuel: bool) -> bool {
        self.interest.positions || (self.interest.fuel_levels && has_fuel)
    }

    /// Whether the subscription has a snapshot: changes and events alone have none.
    pub(super) const fn has_snapshot(&self) -> bool {
        self.interest.states() || self.interest.occupancy
    }

    /// Whether positions are restricted to a box.
    pub(super) const fn has_box(&self) -> bool {
        self.bbox.is_some()
    }

    pub(super) fn place(&self, place: Place) -> bool {
        self.bbox.is_none_or(|bbox| bounding_box::holds(bbox, place))
    }
}

fn set<T: Copy + Eq + Hash>(ids: Option<&[T]>) -> Option<Arc<HashSet<T>>> {
    ids.map(|ids| Arc::new(ids.iter().copied().collect()))
}
