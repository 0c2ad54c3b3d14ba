//! Password hashes: argon2id with 19 MiB, on a bounded pool so that sign-ins cannot starve tracking.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

use super::error::AuthError;

/// OWASP's password storage sheet: m = 19,456 KiB, t = 2, p = 1.
const MEMORY_KIB: u32 = 19_456;
const ITERATIONS: u32 = 2;
const LANES: u32 = 1;
/// Hashes at the same time, at most: three times 19 MiB stay below the 64 MiB a flood of sign-ins may take.
const MOST_SLOTS: usize = 3;
/// Checks that may wait for a slot; one more is told to come back.
const QUEUE: usize = 50;

/// Hashes and checks passwords.
pub struct Hasher {
    slots: Arc<Semaphore>,
    /// Threads of its own, as many as slots: the allocator keeps a hash's memory for the thread that
    /// had it, and on the common pool every thread would come to keep some.
    threads: Option<Runtime>,
    waiting: AtomicUsize,
    /// Checked when there is no account, so that it takes as long as when there is one.
    nobody: String,
}

impl Hasher {
    /// One slot per two cores, within 1 to `MOST_SLOTS`.
    #[must_use]
    pub fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let nobody = hash_now(&super::secret::new(""));
        let slots = (cores / 2).clamp(1, MOST_SLOTS);
        let threads =
            Builder::new_current_thread().max_blocking_threads(slots).thread_name("passwords").build();
        Self {
            slots: Arc::new(Semaphore::new(slots)),
            threads: threads.ok(), // without any, the common pool does
            waiting: AtomicUsize::new(0),
            nobody,
        }
    }

    /// The hash of a new password.
    pub async fn hash(&self, password: String) -> Result<String, AuthError> {
        self.on_a_slot(move || hash_now(&password)).await
    }

    /// Whether the password fits the hash; without a hash it takes as long and does not fit.
    pub async fn fits(&self, password: String, hash: Option<String>) -> Result<bool, AuthError> {
        let known = hash.is_some();
        let hash = hash.unwrap_or_else(|| self.nobody.clone());
        self.on_a_slot(move || fits_now(&password, &hash) && known).await
    }

    async fn on_a_slot<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, AuthError> {
        let _place = Place::take(&self.waiting)?;
        let slot = Arc::clone(&self.slots).acquire_owned().await.map_err(|_| AuthError::Busy)?;
        let work = move || {
            let _slot = slot; // given back when the work is done, even if nobody waits for it any more
            work()
        };
        let done = match &self.threads {
            Some(threads) => threads.spawn_blocking(work),
            None => tokio::task::spawn_blocking(work),
        };
        done.await.map_err(|_| AuthError::Busy)
    }
}

impl Drop for Hasher {
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background(); // a drop that waits is none for async code
        }
    }
}

impl Default for Hasher {
    fn default() -> Self {
        Self::new()
    }
}

/// A place in the queue, given back when dropped.
struct Place<'q>(&'q AtomicUsize);

impl<'q> Place<'q> {
    fn take(waiting: &'q AtomicUsize) -> Result<Self, AuthError> {
        let place = Place(waiting);
        if waiting.fetch_add(1, Ordering::Relaxed) < QUEUE { Ok(place) } else { Err(AuthError::Busy) }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn argon2id() -> Argon2<'static> {
    let params = Params::new(MEMORY_KIB, ITERATIONS, LANES, None).expect("the constants are in range");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

fn hash_now(password: &str) -> String {
    argon2id()
        .hash_password(password.as_bytes())
        .expect("only a password of 4 GiB cannot be hashed, and a body is 64 KiB at most")
        .to_string()
}

fn fits_now(password: &str, hash: &str) -> bool {
    PasswordHash::new(hash).is_ok_and(|hash| argon2id().verify_password(password.as_bytes(), &hash).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix_rt::test]
    async fn a_password_fits_its_own_hash_only() {
        let hasher = Hasher::new();
        let hash = hasher.hash("correct horse battery".into()).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert!(hasher.fits("correct horse battery".into(), Some(hash.clone())).await.unwrap());
        assert!(!hasher.fits("correct horse batteri".into(), Some(hash)).await.unwrap());
        assert!(!hasher.fits("correct horse battery".into(), None).await.unwrap());
    }

    #[test]
    fn a_flood_of_sign_ins_stays_within_64_mib() {
        assert!(MEMORY_KIB * u32::try_from(MOST_SLOTS).unwrap() <= 64 * 1024);
    }

    #[test]
    fn the_queue_is_bounded_and_places_come_back() {
        let waiting = AtomicUsize::new(0);
        let places: Vec<_> = (0..QUEUE).map(|_| Place::take(&waiting).unwrap()).collect();
        assert!(Place::take(&waiting).is_err());
        drop(places);
        assert_eq!(waiting.load(Ordering::Relaxed), 0);
    }
}
