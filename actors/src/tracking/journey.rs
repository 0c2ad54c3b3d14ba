//! What the engine remembers of the trip or stop under way, and its record.

use serde::{Deserialize, Serialize};

use super::context::Context;
use super::identity::trip_id;
use super::record::{Detail, Record, TripDetail, TripKind};
use super::totals::Totals;
use crate::model::{Fix, Place, Timestamp};

/// A stretch of the timeline from one of its fixes on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Stretch {
    pub(super) since: Timestamp,
    pub(super) place: Place,
    pub(super) totals: Totals,
}

impl Stretch {
    pub(super) fn from(fix: &Fix) -> Self {
        Self { since: fix.recorded_at, place: fix.place, totals: Totals::default() }
    }
}

/// A vehicle that moves off, but may be back where it stood with the next fix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Departure {
    pub(super) stretch: Stretch,
    /// Whether the newest fix was far from where it stood.
    pub(super) is_far: bool,
}

/// The trip or stop under way. It is part of every copy of a vehicle's state, so what is rarely there is boxed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Journey {
    pub(super) kind: TripKind,
    /// What confirmed its record; `None` while there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) told_at: Option<Timestamp>,
    /// What is certain to be of it. Its sums are no part of what a correction compares, so nothing may be judged by them.
    pub(super) certain: Stretch,
    /// Of a stop: a trip that may have begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) departure: Option<Box<Departure>>,
    /// Of a trip, or one that may have begun: since it came to rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rest: Option<Box<Stretch>>,
    /// Since when the ignition is reported off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) off_since: Option<Timestamp>,
}

impl Journey {
    pub(super) const fn new(kind: TripKind, certain: Stretch, off_since: Option<Timestamp>) -> Self {
        Self { kind, told_at: None, certain, departure: None, rest: None, off_since }
    }

    /// Its record, as it goes on.
    pub(super) fn open_record(&self, confirmed_at: Timestamp, context: &Context<'_>) -> Record {
        self.record(None, Totals::default(), confirmed_at, context)
    }

    /// Its record, as it ended.
    pub(super) fn ended_record(
        &self,
        (at, place): (Timestamp, Place),
        confirmed_at: Timestamp,
        context: &Context<'_>,
    ) -> Record {
        self.record(Some((at, place)), self.certain.totals, confirmed_at, context)
    }

    fn record(
        &self,
        end: Option<(Timestamp, Place)>,
        totals: Totals,
        confirmed_at: Timestamp,
        context: &Context<'_>,
    ) -> Record {
        let Stretch { since, place, .. } = self.certain;
        let detail = TripDetail {
            kind: self.kind,
            end_location: end.map(|(_, place)| place),
            start_geofence_ids: context.fences_holding(place, since),
            end_geofence_ids: end.map_or_else(Vec::new, |(at, place)| context.fences_holding(place, at)),
            totals,
        };
        let id = trip_id(context.vehicle.id, self.kind, since);
        let found = Record::found(id, since, Detail::Trip(Box::new(detail)), context);
        Record { ended_at: end.map(|(at, _)| at), location: Some(place), confirmed_at, ..found }
    }
}
