//! Newest vehicle states in Redis, for readers outside the process (docs/redis.md). Nothing here is ever read
//! back to rebuild the engine.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
/// Why Redis cannot be used.
pub use redis::RedisError;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use serde::Serialize;
use waypost_actors::model::{
    Attributes, Fix, GeofenceId, Motion, OrganizationId, Timestamp, VehicleId, VisitId,
};
use waypost_actors::ports::{CacheError, LiveCache, Newest};
use waypost_actors::tracking::VehicleState;
use waypost_actors::view::LiveFuel;

use super::shard::{SHARDS, Shard};

/// A slower answer is not waited for.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(400);
/// Seconds after which data of a stopped server expires; a running one rewrites it more often.
const KEPT_SECONDS: i64 = 900;
/// Vehicles per command when all are written.
const CHUNK: usize = 500;
/// Exists as long as what was written of all organizations has not been lost.
const MARKER: &str = "waypost:live";

/// The cache in Redis: one hash per organization, `waypost:live:<organization>`, a JSON member per
/// vehicle.
pub struct RedisCache {
    connection: ConnectionManager,
    shard: Shard,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CachedVehicle<'a> {
    vehicle_id: VehicleId,
    /// When it was written, in milliseconds since 1970 by the server's clock: of two states, the larger is the newer.
    version: i64,
    position: Option<&'a Fix>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<&'a Attributes>,
    motion: Motion,
    #[serde(skip_serializing_if = "Option::is_none")]
    fuel: Option<LiveFuel>,
    geofences: Vec<CachedStay>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CachedStay {
    geofence_id: GeofenceId,
    visit_id: VisitId,
    entered_at: Timestamp,
}

fn key(organization: OrganizationId) -> String {
    format!("{MARKER}:{organization}")
}

/// Exists as long as what was written of a shard's organizations has not been lost.
fn marker(shard: Shard) -> String {
    match shard {
        Shard::WHOLE => MARKER.to_owned(),
        shard => format!("{MARKER}:shard:{}", shard.number()),
    }
}

/// A member of an organization's hash: its name and its value.
fn member(vehicle: VehicleId, state: &VehicleState, now: Timestamp) -> (String, String) {
    let stay = |stay: &waypost_actors::tracking::Stay| CachedStay {
        geofence_id: stay.geofence_id,
        visit_id: stay.visit_id,
        entered_at: stay.entered_at,
    };
    let cached = CachedVehicle {
        vehicle_id: vehicle,
        version: now.as_millis(),
        position: state.last.as_ref(),
        attributes: state.attributes.as_ref(),
        motion: state.trail.motion,
        fuel: LiveFuel::of(vehicle, state),
        geofences: state.open_stays().map(stay).collect(),
    };
    (vehicle.to_string(), serde_json::to_string(&cached).unwrap_or_default())
}

impl RedisCache {
    /// Configures the server, to which it connects when something is written, and again after every outage. Organizations of other
    /// shards are written by others.
    pub fn open(url: &str, shard: Shard) -> redis::RedisResult<Self> {
        let client = redis::Client::open(url)?;
        let config = ConnectionManagerConfig::new()
            .set_response_timeout(Some(RESPONSE_TIMEOUT))
            .set_connection_timeout(Some(RESPONSE_TIMEOUT))
            .set_number_of_retries(1);
        Ok(Self { connection: ConnectionManager::new_lazy_with_config(client, config)?, shard })
    }

    async fn run(&self, pipe: &redis::Pipeline) -> redis::RedisResult<()> {
        pipe.query_async(&mut self.connection.clone()).await
    }

    async fn write(
        &self,
        removed: &[(OrganizationId, VehicleId)],
        states: &[Newest],
        now: Timestamp,
    ) -> redis::RedisResult<()> {
        let mut pipe = redis::pipe();
        for (organization, vehicle) in removed {
            pipe.hdel(key(*organization), vehicle.to_string()).ignore();
        }
        for (organization, vehicle, state) in states {
            let (name, text) = member(*vehicle, state, now);
            pipe.hset(key(*organization), name, text).ignore();
            pipe.expire(key(*organization), KEPT_SECONDS).ignore();
        }
        self.run(&pipe).await
    }

    /// Replaces each organization's hash atomically, with a new one written beside it.
    async fn replace(&self, states: &[Newest], now: Timestamp) -> redis::RedisResult<()> {
        let mut states: Vec<&Newest> = states.iter().collect();
        states.sort_unstable_by_key(|(organization, vehicle, _)| (*organization, *vehicle));
        for of_one in states.chunk_by(|a, b| a.0 == b.0) {
            let key = key(of_one[0].0);
            let next = format!("{key}:next");
            self.run(redis::pipe().del(&next).ignore()).await?;
            for chunk in of_one.chunks(CHUNK) {
                let members: Vec<_> =
                    chunk.iter().map(|(_, vehicle, state)| member(*vehicle, state, now)).collect();
                self.run(redis::pipe().hset_multiple(&next, &members).ignore()).await?;
            }
            let mut pipe = redis::pipe();
            pipe.expire(&next, KEPT_SECONDS).ignore().rename(&next, &key).ignore();
            self.run(&pipe).await?;
        }
        self.mark(&marker(self.shard)).await?;
        if self.shard != Shard::WHOLE && self.filled(Shard::all()).await? == usize::from(SHARDS) {
            self.mark(MARKER).await?;
        }
        Ok(())
    }

    async fn mark(&self, marker: &str) -> redis::RedisResult<()> {
        self.run(redis::pipe().set_ex(marker, 1, KEPT_SECONDS.unsigned_abs()).ignore()).await
    }

    /// How many of some shards are filled.
    async fn filled(&self, shards: impl Iterator<Item = Shard>) -> redis::RedisResult<usize> {
        let markers: Vec<String> = shards.map(marker).collect();
        let mut connection = self.connection.clone();
        redis::cmd("EXISTS").arg(&markers).query_async(&mut connection).await
    }
}

fn failed(error: RedisError) -> CacheError {
    CacheError::Failed(Arc::new(error))
}

impl LiveCache for RedisCache {
    fn put<'a>(
        &'a self,
        removed: &'a [(OrganizationId, VehicleId)],
        states: &'a [Newest],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), CacheError>> {
        Box::pin(async move { self.write(removed, states, now).await.map_err(failed) })
    }

    fn fill<'a>(&'a self, states: &'a [Newest], now: Timestamp) -> BoxFuture<'a, Result<(), CacheError>> {
        Box::pin(async move { self.replace(states, now).await.map_err(failed) })
    }

    fn is_filled(&self) -> BoxFuture<'_, Result<bool, CacheError>> {
        let filled = self.filled(std::iter::once(self.shard));
        Box::pin(async move { filled.await.map(|filled| filled == 1).map_err(failed) })
    }
}
