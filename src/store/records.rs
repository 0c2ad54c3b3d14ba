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
async fn go_on(
    tx: &mut Tx,
    writes: &[VehicleWrite],
    drivers: &Drivers,
    next: &mut i64,
) -> Result<NumberedRecords> {
    let first = *next;
    let mut records: Vec<(usize, Record)> = Vec::new();
    for (index, write) in writes.iter().enumerate() {
        let driven = |record: &Record| Record { driver_id: drivers.of(record, None), ..record.clone() };
        records.extend(write.effects.records.iter().map(|record| (index, driven(record))));
    }
    number(records.iter_mut().map(|(_, record)| record), next);
    let all: Vec<&Record> = records.iter().map(|(_, record)| record).collect();
    // A record that ends something replaces an existing one.
    let is_new = !all.iter().any(|record| record.is_end());
    let written = if is_new { insert_new(&all).run(tx).await? } else { 0 };
    if written < all.len() as u64 {
        *next = first;
        records = again(tx, records, drivers, next).await?;
        // A record that was stored before has its visit too, and a correction may have improved that.
        let numbered: HashSet<EventId> = records.iter().map(|(_, record)| record.id).collect();
        visits_of(writes, |visit| numbered.contains(&visit.record())).run(tx).await?;
    } else {
        visits_of(writes, |_| true).run(tx).await?;
    }
    checkpoints_of(writes)?.run(tx).await?;
    let mut numbered = vec![Vec::new(); writes.len()];
    records.into_iter().for_each(|(index, record)| numbered[index].push(record));
    Ok(numbered)
}

fn insert_new<'a>(records: &'a [&'a Record]) -> Insert<'a> {
    insert_records(records, "on conflict (id) do nothing")
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

/// For records of which some exist, as those of a trip that ends do: writes the others, and those that supersede the existing ones,
/// with numbers that leave no gap.
async fn again(
    tx: &mut Tx,
    records: Vec<(usize, Record)>,
    drivers: &Drivers,
    next: &mut i64,
) -> Result<Vec<(usize, Record)>> {
    // Only records numbered a moment ago have such numbers.
    let until = tx.shard().numbers_until(*next);
    let delete = "delete from records where shard = 0 and sequence >= $1 and sequence < $2";
    tx.on().sql(delete).bind(*next).bind(until).run().await?;
    let ids: Vec<EventId> = records.iter().map(|(_, record)| record.id).collect();
    let stored: HashMap<EventId, Record> =
        with_ids(tx, &ids).await?.into_iter().map(|record| (record.id, record)).collect();
    let mut numbered = superseding(records, &stored);
    for (_, record) in &mut numbered {
        record.driver_id = drivers.of(record, stored.get(&record.id));
    }
    number(numbered.iter_mut().map(|(_, record)| record), next);
    let all: Vec<&Record> = numbered.iter().map(|(_, record)| record).collect();
    insert_records(&all, IN_ITS_PLACE).run(tx).await?;
    Ok(numbered)
}

/// The records to write and publish, in order: each id once, with its last record that supersedes the stored one.
fn superseding(records: Vec<(usize, Record)>, stored: &HashMap<EventId, Record>) -> Vec<(usize, Record)> {
    let mut numbered: Vec<(usize, Record)> = Vec::with_capacity(records.len());
    let mut places: HashMap<EventId, usize> = HashMap::new();
    for (index, record) in records {
        let place = places.get(&record.id).copied();
        let known = place.map(|place| &numbered[place].1).or_else(|| stored.get(&record.id));
        if known.is_some_and(|known| !record.supersedes(known)) {
            continue;
        }
        let revision = stored.get(&record.id).map_or(1, |stored| stored.revision + 1);
        let record = Record { revision, ..record };
        match place {
            Some(place) => numbered[place] = (index, record),
            None => {
                places.insert(record.id, numbered.len());
                numbered.push((index, record));
            }
        }
    }
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
    let stored: HashMap<EventId, Record> = stored.into_iter().map(|record| (record.id, record)).collect();
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
