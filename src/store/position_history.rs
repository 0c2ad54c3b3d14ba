//! Reads a vehicle's fixes, which the track writer writes.

use uuid::Uuid;
use waypost_actors::model::VehicleId;

use super::position_row::{FixRow, SELECT_FIXES};
use super::sql::{Db, Result, SqlError, Stmt};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::position::{AfterFix, HistoryRequest, PositionFuel, StoredPosition};

impl TryFrom<FixRow> for StoredPosition {
    type Error = SqlError;

    fn try_from(row: FixRow) -> Result<Self> {
        let quarantine = row.quarantine()?;
        let fuel = PositionFuel {
            percent: row.fuel_percent,
            liters: row.fuel_liters,
            raw: row.fuel_raw,
            cumulative: row.fuel_cumulative,
        };
        Ok(Self {
            recorded_at: row.recorded_at.into(),
            received_at: row.received_at.into(),
            latitude: row.latitude,
            longitude: row.longitude,
            speed_kmh: row.speed_kmh,
            heading_degrees: row.heading_degrees,
            altitude_meters: row.altitude_meters,
            accuracy_meters: row.accuracy_meters,
            odometer_km: row.odometer_km,
            ignition: row.ignition,
            fuel: (fuel != PositionFuel::default()).then_some(fuel),
            quarantine,
        })
    }
}

/// At most `limit` fixes of a vehicle after a place in its history.
pub async fn list(
    db: &Db,
    scope: &OrgScope,
    vehicle: VehicleId,
    request: &HistoryRequest,
    after: Option<AfterFix>,
    limit: i64,
) -> Result<Vec<StoredPosition>> {
    let stmt = db
        .lists()
        .sql(SELECT_FIXES)
        .push(" join vehicle v on v.id = p.vehicle_id where v.organization_id = ")
        .push_bind(Uuid::from(scope.organization_id()))
        .push(" and p.vehicle_id = ")
        .push_bind(Uuid::from(vehicle));
    let stmt = narrowed(stmt, request, after);
    let stmt = stmt.push(if request.is_newest_first {
        " order by p.recorded_at desc, p.latitude desc, p.longitude desc limit "
    } else {
        " order by p.recorded_at, p.latitude, p.longitude limit "
    });
    let rows: Vec<FixRow> = stmt.push_bind(limit).all().await?;
    rows.into_iter().map(StoredPosition::try_from).collect()
}

fn narrowed<'c>(mut stmt: Stmt<'c>, request: &HistoryRequest, after: Option<AfterFix>) -> Stmt<'c> {
    if let Some(from) = request.from {
        stmt = stmt.push(" and p.recorded_at >= ").push_bind(Time(from));
    }
    if let Some(to) = request.to {
        stmt = stmt.push(" and p.recorded_at < ").push_bind(Time(to));
    }
    if !request.with_quarantined {
        stmt = stmt.push(" and p.quarantine is null");
    }
    let Some(after) = after else { return stmt };
    // The instant limits the search to its partitions; then the whole key is compared.
    let (instant, key) = if request.is_newest_first {
        (" and p.recorded_at <= ", " and (p.recorded_at, p.latitude, p.longitude) < (")
    } else {
        (" and p.recorded_at >= ", " and (p.recorded_at, p.latitude, p.longitude) > (")
    };
    stmt.push(instant)
        .push_bind(Time(after.recorded_at))
        .push(key)
        .push_bind(Time(after.recorded_at))
        .push(", ")
        .push_bind(after.latitude)
        .push(", ")
        .push_bind(after.longitude)
        .push(")")
}
