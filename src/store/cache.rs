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

use super::shard::Shard;

/// A slower answer is not waited for.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(400);
/// Seconds after which data of a stopped server expires; a running one rewrites it more often.
const KEPT_SECONDS: i64 = 900;
/// Vehicles per command when all are written, and commands that are run at once.
const CHUNK: usize = 500;
/// Exists as long as what was written of all organizations has not been lost.
const MARKER: &str = "waypost:live";
/// Runs commands, each given as the number of its words and its words, unless a server of a later epoch has written: one that was
/// suspended puts no old state over what its successor wrote.
const RUN: &str = "\
if tonumber(redis.call('GET', KEYS[1]) or '0') > tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
local at = 3
while at <= #ARGV do
  local last = at + tonumber(ARGV[at])
  redis.call(unpack(ARGV, at + 1, last))
  at = last + 1
end
return 1";

/// The cache in Redis: one hash per organization, `waypost:live:<organization>`, a JSON member per
/// vehicle.
pub struct RedisCache {
    connection: ConnectionManager,
    shard: Shard,
    epoch: i64,
}

/// The words of a command.
type Command = Vec<String>;

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

/// Holds the epoch of the server that writes a shard's organizations.
fn writer(shard: Shard) -> String {
    match shard {
        Shard::WHOLE => "waypost:writer".to_owned(),
        shard => format!("waypost:writer:{}", shard.number()),
    }
}

fn command<const N: usize>(words: [&str; N]) -> Command {
    words.map(str::to_owned).into()
}

fn expire(key: &str) -> Command {
    command(["EXPIRE", key, &KEPT_SECONDS.to_string()])
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
    /// shards are written by others, and nothing is once a server of a later epoch has written.
    pub fn open(url: &str, shard: Shard, epoch: i64) -> redis::RedisResult<Self> {
        let client = redis::Client::open(url)?;
        let config = ConnectionManagerConfig::new()
            .set_response_timeout(Some(RESPONSE_TIMEOUT))
            .set_connection_timeout(Some(RESPONSE_TIMEOUT))
            .set_number_of_retries(1);
        Ok(Self { connection: ConnectionManager::new_lazy_with_config(client, config)?, shard, epoch })
    }

    /// Runs commands in their order.
    async fn run(&self, commands: &[Command]) -> Result<(), CacheError> {
        let mut pipe = redis::pipe();
        commands.chunks(CHUNK).for_each(|some| self.add(some, &mut pipe));
        let done: Vec<bool> = pipe.query_async(&mut self.connection.clone()).await.map_err(failed)?;
        if done.into_iter().all(|is_done| is_done) { Ok(()) } else { Err(CacheError::TakenOver) }
    }

    /// Adds commands to what is asked at once.
    fn add(&self, commands: &[Command], pipe: &mut redis::Pipeline) {
        pipe.cmd("EVAL").arg(RUN).arg(1).arg(writer(self.shard)).arg(self.epoch).arg(KEPT_SECONDS);
        for command in commands {
            pipe.arg(command.len()).arg(command.as_slice());
        }
    }

    async fn write(
        &self,
        removed: &[(OrganizationId, VehicleId)],
        states: &[Newest],
        now: Timestamp,
    ) -> Result<(), CacheError> {
        let mut commands = Vec::new();
        for (organization, vehicle) in removed {
            commands.push(command(["HDEL", &key(*organization), &vehicle.to_string()]));
        }
        for (organization, vehicle, state) in states {
            let (key, (name, text)) = (key(*organization), member(*vehicle, state, now));
            commands.extend([command(["HSET", &key, &name, &text]), expire(&key)]);
        }
        self.run(&commands).await
    }

    /// Replaces each organization's hash atomically, with a new one written beside it.
    async fn replace(&self, states: &[Newest], now: Timestamp) -> Result<(), CacheError> {
        let mut states: Vec<&Newest> = states.iter().collect();
        states.sort_unstable_by_key(|(organization, vehicle, _)| (*organization, *vehicle));
        for of_one in states.chunk_by(|a, b| a.0 == b.0) {
            let key = key(of_one[0].0);
            let next = format!("{key}:next");
            self.run(&[command(["DEL", &next])]).await?;
            for chunk in of_one.chunks(CHUNK) {
                let mut set = command(["HSET", &next]);
                let members = chunk.iter().map(|(_, vehicle, state)| member(*vehicle, state, now));
                set.extend(members.flat_map(|(name, text)| [name, text]));
                self.run(&[set]).await?;
            }
            self.run(&[expire(&next), command(["RENAME", &next, &key])]).await?;
        }
        self.mark(&marker(self.shard)).await?;
        if self.shard != Shard::WHOLE && self.are_all_filled().await? {
            self.mark(MARKER).await?;
        }
        Ok(())
    }

    async fn mark(&self, marker: &str) -> Result<(), CacheError> {
        self.run(&[command(["SET", marker, "1"]), expire(marker)]).await
    }

    /// Whether all shards of a cluster are filled.
    async fn are_all_filled(&self) -> Result<bool, CacheError> {
        let markers: Vec<String> = Shard::all().map(marker).collect();
        let mut connection = self.connection.clone();
        let there: usize =
            redis::cmd("EXISTS").arg(&markers).query_async(&mut connection).await.map_err(failed)?;
        Ok(there == markers.len())
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
        Box::pin(self.write(removed, states, now))
    }

    fn fill<'a>(&'a self, states: &'a [Newest], now: Timestamp) -> BoxFuture<'a, Result<(), CacheError>> {
        Box::pin(self.replace(states, now))
    }

    fn is_filled(&self) -> BoxFuture<'_, Result<bool, CacheError>> {
        Box::pin(async move {
            let mut pipe = redis::pipe();
            // Whether it may write at all.
            self.add(&[], &mut pipe);
            pipe.cmd("EXISTS").arg(marker(self.shard));
            let (may_write, is_filled): (bool, bool) =
                pipe.query_async(&mut self.connection.clone()).await.map_err(failed)?;
            if may_write { Ok(is_filled) } else { Err(CacheError::TakenOver) }
        })
    }
}
