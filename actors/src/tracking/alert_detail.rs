//! The rules of alerts, and what an alert says.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::{GeofenceId, VehicleId};

words!(
    /// The rule by which it is one.
    #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
    AlertRule {
        /// Fuel went out that the engine did not burn.
        Drain = "drain",
        /// The vehicle goes faster than it may, and for a while already.
        Overspeed = "overspeed",
        /// The vehicle is in a geofence for longer than its rule `dwellAfterSeconds` says.
        Dwell = "dwell",
        /// Nothing was heard for `offlineAfterSeconds` of vehicles that were on their way when they were heard last.
        SilentWhileMoving = "silentWhileMoving",
        /// Whoever drives the vehicle has a licence that has expired.
        LicenseExpired = "licenseExpired",
    }
);

impl AlertRule {
    /// Whether it is found on a vehicle's timeline; the others follow the server's clock.
    #[must_use]
    pub const fn is_of_timeline(self) -> bool {
        matches!(self, Self::Drain | Self::Overspeed | Self::Dwell)
    }
}

/// What an alert is about. Stored as it is, but without the rule and the fence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlertDetail {
    /// By which rule.
    #[serde(skip, default = "any_rule")]
    pub rule: AlertRule,
    /// The record it is made of; of an expired licence, the assignment; of silence, the record of the first vehicle.
    pub cause_id: Uuid,
    /// Every vehicle it is about, where these are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vehicle_ids: Vec<VehicleId>,
    /// The fence whose rule or limit it is.
    #[serde(skip)]
    pub geofence_id: Option<GeofenceId>,
    /// The fence's name today.
    #[serde(skip)]
    pub geofence_name: Option<String>,
    /// Of a drain: litres that went out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_liters: Option<f64>,
    /// Of a time over a limit: the limit, km/h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_kmh: Option<f64>,
    /// Of a time over a limit: the highest speed, km/h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_speed_kmh: Option<f64>,
}

const fn any_rule() -> AlertRule {
    AlertRule::Drain
}

impl AlertDetail {
    /// With nothing but its rule and its cause.
    #[must_use]
    pub const fn new(rule: AlertRule, cause_id: Uuid) -> Self {
        Self {
            rule,
            cause_id,
            vehicle_ids: Vec::new(),
            geofence_id: None,
            geofence_name: None,
            volume_liters: None,
            limit_kmh: None,
            max_speed_kmh: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_the_servers_clock_is_not_of_the_timeline() {
        use AlertRule::{Drain, Dwell, LicenseExpired, Overspeed, SilentWhileMoving};
        assert!([Drain, Overspeed, Dwell].into_iter().all(AlertRule::is_of_timeline));
        assert!(![SilentWhileMoving, LicenseExpired].into_iter().any(AlertRule::is_of_timeline));
    }
}
