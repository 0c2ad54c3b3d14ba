//! Assignments of drivers to vehicles, current and past.
//!
//! The tables themselves refuse a second open assignment of a vehicle, and two that overlap. The checks here before a
//! write, under the row locks of driver and vehicle, only serve better error messages.

use sqlx::types::Json;
use sqlx::{Postgres, Sqlite};
use uuid::Uuid;
use waypost_actors::model::{DriverId, Timestamp, VehicleId};

use super::sql::{Connection, On, Result, Stmt, Tx};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::assignment::{Assignment, CurrentDriver, CurrentVehicle, EndReason, Origin};
use crate::domain::vehicle::Plate;

/// How assignments end.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// When; an assignment that began later ends when it began.
    pub at: Timestamp,
    /// Who ends them; `None` when their organization is deleted.
    pub by: Option<Uuid>,
    /// Why.
    pub reason: EndReason,
}

/// Selects open assignments.
#[derive(Clone, Copy, Debug)]
pub enum Open {
    /// That of a vehicle.
    OfVehicle(VehicleId),
    /// Those of a driver.
    OfDriver(DriverId),
    /// That of a driver and a vehicle.
    Of(DriverId, VehicleId),
    /// All of the organization.
    OfOrganization,
}

#[derive(sqlx::FromRow)]
pub(super) struct Row {
    id: Uuid,
    organization_id: Uuid,
    pub(super) driver_id: Uuid,
    pub(super) vehicle_id: Uuid,
    started_at: Time,
    ended_at: Option<Time>,
    #[sqlx(try_from = "String")]
    origin: Origin,
    assigned_by: Option<Uuid>,
    ended_by: Option<Uuid>,
    end_reason: Option<String>,
    created_at: Time,
    updated_at: Time,
}

impl From<Row> for Assignment {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            organization_id: row.organization_id.into(),
            driver_id: row.driver_id.into(),
            vehicle_id: row.vehicle_id.into(),
            started_at: row.started_at.into(),
            ended_at: row.ended_at.map(Timestamp::from),
            origin: row.origin,
            assigned_by: row.assigned_by,
            ended_by: row.ended_by,
            end_reason: row.end_reason.and_then(|word| EndReason::try_from(word).ok()),
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
        }
    }
}

const COLUMNS: &str = "id, organization_id, driver_id, vehicle_id, started_at, ended_at, origin, assigned_by, ended_by, \
     end_reason, created_at, updated_at";

pub(super) const SELECT: &str = "select id, organization_id, driver_id, vehicle_id, started_at, ended_at, origin, \
     assigned_by, ended_by, end_reason, created_at, updated_at from assignment ";

/// Adds the selection of open assignments.
fn open<'c>(stmt: Stmt<'c>, scope: &OrgScope, which: Open) -> Stmt<'c> {
    let stmt = stmt.push("where ended_at is null and organization_id = ");
    let stmt = stmt.push_bind(Uuid::from(scope.organization_id()));
    let (driver, vehicle) = match which {
        Open::OfVehicle(vehicle) => (None, Some(vehicle)),
        Open::OfDriver(driver) => (Some(driver), None),
        Open::Of(driver, vehicle) => (Some(driver), Some(vehicle)),
        Open::OfOrganization => (None, None),
    };
    let stmt = match driver {
        Some(driver) => stmt.push(" and driver_id = ").push_bind(Uuid::from(driver)),
        None => stmt,
    };
    match vehicle {
        Some(vehicle) => stmt.push(" and vehicle_id = ").push_bind(Uuid::from(vehicle)),
        None => stmt,
    }
}

/// The open assignment, if there can be only one.
pub async fn find_open(on: On<'_>, scope: &OrgScope, which: Open) -> Result<Option<Assignment>> {
    let row: Option<Row> = open(on.sql(SELECT), scope, which).optional().await?;
    Ok(row.map(Assignment::from))
}

/// How many open assignments there are.
pub async fn count_open(on: On<'_>, scope: &OrgScope, which: Open) -> Result<i64> {
    open(on.sql("select count(*) from assignment "), scope, which).scalar().await
}

/// When the last ended assignment of a vehicle ended that somebody made.
pub async fn last_end(on: On<'_>, scope: &OrgScope, vehicle: VehicleId) -> Result<Option<Timestamp>> {
    let row: Option<(Time,)> = on
        .sql(
            "select ended_at from assignment where organization_id = $1 and vehicle_id = $2 \
             and origin = 'manual' and ended_at > started_at order by ended_at desc limit 1",
        )
        .bind(Uuid::from(scope.organization_id()))
        .bind(Uuid::from(vehicle))
        .optional()
        .await?;
    Ok(row.map(|(end,)| end.into()))
}

/// Inserts an open assignment; it is a conflict if the vehicle has one.
pub async fn insert(on: On<'_>, scope: &OrgScope, assignment: &Assignment) -> Result<()> {
    on.sql(
        "insert into assignment (id, organization_id, driver_id, vehicle_id, started_at, assigned_by, \
         created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $7, $7)",
    )
    .bind(assignment.id)
    .bind(Uuid::from(scope.organization_id()))
    .bind(Uuid::from(assignment.driver_id))
    .bind(Uuid::from(assignment.vehicle_id))
    .bind(Time(assignment.started_at))
    .bind(assignment.assigned_by)
    .bind(Time(assignment.created_at))
    .run()
    .await?;
    Ok(())
}

/// Ends open assignments; returns them as they are then. Locks the rows of their vehicles first: the track writer leaves a
/// vehicle alone whose row is locked, and waits for no assignment.
pub async fn end(
    tx: &mut Tx,
    scope: &OrgScope,
    which: Open,
    ending: Ending,
    now: Timestamp,
) -> Result<Vec<Assignment>> {
    let hold = "update vehicle set updated_at = updated_at where id in (select vehicle_id from assignment ";
    open(tx.on().sql(hold), scope, which).push(")").run().await?;
    let on = tx.on();
    let stmt = on.sql("update assignment set ended_at = case when started_at > ").push_bind(Time(ending.at));
    let stmt = stmt.push(" then started_at else ").push_bind(Time(ending.at)).push(" end, ended_by = ");
    let stmt = stmt.push_bind(ending.by).push(", end_reason = ").push_bind(ending.reason.as_str());
    let stmt = open(stmt.push(", updated_at = ").push_bind(Time(now)).push(" "), scope, which);
    let rows: Vec<Row> = stmt.push(" returning ").push(COLUMNS).all().await?;
    Ok(rows.into_iter().map(Assignment::from).collect())
}

/// An assignment, open or ended.
pub async fn find(on: On<'_>, scope: &OrgScope, id: Uuid) -> Result<Option<Assignment>> {
    let stmt = on.sql(SELECT).push("where id = ").push_bind(id).push(" and organization_id = ");
    let row: Option<Row> = stmt.push_bind(Uuid::from(scope.organization_id())).optional().await?;
    Ok(row.map(Assignment::from))
}

#[derive(sqlx::FromRow)]
struct DrivenRow {
    driver_id: Uuid,
    vehicle_id: Uuid,
    name: String,
    plate_number: Option<String>,
    plate_country: Option<String>,
    id: Uuid,
    #[sqlx(try_from = "String")]
    origin: Origin,
    started_at: Time,
}

/// The vehicles some drivers drive now, by start.
pub async fn vehicles_of(
    on: On<'_>,
    scope: &OrgScope,
    drivers: &[DriverId],
) -> Result<Vec<(DriverId, CurrentVehicle)>> {
    if drivers.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<DrivenRow> = on
        .sql(
            "select a.driver_id, a.vehicle_id, v.name, v.plate_number, v.plate_country, a.id, a.origin, a.started_at \
             from assignment a join vehicle v on v.id = a.vehicle_id where a.ended_at is null and a.organization_id = ",
        )
        .push_bind(Uuid::from(scope.organization_id()))
        .push(" and a.driver_id in (")
        .push_each(drivers, |stmt, id| stmt.push_bind(Uuid::from(*id)))
        .push(") order by a.started_at, a.id")
        .all()
        .await?;
    let driven = |row: DrivenRow| {
        let country = row.plate_country;
        let vehicle = CurrentVehicle {
            id: row.vehicle_id.into(),
            name: row.name,
            plate: row.plate_number.map(|number| Plate { number, country }),
            assignment_id: row.id,
            origin: row.origin,
            started_at: row.started_at.into(),
        };
        (row.driver_id.into(), vehicle)
    };
    Ok(rows.into_iter().map(driven).collect())
}

#[derive(sqlx::FromRow)]
struct DriverRow {
    vehicle_id: Uuid,
    driver_id: Uuid,
    first_name: String,
    last_name: String,
    id: Uuid,
    #[sqlx(try_from = "String")]
    origin: Origin,
    started_at: Time,
}

/// The drivers of some vehicles, now or at an instant.
pub async fn drivers_of(
    on: On<'_>,
    scope: &OrgScope,
    vehicles: &[VehicleId],
    at: Option<Timestamp>,
) -> Result<Vec<(VehicleId, CurrentDriver)>> {
    if vehicles.is_empty() {
        return Ok(Vec::new());
    }
    let stmt = on.sql(
        "select a.vehicle_id, a.driver_id, d.first_name, d.last_name, a.id, a.origin, a.started_at \
         from assignment a join driver d on d.id = a.driver_id where ",
    );
    let stmt = match at {
        None => stmt.push("a.ended_at is null"),
        Some(at) => stmt
            .push("a.started_at <= ")
            .push_bind(Time(at))
            .push(" and (a.ended_at is null or a.ended_at > ")
            .push_bind(Time(at))
            .push(")"),
    };
    let rows: Vec<DriverRow> = stmt
        .push(" and a.organization_id = ")
        .push_bind(Uuid::from(scope.organization_id()))
        .push(" and a.vehicle_id in (")
        .push_each(vehicles, |stmt, id| stmt.push_bind(Uuid::from(*id)))
        .push(")")
        .all()
        .await?;
    let driving = |row: DriverRow| {
        let driver = CurrentDriver {
            id: row.driver_id.into(),
            first_name: row.first_name,
            last_name: row.last_name,
            assignment_id: row.id,
            origin: row.origin,
            started_at: row.started_at.into(),
        };
        (row.vehicle_id.into(), driver)
    };
    Ok(rows.into_iter().map(driving).collect())
}

/// The drivers at some vehicles and instants, in the order of the questions, in one statement. Takes no scope,
/// because it is for the writer of what the vehicles report.
pub async fn drivers_at(tx: &mut Tx, asked: &[(VehicleId, Timestamp)]) -> Result<Vec<Option<DriverId>>> {
    let found: Vec<Option<Uuid>> = match tx.connection() {
        Connection::Postgres(tx) => {
            let (vehicles, instants): (Vec<Uuid>, Vec<Time>) =
                asked.iter().map(|(vehicle, at)| (Uuid::from(*vehicle), Time(*at))).unzip();
            sqlx::query_scalar::<Postgres, _>(DRIVERS_AT_POSTGRES)
                .bind(vehicles)
                .bind(instants)
                .fetch_all(tx)
                .await?
        }
        Connection::Sqlite(tx) => {
            let hex = |id: &VehicleId| Uuid::from(*id).simple().to_string();
            let asked: Vec<(String, i64)> = asked.iter().map(|(id, at)| (hex(id), at.as_micros())).collect();
            sqlx::query_scalar::<Sqlite, _>(DRIVERS_AT_SQLITE).bind(Json(asked)).fetch_all(tx).await?
        }
    };
    Ok(found.into_iter().map(|id| id.map(DriverId)).collect())
}

/// One index lookup per question, however long a vehicle's history. Assignments do not overlap, so the newest one
/// started by then is the one, unless it had ended. Those of no duration may lie within others and are left out.
macro_rules! driver_at {
    ($vehicle:literal, $at:literal) => {
        concat!(
            "(select case when a.ended_at is null or a.ended_at > ",
            $at,
            " then a.driver_id end \
             from assignment a where a.vehicle_id = ",
            $vehicle,
            " and a.started_at <= ",
            $at,
            " and (a.ended_at is null or a.ended_at > a.started_at) order by a.started_at desc limit 1)",
        )
    };
}

const DRIVERS_AT_POSTGRES: &str = concat!(
    "select ",
    driver_at!("asked.vehicle_id", "asked.at"),
    " from unnest($1::uuid[], $2::timestamptz[]) with ordinality as asked (vehicle_id, at, place) \
     order by asked.place",
);

/// SQLite accepts no array as a parameter, but JSON.
const DRIVERS_AT_SQLITE: &str = concat!(
    "select ",
    driver_at!("unhex(asked.value ->> 0)", "asked.value ->> 1"),
    " from json_each($1) asked order by asked.key",
);
