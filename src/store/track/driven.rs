//! Who drove, put right: records whose driver is another one since an assignment was made, corrected or ended for the past.
//! Done by the writer between two commits, so that the records get numbers; a week of one vehicle at a time, so that live
//! fixes do not wait.

use uuid::Uuid;
use waypost_actors::model::{Timestamp, VehicleId};
use waypost_actors::tracking::Record;

use super::{Held, Track};
use crate::store::assignment::drivers_at;
use crate::store::record_row::{IN_ITS_PLACE, RecordRow, SELECT_RECORDS, insert_records};
use crate::store::sql::{Result, Tx};
use crate::store::time::Time;

/// Put right at once at most. Seconds.
const SLICE_SECONDS: f64 = 7.0 * 86_400.0;

/// A time that waits, with the change that left it.
type Waiting = (Uuid, Uuid, Time, Time);

impl Track {
    /// Puts a part of what waits right, and answers the records that have another driver now, and whether anything waits
    /// still; `None` when this writer is not the one any more.
    pub(super) async fn revise_drivers(&self) -> Result<Option<(Vec<Record>, bool)>> {
        let Some(Held { mut tx, .. }) = self.hold_commits().await? else { return Ok(None) };
        let select = "select id, vehicle_id, driven_from, driven_to from change where driven_from is not null \
            order by id limit 2";
        let waiting: Vec<Waiting> = tx.on().sql(select).all().await?;
        let Some((change, vehicle, Time(from), Time(end))) = waiting.first().copied() else {
            return tx.rollback().await.map(|()| Some((Vec::new(), false)));
        };
        let to = end.min(from.plus_seconds(SLICE_SECONDS));
        let revised = revise(&mut tx, vehicle.into(), from, to).await?;
        let (rest, is_over) = (to, to >= end);
        let update = "update change set driven_from = $2 where id = $1";
        let rest = (!is_over).then_some(Time(rest));
        tx.on().sql(update).bind(change).bind(rest).run().await?;
        tx.commit().await?;
        Ok(Some((revised, !is_over || waiting.len() > 1)))
    }
}

/// Gives the records and the fuel log of a time the drivers that its assignments say now.
async fn revise(tx: &mut Tx, vehicle: VehicleId, from: Timestamp, to: Timestamp) -> Result<Vec<Record>> {
    let stmt = tx.on().sql(SELECT_RECORDS).push(" where e.status = 'active' and e.vehicle_id = ");
    let stmt = stmt.push_bind(vehicle.0).push(" and e.occurred_at >= ").push_bind(Time(from));
    let stmt = stmt.push(" and e.occurred_at < ").push_bind(Time(to));
    let rows: Vec<RecordRow> = stmt.push(" order by e.occurred_at, e.sequence").all().await?;
    let records: Vec<Record> =
        rows.into_iter().map(Record::try_from).collect::<std::result::Result<_, _>>()?;
    let fuel = "select recorded_at, driver_id from fuel_log where vehicle_id = $1 and recorded_at >= $2 and recorded_at < $3";
    let fuel: Vec<(Time, Option<Uuid>)> =
        tx.on().sql(fuel).bind(vehicle.0).bind(Time(from)).bind(Time(to)).all().await?;
    let instants = records.iter().map(|record| record.occurred_at).chain(fuel.iter().map(|(at, _)| at.0));
    let asked: Vec<(VehicleId, Timestamp)> = instants.map(|at| (vehicle, at)).collect();
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let mut drivers = drivers_at(tx, &asked).await?.into_iter();
    let driven = records.into_iter().zip(drivers.by_ref());
    let mut revised: Vec<Record> = driven
        .filter(|(record, driver)| record.driver_id != *driver)
        .map(|(record, driver_id)| Record { driver_id, revision: record.revision + 1, ..record })
        .collect();
    for ((at, was), driver) in fuel.into_iter().zip(drivers) {
        let driver = driver.map(|driver| driver.0);
        if was != driver {
            let update = "update fuel_log set driver_id = $3 where vehicle_id = $1 and recorded_at = $2";
            tx.on().sql(update).bind(vehicle.0).bind(at).bind(driver).run().await?;
        }
    }
    if revised.is_empty() {
        return Ok(revised);
    }
    let take = "update writer set next_sequence = next_sequence + $1 where name = 'main' \
        returning next_sequence - $1";
    let first: i64 = tx.on().sql(take).bind(revised.len() as i64).scalar().await?;
    for (record, sequence) in revised.iter_mut().zip(first..) {
        record.sequence = sequence;
    }
    insert_records(&revised.iter().collect::<Vec<_>>(), IN_ITS_PLACE).run(tx).await?;
    Ok(revised)
}
