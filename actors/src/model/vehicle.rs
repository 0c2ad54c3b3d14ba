//! What the engine has to know about a vehicle.

use serde::{Deserialize, Serialize};

use super::ids::{OrganizationId, VehicleId};
use super::sensor::Calibration;
use super::time::Timestamp;

/// A vehicle as the live core knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Vehicle {
    /// The vehicle.
    pub id: VehicleId,
    /// The organization it belongs to.
    pub organization_id: OrganizationId,
    /// Its name today.
    pub name: String,
    /// Which of its fixes are implausible, and which speeds are too high.
    pub limits: VehicleLimits,
    /// When it was out of service (deleted, inactive or decommissioned): from an instant on, until just before
    /// another one or still. By instant, without overlaps.
    pub out_of_service: Vec<(Timestamp, Option<Timestamp>)>,
    /// Its tank and fuel sensor, through all versions.
    pub calibrations: Vec<Calibration>,
}

impl Vehicle {
    /// Puts it out of service for ever, from an instant on, unless it is already.
    pub fn retire(&mut self, at: Timestamp) {
        if self.out_of_service.iter().all(|(_, to)| to.is_some()) {
            self.out_of_service.push((at, None));
        }
    }

    /// Since when it has been out of service, if it still is.
    #[must_use]
    pub fn out_since(&self) -> Option<Timestamp> {
        self.out_of_service.iter().find(|(_, to)| to.is_none()).map(|(from, _)| *from)
    }

    /// The earliest instant from which only one of the two is out of service.
    #[must_use]
    pub fn service_differs_from(&self, other: &Self) -> Option<Timestamp> {
        let (own, others) = (&self.out_of_service, &other.out_of_service);
        let alike = own.iter().zip(others).take_while(|(a, b)| a == b).count();
        match (own.get(alike), others.get(alike)) {
            (Some((from, to)), Some((other_from, other_to))) if from == other_from => {
                to.iter().chain(other_to).min().copied()
            }
            (span, other) => span.into_iter().chain(other).map(|(from, _)| *from).min(),
        }
    }

    /// The earliest instant from which a version of its calibration that `other` does not have may count.
    #[must_use]
    pub fn calibration_differs_from(&self, other: &Self) -> Option<Timestamp> {
        let is_new = |version: &&Calibration| !other.calibrations.contains(*version);
        let new = self.calibrations.iter().filter(is_new);
        new.map(|version| version.effective_from.unwrap_or(Timestamp::FIRST)).min()
    }

    /// Whether it was out of service at an instant.
    #[must_use]
    pub fn is_out_at(&self, at: Timestamp) -> bool {
        self.out_of_service.iter().any(|(from, to)| *from <= at && to.is_none_or(|to| at < to))
    }
}

/// What makes a fix implausible, and what is too fast. `None` = off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VehicleLimits {
    /// A fix that implies a higher speed waits for the next one to confirm it. km/h.
    pub max_speed_kmh: Option<f64>,
    /// A fix less accurate than this is stored but not evaluated. Metres.
    pub max_accuracy_meters: Option<f64>,
    /// Over this it is too fast, wherever it is. km/h.
    #[serde(default)]
    pub overspeed_kmh: Option<f64>,
}

impl Default for VehicleLimits {
    fn default() -> Self {
        Self { max_speed_kmh: Some(250.0), max_accuracy_meters: Some(200.0), overspeed_kmh: None }
    }
}
