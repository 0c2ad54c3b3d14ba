//! The periods in which a vehicle was out of service: deleted, inactive or decommissioned. The engine reads them as
//! part of the vehicle's timeline.

use uuid::Uuid;
use waypost_actors::model::{Timestamp, VehicleId};

use super::sql::{On, Result};
use super::time::Time;
use crate::auth::scope::OrgScope;

/// Start and end; without an end, it lasts.
pub type Span = (Timestamp, Option<Timestamp>);

/// Takes a vehicle out of service, if it is not out already.
pub async fn begin(on: On<'_>, scope: &OrgScope, vehicle: VehicleId, now: Time) -> Result<()> {
    // Out, back and out again at the same instant counts as out since then.
    on.sql(
        "insert into out_of_service (vehicle_id, began_at) select v.id, $3 from vehicle v \
         where v.organization_id = $1 and v.id = $2 and not exists \
         (select 1 from out_of_service o where o.vehicle_id = v.id and o.ended_at is null) \
         on conflict (vehicle_id, began_at) do update set ended_at = null",
    )
    .bind(Uuid::from(scope.organization_id()))
    .bind(Uuid::from(vehicle))
    .bind(now)
    .run()
    .await?;
    Ok(())
}

/// Takes every vehicle of an organization out of service that is not out already.
pub async fn begin_all(on: On<'_>, scope: &OrgScope, now: Time) -> Result<()> {
    on.sql(
        "insert into out_of_service (vehicle_id, began_at) select v.id, $2 from vehicle v \
         where v.organization_id = $1 and v.deleted_at is null and not exists \
         (select 1 from out_of_service o where o.vehicle_id = v.id and o.ended_at is null) \
         on conflict (vehicle_id, began_at) do update set ended_at = null",
    )
    .bind(Uuid::from(scope.organization_id()))
    .bind(now)
    .run()
    .await?;
    Ok(())
}

/// Puts a vehicle back into service, if it was out.
pub async fn end(on: On<'_>, scope: &OrgScope, vehicle: VehicleId, now: Time) -> Result<()> {
    on.sql(
        "update out_of_service set ended_at = case when began_at > $3 then began_at else $3 end \
         where ended_at is null and vehicle_id = \
         (select id from vehicle where organization_id = $1 and id = $2)",
    )
    .bind(Uuid::from(scope.organization_id()))
    .bind(Uuid::from(vehicle))
    .bind(now)
    .run()
    .await?;
    Ok(())
}

/// Every span of a vehicle, oldest first.
pub async fn spans(on: On<'_>, scope: &OrgScope, vehicle: VehicleId) -> Result<Vec<Span>> {
    let rows: Vec<(Time, Option<Time>)> = on
        .sql(
            "select o.began_at, o.ended_at from out_of_service o join vehicle v on v.id = o.vehicle_id \
             where v.organization_id = $1 and v.id = $2 order by o.began_at",
        )
        .bind(Uuid::from(scope.organization_id()))
        .bind(Uuid::from(vehicle))
        .all()
        .await?;
    Ok(rows.into_iter().map(|(from, to)| (from.into(), to.map(Into::into))).collect())
}
