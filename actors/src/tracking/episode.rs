//! An episode over a limit of speed: what the engine remembers of it between fixes, and its record.

use serde::{Deserialize, Serialize};

use super::analytics::to_millionths;
use super::context::Context;
use super::identity::overspeed_id;
use super::record::{Detail, OverspeedDetail, Record};
use crate::model::{Fix, GeofenceId, Place, Timestamp};

/// An episode that counts goes on until the speed is this far below its limit. km/h.
const HYSTERESIS_KMH: f64 = 3.0;

/// A limit, and the fence that sets it; `None` for the vehicle's own limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Limit {
    pub(super) kmh: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) geofence_id: Option<GeofenceId>,
}

/// What an episode has reached at one of its fixes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reached {
    pub(super) at: Timestamp,
    pub(super) max_speed_kmh: f64,
    pub(super) distance_meters: f64,
}

/// A vehicle over its limit, since the first fix that showed it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Overspeed {
    pub(super) limit: Limit,
    pub(super) since: Timestamp,
    place: Place,
    pub(super) newest: Reached,
    /// The values when it began to count, which stay recorded until it ends; and the instant that confirmed that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) counted: Option<(Reached, Timestamp)>,
    /// The same of when it became an alert.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) raised: Option<(Reached, Timestamp)>,
}

impl Overspeed {
    pub(super) const fn begin(limit: Limit, fix: &Fix, speed_kmh: f64) -> Self {
        let newest = Reached { at: fix.recorded_at, max_speed_kmh: speed_kmh, distance_meters: 0.0 };
        Self { limit, since: fix.recorded_at, place: fix.place, newest, counted: None, raised: None }
    }

    /// It goes on while the vehicle is faster than this.
    pub(super) const fn least_kmh(&self) -> f64 {
        if self.counted.is_some() { self.limit.kmh - HYSTERESIS_KMH } else { self.limit.kmh }
    }

    pub(super) fn record(
        &self,
        reached: Reached,
        ended_at: Option<Timestamp>,
        confirmed_at: Timestamp,
        context: &Context<'_>,
    ) -> Record {
        let fence = self.limit.geofence_id.and_then(|id| context.fences.get(id));
        let detail = OverspeedDetail {
            geofence_id: self.limit.geofence_id,
            geofence_name: fence.map(|fence| fence.name.clone()),
            limit_kmh: self.limit.kmh,
            max_speed_kmh: to_millionths(reached.max_speed_kmh),
            distance_meters: to_millionths(reached.distance_meters),
            duration_seconds: reached.at.seconds_since(self.since),
        };
        let id = overspeed_id(context.vehicle.id, self.since);
        let found = Record::found(id, self.since, Detail::Overspeed(detail), context);
        Record { ended_at, location: Some(self.place), confirmed_at, ..found }
    }
}
