//! Deletions with all that was recorded: what is to be deleted so, and deleting it, a slice at a time.
//!
//! The mark is set with the deletion and stays. From then on nothing of the vehicle is put right or made anew (`slice`,
//! `track/driver_revisions`, `card_assignment`), and a start leaves it out (`seeds`). `ops::purge` decides when.

use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp, VehicleId};

use super::retention::Timeline;
use super::sql::{Db, On, Result, Tx};
use super::time::Time;
use super::track::Track;
use crate::auth::scope::OrgScope;

/// What waits for its deletion, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting<Id> {
    /// Which.
    pub id: Id,
    asked_at: Time,
}

/// Marks a deleted vehicle: all that was recorded of it goes.
pub async fn mark_vehicle(on: On<'_>, scope: &OrgScope, id: VehicleId, now: Time) -> Result<()> {
    let update = "update vehicle set purge_asked_at = $3, purged_at = null \
        where organization_id = $1 and id = $2 and deleted_at is not null";
    on.sql(update).bind(Uuid::from(scope.organization_id())).bind(Uuid::from(id)).bind(now).run().await?;
    Ok(())
}

/// Marks a deleted organization with all of its vehicles.
pub async fn mark_organization(tx: &mut Tx, scope: &OrgScope, now: Time) -> Result<()> {
    let organization = Uuid::from(scope.organization_id());
    for update in [
        "update vehicle set purge_asked_at = $2, purged_at = null where organization_id = $1",
        "update organization set purge_asked_at = $2, purged_at = null where id = $1",
    ] {
        tx.on().sql(update).bind(organization).bind(now).run().await?;
    }
    Ok(())
}

/// The shard's vehicles of which something may be left, those marked first first.
pub async fn vehicles(db: &Db) -> Result<Vec<Waiting<VehicleId>>> {
    let select =
        "select id, purge_asked_at from vehicle where purge_asked_at is not null and purged_at is null";
    let stmt = db.read().sql(select).and_of_shard(db.shard(), "organization_id");
    let rows: Vec<(Uuid, Time)> = stmt.push(" order by purge_asked_at, id").all().await?;
    Ok(rows.into_iter().map(|(id, asked_at)| Waiting { id: id.into(), asked_at }).collect())
}

/// The shard's organizations of which something may be left, but nothing of their vehicles.
pub async fn organizations(db: &Db) -> Result<Vec<Waiting<OrganizationId>>> {
    let select = "select o.id, o.purge_asked_at from organization o \
        where o.purge_asked_at is not null and o.purged_at is null and not exists (select 1 from vehicle v \
        where v.organization_id = o.id and v.purge_asked_at is not null and v.purged_at is null)";
    let stmt = db.read().sql(select).and_of_shard(db.shard(), "o.id");
    let rows: Vec<(Uuid, Time)> = stmt.push(" order by o.purge_asked_at, o.id").all().await?;
    Ok(rows.into_iter().map(|(id, asked_at)| Waiting { id: id.into(), asked_at }).collect())
}

/// Deletes a vehicle's state and what its readers are asked for again, between two commits: what the writer had begun for it is
/// stored by then, and it begins nothing anew. Returns whether this server is the writer still.
pub async fn begin(track: &Track, vehicle: VehicleId) -> Result<bool> {
    let Some(mut held) = track.hold_commits().await? else { return Ok(false) };
    let tx = held.tx();
    for delete in
        ["delete from vehicle_state where vehicle_id = $1", "delete from card_scan where vehicle_id = $1"]
    {
        tx.on().sql(delete).bind(vehicle.0).run().await?;
    }
    held.commit().await.map(|()| true)
}

/// What is recorded of a vehicle and may be much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// Rows of the timeline.
    Timeline(Timeline),
    /// Records, with what dispatchers did with alerts and found of refuels and drains.
    Records,
    /// Visits.
    Visits,
    /// States as of earlier instants.
    Checkpoints,
    /// What its readers said of cards.
    CardRuns,
}

impl Recorded {
    /// All of it.
    pub const ALL: [Self; 8] = [
        Self::Timeline(Timeline::Chunks),
        Self::Timeline(Timeline::Positions),
        Self::Timeline(Timeline::RefusedFixes),
        Self::Timeline(Timeline::FuelLog),
        Self::Records,
        Self::Visits,
        Self::Checkpoints,
        Self::CardRuns,
    ];

    /// Deletes a vehicle's oldest rows, about `rows` of them; returns how many.
    pub async fn delete(self, db: &Db, vehicle: VehicleId, rows: i64) -> Result<u64> {
        let delete = match self {
            Self::Timeline(timeline) => return timeline.delete(db, vehicle, Timestamp::MAX, rows).await,
            Self::Records => return delete_records(db, vehicle, rows).await,
            Self::Visits => {
                "delete from visit where id in (select id from visit where vehicle_id = $1 \
                order by entered_at, id limit $2)"
            }
            Self::Checkpoints => {
                "delete from checkpoint where vehicle_id = $1 and at in (select at from checkpoint \
                where vehicle_id = $1 order by at limit $2)"
            }
            Self::CardRuns => {
                "delete from card_run where vehicle_id = $1 and reported_at in (select reported_at from card_run \
                where vehicle_id = $1 order by reported_at limit $2)"
            }
        };
        db.write().sql(delete).bind(vehicle.0).bind(rows).run().await
    }
}

/// Some of a vehicle's records, the oldest.
macro_rules! oldest {
    () => {
        "(select id from records where vehicle_id = $1 order by occurred_at, id limit $2)"
    };
}

async fn delete_records(db: &Db, vehicle: VehicleId, rows: i64) -> Result<u64> {
    let mut tx = db.begin().await?;
    for delete in [
        concat!("delete from alert_state where alert_id in ", oldest!()),
        concat!("delete from fuel_verdict where event_id in ", oldest!()),
    ] {
        tx.on().sql(delete).bind(vehicle.0).bind(rows).run().await?;
    }
    let delete = concat!("delete from records where id in ", oldest!());
    let deleted = tx.on().sql(delete).bind(vehicle.0).bind(rows).run().await?;
    tx.commit().await?;
    Ok(deleted)
}

/// Deletes what is left of a vehicle once its long tables are empty: what was refused of its trackers while they were in it, what
/// devices sent that became its trackers, when it arrived where a link ends, and a record that the writer was putting right
/// meanwhile. Then nothing is left, unless it was marked once more.
pub async fn finish(track: &Track, vehicle: Waiting<VehicleId>, now: Timestamp) -> Result<()> {
    let Some(mut held) = track.hold_commits().await? else { return Ok(()) };
    let tx = held.tx();
    for delete in [
        "delete from rejected_report where tracker_id in (select tracker_id from installation where vehicle_id = $1) \
        and exists (select 1 from installation i where i.tracker_id = rejected_report.tracker_id and i.vehicle_id = $1 \
        and (i.installed_from is null or i.installed_from <= rejected_report.received_at) \
        and (i.installed_to is null or i.installed_to >= rejected_report.received_at))",
        "delete from pending_fix where exists (select 1 from installation i join tracker t on t.id = i.tracker_id \
        join pending_tracker p on p.unique_id = t.unique_id and p.organization_id = t.organization_id \
        where i.vehicle_id = $1 and p.id = pending_fix.pending_id \
        and (i.installed_from is null or i.installed_from <= pending_fix.recorded_at) \
        and (i.installed_to is null or i.installed_to >= pending_fix.recorded_at))",
        "update share_vehicle set arrived_at = null where vehicle_id = $1",
        "delete from records where vehicle_id = $1",
    ] {
        tx.on().sql(delete).bind(vehicle.id.0).run().await?;
    }
    let update = "update vehicle set purged_at = $3 where id = $1 and purge_asked_at = $2";
    tx.on().sql(update).bind(vehicle.id.0).bind(vehicle.asked_at).bind(Time(now)).run().await?;
    held.commit().await
}

/// Deletes an organization's geofences with their versions, those that nothing names any more, at most `rows`; returns how many.
pub async fn delete_fences(db: &Db, organization: OrganizationId, rows: i64) -> Result<u64> {
    let mut tx = db.begin().await?;
    let select = "select g.id from geofence g where g.organization_id = $1 \
        and not exists (select 1 from records e where e.geofence_id = g.id) \
        and not exists (select 1 from visit v where v.geofence_id = g.id) \
        and not exists (select 1 from share s where s.geofence_id = g.id) order by g.id limit $2";
    let fences: Vec<(Uuid,)> = tx.on().sql(select).bind(organization.0).bind(rows).all().await?;
    for (fence,) in &fences {
        for delete in
            ["delete from geofence_version where geofence_id = $1", "delete from geofence where id = $1"]
        {
            tx.on().sql(delete).bind(*fence).run().await?;
        }
    }
    tx.commit().await?;
    Ok(fences.len() as u64)
}

/// Notes that nothing is left of an organization, unless it was marked once more.
pub async fn finish_organization(
    db: &Db,
    organization: Waiting<OrganizationId>,
    now: Timestamp,
) -> Result<()> {
    let update = "update organization set purged_at = $3 where id = $1 and purge_asked_at = $2";
    let stmt = db.write().sql(update).bind(organization.id.0).bind(organization.asked_at);
    stmt.bind(Time(now)).run().await?;
    Ok(())
}
