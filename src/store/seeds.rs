//! Everything the live core holds in memory, read when a server starts.

use std::collections::HashMap;

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{
    Fence, GeofenceId, OrganizationId, Timestamp, Vehicle, VehicleId, VehicleLimits,
};
use waypost_actors::ports::VehicleSeed;

use super::calibration;
use super::fence_row::{self, FenceRow, SELECT_VERSIONS};
use super::packed_state::PackedState;
use super::sql::{Db, Result, Stmt, Tx};
use super::time::Time;

/// Vehicles in one statement.
const TOGETHER: usize = 500;

const SELECT_VEHICLES: &str = "select v.id, v.organization_id, v.name, v.tracking, s.state, \
    coalesce(s.log_number, 0), v.deleted_at, s.dirty_from \
    from vehicle v left join vehicle_state s on s.vehicle_id = v.id where ";

/// Spans in which a vehicle was out of service, oldest first.
pub(super) type Spans = Vec<(Timestamp, Option<Timestamp>)>;

/// Every vehicle in use of the shard, and those taken out of use that still have open stays or await a correction, unless all of
/// that is to be deleted; each with the newest commit contained in its stored state. `now`: the server's clock.
pub(super) async fn read_vehicles(db: &Db, now: Timestamp) -> Result<Vec<(VehicleSeed, i64)>> {
    let in_use = "v.purge_asked_at is null and (v.deleted_at is null or s.dirty_from is not null \
        or exists (select 1 from visit where visit.vehicle_id = v.id and visit.exited_at is null))";
    let stmt = db.read().sql(SELECT_VEHICLES).push(in_use);
    read_seeds(db, stmt.and_of_shard(db.shard(), "v.organization_id"), now).await
}

/// Some vehicles, in use or not, each with the newest commit contained in its stored state.
pub(super) async fn read_vehicles_of(
    db: &Db,
    ids: &[VehicleId],
    now: Timestamp,
) -> Result<Vec<(VehicleSeed, i64)>> {
    let mut found = Vec::new();
    for some in ids.chunks(TOGETHER) {
        let stmt = db.read().sql(SELECT_VEHICLES).push("v.id in (");
        let stmt = stmt.push_each(some, |stmt, id| stmt.push_bind(id.0)).push(")");
        found.extend(read_seeds(db, stmt, now).await?);
    }
    Ok(found)
}

async fn read_seeds(db: &Db, stmt: Stmt<'_>, now: Timestamp) -> Result<Vec<(VehicleSeed, i64)>> {
    type Row =
        (Uuid, Uuid, String, Json<VehicleLimits>, Option<PackedState>, i64, Option<Time>, Option<Time>);
    let rows = stmt.all_beside::<Row>();
    let (rows, spans, calibrations) = tokio::try_join!(rows, read_spans(db), calibration::read_all(db))?;
    let (mut spans, mut calibrations) = (spans, calibrations);
    let seed = |(id, organization, name, Json(limits), state, log_number, deleted_at, dirty): Row| {
        let seed = VehicleSeed {
            vehicle: Vehicle {
                id: id.into(),
                organization_id: organization.into(),
                name,
                limits,
                out_of_service: spans.remove(&id).unwrap_or_default(),
                calibrations: calibrations.remove(&id).unwrap_or_default(),
            },
            is_lost: matches!(state, Some(PackedState(Err(_)))),
            state: state.map(|state| state.or_lost(now)).unwrap_or_default(),
            is_removed: deleted_at.is_some(),
            dirty_from: dirty.map(Into::into),
            connection: None,
        };
        (seed, log_number)
    };
    Ok(rows.into_iter().map(seed).collect())
}

async fn read_spans(db: &Db) -> Result<HashMap<Uuid, Spans>> {
    let select = "select o.vehicle_id, o.began_at, o.ended_at from out_of_service o join vehicle v on v.id = o.vehicle_id where true";
    let stmt = db.read().sql(select).and_of_shard(db.shard(), "v.organization_id");
    Ok(spans_by_vehicle(stmt.push(" order by o.vehicle_id, o.began_at").all().await?))
}

/// Rows of `out_of_service`, each vehicle's oldest first.
pub(super) fn spans_by_vehicle(rows: Vec<(Uuid, Time, Option<Time>)>) -> HashMap<Uuid, Spans> {
    let mut spans: HashMap<Uuid, Spans> = HashMap::new();
    for (vehicle, from, to) in rows {
        spans.entry(vehicle).or_default().push((from.into(), to.map(Into::into)));
    }
    spans
}

/// One vehicle, in use or not.
pub(super) async fn read_vehicle(tx: &mut Tx, vehicle: VehicleId) -> Result<Vehicle> {
    let select = "select organization_id, name, tracking from vehicle where id = $1";
    let (organization, name, Json(limits)): (Uuid, String, Json<VehicleLimits>) =
        tx.on().sql(select).bind(vehicle.0).one().await?;
    let select = "select began_at, ended_at from out_of_service where vehicle_id = $1 order by began_at";
    let spans: Vec<(Time, Option<Time>)> = tx.on().sql(select).bind(vehicle.0).all().await?;
    let calibrations = calibration::read_of(tx, vehicle).await?;
    Ok(Vehicle {
        id: vehicle,
        organization_id: organization.into(),
        name,
        limits,
        out_of_service: spans.into_iter().map(|(from, to)| (from.into(), to.map(Into::into))).collect(),
        calibrations,
    })
}

/// Every fence of the shard with all its versions, deleted ones too.
pub(super) async fn read_fences(db: &Db) -> Result<Vec<Fence>> {
    let stmt =
        db.read().sql(SELECT_VERSIONS).push(" where true").and_of_shard(db.shard(), "g.organization_id");
    let stmt = stmt.push(" order by g.id, v.version");
    Ok(fence_row::fences(stmt.all_beside::<FenceRow>().await?))
}

/// Every fence of an organization with all its versions, deleted ones too.
pub async fn read_fences_of(db: &Db, organization: OrganizationId) -> Result<Vec<Fence>> {
    let stmt = db.read().sql(SELECT_VERSIONS).push(" where g.organization_id = ").push_bind(organization.0);
    let rows: Vec<FenceRow> = stmt.push(" order by g.id, v.version").all().await?;
    Ok(fence_row::fences(rows))
}

/// Versions of fences whose records may be incomplete.
pub(super) async fn read_unsettled(db: &Db) -> Result<Vec<(OrganizationId, GeofenceId, i64)>> {
    let select = "select g.organization_id, g.id, v.version from geofence g \
        join geofence_version v on v.geofence_id = g.id where not v.settled";
    let stmt = db.read().sql(select).and_of_shard(db.shard(), "g.organization_id");
    let rows: Vec<(Uuid, Uuid, i64)> = stmt.push(" order by g.id, v.version").all().await?;
    let named =
        |(organization, fence, version): (Uuid, Uuid, i64)| (organization.into(), fence.into(), version);
    Ok(rows.into_iter().map(named).collect())
}
