//! A vehicle's gauge: turns its readings, fix by fix, into rows of the log, events and the current level. Kept in
//! the vehicle's state; a vehicle that never reported fuel has none.

use serde::{Deserialize, Serialize};

use super::consumption::Measured;
use super::detect::{fill, step};
use super::event::FuelEvent;
use super::level::{Interpreted, Quality};
use super::log::{FuelRow, FuelUnit, read};
use super::reading::Reading;
use super::state::FuelState;
use super::tank::Tank;
use crate::model::{Calibration, Fix, Sensor, Timestamp, VehicleId};

/// An odometer that rises faster than this (metres a second), plus a step of one kilometre, was exchanged.
const MAX_METERS_PER_SECOND: f64 = 70.0;
const ODOMETER_STEP_METERS: f64 = 1_000.0;
/// A full tank in percent.
const FULL_PERCENT: f64 = 100.0;

/// What is known of a vehicle's fuel now.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FuelNow {
    /// The device's clock at the newest reading.
    pub recorded_at: Timestamp,
    /// Whether that reading can be believed.
    pub quality: Quality,
    /// Litres in the tank, smoothed; absent if none was read within the smoothing window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level_liters: Option<f64>,
    /// The same as a share of the tank, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level_percent: Option<f64>,
    /// Litres burnt since the device's counter began, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter_liters: Option<f64>,
}

/// The result of a fix.
#[derive(Clone, Debug, PartialEq)]
pub struct Gauged {
    /// The row of the log, if the fix reported fuel.
    pub row: Option<FuelRow>,
    /// The events that became certain with it, in order, and the version of the calibration each belongs to.
    pub events: Vec<(FuelEvent, i64)>,
    /// The tank by which it was read.
    pub tank: Tank,
}

impl Default for Gauged {
    fn default() -> Self {
        Self { row: None, events: Vec::new(), tank: Tank::UNKNOWN }
    }
}

/// What a vehicle remembers about its fuel between fixes. A function of its fixes and calibrations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gauge {
    now: FuelNow,
    detector: FuelState,
    /// The previous fix, and its odometer.
    fix_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    odometer_km: Option<f64>,
    /// Metres since the newest row; `None` once any of them is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    meters_since_row: Option<f64>,
}

impl Gauge {
    /// Begins with a fix; `None` if it reports no fuel.
    #[must_use]
    pub fn begin(fix: &Fix, versions: &[Calibration], vehicle: VehicleId) -> Option<(Self, Gauged)> {
        let now = FuelNow {
            recorded_at: fix.recorded_at,
            quality: Quality::Ok,
            level_liters: None,
            level_percent: None,
            counter_liters: None,
        };
        let mut gauge = Self {
            now,
            detector: FuelState::default(),
            fix_at: fix.recorded_at,
            odometer_km: fix.odometer_km,
            meters_since_row: None,
        };
        let gauged = gauge.read(fix, None, versions, vehicle, step);
        gauged.row.is_some().then_some((gauge, gauged))
    }

    /// Advances to a fix that is newer than all before. `track_meters`: how far it is from the previous one, noise
    /// left out; `None` if unknown.
    pub fn take(
        &mut self,
        fix: &Fix,
        track_meters: Option<f64>,
        versions: &[Calibration],
        vehicle: VehicleId,
    ) -> Gauged {
        let odometer_meters = self.odometer_meters(fix);
        // Both must agree that the vehicle stayed: an odometer may be coarse, and a track may be a loop.
        let gone = match (odometer_meters, track_meters) {
            (Some(odometer), Some(track)) => Some(odometer.max(track)),
            (odometer, track) => odometer.or(track),
        };
        let added = odometer_meters.or(track_meters);
        self.meters_since_row = self.meters_since_row.zip(added).map(|(so_far, more)| so_far + more);
        (self.fix_at, self.odometer_km) = (fix.recorded_at, fix.odometer_km);
        self.read(fix, gone, versions, vehicle, step)
    }

    /// Adds what a second message reported about the newest fix, which had reported no fuel before and is otherwise
    /// unchanged; `None` if it had.
    pub fn fill(&mut self, fix: &Fix, versions: &[Calibration], vehicle: VehicleId) -> Option<Gauged> {
        let is_open = self.fix_at == fix.recorded_at && self.now.recorded_at < fix.recorded_at;
        is_open.then(|| self.read(fix, None, versions, vehicle, fill))
    }

    /// The current level and newest reading.
    #[must_use]
    pub const fn now(&self) -> FuelNow {
        self.now
    }

    /// The newest reading, as the start of a period.
    #[must_use]
    pub fn newest(&self) -> Measured {
        let FuelNow { recorded_at, level_liters, counter_liters, .. } = self.now;
        Measured {
            at: recorded_at,
            level_liters,
            counter_liters,
            distance_meters: None,
            version: self.detector.version(),
        }
    }

    /// A refuel or drain that was found but is not certain yet: for a warning, not for a record.
    #[must_use]
    pub fn provisional(&self, vehicle: VehicleId) -> Option<FuelEvent> {
        self.detector.provisional(vehicle).map(rounded)
    }

    fn odometer_meters(&self, fix: &Fix) -> Option<f64> {
        let seconds = fix.recorded_at.seconds_since(self.fix_at);
        let most = seconds.mul_add(MAX_METERS_PER_SECOND, ODOMETER_STEP_METERS);
        let meters = (fix.odometer_km? - self.odometer_km?) * 1_000.0;
        (0.0..=most).contains(&meters).then_some(meters)
    }

    fn read(
        &mut self,
        fix: &Fix,
        gone_meters: Option<f64>,
        versions: &[Calibration],
        vehicle: VehicleId,
        detect: impl FnOnce(&mut FuelState, &Reading, &Tank, VehicleId) -> Vec<FuelEvent>,
    ) -> Gauged {
        let calibration = Calibration::in_force_at(versions, fix.recorded_at);
        let sensor = calibration.and_then(|version| version.sensor.as_ref());
        let interpreted = read(fix, sensor);
        let reading = Reading {
            at: fix.recorded_at,
            level_liters: interpreted.and_then(|(_, interpreted)| interpreted.level_liters),
            speed_kmh: fix.speed_kmh,
            ignition: fix.ignition,
            place: Some(fix.place),
            distance_meters: gone_meters,
        };
        let before = self.detector.version();
        let tank = calibration.and_then(|version| Some(Tank::of(version.sensor.as_ref()?, version.version)));
        let events = match &tank {
            Some(tank) => detect(&mut self.detector, &reading, tank, vehicle),
            // Later levels cannot be compared with earlier ones any more, so a pending event stands as found.
            None => std::mem::take(&mut self.detector).provisional(vehicle).into_iter().collect(),
        };
        let version = tank.map(|tank| tank.version);
        // At the step to a new version, the events that became certain belong to the old one.
        let of = before.or(version).unwrap_or_default();
        let row = interpreted.map(|(unit, interpreted)| {
            self.row(
                fix,
                unit,
                interpreted,
                sensor,
                calibration.map(|version| version.version),
                tank.as_ref(),
            )
        });
        let events = events.into_iter().map(|event| (rounded(event), of)).collect();
        Gauged { row, events, tank: tank.unwrap_or(Tank::UNKNOWN) }
    }

    fn row(
        &mut self,
        fix: &Fix,
        unit: FuelUnit,
        interpreted: Interpreted,
        sensor: Option<&Sensor>,
        calibration_version: Option<i64>,
        tank: Option<&Tank>,
    ) -> FuelRow {
        // Without a tank nothing is smoothed.
        let level = tank
            .map_or(interpreted.level_liters, |tank| self.detector.level_liters(tank))
            .map(to_thousandths);
        let share = |liters: f64| Some(to_thousandths(liters / sensor?.tank_capacity_liters * FULL_PERCENT));
        let bare = (unit == FuelUnit::Percent && sensor.is_none()).then_some(interpreted.raw_value);
        let percent = level.and_then(share).or(bare.filter(|percent| (0.0..=FULL_PERCENT).contains(percent)));
        self.now = FuelNow {
            recorded_at: fix.recorded_at,
            quality: interpreted.quality,
            level_liters: level,
            level_percent: percent,
            counter_liters: interpreted.counter_liters.or(self.now.counter_liters),
        };
        let has_level = interpreted.level_liters.is_some();
        FuelRow {
            recorded_at: fix.recorded_at,
            received_at: fix.received_at,
            place: fix.place,
            speed_kmh: fix.speed_kmh,
            odometer_km: fix.odometer_km,
            ignition: fix.ignition,
            distance_meters: self.meters_since_row.replace(0.0).map(to_thousandths),
            unit,
            raw_value: interpreted.raw_value,
            level_raw_liters: interpreted.level_liters.map(to_thousandths),
            level_liters: level.filter(|_| has_level),
            level_percent: percent.filter(|_| has_level || bare.is_some()),
            counter_liters: interpreted.counter_liters,
            quality: interpreted.quality,
            calibration_version,
        }
    }
}

/// An event rounded for output.
fn rounded(event: FuelEvent) -> FuelEvent {
    FuelEvent {
        level_before_liters: to_thousandths(event.level_before_liters),
        level_after_liters: to_thousandths(event.level_after_liters),
        volume_liters: to_thousandths(event.volume_liters),
        confidence: to_thousandths(event.confidence),
        ..event
    }
}

/// Finer digits of litres, percent and metres would be noise, and would take room in every row.
fn to_thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
