//! A vehicle's tank and fuel sensor: what is stored of them and what clients may set.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use waypost_actors::fuel::Problem;
use waypost_actors::model::{CalibrationPoint, Sensor, SensorKind, Timestamp};

use super::members::{Members, Patch, Read, instant, number, one_of};
use super::words::words;

words!(
    /// What a vehicle runs on.
    FuelKind {
        /// Diesel.
        Diesel = "diesel",
        /// Petrol.
        Petrol = "petrol",
        /// Liquefied petroleum gas.
        Lpg = "lpg",
        /// Compressed natural gas.
        Cng = "cng",
        /// Petrol or diesel with an electric motor.
        Hybrid = "hybrid",
        /// Electricity.
        Electric = "electric",
        /// Hydrogen.
        Hydrogen = "hydrogen",
        /// Not known.
        Unknown = "unknown",
    }
);

/// Any number that JSON can represent.
const ANY: std::ops::RangeInclusive<f64> = f64::MIN..=f64::MAX;
const SENSOR_KINDS: &[(&str, SensorKind)] = &[
    ("percent", SensorKind::Percent),
    ("liters", SensorKind::Liters),
    ("raw", SensorKind::Raw),
    ("cumulative", SensorKind::Cumulative),
];

/// A vehicle's tank and fuel sensor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VehicleFuel {
    /// What it runs on.
    pub kind: FuelKind,
    /// The tank in litres, 1 to 5,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 5000)]
    pub tank_capacity_liters: Option<f64>,
    /// What it should need, litres per 100 km.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.1, maximum = 500)]
    pub norm_liters_per_100_km: Option<f64>,
    /// The sensor; a tank without one is read by the units its device names. A PUT replaces it whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensor: Option<Sensor>,
    /// The present tank and sensor hold for readings recorded from this instant on; null = always. Absent in a POST:
    /// always. Absent in a PUT that changes them, or the same as it was in a PUT of the whole vehicle with its `updatedAt`: the
    /// change; an earlier one recomputes what was recorded since.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<Timestamp>)]
    pub effective_from: Option<Option<Timestamp>>,
}

/// Reads a member that is present, including null.
fn present<'de, D: Deserializer<'de>>(member: D) -> Result<Option<Option<Timestamp>>, D::Error> {
    Option::deserialize(member).map(Some)
}

impl Default for VehicleFuel {
    fn default() -> Self {
        Self {
            kind: FuelKind::Unknown,
            tank_capacity_liters: None,
            norm_liters_per_100_km: None,
            sensor: None,
            effective_from: None,
        }
    }
}

impl VehicleFuel {
    /// Dates a new tank and sensor, given the current ones in `before`: returns whether they make a new version of
    /// the calibration, which takes effect at `unless_said` unless the body names an instant.
    #[must_use]
    pub fn dated(self, before: &Self, unless_said: Option<Timestamp>) -> (Self, bool) {
        let differs =
            self.tank_capacity_liters != before.tank_capacity_liters || self.sensor != before.sensor;
        let is_there = |fuel: &Self| fuel.tank_capacity_liters.is_some() || before.effective_from.is_some();
        let is_dated_anew = self.effective_from.is_some_and(|from| before.effective_from != Some(from));
        let is_new = differs || (is_dated_anew && is_there(&self));
        let effective_from =
            if is_new { Some(self.effective_from.unwrap_or(unless_said)) } else { before.effective_from };
        (Self { effective_from, ..self }, is_new)
    }
}

/// Lets a body give the tank within the sensor: moves `fuel.sensor.tankCapacityLiters` to where it is stored. If both
/// places are given and differ, it stays and is refused later.
pub fn lift_tank(body: &mut Value) {
    const TANK: &str = "tankCapacityLiters";
    let Some(fuel) = body.get_mut("fuel").and_then(Value::as_object_mut) else { return };
    let sensor = |fuel: &mut Map<String, Value>| fuel.get_mut("sensor")?.as_object_mut()?.remove(TANK);
    let Some(sensor_tank) = sensor(fuel) else { return };
    match fuel.get(TANK) {
        None => {
            fuel.insert(TANK.to_owned(), sensor_tank);
        }
        Some(tank) if *tank == sensor_tank => {}
        Some(_) => {
            if let Some(sensor) = fuel.get_mut("sensor").and_then(Value::as_object_mut) {
                sensor.insert(TANK.to_owned(), sensor_tank);
            }
        }
    }
}

/// Reads a tank and sensor from complete members, except for `effectiveFrom`, whose absence has a meaning.
pub(super) fn read_fuel(fuel: &mut Members<'_>) -> Option<VehicleFuel> {
    let kind = fuel.required("kind", one_of(FuelKind::WORDS));
    let tank_capacity_liters = fuel.optional("tankCapacityLiters", number(1.0..=5000.0));
    let norm_liters_per_100_km = fuel.optional("normLitersPer100Km", number(0.1..=500.0));
    let effective_from = match fuel.change("effectiveFrom", instant) {
        Patch::Keep => None,
        Patch::Set(from) => Some(from),
    };
    let has_tank = fuel.any("tankCapacityLiters").is_some_and(|tank| !tank.is_null());
    let sensor = fuel.object("sensor", |sensor| read_sensor(sensor, tank_capacity_liters)).flatten();
    if fuel.any("sensor").is_some_and(|sensor| !sensor.is_null()) && !has_tank {
        fuel.problem("tankCapacityLiters", "required", "is required for a sensor");
    }
    Some(VehicleFuel { kind: kind?, tank_capacity_liters, norm_liters_per_100_km, sensor, effective_from })
}

fn read_sensor(sensor: &mut Members<'_>, tank_capacity_liters: Option<f64>) -> Option<Sensor> {
    let kind = sensor.required("kind", one_of(SENSOR_KINDS));
    let min_valid = sensor.optional("minValid", number(ANY));
    let max_valid = sensor.optional("maxValid", number(ANY));
    let error_codes = sensor.optional("errorCodes", numbers);
    let window_seconds = sensor.optional("windowSeconds", number(ANY));
    let calibration = read_calibration(sensor);
    if sensor.any("tankCapacityLiters").is_some() {
        sensor.problem("tankCapacityLiters", "value", "must be what fuel.tankCapacityLiters says");
    }
    // A missing tank is reported elsewhere; the other members are validated nevertheless.
    let capacity = tank_capacity_liters.unwrap_or(f64::from(u16::MAX));
    let plain = Sensor::new(kind?, capacity);
    let read = Sensor {
        calibration: calibration?,
        min_valid,
        max_valid,
        error_codes: error_codes.unwrap_or_default(),
        window_seconds: window_seconds.unwrap_or(plain.window_seconds),
        ..plain
    };
    for Problem { member, message } in read.problems() {
        sensor.problem(&pointer(&member), "value", format!("must be {message}"));
    }
    // The tank is stored beside the sensor.
    Some(Sensor { tank_capacity_liters: 0.0, ..read })
}

/// `None` if a row cannot be read, which is then noted as a problem.
fn read_calibration(sensor: &mut Members<'_>) -> Option<Vec<CalibrationPoint>> {
    let table = match sensor.any("calibration") {
        None | Some(Value::Null) => return Some(Vec::new()),
        Some(Value::Array(table)) => table,
        Some(_) => {
            sensor.problem("calibration", "type", "must be a list of points with raw and liters");
            return None;
        }
    };
    let mut points = Vec::with_capacity(table.len());
    for (row, point) in table.iter().enumerate() {
        let mut members = Members::at(point, sensor.place(&format!("calibration/{row}")));
        let raw = members.required("raw", number(ANY));
        let liters = members.required("liters", number(ANY));
        match members.finish(|| Some(CalibrationPoint { raw: raw?, liters: liters? })) {
            Ok(point) => points.push(point),
            Err(problems) => sensor.extend(problems),
        }
    }
    (points.len() == table.len()).then_some(points)
}

fn numbers(value: &Value) -> Read<Vec<f64>> {
    let all = value.as_array().and_then(|list| list.iter().map(Value::as_f64).collect());
    all.ok_or_else(|| ("type", "a list of numbers".to_owned()))
}

/// `calibration[3].raw` as a part of a JSON pointer.
fn pointer(member: &str) -> String {
    member.replace('[', "/").replace("].", "/").replace(']', "")
}
