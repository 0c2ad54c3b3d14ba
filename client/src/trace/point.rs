//! One point of a trace, and the reasons why one is left out.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use waypost_actors::model::{Place, Timestamp};

/// A fix as a recording has it, in the words of the tracker socket.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Point {
    /// The device's clock at the fix.
    pub recorded_at: Timestamp,
    /// Where. Finite, but possibly out of range: that is the server's to refuse.
    #[serde(flatten)]
    pub place: Place,
    /// Speed over ground, km/h.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_kmh: Option<f64>,
    /// Course over ground, degrees clockwise from north.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heading_degrees: Option<f64>,
    /// Height in metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub altitude_meters: Option<f64>,
    /// Horizontal accuracy in metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy_meters: Option<f64>,
}

impl Point {
    /// A point with nothing but its time and place.
    #[must_use]
    pub const fn new(recorded_at: Timestamp, place: Place) -> Self {
        Self {
            recorded_at,
            place,
            speed_kmh: None,
            heading_degrees: None,
            altitude_meters: None,
            accuracy_meters: None,
        }
    }
}

/// A point and the vehicle it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct TracePoint {
    /// The vehicle, where the format names one; else the whole file is one vehicle.
    pub vehicle: Option<Arc<str>>,
    /// The point.
    pub point: Point,
}

/// Why something in a trace is not a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Skip {
    /// It carries no time.
    NoTime,
    /// Its time is not a date and time.
    BadTime,
    /// It has no coordinates, or they are not finite numbers.
    BadCoordinates,
    /// The receiver itself says that it had no fix.
    NoFix,
    /// A sentence is damaged: its checksum is wrong or missing.
    BadChecksum,
    /// A row or sentence that cannot be taken apart.
    BadRow,
    /// The markup breaks off or is not well-formed here; the rest is lost.
    BadMarkup,
    /// A mark on the map beside a recorded track: its time does not say that the vehicle was there.
    Waypoint,
}

impl Skip {
    /// The reason in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoTime => "without a time",
            Self::BadTime => "time is no date-time",
            Self::BadCoordinates => "coordinates are no numbers",
            Self::NoFix => "receiver had no fix",
            Self::BadChecksum => "checksum wrong or missing",
            Self::BadRow => "row cannot be read",
            Self::BadMarkup => "markup breaks off",
            Self::Waypoint => "waypoint, not track",
        }
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A finite number out of a text, if it is one.
pub(super) fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|value| value.is_finite())
}

/// A point of a trace, or why one is missing.
pub type Reading = Result<TracePoint, Skip>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_speaks_the_words_of_the_tracker_socket() {
        let text = "2026-01-01T00:00:00.2073437Z";
        let mut point = Point::new(Timestamp::parse(text).unwrap(), Place::new(48.16350662940509, -0.5));
        point.speed_kmh = Some(12.5);
        let json = serde_json::to_string(&point).unwrap();
        assert_eq!(
            json,
            r#"{"recordedAt":"2026-01-01T00:00:00.207Z","latitude":48.16350662940509,"longitude":-0.5,"speedKmh":12.5}"#
        );
    }
}
