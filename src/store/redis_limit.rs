//! Rate limits shared by several processes, counted in Redis by one small script.

use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};

use redis::RedisError;

/// A slower answer is not waited for.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(50);

/// The generic cell rate algorithm: the stored value is the time at which the bucket is full again, in microseconds.
const COUNT: &str = "\
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local full = tonumber(redis.call('GET', KEYS[1]) or '0')
if full < now then full = now end
full = full + interval
local wait = full - now - interval * burst
if wait > 0 then return {0, 0, wait} end
redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
return {1, math.floor(-wait / interval), full - now}";

/// The counters in Redis: `waypost:rate:<class>:<who>`.
pub struct RedisLimits {
    connection: ConnectionManager,
}

/// The state of a bucket after a request was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Whether the request may proceed.
    pub is_allowed: bool,
    /// Requests that may be made at once now.
    pub remaining: u32,
    /// Until the bucket is full again or, for a refused request, until the next one is allowed.
    pub wait: Duration,
}

impl RedisLimits {
    /// Configures the server, to which it connects when something is counted.
    pub fn open(url: &str) -> Result<Self, RedisError> {
        let client = redis::Client::open(url)?;
        let config = ConnectionManagerConfig::new()
            .set_response_timeout(Some(RESPONSE_TIMEOUT))
            .set_connection_timeout(Some(RESPONSE_TIMEOUT))
            .set_number_of_retries(0);
        Ok(Self { connection: ConnectionManager::new_lazy_with_config(client, config)? })
    }

    /// Counts a request, of which `count` are allowed within `per`.
    pub async fn count(
        &self,
        class: &str,
        who: &str,
        count: u32,
        per: Duration,
    ) -> Result<Counted, RedisError> {
        let interval = per.as_micros() as u64 / u64::from(count.max(1));
        let (allowed, remaining, wait): (u8, u32, u64) = redis::cmd("EVAL")
            .arg(COUNT)
            .arg(1)
            .arg(format!("waypost:rate:{class}:{who}"))
            .arg(interval.max(1))
            .arg(count)
            .query_async(&mut self.connection.clone())
            .await?;
        Ok(Counted { is_allowed: allowed == 1, remaining, wait: Duration::from_micros(wait) })
    }
}
