//! The bytes of a chunk: consecutive fixes of one vehicle, in columns of differences (docs/store.md).
//!
//! Most columns take a byte or two per fix.

use postcard::{from_bytes, to_stdvec};
use serde::{Deserialize, Serialize};
use waypost_actors::model::{Fix, FuelReading, Place, Timestamp};
use waypost_actors::ports::StoredFix;
use waypost_actors::tracking::Quarantine;

use super::packed_attributes::{pack_attributes, unpack_attributes};
use super::packed_columns::{NumberColumn, TimeColumn};
use super::sql::{Result, SqlError, damaged, of_newer_version};

/// A fix as it was first reported.
pub(super) type ChunkFix = StoredFix;

const QUARANTINES: [Quarantine; 4] =
    [Quarantine::Future, Quarantine::Accuracy, Quarantine::Speed, Quarantine::OutOfService];

/// The form of the bytes; its number comes first in them.
#[derive(Serialize, Deserialize)]
enum Packed {
    /// Of fixes without attributes.
    First(Box<Columns>),
    /// And what they carry.
    Second(Box<Columns>, Vec<u8>),
}

/// How many forms there are.
const FORMS: u8 = 2;

#[derive(Serialize, Deserialize)]
struct Columns {
    recorded: TimeColumn,
    /// How long after it was recorded each fix arrived.
    received: TimeColumn,
    latitude: NumberColumn,
    longitude: NumberColumn,
    speed: NumberColumn,
    heading: NumberColumn,
    altitude: NumberColumn,
    accuracy: NumberColumn,
    odometer: NumberColumn,
    /// 0 off, 1 on.
    ignition: NumberColumn,
    /// 0 percent, 1 litres, 2 raw.
    fuel_unit: NumberColumn,
    fuel: NumberColumn,
    fuel_cumulative: NumberColumn,
    /// By [`QUARANTINES`].
    quarantine: NumberColumn,
}

/// Packs a vehicle's consecutive fixes, oldest first.
pub(super) fn pack_chunk(fixes: &[ChunkFix]) -> Result<Vec<u8>> {
    let column =
        |of: fn(&ChunkFix) -> Option<f64>| NumberColumn::pack(&fixes.iter().map(of).collect::<Vec<_>>());
    let times = |of: fn(&Fix) -> i64| {
        TimeColumn::pack(&fixes.iter().map(|stored| of(&stored.fix)).collect::<Vec<_>>())
    };
    let columns = Columns {
        recorded: times(|fix| fix.recorded_at.as_micros()),
        received: times(|fix| fix.received_at.as_micros().wrapping_sub(fix.recorded_at.as_micros())),
        latitude: column(|stored| Some(stored.fix.place.latitude)),
        longitude: column(|stored| Some(stored.fix.place.longitude)),
        speed: column(|stored| stored.fix.speed_kmh),
        heading: column(|stored| stored.fix.heading_degrees),
        altitude: column(|stored| stored.fix.altitude_meters),
        accuracy: column(|stored| stored.fix.accuracy_meters),
        odometer: column(|stored| stored.fix.odometer_km),
        ignition: column(|stored| stored.fix.ignition.map(|on| f64::from(u8::from(on)))),
        fuel_unit: column(|stored| stored.fix.fuel.map(|reading| unit_and_value(reading).0)),
        fuel: column(|stored| stored.fix.fuel.map(|reading| unit_and_value(reading).1)),
        fuel_cumulative: column(|stored| stored.fix.fuel_cumulative),
        quarantine: column(|stored| {
            let why = stored.quarantine?;
            QUARANTINES.iter().position(|known| *known == why).map(|number| number as f64)
        }),
    };
    let columns = Box::new(columns);
    let packed = match pack_attributes(fixes.iter().map(|stored| stored.attributes.as_ref()))? {
        Some(attributes) => Packed::Second(columns, attributes),
        None => Packed::First(columns),
    };
    to_stdvec(&packed).map_err(|error| SqlError::Encode(error.into()))
}

fn unit_and_value(reading: FuelReading) -> (f64, f64) {
    match reading {
        FuelReading::Percent(value) => (0.0, value),
        FuelReading::Liters(value) => (1.0, value),
        FuelReading::Raw(value) => (2.0, value),
    }
}

/// The fixes of a chunk, oldest first.
pub(super) fn unpack_chunk(bytes: &[u8]) -> Result<Vec<ChunkFix>> {
    let broken = |what: &str| damaged(format!("a chunk of positions: {what}"));
    if let Some(form) = bytes.first().copied().filter(|form| *form >= FORMS) {
        return Err(of_newer_version("a chunk of positions", form));
    }
    let (columns, attributes) = match from_bytes(bytes).map_err(|error| broken(&error.to_string()))? {
        Packed::First(columns) => (columns, None),
        Packed::Second(columns, attributes) => (columns, Some(attributes)),
    };
    let count = columns.recorded.len();
    let attributes = attributes.map(|bytes| unpack_attributes(&bytes, count)).transpose()?;
    let mut attributes = attributes.into_iter().flatten();
    let column = |column: &NumberColumn| {
        let values = column.unpack(count);
        if values.len() == count { Ok(values) } else { Err(broken("its columns differ in length")) }
    };
    let (latitude, longitude) = (column(&columns.latitude)?, column(&columns.longitude)?);
    let (speed, heading) = (column(&columns.speed)?, column(&columns.heading)?);
    let (altitude, accuracy) = (column(&columns.altitude)?, column(&columns.accuracy)?);
    let (odometer, ignition) = (column(&columns.odometer)?, column(&columns.ignition)?);
    let (fuel_unit, fuel) = (column(&columns.fuel_unit)?, column(&columns.fuel)?);
    let (fuel_cumulative, quarantine) = (column(&columns.fuel_cumulative)?, column(&columns.quarantine)?);
    let times = columns.recorded.unpack().zip(columns.received.unpack());
    let mut fixes = Vec::with_capacity(count);
    for (i, (recorded, after)) in times.enumerate() {
        let (Some(latitude), Some(longitude)) = (latitude[i], longitude[i]) else {
            return Err(broken("a fix has no place"));
        };
        let received_at = Timestamp::from_micros(recorded.wrapping_add(after));
        let place = Place::new(latitude, longitude);
        let fuel = fuel_unit[i].zip(fuel[i]).map(|(unit, value)| match unit as u8 {
            0 => FuelReading::Percent(value),
            1 => FuelReading::Liters(value),
            _ => FuelReading::Raw(value),
        });
        let fix = Fix {
            speed_kmh: speed[i],
            heading_degrees: heading[i],
            altitude_meters: altitude[i],
            accuracy_meters: accuracy[i],
            odometer_km: odometer[i],
            ignition: ignition[i].map(|on| on > 0.0),
            fuel,
            fuel_cumulative: fuel_cumulative[i],
            ..Fix::new(Timestamp::from_micros(recorded), received_at, place)
        };
        let why = |number: f64| {
            QUARANTINES.get(number as usize).copied().ok_or_else(|| broken("no such quarantine"))
        };
        let quarantine = quarantine[i].map(why).transpose()?;
        fixes.push(StoredFix { fix, quarantine, attributes: attributes.next().flatten() });
    }
    if fixes.len() == count { Ok(fixes) } else { Err(broken("its columns differ in length")) }
}

#[cfg(test)]
mod tests {
    use waypost_actors::model::NewAttributes;

    use super::super::sql::is_never_taken;
    use super::*;

    fn fix(seconds: f64, latitude: f64) -> Fix {
        let at = Timestamp::from_micros(1_767_225_600_000_000).plus_seconds(seconds);
        Fix::new(at, at.plus_seconds(0.251_003), Place::new(latitude, -97.743_061_2))
    }

    fn plain(fix: Fix) -> ChunkFix {
        StoredFix { fix, quarantine: None, attributes: None }
    }

    fn round_trip(fixes: &[ChunkFix]) -> usize {
        let bytes = pack_chunk(fixes).expect("packed");
        let back = unpack_chunk(&bytes).expect("unpacked");
        // `==` takes -0.0 for 0.0.
        assert_eq!(format!("{back:?}"), format!("{fixes:?}"));
        bytes.len()
    }

    #[test]
    fn every_member_comes_back_bit_by_bit() {
        let values = [
            0.0,
            -0.0,
            0.1,
            1.0 / 3.0,
            399.999,
            f64::MAX,
            f64::MIN_POSITIVE,
            -1e300,
            9_007_199_254_740_993.0,
        ];
        let mut all = Vec::new();
        for value in values {
            for reading in [FuelReading::Percent, FuelReading::Liters, FuelReading::Raw] {
                let full = Fix {
                    speed_kmh: Some(value),
                    heading_degrees: Some(value),
                    altitude_meters: Some(value),
                    accuracy_meters: Some(value),
                    odometer_km: Some(value),
                    ignition: Some(value > 0.0),
                    fuel: Some(reading(value)),
                    fuel_cumulative: Some(value),
                    ..fix(all.len() as f64 * 7.000_001, 30.267_153)
                };
                round_trip(&[plain(full)]);
                all.push(plain(full));
                all.push(plain(fix(all.len() as f64 * 7.0, value.clamp(-90.0, 90.0))));
            }
        }
        round_trip(&all);
        round_trip(&QUARANTINES.map(|why| StoredFix { quarantine: Some(why), ..plain(fix(1.0, 1.0)) }));
        round_trip(&[
            plain(fix(1.0, 1.0)),
            StoredFix { quarantine: Some(Quarantine::Speed), ..plain(fix(2.0, 1.0)) },
        ]);
        let odd = |micros| plain(Fix { recorded_at: Timestamp::from_micros(micros), ..fix(0.0, 1.0) });
        round_trip(&[i64::MIN, -1, 0, i64::MAX].map(odd));
        round_trip(&[]);
    }

    #[test]
    fn what_fixes_carry_comes_back_and_costs_others_nothing() {
        let mut drive: Vec<ChunkFix> =
            (0..64).map(|n| plain(fix(f64::from(n), 30.0 + f64::from(n) / 1e4))).collect();
        let without = round_trip(&drive);
        for (n, stored) in drive.iter_mut().enumerate() {
            let mut new = NewAttributes::default();
            new.note("batteryPercent", Some(90.0 - (n / 20) as f64));
            new.note("externalVolts", Some(13.2 + ((n * 7919) % 11) as f64 / 10.0));
            new.note("satellites", Some(9.0 + (n % 3) as f64));
            stored.attributes = new.seal().expect("they fit");
        }
        let with = round_trip(&drive);
        assert!(with - without <= 64 * 8, "{} bytes a fix", (with - without) as f64 / 64.0);
        drive.iter_mut().skip(1).for_each(|stored| stored.attributes = None);
        let one = round_trip(&drive);
        assert!(one - without < 80, "{} bytes", one - without);
    }

    #[test]
    fn a_chunk_of_before_is_read() {
        // Of a version that knew no attributes.
        let fixes = [plain(fix(0.0, 30.5)), plain(fix(10.0, 30.6))];
        let bytes = pack_chunk(&fixes).expect("packed");
        assert_eq!(bytes[0], 0);
        assert_eq!(format!("{:?}", unpack_chunk(&bytes).expect("unpacked")), format!("{fixes:?}"));
    }

    #[test]
    fn a_drive_takes_some_ten_bytes_a_fix() {
        let drive: Vec<ChunkFix> = (0..128)
            .map(|n| {
                let noise = f64::from((n * 7919) % 113);
                let mut fix =
                    fix(f64::from(n) * 10.0, (302_671_530.0 + f64::from(n) * 900.0 + noise).round() / 1e7);
                fix.received_at = fix.recorded_at.plus_seconds(0.2 + noise / 1e3);
                fix.speed_kmh = Some((365.0 + noise).round() / 10.0);
                fix.heading_degrees = Some((90.0 + noise).round());
                plain(fix)
            })
            .collect();
        let bytes = round_trip(&drive);
        assert!(bytes <= 128 * 12, "{} bytes a fix", bytes as f64 / 128.0);
    }

    #[test]
    fn what_is_cut_is_never_read_and_a_newer_form_is_by_others() {
        let mut bytes = pack_chunk(&[plain(fix(0.0, 1.0)), plain(fix(1.0, 2.0))]).expect("packed");
        for length in 0..bytes.len() {
            assert!(is_never_taken(&unpack_chunk(&bytes[..length]).expect_err("cut")));
        }
        bytes[0] = FORMS;
        let newer = unpack_chunk(&bytes).expect_err("in a form that is not known");
        assert!(!is_never_taken(&newer), "{newer}");
    }
}
