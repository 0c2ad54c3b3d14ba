//! Instants, places and numbers of packed fixes (docs/store.md). Those that come back bit by bit from ten-millionths of a
//! degree, or from thousandths, are stored as such; others whole.

use serde::{Deserialize, Serialize};
use waypost_actors::model::{Place, Timestamp};

const PER_DEGREE: f64 = 1e7;
const PER_UNIT: f64 = 1e3;
/// Microseconds.
pub(super) const MICROS_PER_MILLI: i64 = 1_000;

/// An instant: how long before the step's time, in milliseconds where none is cut.
#[derive(Serialize, Deserialize)]
pub(super) enum Before {
    Millis(i64),
    Micros(i64),
}

/// A place.
#[derive(Serialize, Deserialize)]
pub(super) enum PackedPlace {
    /// Ten-millionths of a degree.
    Scaled(i32, i32),
    Whole(f64, f64),
}

/// What a sensor said, if anything.
#[derive(Serialize, Deserialize)]
pub(super) enum Number {
    None,
    /// Thousandths.
    Scaled(i64),
    Whole(f64),
}

impl Before {
    pub(super) fn pack(at: Timestamp, base: i64) -> Self {
        let micros = base.wrapping_sub(at.as_micros());
        if micros % MICROS_PER_MILLI == 0 {
            Self::Millis(micros / MICROS_PER_MILLI)
        } else {
            Self::Micros(micros)
        }
    }

    pub(super) const fn unpack(&self, base: i64) -> Timestamp {
        let micros = match *self {
            Self::Millis(millis) => millis.wrapping_mul(MICROS_PER_MILLI),
            Self::Micros(micros) => micros,
        };
        Timestamp::from_micros(base.wrapping_sub(micros))
    }
}

/// The number as so many parts of one, if that gives the same bits back.
fn scaled(value: f64, per_unit: f64) -> Option<i64> {
    let parts = (value * per_unit).round() as i64;
    (parts as f64 / per_unit).to_bits().eq(&value.to_bits()).then_some(parts)
}

impl PackedPlace {
    pub(super) fn pack(place: Place) -> Self {
        let degrees = |value| scaled(value, PER_DEGREE).and_then(|parts| i32::try_from(parts).ok());
        match (degrees(place.latitude), degrees(place.longitude)) {
            (Some(latitude), Some(longitude)) => Self::Scaled(latitude, longitude),
            _ => Self::Whole(place.latitude, place.longitude),
        }
    }

    pub(super) fn unpack(&self) -> Place {
        match *self {
            Self::Scaled(latitude, longitude) => {
                Place::new(f64::from(latitude) / PER_DEGREE, f64::from(longitude) / PER_DEGREE)
            }
            Self::Whole(latitude, longitude) => Place::new(latitude, longitude),
        }
    }
}

impl Number {
    pub(super) fn pack(value: Option<f64>) -> Self {
        let Some(value) = value else { return Self::None };
        scaled(value, PER_UNIT).map_or(Self::Whole(value), Self::Scaled)
    }

    pub(super) fn unpack(&self) -> Option<f64> {
        match *self {
            Self::None => None,
            Self::Scaled(parts) => Some(parts as f64 / PER_UNIT),
            Self::Whole(value) => Some(value),
        }
    }
}
