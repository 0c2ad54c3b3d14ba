//! Validation of a fuel sensor's configuration.

use crate::model::{CalibrationPoint, Sensor, SensorKind};

/// Litres; a rail tank car holds less.
const MAX_CAPACITY_LITERS: f64 = 100_000.0;
/// A straight line needs two points.
const MIN_CALIBRATION: usize = 2;
/// A point each 5 litres of a 1000 l tank.
const MAX_CALIBRATION: usize = 200;
/// Error codes one sensor may have; real devices have one to four.
const MAX_ERROR_CODES: usize = 32;
/// Seconds: shorter, and a median has nothing to choose from at usual rates of reporting.
const MIN_WINDOW_SECONDS: f64 = 60.0;
/// Seconds: longer, and the live level lags behind the tank by a quarter of an hour.
pub(super) const MAX_WINDOW_SECONDS: f64 = 1800.0;

/// One problem of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, as a path of members: `calibration[3].raw`.
    pub member: String,
    /// What it must be.
    pub message: String,
}

impl Sensor {
    /// Everything that is wrong with it; empty if it can be used.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Problems::default();
        let capacity = self.tank_capacity_liters;
        problems.unless(capacity > 0.0 && capacity <= MAX_CAPACITY_LITERS, "tankCapacityLiters", || {
            format!("above 0 and at most {MAX_CAPACITY_LITERS} litres")
        });
        let window = MIN_WINDOW_SECONDS..=MAX_WINDOW_SECONDS;
        problems.unless(window.contains(&self.window_seconds), "windowSeconds", || {
            format!("{MIN_WINDOW_SECONDS} to {MAX_WINDOW_SECONDS} seconds")
        });
        self.check_limits(&mut problems);
        self.check_calibration(&mut problems);
        problems.0
    }

    fn check_limits(&self, problems: &mut Problems) {
        for (member, limit) in [("minValid", self.min_valid), ("maxValid", self.max_valid)] {
            problems.unless(limit.is_none_or(f64::is_finite), member, || "a finite number".to_owned());
        }
        if let (Some(min), Some(max)) = (self.min_valid, self.max_valid) {
            problems.unless(min < max, "maxValid", || format!("above minValid ({min})"));
        }
        problems.unless(self.error_codes.len() <= MAX_ERROR_CODES, "errorCodes", || {
            format!("at most {MAX_ERROR_CODES} codes")
        });
        for (row, code) in self.error_codes.iter().enumerate() {
            problems.unless(code.is_finite(), &format!("errorCodes[{row}]"), || "a finite number".to_owned());
        }
    }

    fn check_calibration(&self, problems: &mut Problems) {
        let table = &self.calibration;
        if table.is_empty() {
            return;
        }
        if self.kind == SensorKind::Cumulative {
            problems
                .add("calibration", "absent: a cumulative counter's litres are litres already".to_owned());
            return;
        }
        problems.unless((MIN_CALIBRATION..=MAX_CALIBRATION).contains(&table.len()), "calibration", || {
            format!("{MIN_CALIBRATION} to {MAX_CALIBRATION} points, or none")
        });
        let ceiling = self.tank_capacity_liters * (1.0 + OVERFILL_SHARE);
        for (row, point) in table.iter().enumerate() {
            problems.unless(point.raw.is_finite(), &format!("calibration[{row}].raw"), || {
                "a finite number".to_owned()
            });
            problems.unless(
                point.liters >= 0.0 && point.liters <= ceiling,
                &format!("calibration[{row}].liters"),
                || "from 0 to the tank's capacity".to_owned(),
            );
        }
        check_order(table, problems);
    }
}

/// A tank takes a little more than its nominal capacity, up to the filler's neck. Share of it.
pub(super) const OVERFILL_SHARE: f64 = 0.02;

/// `raw` rises from row to row; `liters` go one way.
fn check_order(table: &[CalibrationPoint], problems: &mut Problems) {
    let way = table.windows(2).map(|pair| pair[1].liters - pair[0].liters).find(|change| *change != 0.0);
    if way.is_none() && table.len() > 1 {
        problems.add("calibration", "of points with different litres".to_owned());
    }
    for (row, pair) in table.windows(2).enumerate().map(|(first, pair)| (first + 1, pair)) {
        if pair[1].raw <= pair[0].raw {
            let message =
                format!("above the raw value of the row before: {} follows {}", pair[1].raw, pair[0].raw);
            problems.add(&format!("calibration[{row}].raw"), message);
        }
        if way.is_some_and(|way| (pair[1].liters - pair[0].liters) * way < 0.0) {
            let message = format!(
                "part of a table in which litres all rise or all fall: {} follows {}",
                pair[1].liters, pair[0].liters
            );
            problems.add(&format!("calibration[{row}].liters"), message);
        }
    }
}

#[derive(Default)]
struct Problems(Vec<Problem>);

impl Problems {
    fn add(&mut self, member: &str, message: String) {
        self.0.push(Problem { member: member.to_owned(), message });
    }

    fn unless(&mut self, holds: bool, member: &str, message: impl FnOnce() -> String) {
        if !holds {
            self.add(member, message());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_table(points: &[(f64, f64)]) -> Sensor {
        let calibration = points.iter().map(|&(raw, liters)| CalibrationPoint { raw, liters }).collect();
        Sensor { calibration, ..Sensor::new(SensorKind::Raw, 100.0) }
    }

    fn members(sensor: &Sensor) -> Vec<String> {
        sensor.problems().into_iter().map(|problem| problem.member).collect()
    }

    #[test]
    fn good_ones_are_accepted_inverse_too() {
        for points in [&[(0.0, 0.0), (4095.0, 100.0)][..], &[(10.0, 100.0), (50.0, 40.0), (90.0, 0.0)], &[]] {
            assert_eq!(with_table(points).problems(), [], "{points:?}");
        }
        // A dead zone at the bottom of the tank.
        assert_eq!(with_table(&[(0.0, 0.0), (1.0, 10.0), (2.0, 10.0), (3.0, 90.0)]).problems(), []);
    }

    #[test]
    fn the_row_is_named() {
        for (points, member) in [
            (&[(0.0, 0.0), (5.0, 10.0), (5.0, 20.0)][..], "calibration[2].raw"),
            (&[(0.0, 0.0), (5.0, 10.0), (4.0, 20.0)], "calibration[2].raw"),
            (&[(0.0, 0.0), (5.0, 10.0), (6.0, 9.0), (7.0, 30.0)], "calibration[2].liters"),
            (&[(0.0, 90.0), (5.0, 10.0), (6.0, 20.0)], "calibration[2].liters"),
            (&[(0.0, 0.0), (f64::NAN, 10.0)], "calibration[1].raw"),
            (&[(0.0, -1.0), (1.0, 10.0)], "calibration[0].liters"),
            (&[(0.0, 0.0), (1.0, 103.0)], "calibration[1].liters"),
            (&[(0.0, 0.0)], "calibration"),
            (&[(0.0, 7.0), (1.0, 7.0)], "calibration"),
        ] {
            assert_eq!(members(&with_table(points)), [member], "{points:?}");
        }
        let long: Vec<(f64, f64)> = (0..201).map(|row| (f64::from(row), f64::from(row) / 4.0)).collect();
        assert_eq!(members(&with_table(&long)), ["calibration"]);
        assert_eq!(with_table(&long[..200]).problems(), []);
    }

    #[test]
    fn every_other_member_is_named() {
        let good = Sensor::new(SensorKind::Percent, 60.0);
        for (sensor, member) in [
            (Sensor { tank_capacity_liters: 0.0, ..good.clone() }, "tankCapacityLiters"),
            (Sensor { tank_capacity_liters: f64::NAN, ..good.clone() }, "tankCapacityLiters"),
            (Sensor { window_seconds: 59.0, ..good.clone() }, "windowSeconds"),
            (Sensor { min_valid: Some(f64::NAN), ..good.clone() }, "minValid"),
            (Sensor { min_valid: Some(5.0), max_valid: Some(5.0), ..good.clone() }, "maxValid"),
            (Sensor { error_codes: vec![1.0, f64::NAN], ..good.clone() }, "errorCodes[1]"),
            (Sensor { error_codes: vec![1.0; 33], ..good.clone() }, "errorCodes"),
            (Sensor { kind: SensorKind::Cumulative, ..with_table(&[(0.0, 0.0), (1.0, 1.0)]) }, "calibration"),
        ] {
            assert_eq!(members(&sensor), [member]);
        }
        assert_eq!(good.problems(), []);
    }
}
