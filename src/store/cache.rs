//! Newest vehicle states in Redis, for readers outside the process. Nothing here is ever read back
//! to rebuild the engine.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use serde::Serialize;
use waypost_actors::model::{Fix, GeofenceId, OrganizationId, VehicleId};
use waypost_actors::ports::LiveCache;
use waypost_actors::tracking::VehicleState;

/// Why Redis cannot be used.
pub use redis::RedisError as CacheError;

/// An answer that takes longer does not come.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(400);

/// The cache in Redis: one hash per organization, `waypost:live:<organization>`, a JSON member per
/// vehicle.
pub struct RedisCache {
    connection: ConnectionManager,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CachedVehicle<'a> {
    vehicle_id: VehicleId,
    position: Option<&'a Fix>,
    geofence_ids: Vec<GeofenceId>,
}

impl RedisCache {
    /// Names the server; it is reached when something is put, and again whenever it was away.
    pub fn open(url: &str) -> redis::RedisResult<Self> {
        let client = redis::Client::open(url)?;
        let config = ConnectionManagerConfig::new()
            .set_response_timeout(Some(RESPONSE_TIMEOUT))
            .set_connection_timeout(Some(RESPONSE_TIMEOUT))
            .set_number_of_retries(1);
        Ok(Self { connection: ConnectionManager::new_lazy_with_config(client, config)? })
    }

    async fn write(
        &self,
        states: &[(OrganizationId, VehicleId, Arc<VehicleState>)],
    ) -> redis::RedisResult<()> {
        let mut pipe = redis::pipe();
        for (organization, vehicle, state) in states {
            let cached = CachedVehicle {
                vehicle_id: *vehicle,
                position: state.last.as_ref(),
                geofence_ids: state.open_stays().map(|stay| stay.geofence_id).collect(),
            };
            let text = serde_json::to_string(&cached).unwrap_or_default();
            pipe.hset(format!("waypost:live:{organization}"), vehicle.to_string(), text).ignore();
        }
        pipe.query_async(&mut self.connection.clone()).await
    }
}

impl LiveCache for RedisCache {
    fn put<'a>(
        &'a self,
        states: &'a [(OrganizationId, VehicleId, Arc<VehicleState>)],
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self.write(states).await.map_err(|error| error.to_string()) })
    }
}
