//! Converts what a sensor reported to litres, or says why that is not possible.

use super::sensor::OVERFILL_SHARE;
use crate::model::{CalibrationPoint, FuelReading, Sensor, SensorKind};

/// Beyond the ends of a calibration, this share of its span still counts as the end (a float at its stop wobbles);
/// a value farther out is no level.
const CALIBRATION_MARGIN_SHARE: f64 = 0.02;
/// Percent: above the full tank by no more than what single precision loses. SAE J1939 says 100.4 to
/// 102.0 for "error" and "not available" (0.4 % a bit, from 251 on), which must not read as full.
const PERCENT_MARGIN: f64 = 0.01;

words!(
    /// Whether a reading can be believed.
    #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
    Quality {
        /// It is a level, or a counter's value.
        Ok = "ok",
        /// No level such a tank and sensor can have.
        OutOfRange = "outOfRange",
        /// The sensor says that it is broken.
        SensorError = "sensorError",
        /// Its unit is the sensor's own, and no calibration says what that is in litres.
        Uncalibrated = "uncalibrated",
    }
);

/// The meaning of a reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interpreted {
    /// The number as reported.
    pub raw_value: f64,
    /// Litres in the tank; only with quality `ok`, and never from a counter.
    pub level_liters: Option<f64>,
    /// Litres burnt since the counter began; only with quality `ok`.
    pub counter_liters: Option<f64>,
    /// Whether it can be believed.
    pub quality: Quality,
}

/// Interprets a reading by the vehicle's sensor. A unit named by the device takes precedence over the sensor's
/// kind; the calibration is in the sensor's unit and applies to that unit alone. Without a configured sensor, only
/// litres give a level.
#[must_use]
pub fn interpret(sensor: Option<&Sensor>, reading: FuelReading) -> Interpreted {
    let (FuelReading::Percent(value) | FuelReading::Liters(value) | FuelReading::Raw(value)) = reading;
    let Some(sensor) = sensor else {
        return match reading {
            FuelReading::Liters(liters) if liters.is_finite() && liters >= 0.0 => level(value, liters),
            FuelReading::Liters(_) => bad(value, Quality::OutOfRange),
            FuelReading::Percent(_) | FuelReading::Raw(_) => bad(value, Quality::Uncalibrated),
        };
    };
    if sensor.error_codes.contains(&value) {
        return bad(value, Quality::SensorError);
    }
    let below = sensor.min_valid.is_some_and(|min| value < min);
    if below || sensor.max_valid.is_some_and(|max| value > max) || !value.is_finite() {
        return bad(value, Quality::OutOfRange);
    }
    let named = match reading {
        FuelReading::Percent(_) => SensorKind::Percent,
        FuelReading::Liters(_) if sensor.kind == SensorKind::Cumulative => SensorKind::Cumulative,
        FuelReading::Liters(_) => SensorKind::Liters,
        FuelReading::Raw(_) => sensor.kind,
    };
    convert(sensor, named, value)
}

fn convert(sensor: &Sensor, unit: SensorKind, value: f64) -> Interpreted {
    let calibrated = unit == sensor.kind && !sensor.calibration.is_empty();
    let capacity = sensor.tank_capacity_liters;
    match unit {
        SensorKind::Cumulative if value < 0.0 => bad(value, Quality::OutOfRange),
        SensorKind::Cumulative => Interpreted {
            raw_value: value,
            level_liters: None,
            counter_liters: Some(value),
            quality: Quality::Ok,
        },
        _ if calibrated => interpolate(&sensor.calibration, value)
            .map_or(bad(value, Quality::OutOfRange), |liters| level(value, liters)),
        SensorKind::Percent if (-PERCENT_MARGIN..=100.0 + PERCENT_MARGIN).contains(&value) => {
            level(value, (value / 100.0).clamp(0.0, 1.0) * capacity)
        }
        SensorKind::Liters if value >= 0.0 && value <= capacity * (1.0 + OVERFILL_SHARE) => {
            level(value, value)
        }
        SensorKind::Percent | SensorKind::Liters => bad(value, Quality::OutOfRange),
        SensorKind::Raw => bad(value, Quality::Uncalibrated),
    }
}

const fn level(raw_value: f64, liters: f64) -> Interpreted {
    Interpreted { raw_value, level_liters: Some(liters), counter_liters: None, quality: Quality::Ok }
}

const fn bad(raw_value: f64, quality: Quality) -> Interpreted {
    Interpreted { raw_value, level_liters: None, counter_liters: None, quality }
}

/// Litres on the straight line between two points; `None` well beyond the table.
fn interpolate(table: &[CalibrationPoint], raw: f64) -> Option<f64> {
    let (first, last) = (table.first()?, table.last()?);
    let margin = (last.raw - first.raw) * CALIBRATION_MARGIN_SHARE;
    if raw < first.raw - margin || raw > last.raw + margin {
        return None;
    }
    let raw = raw.clamp(first.raw, last.raw);
    let above = table.partition_point(|point| point.raw < raw).max(1);
    let (low, high) = (table.get(above - 1)?, table.get(above)?);
    let share = (raw - low.raw) / (high.raw - low.raw);
    Some(low.liters + share * (high.liters - low.liters))
}

#[cfg(test)]
mod tests {
    use super::*;
    use FuelReading::{Liters, Percent, Raw};

    fn table(points: &[(f64, f64)]) -> Vec<CalibrationPoint> {
        points.iter().map(|&(raw, liters)| CalibrationPoint { raw, liters }).collect()
    }

    fn liters(sensor: &Sensor, reading: FuelReading) -> Option<f64> {
        interpret(Some(sensor), reading).level_liters
    }

    fn quality(sensor: &Sensor, reading: FuelReading) -> Quality {
        let found = interpret(Some(sensor), reading);
        assert_eq!(found.quality == Quality::Ok, found.level_liters.or(found.counter_liters).is_some());
        found.quality
    }

    #[test]
    fn percent_of_the_tank() {
        let sensor = Sensor::new(SensorKind::Percent, 60.0);
        for reading in [Percent(25.0), Raw(25.0)] {
            assert_eq!(liters(&sensor, reading), Some(15.0));
        }
        assert_eq!(liters(&sensor, Percent(100.000_001_5)), Some(60.0));
        for not_full in [100.4, 101.6, 102.0, 255.0, -3.0, f64::INFINITY, f64::NAN] {
            assert_eq!(quality(&sensor, Percent(not_full)), Quality::OutOfRange, "{not_full}");
        }
    }

    #[test]
    fn an_error_code_is_never_a_full_tank() {
        let calibration = table(&[(0.0, 0.0), (65535.0, 400.0)]);
        let sensor = Sensor {
            calibration,
            error_codes: vec![65454.0, 65455.0],
            ..Sensor::new(SensorKind::Raw, 400.0)
        };
        assert_eq!(quality(&sensor, Raw(65454.0)), Quality::SensorError);
        assert_eq!(quality(&sensor, Raw(65453.0)), Quality::Ok);
        let limited = Sensor { max_valid: Some(65000.0), min_valid: Some(10.0), ..sensor };
        assert_eq!(quality(&limited, Raw(65001.0)), Quality::OutOfRange);
        assert_eq!(quality(&limited, Raw(9.0)), Quality::OutOfRange);
    }

    #[test]
    fn between_two_points_on_the_line_and_well_beyond_the_table_nothing() {
        let sensor = Sensor {
            calibration: table(&[(100.0, 0.0), (200.0, 10.0), (1100.0, 100.0)]),
            ..Sensor::new(SensorKind::Raw, 100.0)
        };
        for (raw, want) in [
            (100.0, Some(0.0)),
            (150.0, Some(5.0)),
            (200.0, Some(10.0)),
            (650.0, Some(55.0)),
            (1100.0, Some(100.0)),
            (85.0, Some(0.0)),
            (1115.0, Some(100.0)),
            (70.0, None),
            (1130.0, None),
        ] {
            assert_eq!(liters(&sensor, Raw(raw)), want, "{raw}");
        }
    }

    #[test]
    fn an_inverse_sensor_falls_as_fuel_rises() {
        let sensor = Sensor {
            calibration: table(&[(10.0, 80.0), (240.0, 0.0)]),
            ..Sensor::new(SensorKind::Raw, 80.0)
        };
        assert_eq!(liters(&sensor, Raw(125.0)), Some(40.0));
        assert_eq!(liters(&sensor, Raw(10.0)), Some(80.0));
        assert_eq!(quality(&sensor, Raw(0.0)), Quality::OutOfRange);
    }

    #[test]
    fn nothing_is_assumed_of_an_unknown_unit() {
        assert_eq!(interpret(None, Percent(50.0)).quality, Quality::Uncalibrated);
        assert_eq!(interpret(None, Raw(50.0)).quality, Quality::Uncalibrated);
        assert_eq!(interpret(None, Liters(50.0)).level_liters, Some(50.0));
        assert_eq!(interpret(None, Liters(-1.0)).quality, Quality::OutOfRange);
        assert_eq!(quality(&Sensor::new(SensorKind::Raw, 80.0), Raw(5.0)), Quality::Uncalibrated);
    }

    #[test]
    fn a_named_unit_decides_and_the_calibration_is_of_the_sensors_own() {
        let sensor = Sensor {
            calibration: table(&[(0.0, 0.0), (1000.0, 80.0)]),
            ..Sensor::new(SensorKind::Raw, 80.0)
        };
        assert_eq!(liters(&sensor, Percent(50.0)), Some(40.0));
        assert_eq!(liters(&sensor, Liters(50.0)), Some(50.0));
        assert_eq!(quality(&sensor, Liters(82.0)), Quality::OutOfRange);
        let dish = Sensor {
            calibration: table(&[(0.0, 0.0), (50.0, 30.0), (100.0, 80.0)]),
            ..Sensor::new(SensorKind::Percent, 80.0)
        };
        assert_eq!(liters(&dish, Percent(50.0)), Some(30.0));
    }

    #[test]
    fn a_counter_is_no_level() {
        let sensor = Sensor::new(SensorKind::Cumulative, 400.0);
        for reading in [Liters(15_192.9), Raw(15_192.9)] {
            let found = interpret(Some(&sensor), reading);
            assert_eq!((found.level_liters, found.counter_liters), (None, Some(15_192.9)));
        }
        assert_eq!(quality(&sensor, Raw(-1.0)), Quality::OutOfRange);
        assert_eq!(liters(&sensor, Percent(50.0)), Some(200.0));
    }
}
