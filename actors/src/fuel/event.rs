//! The record of a refuel or a drain, and its id.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::model::{EventId, Place, Timestamp, VehicleId};

words!(
    /// What happened to the tank.
    #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
    FuelEventKind {
        /// Fuel came in.
        Refuel = "refuel",
        /// Fuel went out that the engine did not burn.
        Drain = "drain",
    }
);

words!(
    /// What the vehicle did meanwhile, as far as anybody knows.
    #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
    FuelMotion {
        /// It stood.
        Stopped = "stopped",
        /// Nobody knows: nothing was reported between, or no motion ever is.
        Unknown = "unknown",
    }
);

/// A refuel or a drain. It is final as far as the readings up to it go; only a reading that came late
/// changes it, by a replay that finds another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FuelEvent {
    /// The hash of vehicle, kind and `started_at`: a replay finds the same id again.
    pub id: EventId,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: FuelEventKind,
    /// The last reading of the level before. Also what the id hangs on.
    pub started_at: Timestamp,
    /// The first reading of the level after.
    pub ended_at: Timestamp,
    /// Litres before.
    pub level_before_liters: f64,
    /// Litres after.
    pub level_after_liters: f64,
    /// Litres that came in or went out; above 0.
    pub volume_liters: f64,
    /// Where, if any reading of it had a place.
    #[serde(rename = "location", default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// What the vehicle did.
    pub motion: FuelMotion,
    /// 0 to 1: how far the change is above what noise and burning explain.
    pub confidence: f64,
}

/// The id of the record of this kind that began at this reading.
pub(super) fn event_id(vehicle: VehicleId, kind: FuelEventKind, started_at: Timestamp) -> EventId {
    let mut hash = Sha256::new();
    hash.update(b"fuel");
    hash.update(vehicle.0.as_bytes());
    hash.update(kind.as_str().as_bytes());
    hash.update(started_at.as_micros().to_be_bytes());
    let digest = hash.finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    EventId(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}
