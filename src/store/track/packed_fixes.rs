//! The bytes of a row of the fix log: what one commit applied, packed (docs/store.md).

use postcard::{from_bytes, to_stdvec};
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use waypost_actors::model::{Fix, FuelReading, Timestamp, VehicleId};
use waypost_actors::tracking::{Applied, Freshness, PositionRow, Quarantine};

use super::packed_numbers::{Before, MICROS_PER_MILLI, Number, PackedPlace};
use crate::store::packed_attributes::{pack_attributes, unpack_attributes};
use crate::store::sql::{Result, SqlError};

/// What was applied to one vehicle, as a row of the log tells it.
pub(super) type AppliedTo = (VehicleId, Applied);

/// What a step applied to one vehicle, before it is packed.
pub(super) struct Step<'a> {
    pub(super) vehicle: VehicleId,
    pub(super) judged_at: Timestamp,
    pub(super) rows: &'a [PositionRow],
    /// How many records it made.
    pub(super) records: usize,
}

/// The form of the bytes; its number comes first in them.
#[derive(Serialize, Deserialize)]
enum Packed {
    /// Of no released version: without what was known of a fix when it was applied.
    First,
    /// Of fixes without attributes.
    Second(PackedCommit),
    /// And what its fixes carry, in the order of the steps.
    Third(PackedCommit, Vec<u8>),
}

#[derive(Serialize, Deserialize)]
struct PackedCommit {
    /// When its last step was judged: microseconds since 1970.
    judged_at: i64,
    steps: Vec<PackedStep>,
}

#[derive(Serialize, Deserialize)]
struct PackedStep {
    vehicle: [u8; 16],
    /// How long before the commit's last step it was judged. Microseconds.
    judged_before: i64,
    records: u32,
    fixes: Vec<PackedFix>,
}

/// One fix.
#[derive(Serialize, Deserialize)]
pub(super) struct PackedFix {
    recorded: Before,
    received: Before,
    place: PackedPlace,
    speed: Number,
    heading: Number,
    /// The number of its freshness times that of quarantines, and the number of its quarantine.
    found: u8,
    more: Option<Box<More>>,
}

/// What few trackers report.
#[derive(Serialize, Deserialize)]
struct More {
    altitude: Number,
    accuracy: Number,
    odometer: Number,
    ignition: Option<bool>,
    fuel: Option<(Unit, Number)>,
    fuel_cumulative: Number,
}

#[derive(Serialize, Deserialize)]
enum Unit {
    Percent,
    Liters,
    Raw,
}

impl More {
    fn pack(fix: &Fix) -> Option<Box<Self>> {
        let fuel = fix.fuel.map(|reading| match reading {
            FuelReading::Percent(value) => (Unit::Percent, Number::pack(Some(value))),
            FuelReading::Liters(value) => (Unit::Liters, Number::pack(Some(value))),
            FuelReading::Raw(value) => (Unit::Raw, Number::pack(Some(value))),
        });
        let numbers = [fix.altitude_meters, fix.accuracy_meters, fix.odometer_km, fix.fuel_cumulative];
        let is_bare = numbers.iter().all(Option::is_none) && fix.ignition.is_none() && fuel.is_none();
        (!is_bare).then(|| {
            Box::new(Self {
                altitude: Number::pack(fix.altitude_meters),
                accuracy: Number::pack(fix.accuracy_meters),
                odometer: Number::pack(fix.odometer_km),
                ignition: fix.ignition,
                fuel,
                fuel_cumulative: Number::pack(fix.fuel_cumulative),
            })
        })
    }

    fn unpack(&self, fix: &mut Fix) {
        fix.altitude_meters = self.altitude.unpack();
        fix.accuracy_meters = self.accuracy.unpack();
        fix.odometer_km = self.odometer.unpack();
        fix.ignition = self.ignition;
        fix.fuel = self.fuel.as_ref().and_then(|(unit, value)| {
            let value = value.unpack()?;
            Some(match unit {
                Unit::Percent => FuelReading::Percent(value),
                Unit::Liters => FuelReading::Liters(value),
                Unit::Raw => FuelReading::Raw(value),
            })
        });
        fix.fuel_cumulative = self.fuel_cumulative.unpack();
    }
}

const FRESHNESS: [Freshness; 4] = [
    Freshness::Fresh,
    Freshness::Recheck { late: false },
    Freshness::Recheck { late: true },
    Freshness::Repeat,
];
const QUARANTINES: [Option<Quarantine>; 5] = [
    None,
    Some(Quarantine::Future),
    Some(Quarantine::Accuracy),
    Some(Quarantine::Speed),
    Some(Quarantine::OutOfService),
];

impl PackedFix {
    pub(super) fn pack(row: &PositionRow, base: i64) -> Self {
        let fix = &row.fix;
        let freshness = FRESHNESS.iter().position(|known| *known == row.freshness).unwrap_or_default();
        let quarantine = QUARANTINES.iter().position(|known| *known == row.quarantine).unwrap_or_default();
        Self {
            recorded: Before::pack(fix.recorded_at, base),
            received: Before::pack(fix.received_at, base),
            place: PackedPlace::pack(fix.place),
            speed: Number::pack(fix.speed_kmh),
            heading: Number::pack(fix.heading_degrees),
            found: (freshness * QUARANTINES.len() + quarantine) as u8,
            more: More::pack(fix),
        }
    }

    pub(super) fn unpack(&self, base: i64) -> Result<PositionRow> {
        let (recorded_at, received_at) = (self.recorded.unpack(base), self.received.unpack(base));
        let mut fix = Fix::new(recorded_at, received_at, self.place.unpack());
        fix.speed_kmh = self.speed.unpack();
        fix.heading_degrees = self.heading.unpack();
        if let Some(more) = &self.more {
            more.unpack(&mut fix);
        }
        let found = usize::from(self.found);
        let unknown = || SqlError::Decode(format!("nothing known of a fix has the number {found}").into());
        let freshness = *FRESHNESS.get(found / QUARANTINES.len()).ok_or_else(unknown)?;
        let quarantine = QUARANTINES[found % QUARANTINES.len()];
        Ok(PositionRow { fix, quarantine, attributes: None, freshness })
    }
}

const fn base_of(judged_at: i64) -> i64 {
    judged_at.wrapping_sub(judged_at.rem_euclid(MICROS_PER_MILLI))
}

/// Packs what one commit applied.
pub(super) fn pack(steps: &[Step<'_>]) -> Result<Vec<u8>> {
    let last = steps.iter().map(|step| step.judged_at.as_micros()).max().unwrap_or_default();
    let pack_step = |step: &Step<'_>| {
        let judged_at = step.judged_at.as_micros();
        PackedStep {
            vehicle: step.vehicle.0.into_bytes(),
            judged_before: last.wrapping_sub(judged_at),
            records: u32::try_from(step.records).unwrap_or(u32::MAX),
            fixes: step.rows.iter().map(|row| PackedFix::pack(row, base_of(judged_at))).collect(),
        }
    };
    let commit = PackedCommit { judged_at: last, steps: steps.iter().map(pack_step).collect() };
    let rows = steps.iter().flat_map(|step| step.rows);
    let packed = match pack_attributes(rows.map(|row| row.attributes.as_ref()))? {
        Some(attributes) => Packed::Third(commit, attributes),
        None => Packed::Second(commit),
    };
    to_stdvec(&packed).map_err(|error| SqlError::Encode(error.into()))
}

/// The steps of a row, and what their fixes carry.
fn read(bytes: &[u8]) -> Result<(PackedCommit, Option<Vec<u8>>)> {
    match from_bytes(bytes).map_err(|error| SqlError::Decode(error.into()))? {
        Packed::First => {
            let what =
                "it is in the form of an earlier version: start that one once more, and stop it with SIGTERM";
            Err(SqlError::Decode(what.into()))
        }
        Packed::Second(commit) => Ok((commit, None)),
        Packed::Third(commit, attributes) => Ok((commit, Some(attributes))),
    }
}

/// The vehicles to which one commit applied something.
pub(super) fn vehicles(bytes: &[u8]) -> Result<impl Iterator<Item = VehicleId>> {
    let (commit, _) = read(bytes)?;
    Ok(commit.steps.into_iter().map(|step| VehicleId(Uuid::from_bytes(step.vehicle))))
}

/// What one commit applied.
pub(super) fn unpack(bytes: &[u8]) -> Result<Vec<AppliedTo>> {
    let (PackedCommit { judged_at: last, steps }, attributes) = read(bytes)?;
    let step = |step: PackedStep| {
        let judged_at = last.wrapping_sub(step.judged_before);
        let fixes = step.fixes.iter().map(|fix| fix.unpack(base_of(judged_at)));
        let applied = Applied {
            judged_at: Timestamp::from_micros(judged_at),
            rows: fixes.collect::<Result<_>>()?,
            records: step.records as usize,
        };
        Ok((VehicleId(Uuid::from_bytes(step.vehicle)), applied))
    };
    let mut applied: Vec<AppliedTo> = steps.into_iter().map(step).collect::<Result<_>>()?;
    if let Some(attributes) = attributes {
        let rows = applied.iter_mut().flat_map(|(_, applied)| &mut applied.rows);
        let rows: Vec<&mut PositionRow> = rows.collect();
        let attributes = unpack_attributes(&attributes, rows.len())?;
        rows.into_iter().zip(attributes).for_each(|(row, carried)| row.attributes = carried);
    }
    Ok(applied)
}

#[cfg(test)]
mod tests {
    use waypost_actors::model::{NewAttributes, Place};

    use super::*;

    fn fix(seconds: f64, latitude: f64) -> Fix {
        let at = Timestamp::from_micros(1_767_225_600_000_000).plus_seconds(seconds);
        Fix::new(at, at.plus_seconds(0.251_003), Place::new(latitude, -97.743_061_2))
    }

    fn row(fix: Fix) -> PositionRow {
        PositionRow { fix, quarantine: None, attributes: None, freshness: Freshness::Fresh }
    }

    fn packed(applied: &[AppliedTo]) -> Vec<u8> {
        let steps = applied.iter().map(|(vehicle, applied)| Step {
            vehicle: *vehicle,
            judged_at: applied.judged_at,
            rows: &applied.rows,
            records: applied.records,
        });
        pack(&steps.collect::<Vec<_>>()).expect("packed")
    }

    fn round_trip(rows: Vec<PositionRow>) -> usize {
        let judged_at = fix(1.000_7, 0.0).recorded_at;
        let applied = Applied { judged_at, rows, records: 3 };
        let steps = vec![(VehicleId(Uuid::from_u128(7)), applied.clone()), (VehicleId(Uuid::max()), applied)];
        let bytes = packed(&steps);
        assert_eq!(unpack(&bytes).expect("unpacked"), steps);
        bytes.len()
    }

    #[test]
    fn every_member_comes_back_bit_by_bit() {
        for value in [0.0, -0.0, 0.1, 1.0 / 3.0, 399.999, f64::MAX, f64::MIN_POSITIVE, -1e300] {
            for reading in [FuelReading::Percent, FuelReading::Liters, FuelReading::Raw] {
                let mut full = fix(-86_400.000_001, 30.267_153);
                full.speed_kmh = Some(value);
                full.heading_degrees = Some(value);
                full.altitude_meters = Some(value);
                full.accuracy_meters = Some(value);
                full.odometer_km = Some(value);
                full.ignition = Some(value > 0.0);
                full.fuel = Some(reading(value));
                full.fuel_cumulative = Some(value);
                let steps = [(
                    VehicleId(Uuid::nil()),
                    Applied { judged_at: full.received_at, rows: vec![row(full)], records: 0 },
                )];
                let back = unpack(&packed(&steps)).expect("unpacked");
                let back = back[0].1.rows[0].fix;
                // `==` takes -0.0 for 0.0.
                assert_eq!(format!("{back:?}"), format!("{full:?}"));
            }
        }
        for (freshness, quarantine) in FRESHNESS.into_iter().flat_map(|one| QUARANTINES.map(|why| (one, why)))
        {
            round_trip(vec![PositionRow { quarantine, freshness, ..row(fix(0.0, 1.0)) }]);
        }
        for micros in [i64::MIN, -1, 0, i64::MAX] {
            let odd = Fix { recorded_at: Timestamp::from_micros(micros), ..fix(0.0, 1.0) };
            round_trip(vec![row(odd)]);
        }
        for latitude in [90.0, -90.0, 0.123_456_789_012, 30.0 + 1e-7, f64::MIN_POSITIVE] {
            round_trip(vec![row(fix(0.5, latitude))]);
        }
    }

    #[test]
    fn what_fixes_carry_comes_back_with_them() {
        let carrying = |seconds: f64, percent: Option<f64>| {
            let mut new = NewAttributes::default();
            new.note("batteryPercent", percent);
            new.note("text", percent.map(|_| "x".repeat(100)).as_deref());
            PositionRow { attributes: new.seal().expect("they fit"), ..row(fix(seconds, 1.0)) }
        };
        let rows = vec![carrying(0.0, None), carrying(1.0, Some(87.0)), carrying(2.0, Some(87.0))];
        let without =
            round_trip(rows.iter().map(|row| PositionRow { attributes: None, ..row.clone() }).collect());
        let with = round_trip(rows);
        assert!(with > without);
        // Nothing is added for fixes without: the form is the one of before.
        let applied = Applied { judged_at: Timestamp::FIRST, rows: vec![row(fix(0.0, 1.0))], records: 0 };
        assert_eq!(packed(&[(VehicleId(Uuid::nil()), applied)])[0], 1);
    }

    #[test]
    fn a_fix_takes_few_bytes() {
        let plain = |seconds: i32| {
            let mut plain = fix(f64::from(seconds), 30.267_153);
            plain.received_at = plain.recorded_at.plus_seconds(0.251);
            (plain.speed_kmh, plain.heading_degrees) = (Some(36.5), Some(271.2));
            row(plain)
        };
        let one = round_trip(vec![plain(0)]);
        let two = round_trip(vec![plain(0), plain(1)]);
        // Two vehicles each.
        assert!(two - one <= 2 * 30, "{} bytes a fix", (two - one) / 2);
    }

    #[test]
    fn what_is_cut_or_of_another_form_is_an_error() {
        let steps = [(
            VehicleId(Uuid::nil()),
            Applied { judged_at: Timestamp::FIRST, rows: vec![row(fix(0.0, 1.0))], records: 0 },
        )];
        let bytes = packed(&steps);
        for length in 0..bytes.len() {
            unpack(&bytes[..length]).expect_err("cut");
        }
        unpack(&[&[9], &bytes[1..]].concat()).expect_err("of another form");
        let earlier = unpack(&[&[0], &bytes[1..]].concat()).expect_err("of an earlier form");
        assert!(earlier.to_string().contains("start that one once more"), "{earlier}");
    }
}
