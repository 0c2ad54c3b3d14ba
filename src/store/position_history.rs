//! A vehicle's fixes, as a list shows them.

use waypost_actors::model::VehicleId;

use super::fix_row::FixRow;
use super::fixes::{Key, Range, read_fixes};
use super::packed_chunk::ChunkFix;
use super::position_chunk::Span;
use super::sql::{Db, Reader, Result, SqlError};
use super::time::just_before;
use super::track::Track;
use crate::domain::position::{AfterFix, HistoryRequest, PositionFuel, StoredPosition};

impl TryFrom<FixRow> for StoredPosition {
    type Error = SqlError;

    fn try_from(row: FixRow) -> Result<Self> {
        let (quarantine, attributes) = (row.quarantine()?, row.attributes());
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
            attributes,
            quarantine,
        })
    }
}

/// At most `limit` fixes of a vehicle after a place in its history.
pub async fn list(
    db: &Db,
    track: &Track,
    vehicle: VehicleId,
    request: &HistoryRequest,
    after: Option<AfterFix>,
    limit: i64,
) -> Result<Vec<StoredPosition>> {
    let tail = track.tail(vehicle)?;
    read_history(db, vehicle, &tail, request, after, usize::try_from(limit).unwrap_or_default()).await
}

/// At most `limit` fixes of a vehicle after a place in its history. `tail`: those that are in no chunk, read before.
pub(super) async fn read_history(
    db: &Db,
    vehicle: VehicleId,
    tail: &[ChunkFix],
    request: &HistoryRequest,
    after: Option<AfterFix>,
    limit: usize,
) -> Result<Vec<StoredPosition>> {
    let HistoryRequest { from, to, is_newest_first, with_quarantined } = *request;
    let span = Span { vehicle, from, to: to.map(just_before), is_newest_first };
    let range = match after {
        Some(after) => Range::from(span).behind(Key(after.recorded_at, after.latitude, after.longitude)),
        None => span.into(),
    };
    let keep = |row: &FixRow| with_quarantined || row.is_evaluated();
    let rows = read_fixes(Reader::Lists(db), tail, range, limit, keep).await?;
    rows.into_iter().map(StoredPosition::try_from).collect()
}
