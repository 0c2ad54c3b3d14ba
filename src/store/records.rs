//! The timelines, written in the batch's order: records, visits and checkpoints, so that a later write sees the
//! effects of an earlier one.
//!
//! Numbers are assigned here, consecutively, to records that are new or whose content changed. A corrected record
//! takes a new number; its old one is never reused.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use uuid::Uuid;
use waypost_actors::model::{EventId, VehicleId};
use waypost_actors::ports::VehicleWrite;
use waypost_actors::tracking::{Correction, Record, VisitRow, diff};

use super::checkpoint::{adjust_checkpoints, insert_checkpoints, replace_checkpoints};
use super::driver_at::Drivers;
use super::record_row::{IN_ITS_PLACE, RecordRow, SELECT_RECORDS, insert_records};
use super::rows::Insert;
use super::sql::{Connection, On, Result, Stmt, Tx};
use super::time::Time;
use super::visit_row::{correct_visits, insert_visits, undo_visits};

/// Ids in one statement.
const TOGETHER: usize = 500;
/// Seconds between a record's event and its confirmation that almost all records stay below; the others have an index
/// of their own, which names the same limit.
const LAG_SECONDS: f64 = 3_600.0;

/// The numbered records of a part of a batch, by write.
type NumberedRecords = Vec<Vec<Record>>;

/// Writes the timelines of a batch. `next` is the number of the next record, and is advanced. Returns for each write
/// the new or changed records, as stored.
pub(super) async fn store_timelines(
    tx: &mut Tx,
    writes: &[VehicleWrite],
    drivers: &Drivers,
    next: &mut i64,
) -> Result<NumberedRecords> {
    let is_plain = |write: &VehicleWrite| write.effects.correction.is_none();
    let mut numbered = NumberedRecords::with_capacity(writes.len());
    for part in writes.chunk_by(|one, other| is_plain(one) && is_plain(other)) {
        match &part[0].effects.correction {
            Some(correction) => numbered.push(correct(tx, &part[0], correction, drivers, next).await?),
            None => numbered.extend(go_on(tx, part, drivers, next).await?),
        }
    }
    Ok(numbered)
}

/// Writes what is not a correction, in order.
///
/// Only the end of something is expected to be stored, as going on: the store is asked for ends alone. Every other record is
/// inserted as a new one, and if one turns out not to be, the store is asked for all.
async fn go_on(
    tx: &mut Tx,
    writes: &[VehicleWrite],
    drivers: &Drivers,
    next: &mut i64,
) -> Result<NumberedRecords> {
    let first = *next;
    let ends = found(writes).filter(|(_, record)| record.is_end());
    let ends: Vec<EventId> = ends.map(|(_, record)| record.id).collect();
    let stored = by_id(with_ids(tx, &ends).await?);
    let mut records = superseding(writes, &stored, drivers, next);
    let all = records.iter().map(|(_, record)| record);
    let (replacing, new): (Vec<&Record>, Vec<&Record>) =
        all.partition(|record| stored.contains_key(&record.id));
    let inserted = insert_records(&new, "on conflict (id) do nothing").run(tx).await?;
    if inserted == new.len() as u64 {
        insert_records(&replacing, IN_ITS_PLACE).run(tx).await?;
        visits_of(writes, |_| true).run(tx).await?;
    } else {
        *next = first;
        if inserted > 0 {
            delete_from(tx, first).await?;
        }
        records = again(tx, writes, drivers, next).await?;
        // A record that was stored before has its visit too, and a correction may have improved that.
        let numbered: HashSet<EventId> = records.iter().map(|(_, record)| record.id).collect();
        visits_of(writes, |visit| numbered.contains(&visit.record())).run(tx).await?;
    }
    checkpoints_of(writes)?.run(tx).await?;
    let mut numbered = vec![Vec::new(); writes.len()];
    records.into_iter().for_each(|(index, record)| numbered[index].push(record));
    Ok(numbered)
}

/// What some writes found, in order, each record with the place of its write.
fn found(writes: &[VehicleWrite]) -> impl Iterator<Item = (usize, &Record)> {
    writes
        .iter()
        .enumerate()
        .flat_map(|(index, write)| write.effects.records.iter().map(move |record| (index, record)))
}

fn by_id(records: Vec<Record>) -> HashMap<EventId, Record> {
    records.into_iter().map(|record| (record.id, record)).collect()
}

fn visits_of(writes: &[VehicleWrite], is_numbered: impl Fn(&VisitRow) -> bool) -> Insert<'static> {
    let all = writes.iter().flat_map(|write| write.effects.visits.iter().map(move |visit| (write, visit)));
    insert_visits(all.filter(|(_, visit)| is_numbered(visit)))
}

fn checkpoints_of(writes: &[VehicleWrite]) -> Result<Insert<'static>> {
    insert_checkpoints(writes.iter().flat_map(|write| {
        let vehicle = write.vehicle_id;
        write.effects.checkpoints.iter().map(move |checkpoint| (vehicle, checkpoint))
    }))
}

fn number<'a>(records: impl Iterator<Item = &'a mut Record>, next: &mut i64) {
    for record in records {
        record.sequence = *next;
        *next += 1;
    }
}

/// Deletes the records that this transaction has inserted with a number or a later one: no others have such numbers.
async fn delete_from(tx: &mut Tx, first: i64) -> Result<()> {
    let until = tx.shard().numbers_until(first);
    let delete = "delete from records where shard = 0 and sequence >= $1 and sequence < $2";
    tx.on().sql(delete).bind(first).bind(until).run().await?;
    Ok(())
}

/// For records of which some exist, and not only those that end: writes the others, and those that supersede the existing ones,
/// with numbers that leave no gap.
async fn again(
    tx: &mut Tx,
    writes: &[VehicleWrite],
    drivers: &Drivers,
    next: &mut i64,
) -> Result<Vec<(usize, Record)>> {
    let ids: Vec<EventId> = found(writes).map(|(_, record)| record.id).collect();
    let stored = by_id(with_ids(tx, &ids).await?);
    let records = superseding(writes, &stored, drivers, next);
    let all: Vec<&Record> = records.iter().map(|(_, record)| record).collect();
    insert_records(&all, IN_ITS_PLACE).run(tx).await?;
    Ok(records)
}

/// The records to write and publish, numbered in order: each id once, with its last record that supersedes the one before it
/// or the stored one, at the place of its first.
fn superseding(
    writes: &[VehicleWrite],
    stored: &HashMap<EventId, Record>,
    drivers: &Drivers,
    next: &mut i64,
) -> Vec<(usize, Record)> {
    let mut numbered: Vec<(usize, Record)> = Vec::new();
    let mut places: HashMap<EventId, usize> = HashMap::new();
    for (index, record) in found(writes) {
        let place = places.get(&record.id).copied();
        let before = stored.get(&record.id);
        let known = place.map(|place| &numbered[place].1).or(before);
        if known.is_some_and(|known| !record.supersedes(known)) {
            continue;
        }
        let revision = before.map_or(1, |before| before.revision + 1);
        let driver_id = drivers.of(record, before);
        let record = Record { revision, driver_id, ..record.clone() };
        match place {
            Some(place) => numbered[place] = (index, record),
            None => {
                places.insert(record.id, numbered.len());
                numbered.push((index, record));
            }
        }
    }
    number(numbered.iter_mut().map(|(_, record)| record), next);
    numbered
}

/// Applies what a new evaluation of a part of one vehicle's timeline found to be different.
async fn correct(
    tx: &mut Tx,
    write: &VehicleWrite,
    correction: &Correction,
    drivers: &Drivers,
    next: &mut i64,
) -> Result<Vec<Record>> {
    let whole = correction;
    let correction = &*since_kept(tx, write.vehicle_id, whole).await?;
    let mut stored = in_part(tx, write.vehicle_id, correction).await?;
    let found: HashSet<EventId> = stored.iter().map(|record| record.id).collect();
    let others: Vec<EventId> =
        correction.record_ids(write.vehicle_id).filter(|id| !found.contains(id)).collect();
    stored.extend(with_ids(tx, &others).await?);
    let mut difference = diff(&stored, correction);
    let stored = by_id(stored);
    for record in &mut difference.changed {
        record.driver_id = drivers.of(record, stored.get(&record.id));
    }
    number(difference.changed.iter_mut(), next);
    insert_records(&difference.changed.iter().collect::<Vec<_>>(), IN_ITS_PLACE).run(tx).await?;
    let moved: Vec<&Record> = difference.moved.iter().collect();
    let place = "on conflict (id) do update set confirmed_at = excluded.confirmed_at";
    insert_records(&moved, place).run(tx).await?;
    undo_visits(tx, &difference.undone, correction.after).await?;
    correct_visits(tx, write, &correction.visits).await?;
    replace_checkpoints(tx, write.vehicle_id, whole).await?;
    adjust_checkpoints(tx, write.vehicle_id, whole).await?;
    Ok(difference.changed)
}

/// A correction without what it says of records from before the instant since when the vehicle's past is kept: they stand as they
/// were found, or are deleted. It began earlier, with the newest fix that there was.
async fn since_kept<'c>(
    tx: &mut Tx,
    vehicle: VehicleId,
    correction: &'c Correction,
) -> Result<Cow<'c, Correction>> {
    let select = "select kept_from from vehicle_state where vehicle_id = $1";
    let kept: Option<(Option<Time>,)> = tx.on().sql(select).bind(vehicle.0).optional().await?;
    let kept = kept.and_then(|(kept,)| kept).map(|Time(kept)| kept);
    let Some(kept) = kept.filter(|kept| correction.after.is_none_or(|after| *kept > after)) else {
        return Ok(Cow::Borrowed(correction));
    };
    let mut since = Correction { after: Some(kept), ..correction.clone() };
    since.records.retain(|record| record.confirmed_at > kept);
    let told: HashSet<EventId> = since.records.iter().map(|record| record.id).collect();
    since.visits.retain(|visit| told.contains(&visit.record()));
    Ok(Cow::Owned(since))
}

/// The active records in a correction's part.
async fn in_part(tx: &mut Tx, vehicle: VehicleId, correction: &Correction) -> Result<Vec<Record>> {
    let Some(after) = correction.after else {
        let rows: Vec<RecordRow> = part(tx.on(), vehicle, correction).all().await?;
        return rows.into_iter().map(Record::try_from).collect();
    };
    let early = Time(after.plus_seconds(-LAG_SECONDS));
    let stmt = part(tx.on(), vehicle, correction).push(" and e.occurred_at > ").push_bind(early);
    let mut rows: Vec<RecordRow> = stmt.all().await?;
    let lagging = match tx.connection() {
        Connection::Postgres(_) => {
            " and e.confirmed_at - e.occurred_at > interval '1 hour' and e.occurred_at <= "
        }
        Connection::Sqlite(_) => " and e.confirmed_at - e.occurred_at > 3600000000 and e.occurred_at <= ",
    };
    let stmt = part(tx.on(), vehicle, correction).push(lagging).push_bind(early);
    rows.extend(stmt.all().await?);
    rows.into_iter().map(Record::try_from).collect()
}

/// A record is confirmed when it occurs or later, so both instants can bound the part.
fn part<'c>(on: On<'c>, vehicle: VehicleId, correction: &Correction) -> Stmt<'c> {
    let stmt = on.sql(SELECT_RECORDS).push(" where e.status = 'active' and e.vehicle_id = ");
    let mut stmt = stmt.push_bind(vehicle.0);
    if let Some(after) = correction.after {
        stmt = stmt.push(" and e.confirmed_at > ").push_bind(Time(after));
    }
    if let Some(until) = correction.until.map(Time) {
        stmt = stmt.push(" and e.confirmed_at <= ").push_bind(until);
        stmt = stmt.push(" and e.occurred_at <= ").push_bind(until);
    }
    stmt
}

/// The records with the given ids, each once, whatever their status.
async fn with_ids(tx: &mut Tx, ids: &[EventId]) -> Result<Vec<Record>> {
    let mut found = Vec::new();
    for some in ids.chunks(TOGETHER) {
        let rows: Vec<RecordRow> = tx
            .on()
            .sql(SELECT_RECORDS)
            .push(" where e.id in (")
            .push_each(some, |stmt, id| stmt.push_bind(Uuid::from(*id)))
            .push(")")
            .all()
            .await?;
        found.extend(rows);
    }
    found.into_iter().map(Record::try_from).collect()
}
