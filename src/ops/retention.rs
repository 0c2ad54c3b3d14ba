//! Retention: deletes what organizations no longer keep, while the server goes on working.
//!
//! Owns the order and the pace. `store::retention` decides what may be deleted.

use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};
use waypost_actors::prepare;

use crate::context::Context;
use crate::mail::COUNTED_SECONDS;
use crate::store::retention::{self, Horizon, Part, Past, Timeline};
use crate::store::sql::{Db, SqlError, is_unavailable};
use crate::store::{
    alert, change_log, driver_file, fuel_verdict, letter_written, partitions, pending_tracker, share,
    sign_in_attempt, time_index, tracker_report, webhook_attempt,
};

/// Most rows per transaction.
const MOST_ROWS: i64 = 2_000;
/// Fewest rows per transaction, however long they take.
pub(super) const FEWEST_ROWS: i64 = 50;
/// After a transaction that took longer than this, the next ones are smaller, because other writers wait meanwhile.
const SLICE: Duration = Duration::from_millis(50);

/// A week is compacted once it ended so long ago that hardly anything new comes to it.
const COMPACTED_AFTER_SECONDS: f64 = 30.0 * 86_400.0;

/// How long an address is remembered for an account after its last sign-in from there.
const KEEP_ADDRESSES_SECONDS: f64 = 90.0 * 86_400.0;

/// What was deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gone {
    /// Chunks of positions, without those of whole partitions.
    pub chunks: u64,
    /// Single positions, without those of whole partitions.
    pub positions: u64,
    /// Readings of fuel sensors, without those of whole partitions.
    pub fuel_rows: u64,
    /// Refuels and drains.
    pub fuel_events: u64,
    /// Records of geofences.
    pub events: u64,
    /// Visits.
    pub visits: u64,
    /// Whole weeks of positions or readings (PostgreSQL).
    pub partitions: u64,
    /// Weeks whose free room went back to the system (PostgreSQL).
    pub compacted: u64,
}

/// Stores the states known only through the fix log, then deletes once what every organization's retention allows, and extends the
/// index of what is left by time. What hinders it with one organization does not hinder it with the others, and is the error in the
/// end. May be cancelled at any time; the next call continues.
pub async fn enforce(context: &Context) -> Result<Gone, SqlError> {
    let (db, now) = (&context.db, context.clock.now());
    let shard = db.shard();
    context.track.save_states().await?;
    let horizons = retention::horizons(db, now).await?;
    let own: Vec<&Horizon> = horizons.iter().filter(|horizon| shard.holds(horizon.organization)).collect();
    let (mut kept, mut hindered) = (Vec::new(), Hindered::default());
    for horizon in own {
        let states = keep_states(context, horizon, now).await;
        if hindered.by(states, horizon.organization.0)?.is_some() {
            kept.push(horizon);
        }
    }
    let mut gone = Gone::default();
    in_slices(|rows| change_log::delete_old(db, now, rows)).await?;
    if shard.holds_platform() {
        clean(db, now).await?;
        if hindered.is_none() {
            gone.partitions = drop_partitions(db, &horizons).await?;
        }
    }
    for horizon in kept {
        let deleted = delete_past(db, horizon, now, &mut gone).await;
        hindered.by(deleted, horizon.organization.0)?;
    }
    for horizon in horizons.iter().filter(|horizon| shard.holds(horizon.organization)) {
        hindered.by(time_index::renew(db, horizon.organization).await, horizon.organization.0)?;
    }
    if shard.holds_platform() {
        gone.compacted =
            partitions::compact_partitions(db, now.plus_seconds(-COMPACTED_AFTER_SECONDS)).await?;
    }
    hindered.end(gone)
}

/// What hindered a pass over many that have nothing to do with each other.
#[derive(Default)]
pub(super) struct Hindered(Option<SqlError>);

impl Hindered {
    /// Goes on after an error that is about one of them (`of`), which gives `None`; not after one of the store.
    pub(super) fn by<T>(&mut self, done: Result<T, SqlError>, of: Uuid) -> Result<Option<T>, SqlError> {
        match done {
            Ok(done) => Ok(Some(done)),
            Err(error) if is_unavailable(&error) => Err(error),
            Err(error) => {
                tracing::error!(%error, %of, "left out, the others go on");
                self.0.get_or_insert(error);
                Ok(None)
            }
        }
    }

    fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// The outcome of the pass: the first error, if there was one.
    pub(super) fn end<T>(self, done: T) -> Result<T, SqlError> {
        self.0.map_or(Ok(done), Err)
    }
}

/// Deletes what is too old whosever it is.
async fn clean(db: &Db, now: Timestamp) -> Result<(), SqlError> {
    sign_in_attempt::forget_old(db, now.into(), now.plus_seconds(-KEEP_ADDRESSES_SECONDS).into()).await?;
    letter_written::forget(db, now.plus_seconds(-COUNTED_SECONDS).into()).await?;
    in_slices(|rows| webhook_attempt::delete_old(db, now, rows)).await?;
    share::note_arrivals(db).await?;
    in_slices(|rows| share::delete_old(db, now, rows)).await?;
    in_slices(|rows| alert::forget(db, rows)).await?;
    in_slices(|rows| fuel_verdict::forget(db, rows)).await?;
    in_slices(|rows| driver_file::forget_parts(db, rows / FEWEST_ROWS)).await?;
    Ok(())
}

/// Drops the weeks that no organization keeps any more; none, while a vehicle's state as of then is not kept yet, which the
/// owners of other shards see to.
async fn drop_partitions(db: &Db, horizons: &[Horizon]) -> Result<u64, SqlError> {
    for horizon in horizons.iter().filter(|horizon| !db.shard().holds(horizon.organization)) {
        if let Some(judged) = horizon.judged()
            && !retention::vehicles_due(db, horizon.organization, judged).await?.is_empty()
        {
            return Ok(0);
        }
    }
    let mut dropped = 0;
    let positions = kept_by_none(horizons, |horizon| horizon.positions);
    for (table, before) in [
        ("position", positions),
        ("position_chunk", positions),
        ("fuel_log", kept_by_none(horizons, |horizon| horizon.fuel)),
    ] {
        if let Some(before) = before {
            dropped += partitions::drop_partitions(db, table, before).await?;
        }
    }
    Ok(dropped)
}

/// Before when no organization keeps its data. A deleted one does not count: nothing new is judged of it.
fn kept_by_none(horizons: &[Horizon], of: fn(&Horizon) -> Option<Timestamp>) -> Option<Timestamp> {
    horizons.iter().filter(|horizon| !horizon.is_deleted).map(of).min().flatten()
}

async fn delete_past(db: &Db, horizon: &Horizon, now: Timestamp, gone: &mut Gone) -> Result<(), SqlError> {
    let organization = horizon.organization;
    if let Some(positions) = horizon.positions {
        gone.chunks += delete_rows(db, Timeline::Chunks, organization, positions).await?;
        retention::cut_chunks(db, organization, positions).await?;
        gone.positions += delete_rows(db, Timeline::Positions, organization, positions).await?;
        gone.positions += delete_rows(db, Timeline::RefusedFixes, organization, positions).await?;
        tracker_report::forget(db, organization, positions).await?;
        pending_tracker::forget_fixes(db, organization, positions).await?;
    }
    if let Some(fuel) = horizon.fuel {
        gone.fuel_rows += delete_rows(db, Timeline::FuelLog, organization, fuel).await?;
        let past = |from, rows| Past { organization, from, horizon: fuel, rows };
        gone.fuel_events +=
            in_parts(|from, rows| retention::delete_fuel_events(db, past(from, rows), now)).await?;
    }
    if let Some(events) = horizon.events {
        let past = |from, rows| Past { organization, from, horizon: events, rows };
        gone.events += in_parts(|from, rows| retention::delete_events(db, past(from, rows), now)).await?;
        gone.visits += in_parts(|from, rows| retention::delete_visits(db, past(from, rows))).await?;
    }
    Ok(())
}

/// Keeps each vehicle's state as of the horizon before its past is deleted.
async fn keep_states(context: &Context, horizon: &Horizon, now: Timestamp) -> Result<(), SqlError> {
    let Context { db, track, .. } = context;
    let Some(judged) = horizon.judged() else { return Ok(()) };
    let due = retention::vehicles_due(db, horizon.organization, judged).await?;
    if due.is_empty() {
        return Ok(());
    }
    let fences = retention::read_fences_of(db, horizon.organization).await?;
    let prepared = tokio::task::spawn_blocking(move || prepare::fences(&fences)).await;
    let Ok(fences) = prepared else { return Ok(()) };
    for vehicle in due {
        while !retention::keep_from(db, track, vehicle, judged, &fences, now).await? {}
    }
    Ok(())
}

async fn delete_rows(
    db: &Db,
    table: Timeline,
    organization: OrganizationId,
    horizon: Timestamp,
) -> Result<u64, SqlError> {
    let mut gone = 0;
    for (vehicle, until) in table.vehicles_with_past(db, organization, horizon).await? {
        gone += in_slices(|rows| table.delete(db, vehicle, until, rows)).await?;
    }
    Ok(gone)
}

/// Deletes slice by slice until nothing is left.
pub(super) async fn in_slices<F>(mut delete: impl FnMut(i64) -> F) -> Result<u64, SqlError>
where
    F: Future<Output = Result<u64, SqlError>>,
{
    in_parts(|from, rows| {
        let deleted = delete(rows);
        async move { deleted.await.map(|deleted| (deleted, (deleted > 0).then_some(from))) }
    })
    .await
}

/// Deletes part by part until all of it was looked at, adjusting the size of the parts to [`SLICE`].
async fn in_parts<F>(mut delete: impl FnMut(Timestamp, i64) -> F) -> Result<u64, SqlError>
where
    F: Future<Output = Result<Part, SqlError>>,
{
    let (mut rows, mut gone, mut from) = (MOST_ROWS / 4, 0, Timestamp::FIRST);
    loop {
        let began = Instant::now();
        let (deleted, next) = delete(from, rows).await?;
        gone += deleted;
        let Some(next) = next else { return Ok(gone) };
        from = next;
        rows = next_slice(rows, began.elapsed());
    }
}

/// Rows of the next slice, after one of `rows` rows took `took`.
fn next_slice(rows: i64, took: Duration) -> i64 {
    let rows = if took > SLICE { rows / 2 } else { rows * 2 };
    rows.clamp(FEWEST_ROWS, MOST_ROWS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_weeks_wait_for_every_organization_that_is_not_deleted() {
        let horizon = |positions: Option<i64>, is_deleted| Horizon {
            organization: OrganizationId(Uuid::from_u128(1)),
            is_deleted,
            positions: positions.map(|second| Timestamp::FIRST.plus_seconds(second as f64)),
            fuel: None,
            events: None,
        };
        let before = |horizons: &[Horizon]| kept_by_none(horizons, |horizon| horizon.positions);
        let (early, late) = (horizon(Some(10), false), horizon(Some(20), false));
        assert_eq!(before(&[late, early]), early.positions);
        assert_eq!(before(&[late, horizon(None, false)]), None, "it keeps them for ever");
        assert_eq!(before(&[late, horizon(None, true), horizon(Some(5), true)]), late.positions);
        assert_eq!(before(&[horizon(Some(5), true)]), None);
    }

    #[test]
    fn a_slice_that_took_long_is_followed_by_smaller_ones() {
        let slow = Duration::from_millis(51);
        assert_eq!(next_slice(1_500, slow), 750);
        assert_eq!(next_slice(60, slow), FEWEST_ROWS);
        assert_eq!(next_slice(500, SLICE), 1_000);
        assert_eq!(next_slice(MOST_ROWS, Duration::ZERO), MOST_ROWS);
    }
}
