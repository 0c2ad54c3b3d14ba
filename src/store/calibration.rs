//! The versions of vehicles' tanks and fuel sensors.

use std::collections::HashMap;

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{Calibration, Sensor, Timestamp, VehicleId};

use super::sql::{Db, On, Result, Tx};
use super::time::Time;
use crate::auth::scope::OrgScope;

/// A version as set by a client.
#[derive(Clone, Debug, PartialEq)]
pub struct NewCalibration {
    /// When it takes effect; `None`: it always was in effect.
    pub effective_from: Option<Timestamp>,
    /// The tank, if it is known.
    pub tank_capacity_liters: Option<f64>,
    /// The sensor, if one is described.
    pub sensor: Option<Sensor>,
}

#[derive(sqlx::FromRow)]
struct Row {
    vehicle_id: Uuid,
    version: i64,
    effective_from: Option<Time>,
    tank_capacity_liters: Option<f64>,
    sensor: Option<Json<Sensor>>,
}

impl From<Row> for Calibration {
    fn from(row: Row) -> Self {
        let from = row.effective_from.map(Timestamp::from);
        Self::new(row.version, from, row.tank_capacity_liters, row.sensor.map(|Json(sensor)| sensor))
    }
}

const SELECT: &str = "select c.vehicle_id, c.version, c.effective_from, c.tank_capacity_liters, c.sensor \
    from fuel_calibration c join vehicle v on v.id = c.vehicle_id";

/// Adds a version to a vehicle, which the caller has locked. The past it changes remains to be settled; a new vehicle
/// has none.
pub async fn add(
    on: On<'_>,
    scope: &OrgScope,
    vehicle: VehicleId,
    new: &NewCalibration,
    now: Time,
    has_past: bool,
) -> Result<()> {
    on.sql(
        "insert into fuel_calibration (vehicle_id, version, effective_from, tank_capacity_liters, sensor, \
         created_at, settled) select v.id, (select coalesce(max(c.version), 0) + 1 from fuel_calibration c \
         where c.vehicle_id = v.id), $3, $4, $5, $6, $7 from vehicle v \
         where v.organization_id = $1 and v.id = $2",
    )
    .bind(Uuid::from(scope.organization_id()))
    .bind(Uuid::from(vehicle))
    .bind(new.effective_from.map(Time))
    .bind(new.tank_capacity_liters)
    .bind(new.sensor.as_ref().map(Json))
    .bind(now)
    .bind(!has_past)
    .run()
    .await?;
    Ok(())
}

/// Every version of a vehicle, oldest first.
pub async fn versions(on: On<'_>, scope: &OrgScope, vehicle: VehicleId) -> Result<Vec<Calibration>> {
    let rows: Vec<Row> = on
        .sql(SELECT)
        .push(" where v.organization_id = ")
        .push_bind(Uuid::from(scope.organization_id()))
        .push(" and v.id = ")
        .push_bind(Uuid::from(vehicle))
        .push(" order by c.version")
        .all()
        .await?;
    Ok(rows.into_iter().map(Calibration::from).collect())
}

/// Every version of every vehicle of the shard, for the live core's start.
pub(super) async fn read_all(db: &Db) -> Result<HashMap<Uuid, Vec<Calibration>>> {
    let stmt = db.read().sql(SELECT).push(" where true").and_of_shard(db.shard(), "v.organization_id");
    let rows: Vec<Row> = stmt.push(" order by c.vehicle_id, c.version").all().await?;
    let mut versions: HashMap<Uuid, Vec<Calibration>> = HashMap::new();
    for row in rows {
        versions.entry(row.vehicle_id).or_default().push(row.into());
    }
    Ok(versions)
}

/// Every version of one vehicle, in use or not.
pub(super) async fn read_of(tx: &mut Tx, vehicle: VehicleId) -> Result<Vec<Calibration>> {
    let select = tx.on().sql(SELECT).push(" where c.vehicle_id = ").push_bind(Uuid::from(vehicle));
    let rows: Vec<Row> = select.push(" order by c.version").all().await?;
    Ok(rows.into_iter().map(Calibration::from).collect())
}

/// Versions that may not have marked their vehicle yet, of vehicles in use.
pub(super) async fn read_unsettled(db: &Db) -> Result<Vec<(VehicleId, i64, Timestamp)>> {
    let select = "select c.vehicle_id, c.version, c.effective_from from fuel_calibration c \
        join vehicle v on v.id = c.vehicle_id where not c.settled and v.deleted_at is null";
    let stmt = db.read().sql(select).and_of_shard(db.shard(), "v.organization_id");
    let rows: Vec<(Uuid, i64, Option<Time>)> = stmt.push(" order by c.vehicle_id, c.version").all().await?;
    let first = |from: Option<Time>| from.map_or(Timestamp::FIRST, Timestamp::from);
    Ok(rows.into_iter().map(|(vehicle, version, from)| (vehicle.into(), version, first(from))).collect())
}

/// Records that a version and those before it are settled.
pub(super) async fn settle(db: &Db, vehicle: VehicleId, version: i64) -> Result<()> {
    let settle =
        "update fuel_calibration set settled = true where vehicle_id = $1 and version <= $2 and not settled";
    db.write().sql(settle).bind(vehicle.0).bind(version).run().await?;
    Ok(())
}
