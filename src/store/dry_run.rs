//! What a dry run of a geofence reads: vehicles as the engine knows them, and their fixes piece by piece.

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{Fix, Timestamp, Vehicle, VehicleId, VehicleLimits};
use waypost_actors::ports::StoredFix;

use super::filters::one_of;
use super::fix_row::FixRow;
use super::fixes::{Key, Range, read_fixes};
use super::position_chunk::Span;
use super::seeds::spans_by_vehicle;
use super::sql::{Db, Reader, Result};
use super::time::just_before;
use super::track::Track;
use crate::auth::scope::OrgScope;

/// The vehicles in use, or those of some ids, by name; without their tanks, on which no stay depends.
pub async fn vehicles(db: &Db, scope: &OrgScope, ids: &[VehicleId]) -> Result<Vec<Vehicle>> {
    let organization = Uuid::from(scope.organization_id());
    let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
    let select = "select id, name, tracking from vehicle where deleted_at is null and organization_id = ";
    let stmt = one_of(db.lists().sql(select).push_bind(organization), " and id in (", &ids);
    let rows: Vec<(Uuid, String, Json<VehicleLimits>)> = stmt.push(" order by name, id").all().await?;
    let select = "select o.vehicle_id, o.began_at, o.ended_at from out_of_service o join vehicle v on v.id = o.vehicle_id \
        where v.organization_id = $1 order by o.vehicle_id, o.began_at";
    let mut out_of_service = spans_by_vehicle(db.lists().sql(select).bind(organization).all().await?);
    let vehicle = |(id, name, Json(limits)): (Uuid, String, Json<VehicleLimits>)| Vehicle {
        id: id.into(),
        organization_id: scope.organization_id(),
        name,
        limits,
        out_of_service: out_of_service.remove(&id).unwrap_or_default(),
        calibrations: Vec::new(),
    };
    Ok(rows.into_iter().map(vehicle).collect())
}

/// At most `limit` of a vehicle's fixes that count or may, recorded from an instant on and before another, behind the last one read;
/// by instant.
pub async fn fixes(
    db: &Db,
    track: &Track,
    vehicle: VehicleId,
    (from, to): (Timestamp, Timestamp),
    behind: Option<&Fix>,
    limit: usize,
) -> Result<Vec<Fix>> {
    let tail = track.tail(vehicle)?;
    let span = Span { vehicle, from: Some(from), to: Some(just_before(to)), is_newest_first: false };
    let range = match behind.filter(|fix| fix.recorded_at >= from) {
        Some(fix) => Range::from(span).behind(Key(fix.recorded_at, fix.place.latitude, fix.place.longitude)),
        None => span.into(),
    };
    let is_of_now = |row: &FixRow| !row.is_of_future();
    let rows = read_fixes(Reader::Lists(db), &tail, range, limit, is_of_now).await?;
    rows.into_iter().map(|row| Ok(StoredFix::try_from(row)?.fix)).collect()
}
