//! Accepting a fix: which ones are refused, and which device sentinels are removed.

use crate::model::{Fix, FuelReading, Place, Timestamp};

/// A fix recorded farther ahead of the server's clock than this is kept but not evaluated. Seconds.
pub const MAX_CLOCK_AHEAD_SECONDS: f64 = 120.0;

/// Devices use speeds from this one on for "unknown" (255 mph is a common one). km/h.
const UNKNOWN_SPEED_KMH: f64 = 400.0;

/// A position report before any of it is believed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reported {
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
    /// km/h; below 0 and from 400 on means unknown.
    pub speed_kmh: Option<f64>,
    /// Degrees clockwise from north; below 0 means unknown.
    pub heading_degrees: Option<f64>,
    /// Metres.
    pub altitude_meters: Option<f64>,
    /// Metres; below 0 means unknown.
    pub accuracy_meters: Option<f64>,
    /// Kilometres; below 0 means unknown.
    pub odometer_km: Option<f64>,
    /// Whether the ignition was on.
    pub ignition: Option<bool>,
    /// What the fuel sensor said.
    pub fuel: Option<FuelReading>,
    /// Litres burnt since the device's counter began; below 0 means unknown.
    pub fuel_cumulative: Option<f64>,
}

/// Why a fix is refused. Its batch goes on without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A latitude or longitude that is no number or out of range.
    #[error("latitude must be within -90..90 and longitude within -180..180")]
    Coordinates,
    /// The same, and the other way round they would fit.
    #[error("latitude must be within -90..90 and longitude within -180..180: they look swapped")]
    Swapped,
    /// Exactly 0,0: what devices send without a fix.
    #[error("latitude and longitude are exactly 0,0: the device has no fix")]
    NullIsland,
    /// Another member is no finite number, or a heading above 360.
    #[error("{0} is not a finite number in its range")]
    Number(&'static str),
    /// Older than the organization keeps positions.
    #[error("recordedAt is older than the organization keeps positions")]
    TooOld,
}

impl Refusal {
    /// The code an acknowledgement names.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Coordinates | Self::Swapped => "coordinatesOutOfRange",
            Self::NullIsland => "nullIsland",
            Self::Number(_) => "numberOutOfRange",
            Self::TooOld => "olderThanRetention",
        }
    }
}

/// No number of a report is greater: raw values of sensors have 32 bits.
const MOST: f64 = 1e12;

/// Accepts a report, with its sentinels removed, or returns why it is refused. `keep_from`: the organization's
/// retention, as the instant before which nothing is kept.
pub fn accept(
    reported: &Reported,
    recorded_at: Timestamp,
    received_at: Timestamp,
    keep_from: Option<Timestamp>,
) -> Result<Fix, Refusal> {
    let Reported { latitude, longitude, .. } = *reported;
    if !(-90.0..=90.0).contains(&latitude) || !(-180.0..=180.0).contains(&longitude) {
        let is_swapped = (-90.0..=90.0).contains(&longitude) && (-180.0..=180.0).contains(&latitude);
        return Err(if is_swapped { Refusal::Swapped } else { Refusal::Coordinates });
    }
    if latitude == 0.0 && longitude == 0.0 {
        return Err(Refusal::NullIsland);
    }
    if keep_from.is_some_and(|from| recorded_at < from) {
        return Err(Refusal::TooOld);
    }
    let heading_degrees = known("headingDegrees", reported.heading_degrees)?;
    if heading_degrees.is_some_and(|degrees| degrees > 360.0) {
        return Err(Refusal::Number("headingDegrees"));
    }
    Ok(Fix {
        recorded_at,
        received_at,
        // One zero: -0.0 is the same place.
        place: Place::new(latitude + 0.0, longitude + 0.0),
        speed_kmh: known("speedKmh", reported.speed_kmh)?.filter(|speed| *speed < UNKNOWN_SPEED_KMH),
        heading_degrees,
        altitude_meters: bounded("altitudeMeters", reported.altitude_meters)?,
        accuracy_meters: known("accuracyMeters", reported.accuracy_meters)?,
        odometer_km: known("odometerKm", reported.odometer_km)?,
        ignition: reported.ignition,
        fuel: reported.fuel.map(bounded_fuel).transpose()?,
        fuel_cumulative: known("fuel.cumulative", reported.fuel_cumulative)?,
    })
}

/// A number that something can have, so that no sum or product of such numbers is infinite.
fn bounded(member: &'static str, value: Option<f64>) -> Result<Option<f64>, Refusal> {
    match value {
        Some(number) if !(-MOST..=MOST).contains(&number) => Err(Refusal::Number(member)),
        other => Ok(other),
    }
}

/// A bounded number; devices send a negative one for "unknown".
fn known(member: &'static str, value: Option<f64>) -> Result<Option<f64>, Refusal> {
    Ok(bounded(member, value)?.filter(|number| *number >= 0.0))
}

fn bounded_fuel(reading: FuelReading) -> Result<FuelReading, Refusal> {
    let (FuelReading::Percent(value) | FuelReading::Liters(value) | FuelReading::Raw(value)) = reading;
    bounded("fuel", Some(value)).map(|_| reading)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    fn at(latitude: f64, longitude: f64) -> Reported {
        Reported { latitude, longitude, ..Reported::default() }
    }

    #[test]
    fn impossible_places_are_refused_each_by_its_name() {
        for (reported, refusal) in [
            (at(91.0, 100.0), Refusal::Coordinates),
            (at(91.0, 10.0), Refusal::Swapped),
            (at(45.0, -180.1), Refusal::Coordinates),
            (at(f64::NAN, 10.0), Refusal::Coordinates),
            (at(45.0, f64::INFINITY), Refusal::Coordinates),
            (at(0.0, -0.0), Refusal::NullIsland),
            (Reported { altitude_meters: Some(f64::NAN), ..at(1.0, 1.0) }, Refusal::Number("altitudeMeters")),
            (Reported { heading_degrees: Some(361.0), ..at(1.0, 1.0) }, Refusal::Number("headingDegrees")),
            (Reported { odometer_km: Some(1e13), ..at(1.0, 1.0) }, Refusal::Number("odometerKm")),
            (Reported { altitude_meters: Some(-1e13), ..at(1.0, 1.0) }, Refusal::Number("altitudeMeters")),
            (Reported { fuel: Some(FuelReading::Liters(1e306)), ..at(1.0, 1.0) }, Refusal::Number("fuel")),
        ] {
            assert_eq!(accept(&reported, NOW, NOW, None), Err(refusal), "{reported:?}");
        }
        assert_eq!(accept(&at(1.0, 1.0), NOW, NOW, Some(NOW.plus_seconds(1.0))), Err(Refusal::TooOld));
    }

    #[test]
    fn sentinels_are_cleaned() {
        let reported = Reported {
            speed_kmh: Some(410.4),
            heading_degrees: Some(-1.0),
            accuracy_meters: Some(-1.0),
            ..at(0.0, 10.0)
        };
        let fix = accept(&reported, NOW, NOW, None).unwrap();
        assert_eq!((fix.speed_kmh, fix.heading_degrees, fix.accuracy_meters), (None, None, None));
        let edge = accept(&at(-90.0, 180.0), NOW, NOW, None).unwrap();
        assert_eq!(edge.place, Place::new(-90.0, 180.0));
    }

    #[test]
    fn what_is_at_a_bound_is_accepted() {
        assert!(accept(&at(1.0, 1.0), NOW, NOW, Some(NOW)).is_ok());
        let north = Reported { heading_degrees: Some(360.0), ..at(1.0, 1.0) };
        assert_eq!(accept(&north, NOW, NOW, None).unwrap().heading_degrees, Some(360.0));
        // One zero: otherwise two reports of one place would be two fixes.
        for reported in [at(-0.0, 10.0), at(10.0, -0.0)] {
            let place = accept(&reported, NOW, NOW, None).unwrap().place;
            assert!(place.latitude.is_sign_positive() && place.longitude.is_sign_positive(), "{reported:?}");
        }
    }
}
