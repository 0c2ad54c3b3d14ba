//! The history of assignments, by driver and by vehicle, and its correction.

use uuid::Uuid;
use waypost_actors::model::{DriverId, Timestamp, VehicleId};

use super::assignment::Row;
use super::page::{Columns, List};
use super::sql::{Db, On, Result, Stmt};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::assignment::{
    AssignedDriver, AssignedVehicle, Assignment, AssignmentState, DriverName, HistoryFilter,
};
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::vehicle::{Plate, VehicleStub};

/// The keys a list can be sorted by.
pub const SORT_KEYS: Columns = &[("startedAt", "started_at")];

#[derive(sqlx::FromRow)]
struct OfDriver {
    #[sqlx(flatten)]
    row: Row,
    vehicle_name: String,
    plate_number: Option<String>,
    plate_country: Option<String>,
}

#[derive(sqlx::FromRow)]
struct OfVehicle {
    #[sqlx(flatten)]
    row: Row,
    first_name: String,
    last_name: String,
}

impl From<OfDriver> for AssignedVehicle {
    fn from(row: OfDriver) -> Self {
        let (id, country) = (row.row.vehicle_id.into(), row.plate_country);
        let plate = row.plate_number.map(|number| Plate { number, country });
        Self { assignment: row.row.into(), vehicle: VehicleStub { id, name: row.vehicle_name, plate } }
    }
}

impl From<OfVehicle> for AssignedDriver {
    fn from(row: OfVehicle) -> Self {
        let driver =
            DriverName { id: row.row.driver_id.into(), first_name: row.first_name, last_name: row.last_name };
        Self { assignment: row.row.into(), driver }
    }
}

macro_rules! columns {
    ($($more:literal)?) => {
        concat!(
            "select a.id as id, a.organization_id, a.driver_id, a.vehicle_id, a.started_at as started_at, a.ended_at, \
             a.origin, a.assigned_by, a.ended_by, a.end_reason, a.created_at, a.updated_at",
            $($more,)?
            " from assignment a "
        )
    };
}

const COUNT: &str = "select count(*) from assignment a ";
const OF_DRIVER: List = List {
    select: concat!(
        columns!(", v.name as vehicle_name, v.plate_number, v.plate_country"),
        "join vehicle v on v.id = a.vehicle_id "
    ),
    count: COUNT,
    columns: SORT_KEYS,
};
const OF_VEHICLE: List = List {
    select: concat!(columns!(", d.first_name, d.last_name"), "join driver d on d.id = a.driver_id "),
    count: COUNT,
    columns: SORT_KEYS,
};

/// A page of a driver's current and past assignments for the organization.
pub async fn of_driver(
    db: &Db,
    scope: &OrgScope,
    driver: DriverId,
    filter: HistoryFilter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<AssignedVehicle>> {
    let narrowed =
        |stmt| within(stmt, scope, filter).push(" and a.driver_id = ").push_bind(Uuid::from(driver));
    let found: Page<OfDriver> = OF_DRIVER.page(db, narrowed, sort, page).await?;
    Ok(found.map(AssignedVehicle::from))
}

/// A page of a vehicle's current and past drivers.
pub async fn of_vehicle(
    db: &Db,
    scope: &OrgScope,
    vehicle: VehicleId,
    filter: HistoryFilter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<AssignedDriver>> {
    let narrowed =
        |stmt| within(stmt, scope, filter).push(" and a.vehicle_id = ").push_bind(Uuid::from(vehicle));
    let found: Page<OfVehicle> = OF_VEHICLE.page(db, narrowed, sort, page).await?;
    Ok(found.map(AssignedDriver::from))
}

fn within<'c>(stmt: Stmt<'c>, scope: &OrgScope, filter: HistoryFilter) -> Stmt<'c> {
    let stmt = stmt.push("where a.organization_id = ").push_bind(Uuid::from(scope.organization_id()));
    let stmt = match filter.state {
        AssignmentState::Current => stmt.push(" and a.ended_at is null"),
        AssignmentState::Past => stmt.push(" and a.ended_at is not null"),
        AssignmentState::All => stmt,
    };
    let stmt = match filter.from {
        Some(from) => stmt.push(" and (a.ended_at is null or a.ended_at > ").push_bind(Time(from)).push(")"),
        None => stmt,
    };
    match filter.to {
        Some(to) => stmt.push(" and a.started_at < ").push_bind(Time(to)),
        None => stmt,
    }
}

/// An assignment of a driver and a vehicle.
pub async fn find(
    on: On<'_>,
    scope: &OrgScope,
    (driver, vehicle): (DriverId, VehicleId),
    id: Uuid,
) -> Result<Option<Assignment>> {
    let stmt = on.sql(columns!()).push("where a.organization_id = ");
    let stmt = stmt.push_bind(Uuid::from(scope.organization_id())).push(" and a.id = ").push_bind(id);
    let stmt = stmt.push(" and a.driver_id = ").push_bind(Uuid::from(driver));
    let row: Option<Row> =
        stmt.push(" and a.vehicle_id = ").push_bind(Uuid::from(vehicle)).optional().await?;
    Ok(row.map(Assignment::from))
}

/// Another assignment of the vehicle that somebody made and that overlaps: its start and end.
pub async fn overlapping(
    on: On<'_>,
    scope: &OrgScope,
    (vehicle, id): (VehicleId, Uuid),
    (from, to): (Timestamp, Timestamp),
) -> Result<Option<(Timestamp, Option<Timestamp>)>> {
    if from == to {
        return Ok(None); // no time at all
    }
    let row: Option<(Time, Option<Time>)> = on
        .sql(
            "select started_at, ended_at from assignment where organization_id = $1 and vehicle_id = $2 and id <> $3 \
             and origin = 'manual' and started_at < $5 \
             and (ended_at is null or (ended_at > $4 and ended_at > started_at)) order by started_at limit 1",
        )
        .bind(Uuid::from(scope.organization_id()))
        .bind(Uuid::from(vehicle))
        .bind(id)
        .bind(Time(from))
        .bind(Time(to))
        .optional()
        .await?;
    Ok(row.map(|(start, end)| (start.into(), end.map(Timestamp::from))))
}

/// Corrects the start and end of a past assignment.
pub async fn correct(on: On<'_>, scope: &OrgScope, assignment: &Assignment) -> Result<()> {
    on.sql(
        "update assignment set started_at = $3, ended_at = $4, updated_at = $5 \
         where organization_id = $1 and id = $2 and ended_at is not null",
    )
    .bind(Uuid::from(scope.organization_id()))
    .bind(assignment.id)
    .bind(Time(assignment.started_at))
    .bind(assignment.ended_at.map(Time))
    .bind(Time(assignment.updated_at))
    .run()
    .await?;
    Ok(())
}

/// Deletes a past assignment for good.
pub async fn remove(on: On<'_>, scope: &OrgScope, id: Uuid) -> Result<()> {
    on.sql("delete from assignment where organization_id = $1 and id = $2 and ended_at is not null")
        .bind(Uuid::from(scope.organization_id()))
        .bind(id)
        .run()
        .await?;
    Ok(())
}
