//! The fuel log, read. The track writer writes it.

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::fuel::{Quality, Sensor, Tank};
use waypost_actors::model::{DriverId, Timestamp, VehicleId};

use super::event_row::unknown;
use super::filters::one_of;
use super::sql::{Db, Result, SqlError, Stmt};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::fuel::{FuelEntry, FuelFilter, FuelUnit};

const SELECT: &str = "select id, organization_id, vehicle_id, recorded_at, received_at, latitude, longitude, \
    speed_kmh, odometer_km, ignition, distance_meters, unit, raw_value, level_raw_liters, level_liters, \
    level_percent, counter_liters, quality, driver_id, calibration_version from fuel_log \
    where organization_id = ";

/// Over how much levels are smoothed where no sensor says.
const USUAL_WINDOW_SECONDS: f64 = 300.0;
/// The first 48 bits of an entry's id are its instant in milliseconds.
const ID_BITS_AFTER_THE_INSTANT: u32 = 80;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    vehicle_id: Uuid,
    recorded_at: Time,
    received_at: Time,
    latitude: Option<f64>,
    longitude: Option<f64>,
    speed_kmh: Option<f64>,
    odometer_km: Option<f64>,
    ignition: Option<bool>,
    distance_meters: Option<f64>,
    unit: String,
    raw_value: f64,
    level_raw_liters: Option<f64>,
    level_liters: Option<f64>,
    level_percent: Option<f64>,
    counter_liters: Option<f64>,
    quality: String,
    driver_id: Option<Uuid>,
    calibration_version: Option<i64>,
}

impl TryFrom<Row> for FuelEntry {
    type Error = SqlError;

    fn try_from(row: Row) -> Result<Self> {
        let quality = Quality::from_word(&row.quality).ok_or_else(|| unknown("quality", &row.quality))?;
        let unit = FuelUnit::try_from(row.unit).map_err(|word| unknown("unit", &word))?;
        Ok(Self {
            id: row.id,
            organization_id: row.organization_id.into(),
            vehicle_id: row.vehicle_id.into(),
            recorded_at: row.recorded_at.into(),
            received_at: row.received_at.into(),
            latitude: row.latitude,
            longitude: row.longitude,
            speed_kmh: row.speed_kmh,
            odometer_km: row.odometer_km,
            ignition: row.ignition,
            distance_meters: row.distance_meters,
            unit,
            raw_value: row.raw_value,
            level_raw_liters: row.level_raw_liters,
            level_liters: row.level_liters,
            level_percent: row.level_percent,
            counter_liters: row.counter_liters,
            quality,
            driver_id: row.driver_id.map(DriverId),
            calibration_version: row.calibration_version,
        })
    }
}

fn select<'c>(db: &'c Db, scope: &OrgScope) -> Stmt<'c> {
    db.read().sql(SELECT).push_bind(Uuid::from(scope.organization_id()))
}

async fn entries(stmt: Stmt<'_>) -> Result<Vec<FuelEntry>> {
    let rows: Vec<Row> = stmt.all().await?;
    rows.into_iter().map(FuelEntry::try_from).collect()
}

/// An entry.
pub async fn find(db: &Db, scope: &OrgScope, id: Uuid) -> Result<Option<FuelEntry>> {
    let Some(micros) =
        i64::try_from(id.as_u128() >> ID_BITS_AFTER_THE_INSTANT).ok().and_then(|ms| ms.checked_mul(1000))
    else {
        return Ok(None);
    };
    let within = |micros| Time(Timestamp::from_micros(micros));
    let found = select(db, scope)
        .push(" and recorded_at >= ")
        .push_bind(within(micros))
        .push(" and recorded_at < ")
        .push_bind(within(micros.saturating_add(1000)))
        .push(" and id = ")
        .push_bind(id);
    Ok(entries(found).await?.pop())
}

/// At most `limit` entries after a place in the list.
pub async fn list(
    db: &Db,
    scope: &OrgScope,
    filter: &FuelFilter,
    after: Option<(Timestamp, Uuid)>,
    limit: i64,
) -> Result<Vec<FuelEntry>> {
    let qualities: Vec<_> = filter.qualities.iter().map(|quality| quality.as_str()).collect();
    let stmt = one_of(select(db, scope), " and vehicle_id in (", &filter.vehicle_ids);
    let mut stmt = one_of(stmt, " and quality in (", &qualities);
    if let Some(from) = filter.from {
        stmt = stmt.push(" and recorded_at >= ").push_bind(Time(from));
    }
    if let Some(to) = filter.to {
        stmt = stmt.push(" and recorded_at < ").push_bind(Time(to));
    }
    if let Some((at, id)) = after {
        // The instant alone, so that only its partitions are looked at; then the whole key.
        let (instant, key) = if filter.is_oldest_first {
            (" and recorded_at >= ", " and (recorded_at, id) > (")
        } else {
            (" and recorded_at <= ", " and (recorded_at, id) < (")
        };
        stmt = stmt.push(instant).push_bind(Time(at)).push(key).push_bind(Time(at));
        stmt = stmt.push(", ").push_bind(id).push(")");
    }
    let stmt = stmt.push(if filter.is_oldest_first {
        " order by recorded_at, id limit "
    } else {
        " order by recorded_at desc, id desc limit "
    });
    entries(stmt.push_bind(limit)).await
}

/// At most `limit` entries of a vehicle after an instant and before another, in the order of time.
pub async fn following(
    db: &Db,
    scope: &OrgScope,
    vehicle: VehicleId,
    after: Timestamp,
    to: Timestamp,
    limit: i64,
) -> Result<Vec<FuelEntry>> {
    let stmt = select(db, scope)
        .push(" and vehicle_id = ")
        .push_bind(vehicle.0)
        .push(" and recorded_at > ")
        .push_bind(Time(after))
        .push(" and recorded_at < ")
        .push_bind(Time(to))
        .push(" order by recorded_at limit ")
        .push_bind(limit);
    entries(stmt).await
}

/// The newest entry of quality `ok` of a vehicle before an instant.
pub async fn newest_before(
    db: &Db,
    scope: &OrgScope,
    vehicle: VehicleId,
    before: Timestamp,
) -> Result<Option<FuelEntry>> {
    let stmt = select(db, scope)
        .push(" and vehicle_id = ")
        .push_bind(vehicle.0)
        .push(" and quality = 'ok' and recorded_at < ")
        .push_bind(Time(before))
        .push(" order by recorded_at desc limit 1");
    Ok(entries(stmt).await?.pop())
}

/// The tank of a vehicle as it was known before an instant, with the usual window where no sensor is described.
pub async fn tank_before(db: &Db, scope: &OrgScope, vehicle: VehicleId, before: Timestamp) -> Result<Tank> {
    let found: Option<(i64, Option<f64>, Option<Json<Sensor>>)> = db
        .read()
        .sql(
            "select c.version, c.tank_capacity_liters, c.sensor from fuel_calibration c \
             join vehicle v on v.id = c.vehicle_id where v.organization_id = $1 and c.vehicle_id = $2 \
             and (c.effective_from is null or c.effective_from < $3) order by c.version desc limit 1",
        )
        .bind(Uuid::from(scope.organization_id()))
        .bind(vehicle.0)
        .bind(Time(before))
        .optional()
        .await?;
    let usual = Tank { capacity_liters: 0.0, window_seconds: USUAL_WINDOW_SECONDS, version: 0 };
    Ok(found.map_or(usual, |(version, capacity, sensor)| match sensor {
        Some(Json(sensor)) => Tank::of(&sensor, version),
        None => Tank { capacity_liters: capacity.unwrap_or(0.0), version, ..usual },
    }))
}
