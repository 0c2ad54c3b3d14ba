//! What a store has of positions, wherever it keeps them.

use waypost::domain::position::{HistoryRequest, StoredPosition};
use waypost::store::export::Export;
use waypost::store::sql::{Db, Result};
use waypost_actors::model::VehicleId;

/// Every stored position, each vehicle's oldest first.
pub async fn stored_positions(db: &Db) -> Result<Vec<(VehicleId, StoredPosition)>> {
    let export = Export::open(db).await?;
    let everything = HistoryRequest { from: None, to: None, with_quarantined: true, is_newest_first: false };
    let mut stored = Vec::new();
    for vehicle in export.vehicles(&[]).await? {
        let positions = export.positions(vehicle, &everything, None, usize::MAX).await?;
        stored.extend(positions.into_iter().map(|position| (vehicle, position)));
    }
    Ok(stored)
}
