//! The bytes of a packed day of the fuel log: what charts and consumption take of its entries, in columns (docs/store.md).

use postcard::{from_bytes, to_stdvec};
use serde::{Deserialize, Serialize};
use waypost_actors::fuel::Measured;
use waypost_actors::model::Timestamp;

use super::packed_columns::{NumberColumn, TimeColumn};
use super::sql::{Result, SqlError};

/// What charts and consumption take of an entry of the fuel log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// What a meter counts.
    pub measured: Measured,
    /// Before smoothing, litres.
    pub raw_liters: Option<f64>,
}

/// For whom levels are read: what the other takes may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A chart: instants and levels.
    Chart,
    /// A meter: [`Level::measured`].
    Meter,
}

/// The form of the bytes; its number comes first in them.
#[derive(Serialize, Deserialize)]
enum Packed<'a> {
    #[serde(borrow)]
    First(Columns<'a>),
}

/// Each column is bytes of its own, so that only those that are read are unpacked.
#[derive(Serialize, Deserialize)]
struct Columns<'a> {
    recorded: &'a [u8],
    raw: &'a [u8],
    level: &'a [u8],
    counter: &'a [u8],
    distance: &'a [u8],
    versions: &'a [u8],
}

/// A version, or none, behind how many entries in a row have it.
type Versions = (usize, Option<i64>);

/// Numbers of which a few may be missing: a sensor that fails once costs the others of its day nothing.
#[derive(Serialize, Deserialize)]
struct SparseColumn {
    /// Before each missing one, how many are there since the last missing one.
    before_missing: Vec<usize>,
    there: NumberColumn,
}

impl SparseColumn {
    fn pack(values: impl Iterator<Item = Option<f64>>) -> Self {
        let (mut before_missing, mut there, mut since) = (Vec::new(), Vec::new(), 0);
        for value in values {
            if value.is_some() {
                there.push(value);
                since += 1;
            } else {
                before_missing.push(std::mem::take(&mut since));
            }
        }
        if there.is_empty() {
            before_missing.clear();
        }
        Self { before_missing, there: NumberColumn::pack(&there) }
    }

    /// `None` if it is not of so many numbers.
    fn unpack(&self, count: usize) -> Option<Vec<Option<f64>>> {
        let mut there = self.there.unpack(count.checked_sub(self.before_missing.len())?);
        if !self.before_missing.is_empty() {
            let mut rest = there.into_iter();
            there = Vec::with_capacity(count);
            for before in &self.before_missing {
                there.extend(rest.by_ref().take(*before));
                there.push(None);
            }
            there.extend(rest);
        }
        (there.len() == count).then_some(there)
    }
}

fn to_bytes(column: &impl Serialize) -> Result<Vec<u8>> {
    to_stdvec(column).map_err(|error| SqlError::Encode(error.into()))
}

fn broken(what: &str) -> SqlError {
    SqlError::Decode(format!("a packed day of the fuel log: {what}").into())
}

fn of_bytes<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T> {
    from_bytes(bytes).map_err(|error| broken(&error.to_string()))
}

/// Packs a vehicle's levels, oldest first.
pub(super) fn pack_levels(levels: &[Level]) -> Result<Vec<u8>> {
    let column = |of: fn(&Level) -> Option<f64>| to_bytes(&SparseColumn::pack(levels.iter().map(of)));
    let instants: Vec<i64> = levels.iter().map(|level| level.measured.at.as_micros()).collect();
    let of_version = levels.chunk_by(|a, b| a.measured.version == b.measured.version);
    let versions: Vec<Versions> =
        of_version.filter_map(|some| Some((some.len(), some.first()?.measured.version))).collect();
    let columns = Columns {
        recorded: &to_bytes(&TimeColumn::pack(&instants))?,
        raw: &column(|level| level.raw_liters)?,
        level: &column(|level| level.measured.level_liters)?,
        counter: &column(|level| level.measured.counter_liters)?,
        distance: &column(|level| level.measured.distance_meters)?,
        versions: &to_bytes(&versions)?,
    };
    to_bytes(&Packed::First(columns))
}

/// The levels of a day, oldest first, as far as they are read.
pub(super) fn unpack_levels(bytes: &[u8], reader: Reader) -> Result<Vec<Level>> {
    let Packed::First(columns) = of_bytes(bytes)?;
    let recorded: TimeColumn = of_bytes(columns.recorded)?;
    let blank = |at| Measured {
        at: Timestamp::from_micros(at),
        level_liters: None,
        counter_liters: None,
        distance_meters: None,
        version: None,
    };
    let mut levels: Vec<Level> =
        recorded.unpack().map(|at| Level { measured: blank(at), raw_liters: None }).collect();
    let mut put = |bytes, into: fn(&mut Level) -> &mut Option<f64>| -> Result<()> {
        let column: SparseColumn = of_bytes(bytes)?;
        let values = column.unpack(levels.len()).ok_or_else(|| broken("its columns differ in length"))?;
        levels.iter_mut().zip(values).for_each(|(level, value)| *into(level) = value);
        Ok(())
    };
    put(columns.level, |level| &mut level.measured.level_liters)?;
    if reader == Reader::Chart {
        put(columns.raw, |level| &mut level.raw_liters)?;
        return Ok(levels);
    }
    put(columns.counter, |level| &mut level.measured.counter_liters)?;
    put(columns.distance, |level| &mut level.measured.distance_meters)?;
    let mut rest = levels.iter_mut();
    for (count, version) in of_bytes::<Vec<Versions>>(columns.versions)? {
        rest.by_ref().take(count).for_each(|level| level.measured.version = version);
    }
    if rest.next().is_some() { Err(broken("its columns differ in length")) } else { Ok(levels) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(micros: i64, value: Option<f64>) -> Level {
        let measured = Measured {
            at: Timestamp::from_micros(micros),
            level_liters: value,
            counter_liters: None,
            distance_meters: value,
            version: Some(1),
        };
        Level { measured, raw_liters: value }
    }

    fn round_trip(levels: &[Level]) -> usize {
        let bytes = pack_levels(levels).expect("packed");
        let unpacked = |reader| unpack_levels(&bytes, reader).expect("unpacked");
        let of_chart = |level: &Level| (level.measured.at, level.measured.level_liters, level.raw_liters);
        // `==` takes -0.0 for 0.0.
        let same = |back: String, whole: String| assert_eq!(back, whole);
        let chart = |levels: &[Level]| format!("{:?}", levels.iter().map(of_chart).collect::<Vec<_>>());
        let meter =
            |levels: &[Level]| format!("{:?}", levels.iter().map(|level| level.measured).collect::<Vec<_>>());
        same(chart(&unpacked(Reader::Chart)), chart(levels));
        same(meter(&unpacked(Reader::Meter)), meter(levels));
        bytes.len()
    }

    #[test]
    fn every_member_comes_back_bit_by_bit() {
        let values =
            [0.0, -0.0, 0.1, 1.0 / 3.0, 61.5, f64::MAX, f64::MIN_POSITIVE, -1e300, 9_007_199_254_740_993.0];
        let mut all = Vec::new();
        for (value, number) in values.into_iter().zip(1..) {
            let mut one = level(number * 10_000_001, Some(value));
            one.measured.counter_liters = Some(value);
            one.measured.version = Some(i64::MAX - number);
            round_trip(&[one]);
            all.extend([one, level(number * 10_000_001 + 1, None)]);
            all.push(Level { raw_liters: Some(value), ..level(number * 10_000_001 + 2, None) });
        }
        all[4].measured.version = None;
        round_trip(&all);
        round_trip(&[
            level(i64::MIN, None),
            level(-1, Some(1.0)),
            level(i64::MAX, None),
            level(i64::MAX, None),
        ]);
        round_trip(&[]);
    }

    /// A day of eight hours, a reading each ten seconds, as the gauge rounds them.
    fn day() -> Vec<Level> {
        let thousandths = |value: f64| (value * 1000.0).round() / 1000.0;
        let reading = |n: i64| {
            let noise = f64::from((n * 7919 % 113) as i32);
            let liters = 300.0 - n as f64 * 0.02;
            let mut level = level(n * 10_000_000, Some(thousandths(liters)));
            level.raw_liters = Some(thousandths((liters / 4.0 + noise / 200.0).round() * 4.0));
            level.measured.distance_meters = Some(thousandths(120.0 + noise * 1.37));
            level
        };
        (0..2_880).map(reading).collect()
    }

    #[test]
    fn a_reading_takes_some_five_bytes() {
        let mut day = day();
        let bytes = round_trip(&day);
        assert!(bytes <= day.len() * 6, "{} bytes a reading", bytes as f64 / day.len() as f64);
        // A sensor that fails now and then makes it no longer.
        for reading in day.iter_mut().step_by(100) {
            (reading.raw_liters, reading.measured.level_liters) = (None, None);
        }
        assert!(round_trip(&day) <= bytes + 64);
    }

    #[test]
    fn what_is_cut_is_an_error() {
        let bytes = pack_levels(&[level(0, Some(1.0)), level(1, None), level(2, Some(0.5))]).expect("packed");
        for length in 0..bytes.len() {
            unpack_levels(&bytes[..length], Reader::Meter).expect_err("cut");
        }
    }
}
