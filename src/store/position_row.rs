//! A fix in the table `position`: one that came late, or was reported again, or whose quarantine changed. Stored once per
//! (vehicle, recordedAt, latitude, longitude), merged from all reports of it. The result does not depend on the order of
//! the reports.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};

use uuid::Uuid;
use waypost_actors::model::{Attributes, Fix, Timestamp, VehicleId};
use waypost_actors::ports::{Counts, VehicleWrite};
use waypost_actors::tracking::{Freshness, Mark, PositionRow, Quarantine};

use super::fix_row::{StoredAttributes, liters, percent, raw};
use super::packed_chunk::ChunkFix;
use super::position_chunk::chunked_at;
use super::rows::{Column, Insert};
use super::sql::{Result, Tx};
use super::time::Time;

/// Fixes that are looked up by one statement at most.
const KEYS_TOGETHER: usize = 256;

/// The key of a stored fix.
#[derive(sqlx::FromRow)]
struct Key {
    vehicle_id: Uuid,
    recorded_at: Time,
    latitude: f64,
    longitude: f64,
}

/// A hashable key: floats by their bits, with a single zero.
type KeyBits = (Uuid, i64, u64, u64);

impl Key {
    fn bits(self) -> KeyBits {
        bits(self.vehicle_id, self.recorded_at.0.as_micros(), self.latitude, self.longitude)
    }
}

/// A report of a fix: its vehicle, the fix, and why it is not evaluated, if it is not.
#[derive(Clone)]
struct Report {
    vehicle: VehicleId,
    fix: Fix,
    quarantine: Option<Quarantine>,
    attributes: Option<Attributes>,
    /// Whether its additions other than speed, heading and accuracy may change something: the vehicle's fuel log, or when its
    /// ignition was off.
    others_count: bool,
}

impl Report {
    /// Whether it counts, or waits for the next fix to decide.
    const fn may_be_judged(&self) -> bool {
        matches!(self.quarantine, None | Some(Quarantine::Speed))
    }

    /// Whether it has nothing but place, speed and heading.
    const fn is_bare(&self) -> bool {
        let Fix { altitude_meters, accuracy_meters, odometer_km, ignition, fuel, fuel_cumulative, .. } =
            &self.fix;
        self.quarantine.is_none()
            && self.attributes.is_none()
            && altitude_meters.is_none()
            && accuracy_meters.is_none()
            && odometer_km.is_none()
            && ignition.is_none()
            && fuel.is_none()
            && fuel_cumulative.is_none()
    }

    /// Adds what another report of the fix carries.
    fn carry(&mut self, more: Option<&Attributes>) {
        if let Some(more) = more {
            let merged = self.attributes.as_ref().map_or_else(|| more.clone(), |known| known.merge(more));
            self.attributes = Some(merged);
        }
    }

    fn key(&self) -> KeyBits {
        let place = self.fix.place;
        bits(self.vehicle.0, self.fix.recorded_at.as_micros(), place.latitude, place.longitude)
    }
}

fn bits(vehicle: Uuid, micros: i64, latitude: f64, longitude: f64) -> KeyBits {
    // -0.0 and 0.0 are the same place, for the database too.
    (vehicle, micros, (latitude + 0.0).to_bits(), (longitude + 0.0).to_bits())
}

fn insert<'a>(rows: &'a [Report], after: &'static str) -> Insert<'a> {
    macro_rules! column {
        ($kind:ident, $fix:ident => $value:expr) => {
            Column::$kind(rows.iter().map(|Report { fix: $fix, .. }| $value).collect())
        };
    }
    let mut columns = vec![
        Column::Uuid(rows.iter().map(|report| report.vehicle.0).collect()),
        column!(Time, fix => Time(fix.recorded_at)),
        column!(Float, fix => fix.place.latitude),
        column!(Float, fix => fix.place.longitude),
        column!(Time, fix => Time(fix.received_at)),
        column!(MaybeFloat, fix => fix.speed_kmh),
        column!(MaybeFloat, fix => fix.heading_degrees),
    ];
    if rows.iter().all(Report::is_bare) {
        let into = "insert into position (vehicle_id, recorded_at, latitude, longitude, received_at, speed_kmh, \
            heading_degrees)";
        return Insert { into, columns, after };
    }
    columns.extend([
        column!(MaybeFloat, fix => fix.altitude_meters),
        column!(MaybeFloat, fix => fix.accuracy_meters),
        column!(MaybeFloat, fix => fix.odometer_km),
        column!(MaybeBool, fix => fix.ignition),
        column!(MaybeFloat, fix => percent(fix)),
        column!(MaybeFloat, fix => liters(fix)),
        column!(MaybeFloat, fix => raw(fix)),
        column!(MaybeFloat, fix => fix.fuel_cumulative),
        Column::MaybeText(rows.iter().map(|report| report.quarantine.map(|why| why.as_str())).collect()),
        Column::MaybeText(rows.iter().map(|report| Some(report.attributes.as_ref()?.as_json())).collect()),
    ]);
    let into = "insert into position (vehicle_id, recorded_at, latitude, longitude, received_at, speed_kmh, \
        heading_degrees, altitude_meters, accuracy_meters, odometer_km, ignition, fuel_percent, \
        fuel_liters, fuel_raw, fuel_cumulative, quarantine, attributes)";
    Insert { into, columns, after }
}

/// The outcome of a batch's positions.
#[derive(Debug, Default)]
pub(super) struct Stored {
    /// The fixes of each write, counted by outcome.
    pub(super) counts: Vec<Counts>,
    /// The late fixes of each write: from the mark on, the vehicle awaits a correction.
    pub(super) late: Vec<Option<Mark>>,
}

impl Stored {
    fn mark(&mut self, write: usize, fix: &Fix) {
        let mark = Mark::of_fix(fix.recorded_at);
        self.late[write] = Some(self.late[write].map_or(mark, |known| known.merge(mark)));
    }
}

/// Those fixes that are newer than everything stored of their vehicle, in the order in which they were recorded.
pub(super) fn fresh_of(rows: &[PositionRow]) -> impl Iterator<Item = ChunkFix> {
    let fresh = rows.iter().filter(|row| row.freshness == Freshness::Fresh);
    let stored = |row: &PositionRow| ChunkFix {
        fix: row.fix,
        quarantine: row.quarantine,
        attributes: row.attributes.clone(),
    };
    fresh.map(stored)
}

/// Stores those of the batch's fixes that are not fresh. `unchunked`: a vehicle's fixes that are in no chunk yet, with the
/// fresh ones of this batch.
pub(super) async fn store_positions(
    tx: &mut Tx,
    writes: &[VehicleWrite],
    unchunked: impl Fn(VehicleId) -> Result<Vec<ChunkFix>>,
) -> Result<Stored> {
    let mut stored = Stored { counts: vec![Counts::default(); writes.len()], late: vec![None; writes.len()] };
    let mut recheck = Vec::new();
    for (index, write) in writes.iter().enumerate() {
        for row in &write.effects.rows {
            let late = match row.freshness {
                Freshness::Fresh => {
                    stored.counts[index].stored += 1;
                    continue;
                }
                Freshness::Recheck { late } => late,
                Freshness::Repeat => false,
            };
            let known = write.state.fuel.is_some() || row.fix.recorded_at <= write.state.corrected_to;
            let may = known || row.fix.has_fuel() || row.fix.ignition.is_some();
            let others_count = may && row.freshness != Freshness::Repeat;
            let report = Report {
                vehicle: write.vehicle_id,
                fix: row.fix,
                quarantine: row.quarantine,
                attributes: row.attributes.clone(),
                others_count,
            };
            recheck.push((index, report, late));
        }
    }
    if !recheck.is_empty() {
        let reports: Vec<Report> = recheck.iter().map(|(_, report, _)| report.clone()).collect();
        copy_stored(tx, &reports, unchunked).await?;
        recheck_positions(tx, &recheck, &reports, &mut stored).await?;
    }
    Ok(stored)
}

/// Copies what chunks, and the fixes that will be in one, have of the reported fixes into the table, where reports are
/// merged.
async fn copy_stored(
    tx: &mut Tx,
    reports: &[Report],
    unchunked: impl Fn(VehicleId) -> Result<Vec<ChunkFix>>,
) -> Result<()> {
    let keys: HashSet<KeyBits> = reports.iter().map(Report::key).collect();
    let (mut found, mut in_chunks) = (Vec::new(), BTreeSet::new());
    let mut firsts: HashMap<VehicleId, Option<Timestamp>> = HashMap::new();
    for report in reports {
        let vehicle = report.vehicle;
        let first = match firsts.entry(vehicle) {
            Entry::Occupied(first) => *first.get(),
            Entry::Vacant(entry) => {
                let unchunked = unchunked(vehicle)?;
                let first = unchunked.first().map(|stored| stored.fix.recorded_at);
                found.extend(unchunked.into_iter().map(|fix| (vehicle, fix)));
                *entry.insert(first)
            }
        };
        if first.is_none_or(|first| report.fix.recorded_at < first) {
            in_chunks.insert((vehicle, report.fix.recorded_at));
        }
    }
    found.extend(chunked_at(tx, &in_chunks).await?);
    let stored = found.into_iter().map(|(vehicle, ChunkFix { fix, quarantine, attributes })| Report {
        vehicle,
        fix,
        quarantine,
        attributes,
        others_count: false,
    });
    let stored: Vec<Report> = stored.filter(|report| keys.contains(&report.key())).collect();
    insert(&stored, "on conflict do nothing").run(tx).await?;
    Ok(())
}

/// Stores fixes that may exist already, each with its write and whether it is late if it is new.
async fn recheck_positions(
    tx: &mut Tx,
    rows: &[(usize, Report, bool)],
    reports: &[Report],
    stored: &mut Stored,
) -> Result<()> {
    let new = "on conflict do nothing returning vehicle_id, recorded_at, latitude, longitude";
    let new: Vec<Key> = insert(reports, new).returning(tx).await?;
    let mut new: HashSet<KeyBits> = new.into_iter().map(Key::bits).collect();
    let mut repeated: HashMap<KeyBits, (usize, Report)> = HashMap::new();
    for (write, report, late) in rows {
        if new.remove(&report.key()) {
            stored.counts[*write].stored += 1;
            if *late {
                stored.mark(*write, &report.fix);
            }
            continue;
        }
        stored.counts[*write].duplicates += 1;
        let (last, known) = repeated.entry(report.key()).or_insert_with(|| (*write, report.clone()));
        known.carry(report.attributes.as_ref());
        known.fix.merge(&report.fix);
        known.others_count |= report.others_count;
        if report.may_be_judged() {
            known.quarantine = report.quarantine;
        }
        *last = *write;
    }
    let reports: Vec<Report> = repeated.values().map(|(_, report)| report.clone()).collect();
    for key in insert(&reports, JUDGED).returning::<Key>(tx).await? {
        if let Some((write, report)) = repeated.get(&key.bits()) {
            stored.mark(*write, &report.fix);
        }
    }
    for key in insert(&reports, UNJUDGED).returning::<Key>(tx).await? {
        if let Some((write, report)) = repeated.get(&key.bits()).filter(|(_, report)| report.others_count) {
            stored.mark(*write, &report.fix);
        }
    }
    merge_attributes(tx, reports).await
}

/// Merges the attributes of reports into those of the stored fixes. No judgement depends on them: nothing is marked.
async fn merge_attributes(tx: &mut Tx, reports: Vec<Report>) -> Result<()> {
    let mut reports: Vec<Report> = reports.into_iter().filter(|report| report.attributes.is_some()).collect();
    if reports.is_empty() {
        return Ok(());
    }
    let mut stored: HashMap<KeyBits, Attributes> = HashMap::new();
    for some in reports.chunks(KEYS_TOGETHER) {
        let select = "select vehicle_id, recorded_at, latitude, longitude, attributes from position \
            where attributes is not null and (vehicle_id, recorded_at) in (";
        let keys = tx.on().sql(select).push_each(some, |stmt, report| {
            let stmt = stmt.push("(").push_bind(report.vehicle.0).push(", ");
            stmt.push_bind(Time(report.fix.recorded_at)).push(")")
        });
        let rows: Vec<CarriedRow> = keys.push(")").all().await?;
        stored.extend(rows.into_iter().map(|(vehicle, Time(at), latitude, longitude, carried)| {
            (bits(vehicle, at.as_micros(), latitude, longitude), carried.0)
        }));
    }
    reports.retain_mut(|report| {
        let known = stored.get(&report.key());
        report.carry(known);
        report.attributes.as_ref() != known
    });
    let change = "on conflict (vehicle_id, recorded_at, latitude, longitude) \
        do update set attributes = excluded.attributes";
    if !reports.is_empty() {
        insert(&reports, change).run(tx).await?;
    }
    Ok(())
}

/// A stored fix's key and attributes.
type CarriedRow = (Uuid, Time, f64, f64, StoredAttributes);

/// `column = the smaller of the known values`.
macro_rules! smaller {
    ($($column:literal),+) => {
        concat!($(
            ", ", $column, " = case when position.", $column, " <= excluded.", $column, " or excluded.",
            $column, " is null then position.", $column, " else excluded.", $column, " end"
        ),+)
    };
}

/// Whether another report's value replaces the stored one.
macro_rules! changes {
    ($($column:literal),+) => {
        concat!($(
            " or coalesce(excluded.", $column, " < position.", $column, ", excluded.", $column, " is not null)"
        ),+)
    };
}

/// [`Fix::merge`] with the stored fix, in SQL, if a condition holds.
macro_rules! merge_if {
    ($condition:expr) => {
        concat!(
            "on conflict (vehicle_id, recorded_at, latitude, longitude) do update set received_at = \
             case when position.received_at <= excluded.received_at then position.received_at \
             else excluded.received_at end",
            smaller!("speed_kmh", "heading_degrees", "altitude_meters", "accuracy_meters", "odometer_km"),
            smaller!("ignition", "fuel_percent", "fuel_liters", "fuel_raw", "fuel_cumulative"),
            " where ",
            $condition,
        )
    };
}

/// A merge that changes what records depend on; or of a fix that did not count because its first report was ahead of
/// the clock or inaccurate, with a report that is neither and may have been judged ([`Report::may_be_judged`]).
const JUDGED: &str = concat!(
    merge_if!(concat!(
        "(position.quarantine in ('future', 'accuracy') and coalesce(excluded.quarantine, 'speed') = 'speed')",
        changes!("speed_kmh", "heading_degrees", "accuracy_meters")
    )),
    " returning vehicle_id, recorded_at, latitude, longitude"
);

/// A merge that changes something else, which may count ([`Report::others_count`]).
const UNJUDGED: &str = concat!(
    merge_if!(concat!(
        "excluded.received_at < position.received_at",
        changes!("altitude_meters", "odometer_km", "ignition"),
        changes!("fuel_percent", "fuel_liters", "fuel_raw", "fuel_cumulative")
    )),
    " returning vehicle_id, recorded_at, latitude, longitude"
);

/// Writes changes of quarantine: a fix confirmed by a later one, or judged otherwise by a correction. The last
/// finding of several stands; a fix ahead of the clock never counts.
pub(super) async fn store_quarantines(
    tx: &mut Tx,
    writes: &[VehicleWrite],
    unchunked: impl Fn(VehicleId) -> Result<Vec<ChunkFix>>,
) -> Result<()> {
    let mut found: HashMap<KeyBits, Report> = HashMap::new();
    for write in writes {
        let corrected = write.effects.correction.iter().flat_map(|correction| &correction.quarantines);
        let confirmed = write.effects.confirmed.iter().map(|fix| (*fix, None));
        for (fix, quarantine) in confirmed.chain(corrected.copied()) {
            let (vehicle, attributes) = (write.vehicle_id, None);
            let report = Report { vehicle, fix, quarantine, attributes, others_count: false };
            found.insert(report.key(), report);
        }
    }
    let change = "on conflict (vehicle_id, recorded_at, latitude, longitude) \
        do update set quarantine = excluded.quarantine \
        where position.quarantine is null or position.quarantine <> 'future'";
    let found: Vec<Report> = found.into_values().collect();
    if !found.is_empty() {
        copy_stored(tx, &found, unchunked).await?;
        insert(&found, change).run(tx).await?;
    }
    Ok(())
}
