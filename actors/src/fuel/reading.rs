//! The input of the detector.

use crate::model::{Place, Timestamp};

/// Below this a vehicle stands: the speed of a parked receiver scatters by 1 to 2 km/h, and a tank is not filled at
/// walking pace. km/h.
const STANDING_BELOW_KMH: f64 = 5.0;

/// One reading; readings come in order of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The device's clock.
    pub at: Timestamp,
    /// Litres as interpreted, not smoothed; `None` for a reading of any quality but `ok`, and for a fix without
    /// fuel, which still shows whether the vehicle moved.
    pub level_liters: Option<f64>,
    /// Speed over ground in km/h.
    pub speed_kmh: Option<f64>,
    /// Whether the ignition was on.
    pub ignition: Option<bool>,
    /// Where the vehicle was.
    pub place: Option<Place>,
    /// How far the vehicle moved since the previous reading, in metres: by odometer, else by the track; `None` if
    /// unknown.
    pub distance_meters: Option<f64>,
}

impl Reading {
    /// A reading of a level alone, with nothing else known about the vehicle.
    #[must_use]
    pub const fn new(at: Timestamp, level_liters: f64) -> Self {
        Self {
            at,
            level_liters: Some(level_liters),
            speed_kmh: None,
            ignition: None,
            place: None,
            distance_meters: None,
        }
    }

    /// Whether the vehicle moved; `None` if unknown. Speed takes precedence over ignition: a vehicle on a ferry
    /// moves with its ignition off.
    pub(super) fn moving(&self, seconds_since_last: f64) -> Option<bool> {
        let by_distance = || {
            let meters = self.distance_meters.filter(|_| seconds_since_last > 0.0)?;
            Some(meters / seconds_since_last * 3.6 >= STANDING_BELOW_KMH)
        };
        let by_ignition = || self.ignition.filter(|on| !on);
        self.speed_kmh.map(|speed| speed >= STANDING_BELOW_KMH).or_else(by_ignition).or_else(by_distance)
    }
}
