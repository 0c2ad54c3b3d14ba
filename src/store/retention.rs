//! What is past an organization's retention: finding it and deleting it, a slice at a time.
//!
//! Before a vehicle's past is deleted, the engine's state at that point is kept as a checkpoint, and corrections
//! start there from then on (docs/retention.md). `ops::retention` decides when and how often.

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::geofence::FenceSet;
use waypost_actors::model::{OrganizationId, Timestamp, VehicleId};
use waypost_actors::tracking::{self, Context};

use super::checkpoint::insert_checkpoints;
use super::fuel_day;
use super::position_chunk::cut_chunk;
pub use super::seeds::read_fences_of;
use super::seeds::read_vehicle;
use super::slice::{checkpoint_before, fixes_behind};
use super::sql::{Db, Result, Tx};
use super::time::{Time, just_after, just_before};
use super::track::Track;
use crate::domain::organization::OrganizationStatus;
use crate::domain::organization_settings::Settings;

const DAY_SECONDS: f64 = 86_400.0;
/// Days an event stays in the log after it was last published, whatever the retention: cursors of the live feed are
/// valid for seven days, and one day is for clock differences.
const LOG_DAYS: f64 = 8.0;

/// From when on an organization keeps its data; `None` keeps it for ever.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Horizon {
    /// The organization.
    pub organization: OrganizationId,
    /// Whether it is deleted: then nothing is kept whole for its sake.
    pub is_deleted: bool,
    /// Keep positions recorded since then.
    pub positions: Option<Timestamp>,
    /// Keep fuel readings since then, and refuels and drains that ended since then.
    pub fuel: Option<Timestamp>,
    /// Keep visits that ended since then, and their records.
    pub events: Option<Timestamp>,
}

impl Horizon {
    /// Nothing before this is evaluated any more.
    #[must_use]
    pub fn judged(&self) -> Option<Timestamp> {
        self.positions.max(self.fuel).max(self.events)
    }
}

/// The horizon of every organization.
pub async fn horizons(db: &Db, now: Timestamp) -> Result<Vec<Horizon>> {
    let select = "select id, status, settings from organization order by id";
    let rows: Vec<(Uuid, String, Json<Settings>)> = db.read().sql(select).all().await?;
    let before = |days: Option<i64>| days.map(|days| now.plus_seconds(-DAY_SECONDS * days as f64));
    let horizon = |(organization, status, Json(settings)): (Uuid, String, Json<Settings>)| Horizon {
        organization: organization.into(),
        is_deleted: status == OrganizationStatus::Deleted.as_str(),
        positions: before(settings.retention.positions_days),
        fuel: before(settings.retention.fuel_days),
        events: before(settings.retention.events_days),
    };
    Ok(rows.into_iter().map(horizon).collect())
}

/// Vehicles with data older than the horizon and no checkpoint for it yet, except those that await a correction:
/// they come up again later.
pub async fn vehicles_due(
    db: &Db,
    organization: OrganizationId,
    horizon: Timestamp,
) -> Result<Vec<VehicleId>> {
    let select = "select s.vehicle_id from vehicle_state s where s.organization_id = $1 \
        and s.dirty_from is null and (s.kept_from is null or s.kept_from < $2) \
        and (exists (select 1 from position p where p.vehicle_id = s.vehicle_id and p.recorded_at <= $2) \
        or exists (select 1 from position_chunk c where c.vehicle_id = s.vehicle_id and c.recorded_at <= $2) \
        or exists (select 1 from fuel_log l where l.vehicle_id = s.vehicle_id and l.recorded_at <= $2) \
        or exists (select 1 from records e where e.vehicle_id = s.vehicle_id and e.occurred_at <= $2)) \
        order by s.vehicle_id";
    let rows: Vec<(Uuid,)> = db.read().sql(select).bind(organization.0).bind(Time(horizon)).all().await?;
    Ok(rows.into_iter().map(|(vehicle,)| vehicle.into()).collect())
}

/// Keeps a vehicle's state as of the horizon, or as far as one step gets, and makes corrections start there.
/// Returns whether the vehicle is done: the horizon is reached, or the vehicle is skipped because it awaits a
/// correction or because its organization has an edit of the past that is not settled yet. The state is evaluated while
/// commits go on; they wait only while it is written.
pub async fn keep_from(
    db: &Db,
    track: &Track,
    vehicle: VehicleId,
    horizon: Timestamp,
    fences: &FenceSet,
    now: Timestamp,
) -> Result<bool> {
    let tail = track.tail(vehicle)?;
    let mut tx = db.begin_snapshot().await?;
    let Some(stored) = settled_state(&mut tx, vehicle, horizon).await? else { return Ok(true) };
    let from = checkpoint_before(&mut tx, vehicle, &tail, just_after(horizon)).await?;
    let after = from.as_ref().map(|checkpoint| checkpoint.at);
    let (fixes, is_reached) = fixes_behind(&mut tx, vehicle, &tail, after, Some(horizon)).await?;
    // A device that was silent may still bring fixes from before the horizon: they are behind the newest one.
    let newest = fixes.last().map(|stored| stored.fix.recorded_at).or(after);
    let kept_from = newest.filter(|_| !is_reached).unwrap_or(horizon);
    let judged = read_vehicle(&mut tx, vehicle).await?;
    drop(tx);
    let context = Context { vehicle: &judged, fences, detected_at: now };
    let checkpoint = newest.map(|at| tracking::checkpoint_at(at, from.as_ref(), &fixes, &context));
    // A correction on its way would write back the state it started from.
    let Some(mut held) = track.hold_commits().await? else { return Ok(true) };
    let tx = held.tx();
    match settled_state(tx, vehicle, horizon).await? {
        Some(found) if found == stored => {}
        // A correction may have come and gone: once more, from what is stored now.
        found => return held.rollback().await.map(|()| found.is_none()),
    }
    if let Some(checkpoint) = &checkpoint {
        insert_checkpoints(std::iter::once((vehicle, checkpoint)))?.run(tx).await?;
        let older = "delete from checkpoint where vehicle_id = $1 and at < $2";
        tx.on().sql(older).bind(vehicle.0).bind(Time(checkpoint.at)).run().await?;
    }
    let keep = "update vehicle_state set kept_from = $2 where vehicle_id = $1";
    tx.on().sql(keep).bind(vehicle.0).bind(Time(kept_from)).run().await?;
    held.commit().await?;
    Ok(is_reached)
}

/// The number of the newest commit in a vehicle's stored state, which every correction stores anew. `None` while the
/// vehicle awaits a correction, or an edit of the past up to an instant is not settled with it.
async fn settled_state(tx: &mut Tx, vehicle: VehicleId, until: Timestamp) -> Result<Option<i64>> {
    let select = "select s.log_number from vehicle_state s where s.vehicle_id = $1 and s.dirty_from is null \
        and not exists (select 1 from geofence_version v join geofence g on g.id = v.geofence_id \
        where g.organization_id = s.organization_id and not v.settled \
        and (v.effective_from is null or v.effective_from <= $2)) \
        and not exists (select 1 from fuel_calibration c where c.vehicle_id = s.vehicle_id \
        and not c.settled and (c.effective_from is null or c.effective_from <= $2))";
    let number: Option<(i64,)> = tx.on().sql(select).bind(vehicle.0).bind(Time(until)).optional().await?;
    Ok(number.map(|(number,)| number))
}

/// A table with a row per vehicle and instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeline {
    /// Chunks of fixes.
    Chunks,
    /// Fixes that came late, or were changed.
    Positions,
    /// Fixes that the store or the engine refused to process.
    RefusedFixes,
    /// Readings of fuel sensors.
    FuelLog,
}

/// The statements for such a table.
struct Texts {
    /// Selects an organization's vehicles that have rows up to both the horizon and what is kept of them.
    past: &'static str,
    /// The instant of a vehicle's n-th oldest row.
    nth: &'static str,
    delete: &'static str,
}

/// `$end`: the newest instant in a row.
macro_rules! texts_of {
    ($table:literal, $end:literal) => {
        Texts {
            past: concat!(
                "select s.vehicle_id, s.kept_from from vehicle_state s where s.organization_id = $1 \
                 and s.kept_from is not null and exists (select 1 from ",
                $table,
                " p where p.vehicle_id = s.vehicle_id and p.recorded_at <= s.kept_from and p.recorded_at <= $2 \
                 and p.",
                $end,
                " <= s.kept_from and p.",
                $end,
                " <= $2) order by s.vehicle_id"
            ),
            nth: concat!(
                "select ",
                $end,
                " from ",
                $table,
                " where vehicle_id = $1 and recorded_at <= $2 and ",
                $end,
                " <= $2 order by recorded_at limit 1 offset $3"
            ),
            delete: concat!(
                "delete from ",
                $table,
                " where vehicle_id = $1 and recorded_at <= $2 and ",
                $end,
                " <= $2"
            ),
        }
    };
}

impl Timeline {
    const fn texts(self) -> Texts {
        match self {
            Self::Chunks => texts_of!("position_chunk", "ended_at"),
            Self::Positions => texts_of!("position", "recorded_at"),
            Self::RefusedFixes => texts_of!("refused_fix", "recorded_at"),
            Self::FuelLog => texts_of!("fuel_log", "recorded_at"),
        }
    }

    /// Vehicles of an organization with rows to delete, each with the instant up to which to delete them.
    pub async fn vehicles_with_past(
        self,
        db: &Db,
        organization: OrganizationId,
        horizon: Timestamp,
    ) -> Result<Vec<(VehicleId, Timestamp)>> {
        let stmt = db.read().sql(self.texts().past).bind(organization.0).bind(Time(horizon));
        let rows: Vec<(Uuid, Time)> = stmt.all().await?;
        Ok(rows.into_iter().map(|(vehicle, kept)| (vehicle.into(), horizon.min(kept.into()))).collect())
    }

    /// Deletes a vehicle's oldest rows up to an instant, about `rows` of them; returns how many.
    pub async fn delete(self, db: &Db, vehicle: VehicleId, until: Timestamp, rows: i64) -> Result<u64> {
        let Texts { nth, delete, .. } = self.texts();
        let nth = db.read().sql(nth).bind(vehicle.0).bind(Time(until)).bind(rows - 1);
        let nth: Option<(Time,)> = nth.optional().await?;
        let until = nth.map_or(Time(until), |(at,)| at);
        let mut tx = db.begin().await?;
        if self == Self::FuelLog {
            fuel_day::delete_until(&mut tx, vehicle, until.0).await?;
        }
        let gone = tx.on().sql(delete).bind(vehicle.0).bind(until).run().await?;
        tx.commit().await?;
        Ok(gone)
    }
}

/// Shortens an organization's chunks of positions that began more than a day before the horizon and reach beyond it, or
/// beyond what is kept of their vehicle: what is past goes. So each fix goes a day late at most, and a chunk is written again once a day at most.
pub async fn cut_chunks(db: &Db, organization: OrganizationId, horizon: Timestamp) -> Result<()> {
    let select = "select s.vehicle_id, s.kept_from from vehicle_state s where s.organization_id = $1 \
        and s.kept_from is not null and exists (select 1 from position_chunk c where c.vehicle_id = s.vehicle_id \
        and c.recorded_at < $2 and c.recorded_at < s.kept_from and (c.ended_at > s.kept_from or c.ended_at > $3)) \
        order by s.vehicle_id";
    let day_before = horizon.plus_seconds(-DAY_SECONDS);
    let stmt = db.read().sql(select).bind(organization.0).bind(Time(day_before)).bind(Time(horizon));
    let rows: Vec<(Uuid, Time)> = stmt.all().await?;
    for (vehicle, kept_from) in rows {
        let mut tx = db.begin().await?;
        cut_chunk(&mut tx, vehicle.into(), horizon.min(kept_from.into())).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// How much of a part of what is past went, and from when on the next part begins; `None`: it was the last one. What has to wait stays
/// behind and is not looked at again.
pub type Part = (u64, Option<Timestamp>);

/// What of an organization is looked at, and up to which horizon: all of it from an instant on, about so many rows.
#[derive(Clone, Copy, Debug)]
pub struct Past {
    /// The organization.
    pub organization: OrganizationId,
    /// Where the part begins.
    pub from: Timestamp,
    /// Before when it is past.
    pub horizon: Timestamp,
    /// Rows in the part.
    pub rows: i64,
}

impl Past {
    /// The last instant of the part, and where the next one begins. `nth`: selects the instant of the n-th row.
    async fn end(&self, db: &Db, nth: &'static str) -> Result<(Time, Option<Timestamp>)> {
        let stmt = db.read().sql(nth).bind(self.organization.0).bind(Time(self.from));
        let nth: Option<(Time,)> = stmt.bind(Time(self.horizon)).bind(self.rows - 1).optional().await?;
        Ok(match nth {
            Some((end,)) => (end, Some(just_after(end.0))),
            None => (Time(just_before(self.horizon)), None),
        })
    }
}

/// Deletes a part of an organization's records that are past the horizon. Records of a visit go once it ended before the horizon, trips,
/// stops and alerts of what lasts once that ended, and none goes before it has been in the log for some days.
pub async fn delete_events(db: &Db, past: Past, now: Timestamp) -> Result<Part> {
    let nth = "select occurred_at from records where organization_id = $1 and occurred_at >= $2 and occurred_at < $3 \
        order by occurred_at limit 1 offset $4";
    let delete = "delete from records as e where e.organization_id = $1 and e.occurred_at >= $2 \
        and e.occurred_at <= $3 and e.detected_at < $5 \
        and e.kind not in ('refuel', 'drain') and (e.ended_at is null or e.ended_at < $4) \
        and not (e.status = 'active' and e.ended_at is null \
        and (e.kind = 'alert' and e.cause <> 'drain' or e.kind in ('trip', 'stop', 'overspeed'))) \
        and exists (select 1 from vehicle_state s \
        where s.vehicle_id = e.vehicle_id and s.kept_from >= e.confirmed_at) \
        and not exists (select 1 from visit v \
        where v.id = e.visit_id and (v.exited_at is null or v.exited_at >= $4))";
    delete_told(db, (nth, delete), past, now).await
}

/// Deletes a part of an organization's visits that ended before the horizon and have no records left.
pub async fn delete_visits(db: &Db, past: Past) -> Result<Part> {
    let nth = "select entered_at from visit where organization_id = $1 and entered_at >= $2 and entered_at < $3 \
        order by entered_at limit 1 offset $4";
    let delete = "delete from visit as v where v.organization_id = $1 and v.entered_at >= $2 and v.entered_at <= $3 \
        and v.exited_at < $4 \
        and not exists (select 1 from records e where e.vehicle_id = v.vehicle_id \
        and e.visit_id = v.id and e.occurred_at >= v.entered_at and e.occurred_at <= v.exited_at)";
    let (end, next) = past.end(db, nth).await?;
    let stmt = db.write().sql(delete).bind(past.organization.0).bind(Time(past.from)).bind(end);
    Ok((stmt.bind(Time(past.horizon)).run().await?, next))
}

/// Deletes a part of an organization's refuels and drains that are past the horizon. None goes before it has been in the log for some
/// days.
pub async fn delete_fuel_events(db: &Db, past: Past, now: Timestamp) -> Result<Part> {
    let nth = "select occurred_at from records where kind in ('refuel', 'drain') and organization_id = $1 \
        and occurred_at >= $2 and occurred_at < $3 order by occurred_at limit 1 offset $4";
    let delete = "delete from records as f where f.kind in ('refuel', 'drain') and f.organization_id = $1 \
        and f.occurred_at >= $2 and f.occurred_at <= $3 and f.ended_at < $4 and f.detected_at < $5 \
        and exists (select 1 from vehicle_state s \
        where s.vehicle_id = f.vehicle_id and s.kept_from >= f.confirmed_at)";
    delete_told(db, (nth, delete), past, now).await
}

/// Deletes a part of the records by a statement, limited to those published long enough ago.
async fn delete_told(
    db: &Db,
    (nth, delete): (&'static str, &'static str),
    past: Past,
    now: Timestamp,
) -> Result<Part> {
    let (end, next) = past.end(db, nth).await?;
    let told = now.plus_seconds(-DAY_SECONDS * LOG_DAYS);
    let stmt = db.write().sql(delete).bind(past.organization.0).bind(Time(past.from)).bind(end);
    Ok((stmt.bind(Time(past.horizon)).bind(Time(told)).run().await?, next))
}
