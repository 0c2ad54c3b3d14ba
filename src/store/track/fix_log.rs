//! The fix log: what commits applied, one row each, until the states of their vehicles are stored.
//!
//! A commit need not write a vehicle's state then, which is most of what it would write: a start reads the row of
//! each vehicle and applies again what the log has since (docs/decisions/0014-states-lag-behind-a-fix-log.md).

use std::collections::{HashMap, HashSet};

use uuid::Uuid;
use waypost_actors::geofence::FenceSet;
use waypost_actors::model::{OrganizationId, Origin, Timestamp, VehicleId};
use waypost_actors::ports::{VehicleSeed, VehicleWrite};
use waypost_actors::tracking::{Applied, Context, Mark, VehicleState, replay};

use super::packed_fixes::{AppliedTo, Step, pack, unpack, vehicles};
use super::tails::Tails;
use crate::store::packed_chunk::ChunkFix;
use crate::store::position_row::fresh_of;
use crate::store::rows::{Column, Insert};
use crate::store::shard::Shard;
use crate::store::sql::{Db, Result, SqlError, Tx};

/// Rows are trimmed in batches of this size, not with each commit.
pub(super) const TRIM_ROWS: i64 = 16;

/// A row: what one commit applied.
#[derive(Clone, Debug)]
pub(super) struct LogRow {
    shard: Shard,
    number: i64,
    packed: Vec<u8>,
}

impl LogRow {
    /// `None` for a batch without fixes. An error, if a fix has an instant that no table takes: it would be found when its chunk
    /// is stored, in the batch of others.
    pub(super) fn of(shard: Shard, number: i64, writes: &[VehicleWrite]) -> Result<Option<Self>> {
        let with_fixes = writes.iter().filter(|write| !write.effects.rows.is_empty());
        let steps: Vec<Step<'_>> = with_fixes
            .map(|write| Step {
                vehicle: write.vehicle_id,
                judged_at: write.judged_at,
                rows: &write.effects.rows,
                records: write.effects.records.len(),
            })
            .collect();
        let mut instants = steps.iter().flat_map(|step| step.rows).map(|row| row.fix.recorded_at);
        if let Some(at) = instants.find(|at| !(Timestamp::FIRST..=Timestamp::LAST).contains(at)) {
            return Err(SqlError::Encode(format!("recorded {} µs after 1970", at.as_micros()).into()));
        }
        if steps.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { shard, number, packed: pack(&steps)? }))
    }
}

/// Appends what batches applied.
pub(super) async fn append(tx: &mut Tx, rows: impl IntoIterator<Item = LogRow>) -> Result<()> {
    let (mut shards, mut numbers, mut packed) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        shards.push(i64::from(row.shard.number()));
        numbers.push(row.number);
        packed.push(row.packed);
    }
    let columns = vec![Column::Int(shards), Column::Int(numbers), Column::Bytes(packed)];
    Insert { into: "insert into fix_log (shard, number, fixes)", columns, after: "" }.run(tx).await?;
    Ok(())
}

/// Deletes what the rows of all states have.
pub(super) async fn trim(tx: &mut Tx, before: i64) -> Result<()> {
    let shard = i64::from(tx.shard().number());
    tx.on()
        .sql("delete from fix_log where shard = $2 and number < $1")
        .bind(before)
        .bind(shard)
        .run()
        .await?;
    Ok(())
}

/// A row as it is stored: the number of the commit and what it applied, packed. A start with many vehicles has room for all of them
/// like this, and for one at a time unpacked.
pub(super) type PackedRow = (i64, Vec<u8>);

/// Every row of the shard, oldest first.
pub(super) async fn read(db: &Db) -> Result<Vec<PackedRow>> {
    let select = "select number, fixes from fix_log where shard = $1 order by number";
    db.read().sql(select).bind(i64::from(db.shard().number())).all().await
}

fn unpacked(rows: &[PackedRow]) -> impl Iterator<Item = Result<(i64, Vec<AppliedTo>)>> {
    rows.iter()
        .map(|(number, fixes)| Ok((*number, unpack(fixes).map_err(|error| unreadable(*number, error))?)))
}

fn unreadable(number: i64, error: SqlError) -> SqlError {
    SqlError::Decode(format!("row {number} of fix_log: {error}").into())
}

/// The fixes that are in the log and in no chunk: those that were newer than all others of their vehicles when they were
/// stored, and came after the states that are stored.
pub(in crate::store) async fn logged_fixes(db: &Db) -> Result<HashMap<VehicleId, Vec<ChunkFix>>> {
    // A vehicle's are all of one shard.
    let log: Vec<PackedRow> =
        db.read().sql("select number, fixes from fix_log order by shard, number").all().await?;
    let select = "select vehicle_id, log_number from vehicle_state";
    let stored: Vec<(Uuid, i64)> = db.lists().sql(select).all().await?;
    let stored: HashMap<Uuid, i64> = stored.into_iter().collect();
    let mut logged: HashMap<VehicleId, Vec<ChunkFix>> = HashMap::new();
    for row in unpacked(&log) {
        let (number, steps) = row?;
        for (vehicle, applied) in steps {
            if stored.get(&vehicle.0).is_none_or(|stored| number > *stored) {
                logged.entry(vehicle).or_default().extend(fresh_of(&applied.rows));
            }
        }
    }
    Ok(logged)
}

/// Whom the log names.
pub(super) fn named(log: &[PackedRow]) -> Result<HashSet<VehicleId>> {
    let mut named = HashSet::new();
    for (number, fixes) in log {
        named.extend(vehicles(fixes).map_err(|error| unreadable(*number, error))?);
    }
    Ok(named)
}

/// What a replay found.
#[derive(Debug, Default)]
pub(super) struct Replayed {
    /// Vehicles that have something in the log, each with the first commit that is not in its row.
    pub(super) since: HashMap<VehicleId, i64>,
    /// Where applying again did not come to the same.
    pub(super) marks: HashMap<VehicleId, Mark>,
    /// Fixes that were newer than all others of their vehicles when they were stored, and are in no chunk yet.
    pub(super) tails: Tails,
}

/// Brings states up to the end of the log. `stored`: up to which commit each vehicle's row is; `named`: whom the log names.
pub(super) fn replay_all(
    seeds: &mut [VehicleSeed],
    stored: &HashMap<VehicleId, i64>,
    fences: &HashMap<OrganizationId, FenceSet>,
    log: &[PackedRow],
    named: &HashSet<VehicleId>,
) -> Result<Replayed> {
    let mut seeds: HashMap<VehicleId, &mut VehicleSeed> = seeds
        .iter_mut()
        .filter(|seed| named.contains(&seed.vehicle.id))
        .map(|seed| (seed.vehicle.id, seed))
        .collect();
    let no_fences = FenceSet::empty();
    let mut replayed = Replayed::default();
    for row in unpacked(log) {
        let (number, steps) = row?;
        for (vehicle, applied) in steps {
            let Some(seed) = seeds.get_mut(&vehicle) else { continue };
            if stored.get(&vehicle).is_some_and(|stored| number <= *stored) {
                continue;
            }
            replayed.since.entry(vehicle).or_insert(number);
            let fresh: Vec<ChunkFix> = fresh_of(&applied.rows).collect();
            replayed.tails.append([(vehicle, fresh.as_slice())])?;
            let fences = fences.get(&seed.vehicle.organization_id).unwrap_or(&no_fences);
            let context = Context { vehicle: &seed.vehicle, fences, detected_at: applied.judged_at };
            let began = began(&seed.state, &applied);
            if !replay(&mut seed.state, &applied, &context) {
                let mark =
                    Mark { from: began, until: seed.state.passed().max(began), origin: Origin::Recompute };
                let known = replayed.marks.entry(vehicle).or_insert(mark);
                *known = known.merge(mark);
            }
        }
    }
    Ok(replayed)
}

/// The earliest instant of what a step may have recorded.
fn began(state: &VehicleState, applied: &Applied) -> Timestamp {
    let passed = state.last.map(|_| state.passed());
    let first = applied.rows.iter().map(|row| row.fix.recorded_at);
    first.chain(passed).min().unwrap_or(applied.judged_at).max(Timestamp::FIRST)
}
