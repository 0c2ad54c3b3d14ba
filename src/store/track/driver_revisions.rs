//! Who drove, put right: records whose driver is another one since an assignment was made, corrected or ended for the past.
//! Done by the writer between two commits, so that the records get numbers; a week of one vehicle at a time, so that live
//! fixes do not wait.

use uuid::Uuid;
use waypost_actors::model::{Timestamp, VehicleId};
use waypost_actors::tracking::Record;

use super::alerts::follow_master_data;
use super::numbering::take_numbers;
use super::{Track, cards};
use crate::store::assignment::drivers_at;
use crate::store::card_assignment::{self, Made};
use crate::store::record_row::{IN_ITS_PLACE, RecordRow, SELECT_RECORDS, insert_records};
use crate::store::sql::{Result, Tx};
use crate::store::time::Time;

/// Put right at once at most. Seconds.
const SLICE_SECONDS: f64 = 7.0 * 86_400.0;
/// Rows of the fuel log read at once at most: a tracker may report its fuel each second.
const SLICE_ROWS: i64 = 2_000;

/// A span that has to be revised still, after the change that caused it and the vehicle, and when it was caused.
type Waiting = (Uuid, Uuid, Time, Time, Time);

impl Track {
    /// Puts a part of what waits right, and answers the records that have another driver now, and whether anything waits
    /// still; once nothing waits, also the alerts that hang on master data and on the clock. `None` when this writer is not the one
    /// any more.
    pub(super) async fn revise_drivers(&self) -> Result<Option<(Vec<Record>, bool)>> {
        let Some(mut held) = self.hold_commits().await? else { return Ok(None) };
        match self.revise_some(held.tx()).await {
            Ok(revised) => held.commit().await.map(|()| Some(revised)),
            Err(error) => {
                held.rollback().await?;
                Err(error)
            }
        }
    }

    /// The same in a transaction that excludes commits.
    async fn revise_some(&self, tx: &mut Tx) -> Result<(Vec<Record>, bool)> {
        // Whose the cards are, and what readers said late, says which assignments there are.
        if cards::settle(tx).await? || cards::scan(tx, |vehicle| self.tail(vehicle)).await? {
            return Ok((Vec::new(), true));
        }
        let select = "select id, vehicle_id, driven_from, driven_to, changed_at from change where driven_from is not null";
        let stmt = tx.on().sql(select).and_of_shard(self.db.shard(), "organization_id");
        let waiting: Vec<Waiting> = stmt.push(" order by id limit 2").all().await?;
        let Some((change, vehicle, Time(from), Time(end), Time(changed_at))) = waiting.first().copied()
        else {
            return Ok((follow_master_data(tx, self.clock.now()).await?, false));
        };
        let made = card_assignment::make(tx, vehicle.into(), from, changed_at).await?;
        let until = match made {
            Made::Busy => return Ok((Vec::new(), true)),
            Made::UpTo(until) => until,
            Made::AsBefore | Made::Anew => end,
        };
        let (mut revised, to) = match first_in(tx, vehicle, from, end.min(until)).await? {
            Some(first) => {
                let slice = first.plus_seconds(SLICE_SECONDS).min(until);
                revise(tx, vehicle.into(), (first, end.min(slice)), self.clock.now()).await?
            }
            None => (Vec::new(), until),
        };
        let is_over = to >= end && !matches!(made, Made::UpTo(_));
        let update = "update change set driven_from = $2, driven_to = $3 where id = $1";
        let stmt = tx.on().sql(update).bind(change).bind((!is_over).then_some(Time(to)));
        stmt.bind(Time(end.max(to))).run().await?;
        let waits = made != Made::AsBefore || !is_over || waiting.len() > 1;
        if !waits {
            revised.extend(follow_master_data(tx, self.clock.now()).await?);
        }
        Ok((revised, waits))
    }
}

/// The first instant of a span at which the vehicle has a record or a row of the fuel log: a start may be dated back by
/// centuries. What is being deleted is left as it is, or a record would be written again.
async fn first_in(tx: &mut Tx, vehicle: Uuid, from: Timestamp, to: Timestamp) -> Result<Option<Timestamp>> {
    let select = "select min(found.first_at) from (select min(occurred_at) as first_at from records \
        where vehicle_id = $1 and occurred_at >= $2 and occurred_at < $3 \
        union all select min(recorded_at) as first_at from fuel_log \
        where vehicle_id = $1 and recorded_at >= $2 and recorded_at < $3) as found \
        where not exists (select 1 from vehicle v where v.id = $1 and v.purge_asked_at is not null)";
    let first: Option<Time> =
        tx.on().sql(select).bind(vehicle).bind(Time(from)).bind(Time(to)).scalar().await?;
    Ok(first.map(|Time(first)| first))
}

/// Sets the driver of a vehicle's records and rows of the fuel log in a span, as the assignments say now; those that
/// follow the clock are left alone. Returns what changed, found `now`, and how far it came.
async fn revise(
    tx: &mut Tx,
    vehicle: VehicleId,
    (from, to): (Timestamp, Timestamp),
    now: Timestamp,
) -> Result<(Vec<Record>, Timestamp)> {
    let fuel = "select recorded_at, driver_id from fuel_log where vehicle_id = $1 and recorded_at >= $2 \
        and recorded_at < $3 order by recorded_at limit $4";
    let stmt = tx.on().sql(fuel).bind(vehicle.0).bind(Time(from)).bind(Time(to));
    let mut fuel: Vec<(Time, Option<Uuid>)> = stmt.bind(SLICE_ROWS).all().await?;
    // A full read goes up to its last row, with which the next one begins.
    let is_cut = fuel.len() as i64 >= SLICE_ROWS;
    let to = if is_cut { fuel.pop().map_or(to, |(Time(last), _)| last) } else { to };
    let stmt = tx.on().sql(SELECT_RECORDS).push(" where e.status = 'active' and e.vehicle_id = ");
    let stmt = stmt.push_bind(vehicle.0).push(" and e.occurred_at >= ").push_bind(Time(from));
    let stmt = stmt.push(" and e.occurred_at < ").push_bind(Time(to));
    let rows: Vec<RecordRow> = stmt.push(" order by e.occurred_at, e.sequence").all().await?;
    let mut records: Vec<Record> =
        rows.into_iter().map(Record::try_from).collect::<std::result::Result<_, _>>()?;
    records.retain(|record| !record.is_by_the_clock());
    let instants = records.iter().map(|record| record.occurred_at).chain(fuel.iter().map(|(at, _)| at.0));
    let asked: Vec<(VehicleId, Timestamp)> = instants.map(|at| (vehicle, at)).collect();
    if asked.is_empty() {
        return Ok((Vec::new(), to));
    }
    let mut drivers = drivers_at(tx, &asked).await?.into_iter();
    let driven = records.into_iter().zip(drivers.by_ref());
    let mut revised: Vec<Record> = driven
        .filter(|(record, driver)| record.driver_id != *driver)
        .map(|(record, driver_id)| {
            let revision = record.revision + 1;
            Record { driver_id, revision, detected_at: now, ..record }
        })
        .collect();
    let fuel: Vec<_> =
        fuel.into_iter().zip(drivers).map(|((at, was), is)| (at, was, is.map(|is| is.0))).collect();
    for run in fuel.chunk_by(|a, b| a.2 == b.2).filter(|run| run.iter().any(|(_, was, is)| was != is)) {
        let ([(first, _, driver), ..], [.., (last, ..)]) = (run, run) else { continue };
        let update = "update fuel_log set driver_id = $4 where vehicle_id = $1 and recorded_at >= $2 and recorded_at <= $3";
        tx.on().sql(update).bind(vehicle.0).bind(*first).bind(*last).bind(*driver).run().await?;
    }
    if revised.is_empty() {
        return Ok((revised, to));
    }
    let first = take_numbers(tx, revised.len()).await?;
    for (record, sequence) in revised.iter_mut().zip(first..) {
        record.sequence = sequence;
    }
    insert_records(&revised.iter().collect::<Vec<_>>(), IN_ITS_PLACE).run(tx).await?;
    Ok((revised, to))
}
