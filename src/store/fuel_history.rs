//! Reads the fuel log, which the track writer writes.

use uuid::Uuid;
use waypost_actors::fuel::{FuelRow, Quality, instant_of};
use waypost_actors::model::{DriverId, Timestamp, VehicleId};

use super::filters::{TimeRange, one_of, one_of_words};
use super::fuel_row::StoredFuelRow;
use super::sql::{Db, Result, SqlError, Stmt};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::fuel::{FuelEntry, FuelFilter};

/// Entries that are read at once: about 400 kB when written out.
pub const PAGE: i64 = 1_000;

const SELECT: &str = "select id, organization_id, vehicle_id, recorded_at, received_at, latitude, longitude, \
    speed_kmh, odometer_km, ignition, distance_meters, unit, raw_value, level_raw_liters, level_liters, \
    level_percent, counter_liters, quality, driver_id, calibration_version from fuel_log \
    where organization_id = ";

/// A row of the log as a list shows it.
#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    vehicle_id: Uuid,
    #[sqlx(flatten)]
    row: StoredFuelRow,
}

impl TryFrom<Row> for FuelEntry {
    type Error = SqlError;

    fn try_from(stored: Row) -> Result<Self> {
        let row = FuelRow::try_from(&stored.row)?;
        Ok(Self {
            id: stored.id,
            organization_id: stored.organization_id.into(),
            vehicle_id: stored.vehicle_id.into(),
            recorded_at: row.recorded_at,
            received_at: row.received_at,
            latitude: row.place.latitude,
            longitude: row.place.longitude,
            speed_kmh: row.speed_kmh,
            odometer_km: row.odometer_km,
            ignition: row.ignition,
            distance_meters: row.distance_meters,
            unit: row.unit,
            raw_value: row.raw_value,
            level_raw_liters: row.level_raw_liters,
            level_liters: row.level_liters,
            level_percent: row.level_percent,
            counter_liters: row.counter_liters,
            quality: row.quality,
            driver_id: stored.row.driver_id.map(DriverId),
            calibration_version: row.calibration_version,
        })
    }
}

fn select<'c>(db: &'c Db, scope: &OrgScope) -> Stmt<'c> {
    db.lists().sql(SELECT).push_bind(Uuid::from(scope.organization_id()))
}

async fn entries(stmt: Stmt<'_>) -> Result<Vec<FuelEntry>> {
    let rows: Vec<Row> = stmt.all().await?;
    rows.into_iter().map(FuelEntry::try_from).collect()
}

/// An entry.
pub async fn find(db: &Db, scope: &OrgScope, id: Uuid) -> Result<Option<FuelEntry>> {
    let Some(at) = instant_of(id) else { return Ok(None) };
    // The instant limits the search to one partition.
    let found = select(db, scope).push(" and recorded_at = ").push_bind(Time(at));
    Ok(entries(found.push(" and id = ").push_bind(id)).await?.pop())
}

/// At most `limit` entries after a place in the list.
pub async fn list(
    db: &Db,
    scope: &OrgScope,
    filter: &FuelFilter,
    after: Option<(Timestamp, Uuid)>,
    limit: i64,
) -> Result<Vec<FuelEntry>> {
    let stmt = one_of(select(db, scope), " and vehicle_id in (", &filter.vehicle_ids);
    let mut stmt = one_of_words(stmt, " and quality in (", &filter.qualities, Quality::as_str);
    if !filter.qualities.is_empty() && !filter.qualities.contains(&Quality::Ok) {
        // In the words of the indexes of those few: the engines do not look into bound values.
        stmt = stmt.push(" and quality <> 'ok'");
    }
    let range =
        TimeRange { from: filter.from, to: filter.to, after, is_newest_first: !filter.is_oldest_first };
    if let Some((at, _)) = range.place() {
        // The instant limits the search to its partitions; then the whole key is compared.
        let instant = if filter.is_oldest_first { " and recorded_at >= " } else { " and recorded_at <= " };
        stmt = stmt.push(instant).push_bind(Time(at));
    }
    let stmt = range.conditions(stmt, ("recorded_at", "id")).push(if filter.is_oldest_first {
        " order by recorded_at, id limit "
    } else {
        " order by recorded_at desc, id desc limit "
    });
    entries(stmt.push_bind(limit)).await
}

/// The first [`PAGE`] entries of a vehicle after an instant and before another, in the order of time.
pub async fn following(
    db: &Db,
    scope: &OrgScope,
    vehicle: VehicleId,
    after: Timestamp,
    to: Timestamp,
) -> Result<Vec<FuelEntry>> {
    let stmt = select(db, scope)
        .push(" and vehicle_id = ")
        .push_bind(vehicle.0)
        .push(" and recorded_at > ")
        .push_bind(Time(after))
        .push(" and recorded_at < ")
        .push_bind(Time(to))
        .push(" order by recorded_at limit ")
        .push_bind(PAGE);
    entries(stmt).await
}

/// How many entries before an instant are looked through for a good one: first few, since it is mostly among them.
const LOOKED_THROUGH: [i64; 2] = [100, 20_000];

/// What an entry tells: a device may report level and counter in messages of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// How much is in the tank.
    Level,
    /// How much was ever burnt.
    Counter,
}

/// The newest entry of a vehicle before an instant that tells it, if there is one among the newest 20,000: a sensor that has
/// failed for longer has no level to begin with.
pub async fn newest_before(
    db: &Db,
    scope: &OrgScope,
    vehicle: VehicleId,
    before: Timestamp,
    tells: Tells,
) -> Result<Option<FuelEntry>> {
    let told = match tells {
        Tells::Level => " and level_liters is not null and recorded_at < ",
        // 0 is what a counter says that is not read, because the vehicle's bus is asleep.
        Tells::Counter => " and counter_liters > 0 and recorded_at < ",
    };
    for some in LOOKED_THROUGH {
        let stmt = select(db, scope)
            .push(" and vehicle_id = ")
            .push_bind(vehicle.0)
            .push(told)
            .push_bind(Time(before))
            .push(" and recorded_at >= (select min(recorded_at) from (select recorded_at from fuel_log where vehicle_id = ")
            .push_bind(vehicle.0)
            .push(" and recorded_at < ")
            .push_bind(Time(before))
            .push(" order by recorded_at desc limit ")
            .push_bind(some)
            .push(") newest) order by recorded_at desc limit 1");
        if let Some(found) = entries(stmt).await?.pop() {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
