//! Rate limits: a token bucket per caller and class, in this process or shared through Redis.
//!
//! Owns the classes and the fallback: while Redis is away, each process counts for itself and no request waits. Knows
//! nothing of requests.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use governor::clock::{Clock as _, MonotonicClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use parking_lot::Mutex;

use crate::config::{Rate, Settings};
use crate::store::redis_limit::RedisLimits;

/// A kind of request with a limit of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Signing in and up, and everything that sends mail or allows guessing: by address, or by account if signed in.
    SignIn,
    /// All other requests of people and programs: by account, or by address if not signed in. Unknown credentials of any kind, too.
    Requests,
    /// Trackers: by token.
    Ingest,
}

impl Class {
    /// The class's name in the headers and in Redis.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SignIn => "signIn",
            Self::Requests => "requests",
            Self::Ingest => "ingest",
        }
    }
}

/// The state of a caller's bucket after a request was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketState {
    /// The class the request was counted in.
    pub class: Class,
    /// The rate the class allows.
    pub rate: Rate,
    /// Requests that may be made at once now.
    pub remaining: u32,
    /// Until the bucket is full again or, for a refused request, until the next one is allowed.
    pub wait: Duration,
    /// Whether the request may proceed.
    pub is_allowed: bool,
}

/// How long Redis is left alone after it failed.
const AWAY: Duration = Duration::from_secs(1);
/// Requests between two removals of callers that have been idle for long.
const SWEEP_EVERY: u32 = 4096;
/// Refused clients remembered, beyond which those are forgotten that may ask again.
const MOST_REFUSED: usize = 4096;
/// Who is refused is for this long at least, as `Retry-After` tells in whole seconds.
const REFUSED_FOR: Duration = Duration::from_secs(1);

type Counter = RateLimiter<String, DashMapStateStore<String>, MonotonicClock, StateInformationMiddleware>;

/// All counters.
pub struct RateLimits {
    sign_in: Option<Bucket>,
    requests: Option<Bucket>,
    ingest: Option<Bucket>,
    shared: Option<RedisLimits>,
    /// While Redis is away, until when it is left alone.
    away_until: Mutex<Option<Instant>>,
}

struct Bucket {
    class: Class,
    rate: Rate,
    counter: Counter,
    counted: AtomicU32,
    /// Who was refused, and until when nothing more is allowed.
    refused: Mutex<HashMap<String, Instant>>,
}

impl RateLimits {
    /// The limits of the settings, shared through Redis if there is one.
    #[must_use]
    pub fn new(settings: &Settings, shared: Option<RedisLimits>) -> Self {
        let bucket = |class, rate: Option<Rate>| rate.map(|rate| Bucket::new(class, rate));
        Self {
            sign_in: bucket(Class::SignIn, settings.rate_limit_sign_in),
            requests: bucket(Class::Requests, settings.rate_limit),
            ingest: bucket(Class::Ingest, settings.rate_limit_ingest),
            shared,
            away_until: Mutex::new(None),
        }
    }

    /// Counts a request of `who`; `None` if the class has no limit.
    pub async fn count(&self, class: Class, who: &str) -> Option<BucketState> {
        let bucket = self.bucket(class)?;
        let state = match self.count_shared(bucket, who).await {
            Some(state) => state,
            None => bucket.count(who),
        };
        if !state.is_allowed {
            bucket.note_refused(who, state.wait);
        }
        Some(state)
    }

    /// What a request of `who` would be refused with, if one was refused and no more are allowed yet. Counts nothing.
    #[must_use]
    pub fn still_refused(&self, class: Class, who: &str) -> Option<BucketState> {
        let bucket = self.bucket(class)?;
        let until = *bucket.refused.lock().get(who)?;
        let wait = until.checked_duration_since(Instant::now())?;
        Some(bucket.state(0, wait, false))
    }

    fn bucket(&self, class: Class) -> Option<&Bucket> {
        match class {
            Class::SignIn => self.sign_in.as_ref(),
            Class::Requests => self.requests.as_ref(),
            Class::Ingest => self.ingest.as_ref(),
        }
    }

    /// Counts in Redis, if there is one that counts.
    async fn count_shared(&self, bucket: &Bucket, who: &str) -> Option<BucketState> {
        let shared = self.shared.as_ref().filter(|_| self.is_redis_there())?;
        match shared.count(bucket.class.as_str(), who, bucket.rate.count, bucket.rate.per).await {
            Ok(counted) => {
                if self.away_until.lock().take_if(|until| Instant::now() >= *until).is_some() {
                    tracing::info!("Redis counts again");
                }
                Some(bucket.state(counted.remaining, counted.wait, counted.is_allowed))
            }
            Err(error) => {
                // Told once: while it is away, it is tried every second, by many requests at a time.
                if self.away_until.lock().replace(Instant::now() + AWAY).is_none() {
                    tracing::warn!(%error, "Redis does not count; this process counts for itself");
                }
                None
            }
        }
    }

    fn is_redis_there(&self) -> bool {
        let until = self.away_until.lock();
        until.is_none_or(|until| Instant::now() >= until)
    }
}

impl Bucket {
    fn new(class: Class, rate: Rate) -> Self {
        let count = NonZeroU32::new(rate.count).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::with_period(rate.per / rate.count.max(1))
            .unwrap_or_else(|| Quota::per_second(count))
            .allow_burst(count);
        let counter: RateLimiter<String, DashMapStateStore<String>, MonotonicClock> =
            RateLimiter::new(quota, DashMapStateStore::default(), MonotonicClock);
        let counter = counter.with_middleware();
        Self { class, rate, counter, counted: AtomicU32::new(0), refused: Mutex::default() }
    }

    const fn state(&self, remaining: u32, wait: Duration, is_allowed: bool) -> BucketState {
        BucketState { class: self.class, rate: self.rate, remaining, wait, is_allowed }
    }

    fn note_refused(&self, who: &str, wait: Duration) {
        let now = Instant::now();
        let mut refused = self.refused.lock();
        if refused.len() >= MOST_REFUSED {
            refused.retain(|_, until| *until > now);
        }
        refused.insert(who.to_owned(), now + wait.max(REFUSED_FOR));
    }

    fn count(&self, who: &str) -> BucketState {
        if self.counted.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY - 1 {
            self.counter.retain_recent();
        }
        match self.counter.check_key(&who.to_owned()) {
            Ok(state) => {
                let remaining = state.remaining_burst_capacity();
                let used = self.rate.count.saturating_sub(remaining);
                self.state(remaining, self.rate.per / self.rate.count.max(1) * used, true)
            }
            Err(until) => self.state(0, until.wait_time_from(MonotonicClock.now()), false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_it_says_and_not_more_for_each_caller() {
        let bucket = Bucket::new(Class::SignIn, Rate { count: 3, per: Duration::from_secs(3600) });
        let left: Vec<u32> = (0..3).map(|_| bucket.count("a").remaining).collect();
        assert_eq!(left, [2, 1, 0]);
        let refused = bucket.count("a");
        assert!(!refused.is_allowed);
        assert!(refused.wait > Duration::from_secs(1000) && refused.wait <= Duration::from_secs(1200));
        assert!(bucket.count("b").is_allowed);
    }

    #[actix_rt::test]
    async fn who_was_refused_is_still_for_a_second_at_least() {
        let rate = Some(Rate { count: 1, per: Duration::from_millis(200) });
        let limits = RateLimits::new(&Settings { rate_limit: rate, ..Settings::default() }, None);
        let refused = |who: &str| limits.still_refused(Class::Requests, who);
        limits.count(Class::Requests, "a").await;
        assert_eq!(refused("a"), None, "nobody was refused yet");
        let counted = limits.count(Class::Requests, "a").await.unwrap();
        let still = refused("a").unwrap();
        assert!(!still.is_allowed && !counted.is_allowed && still.wait <= REFUSED_FOR, "{still:?}");
        assert_eq!((refused("b"), limits.still_refused(Class::SignIn, "a")), (None, None));
        tokio::time::sleep(counted.wait).await;
        assert!(refused("a").is_some(), "others of its tokens are not looked up meanwhile");
        tokio::time::sleep(REFUSED_FOR).await;
        assert_eq!(refused("a"), None);
        assert!(limits.count(Class::Requests, "a").await.unwrap().is_allowed);
    }
}
