//! Arguments, logs and expected events.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::Read;

use csv::StringRecord;
use waypost_actors::fuel::{FuelEventKind, Reading, Sensor, SensorKind, interpret};
use waypost_actors::model::{FuelReading, Place, Timestamp};

/// A car's tank. The benchmark's files say percent, and nothing of the tank.
const DEFAULT_TANK_LITERS: f64 = 50.0;
/// Metres in a degree of latitude.
const METERS_IN_DEGREE: f64 = 111_195.0;

type Failure = Box<dyn Error>;

/// What the program is told.
pub(crate) struct Arguments {
    log: String,
    expected: String,
    /// Litres.
    pub(crate) tank_liters: f64,
    /// How far `seen_at` may be off the times of an event.
    pub(crate) tolerance_seconds: f64,
}

impl Arguments {
    pub(crate) fn parse(mut given: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let (mut files, mut tank_liters, mut tolerance_seconds) = (Vec::new(), DEFAULT_TANK_LITERS, 120.0);
        while let Some(argument) = given.next() {
            let mut number = || -> Result<f64, Failure> {
                Ok(given.next().ok_or(format!("{argument} wants a number"))?.parse()?)
            };
            match argument.as_str() {
                "--tank-liters" => tank_liters = number()?,
                "--tolerance-seconds" => tolerance_seconds = number()?,
                _ => files.push(argument),
            }
        }
        let [log, expected] = <[String; 2]>::try_from(files)
            .map_err(|_| "usage: fuel_benchmark FUEL.csv[.gz] EXPECTED.csv[.gz] [--tank-liters L] [--tolerance-seconds S]")?;
        Ok(Self { log, expected, tank_liters, tolerance_seconds })
    }
}

/// An event that is there to be found.
pub(crate) struct Expected {
    pub(crate) kind: FuelEventKind,
    pub(crate) seen_at: Timestamp,
    /// Litres that came or went.
    pub(crate) volume_liters: f64,
}

/// The readings of each vehicle, in the order of time.
pub(crate) fn logs(arguments: &Arguments) -> Result<BTreeMap<String, Vec<Reading>>, Failure> {
    let sensor = Sensor::new(SensorKind::Percent, arguments.tank_liters);
    let mut logs: BTreeMap<String, Vec<Reading>> = BTreeMap::new();
    for_each_row(&arguments.log, |row| {
        let said = match (row.number("fuel_pct")?, row.number("fuel_liters")?) {
            (Some(percent), _) => Some(FuelReading::Percent(percent)),
            (None, liters) => liters.map(FuelReading::Liters),
        };
        let place = row.number("lat")?.zip(row.number("lon")?);
        let reading = Reading {
            at: Timestamp::parse(row.text("recorded_at")?)?,
            level_liters: said.and_then(|said| interpret(Some(&sensor), said).level_liters),
            speed_kmh: row.number("speed_kmh")?,
            ignition: row.number("rpm")?.map(|rpm| rpm > 0.0),
            place: place.map(|(latitude, longitude)| Place::new(latitude, longitude)),
            distance_meters: None,
        };
        logs.entry(row.text("vehicle")?.to_owned()).or_default().push(reading);
        Ok(())
    })?;
    for readings in logs.values_mut() {
        readings.sort_by_key(|reading| reading.at);
        readings.dedup_by_key(|reading| reading.at);
        for next in 1..readings.len() {
            readings[next].distance_meters =
                readings[next - 1].place.zip(readings[next].place).map(|(from, to)| meters(from, to));
        }
    }
    Ok(logs)
}

/// The expected events of each vehicle.
pub(crate) fn expected(arguments: &Arguments) -> Result<BTreeMap<String, Vec<Expected>>, Failure> {
    let mut events: BTreeMap<String, Vec<Expected>> = BTreeMap::new();
    for_each_row(&arguments.expected, |row| {
        let level = |name: &str| -> Result<f64, Failure> {
            let percent = row.number(&format!("{name}_pct"))?;
            let liters = percent.map(|percent| percent / 100.0 * arguments.tank_liters);
            Ok(liters.or(row.number(&format!("{name}_liters"))?).ok_or(format!("no {name}"))?)
        };
        let change = level("level_after")? - level("level_before")?;
        let kind = if change > 0.0 { FuelEventKind::Refuel } else { FuelEventKind::Drain };
        let seen_at = Timestamp::parse(row.text("seen_at")?)?;
        let of_vehicle = events.entry(row.text("vehicle")?.to_owned()).or_default();
        of_vehicle.push(Expected { kind, seen_at, volume_liters: change.abs() });
        Ok(())
    })?;
    Ok(events)
}

struct Row<'a> {
    names: &'a StringRecord,
    values: &'a StringRecord,
}

impl Row<'_> {
    fn find(&self, name: &str) -> Option<&str> {
        let column = self.names.iter().position(|known| known == name)?;
        self.values.get(column).map(str::trim).filter(|value| !value.is_empty())
    }

    fn text(&self, name: &str) -> Result<&str, Failure> {
        Ok(self.find(name).ok_or(format!("no {name}"))?)
    }

    fn number(&self, name: &str) -> Result<Option<f64>, Failure> {
        Ok(self.find(name).map(str::parse).transpose()?)
    }
}

fn for_each_row(path: &str, mut take: impl FnMut(&Row<'_>) -> Result<(), Failure>) -> Result<(), Failure> {
    let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
    let text: Box<dyn Read> = if path.ends_with(".gz") {
        Box::new(flate2::read::MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let mut table = csv::Reader::from_reader(text);
    let names = table.headers()?.clone();
    for (line, values) in table.records().enumerate() {
        take(&Row { names: &names, values: &values? })
            .map_err(|error| format!("{path}:{}: {error}", line + 2))?;
    }
    Ok(())
}

/// Near enough for whether a vehicle moved.
fn meters(from: Place, to: Place) -> f64 {
    let north = to.latitude - from.latitude;
    let east = (to.longitude - from.longitude) * from.latitude.to_radians().cos();
    north.hypot(east) * METERS_IN_DEGREE
}
