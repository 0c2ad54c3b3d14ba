//! A vehicle's fixes, as a list shows them.

use waypost_actors::model::VehicleId;

use super::fix_row::FixRow;
use super::fixes::{Key, Range, read_some};
use super::packed_chunk::ChunkFix;
use super::position_chunk::Span;
use super::sql::{Db, Reader, Result, SqlError};
use super::time::just_before;
use super::track::Track;
use crate::domain::position::{AfterFix, HistoryRequest, PositionFuel, StoredPosition};

/// Fixes that are read for one answer, or a few thousand more: of many that do not count, none may be in it.
const READ_FIXES: usize = 20_000;

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

impl From<Key> for AfterFix {
    fn from(Key(recorded_at, latitude, longitude): Key) -> Self {
        Self { recorded_at, latitude, longitude }
    }
}

/// At most `limit` fixes of a vehicle after a place in its history; and where it goes on, if reading was given up before.
pub async fn list(
    db: &Db,
    track: &Track,
    vehicle: VehicleId,
    request: &HistoryRequest,
    after: Option<AfterFix>,
    limit: i64,
) -> Result<(Vec<StoredPosition>, Option<AfterFix>)> {
    let tail = track.tail(vehicle)?;
    let limits = (usize::try_from(limit).unwrap_or_default(), READ_FIXES);
    read_history(db, vehicle, &tail, request, after, limits).await
}

/// At most `limit` fixes of a vehicle after a place in its history. `tail`: those that are in no chunk, read before. Once about `most`
/// are read, no more are, and it tells where it goes on.
pub(super) async fn read_history(
    db: &Db,
    vehicle: VehicleId,
    tail: &[ChunkFix],
    request: &HistoryRequest,
    after: Option<AfterFix>,
    (limit, most): (usize, usize),
) -> Result<(Vec<StoredPosition>, Option<AfterFix>)> {
    let HistoryRequest { from, to, is_newest_first, with_quarantined } = *request;
    let span = Span { vehicle, from, to: to.map(just_before), is_newest_first };
    let range = match after {
        Some(after) => Range::from(span).behind(Key(after.recorded_at, after.latitude, after.longitude)),
        None => span.into(),
    };
    let keep = |row: &FixRow| with_quarantined || row.is_evaluated();
    let (rows, ended_at) = read_some(Reader::Lists(db), tail, range, (limit, most), keep).await?;
    let positions = rows.into_iter().map(StoredPosition::try_from).collect::<Result<_>>()?;
    Ok((positions, ended_at.map(AfterFix::from)))
}
