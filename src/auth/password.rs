//! Password hashes: argon2id with 19 MiB, in memory that is allocated once, so that sign-ins can starve neither
//! tracking nor the machine.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::PasswordVerifier;
use argon2::password_hash::phc::{Output, ParamsString, PasswordHash, Salt};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::error::AuthError;
use crate::clock;

/// OWASP's password storage sheet: m = 19,456 KiB, t = 2, p = 1.
const MEMORY_KIB: u32 = 19_456;
const ITERATIONS: u32 = 2;
const LANES: u32 = 1;
/// Bytes of a hash, and of its salt.
const HASH_BYTES: usize = 32;
const SALT_BYTES: usize = 16;
/// A hash of no known password, as costly to check as one of an account: checked where there is no account, so that the
/// answer takes as long as when there is one.
const HASH_OF_NOBODY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
/// Most hashes at the same time: three times 19 MiB stay below the 64 MiB a flood of sign-ins may take.
const MOST_SLOTS: usize = 3;
/// Most passwords that may wait for a slot, over all clients.
const QUEUE: usize = 400;
/// Places beyond these, for addresses that have none in it: those who flood do not shut out the others.
const FIRST_OF_ONE: usize = 200;
/// Most from one client address: at 26 ms each they take some seconds.
const QUEUE_OF_ONE: usize = 200;
/// A password that has waited this long is given up, and its client is asked to retry.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Hashes and checks passwords. Client addresses take turns: a flood from one keeps the others waiting for one hash,
/// not for the whole flood.
pub struct Hasher {
    /// How many hashes may be made at the same time.
    slots: Arc<Semaphore>,
    memories: Arc<Memories>,
    waiting: Mutex<Waiting>,
}

/// The working memory for one hash: [`MEMORY_KIB`].
type Memory = Vec<Block>;

/// Memories not in use by a hash; there are never more than slots. They are reused, because with an allocation per
/// hash every thread that ever made one would end up keeping some.
#[derive(Default)]
struct Memories(Mutex<Vec<Memory>>);

impl Memories {
    /// Runs `work` with one of them, or with a new one.
    fn lend<T>(&self, work: impl FnOnce(&mut Memory) -> T) -> T {
        let free = || self.0.lock();
        let mut memory = free().pop().unwrap_or_default();
        let done = work(&mut memory);
        free().push(memory);
        done
    }
}

impl Hasher {
    /// One slot per two cores, within 1 to `MOST_SLOTS`.
    #[must_use]
    pub fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            slots: Arc::new(Semaphore::new((cores / 2).clamp(1, MOST_SLOTS))),
            memories: Arc::default(),
            waiting: Mutex::default(),
        }
    }

    /// A place in the queue of a client's address, to take before anything else is waited for: the queue's bound then
    /// holds for that, too.
    pub fn queue(&self, address: &str) -> Result<QueueSlot<'_>, AuthError> {
        QueueSlot::take(&self.waiting, address)
    }

    /// Hashes a new password, for a client at an address.
    pub async fn hash(&self, address: &str, password: String) -> Result<String, AuthError> {
        self.on_a_slot(self.queue(address)?, move |memory| hash_now(&password, memory)).await
    }

    /// Whether a password matches the hash; without a hash, takes as long and returns `false`.
    pub async fn fits(
        &self,
        place: QueueSlot<'_>,
        password: String,
        hash: Option<String>,
    ) -> Result<bool, AuthError> {
        let known = hash.is_some();
        let hash = hash.unwrap_or_else(|| HASH_OF_NOBODY.to_owned());
        self.on_a_slot(place, move |memory| fits_now(&password, &hash, memory) && known).await
    }

    async fn on_a_slot<T: Send + 'static>(
        &self,
        place: QueueSlot<'_>,
        work: impl FnOnce(&mut Memory) -> T + Send + 'static,
    ) -> Result<T, AuthError> {
        let waited = timeout(PATIENCE, async {
            // Only one per address queues for the slots, so that addresses take turns.
            let _turn = place.turn.acquire().await;
            Arc::clone(&self.slots).acquire_owned().await
        });
        let slot = waited.await.map_err(|_| AuthError::Busy)?.map_err(|_| AuthError::Busy)?;
        let memories = Arc::clone(&self.memories);
        let work = move || {
            let _slot = slot; // given back when the work is done, even if nobody waits for it any more
            memories.lend(work)
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| AuthError::Busy)
    }
}

impl Default for Hasher {
    fn default() -> Self {
        Self::new()
    }
}

/// The passwords that wait: how many in all, and the queue of each client address.
#[derive(Default)]
struct Waiting {
    all: usize,
    lines: HashMap<String, Line>,
}

struct Line {
    length: usize,
    /// Held by the first in the address's queue.
    turn: Arc<Semaphore>,
}

/// A slot in the queue, given back when dropped.
pub struct QueueSlot<'w> {
    waiting: &'w Mutex<Waiting>,
    address: String,
    turn: Arc<Semaphore>,
}

impl<'w> QueueSlot<'w> {
    fn take(waiting: &'w Mutex<Waiting>, address: &str) -> Result<Self, AuthError> {
        let mut held = waiting.lock();
        let most = if held.lines.contains_key(address) { QUEUE } else { QUEUE + FIRST_OF_ONE };
        if held.all >= most {
            return Err(AuthError::Busy);
        }
        let new = || Line { length: 0, turn: Arc::new(Semaphore::new(1)) };
        let line = held.lines.entry(address.to_owned()).or_insert_with(new);
        if line.length >= QUEUE_OF_ONE {
            return Err(AuthError::Busy);
        }
        line.length += 1;
        let turn = Arc::clone(&line.turn);
        held.all += 1;
        Ok(Self { waiting, address: address.to_owned(), turn })
    }
}

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        let mut held = self.waiting.lock();
        held.all -= 1;
        if let Some(line) = held.lines.get_mut(&self.address) {
            line.length -= 1;
            if line.length == 0 {
                held.lines.remove(&self.address);
            }
        }
    }
}

fn params() -> Params {
    Params::new(MEMORY_KIB, ITERATIONS, LANES, Some(HASH_BYTES)).expect("the constants are in range")
}

fn hash_now(password: &str, memory: &mut Memory) -> String {
    let salt: [u8; SALT_BYTES] = clock::random_bytes();
    let salt = Salt::new(&salt).expect("16 bytes are a salt");
    let hash = output(password, &salt, HASH_BYTES, params(), memory)
        .expect("only a password of 4 GiB cannot be hashed, and a body is 64 KiB at most");
    let hash = PasswordHash {
        algorithm: Algorithm::Argon2id.ident(),
        version: Some(Version::V0x13.into()),
        params: ParamsString::try_from(&params()).expect("three numbers are no long text"),
        salt: Some(salt),
        hash: Some(hash),
    };
    hash.to_string()
}

fn fits_now(password: &str, hash: &str, memory: &mut Memory) -> bool {
    let Ok(hash) = PasswordHash::new(hash) else { return false };
    let (Some(salt), Some(expected), Ok(params)) = (&hash.salt, &hash.hash, Params::try_from(&hash)) else {
        return false;
    };
    let is_ours = hash.algorithm == Algorithm::Argon2id.ident()
        && hash.version == Some(Version::V0x13.into())
        && params.m_cost() == MEMORY_KIB;
    if is_ours {
        // Outputs are compared in constant time.
        output(password, salt, expected.len(), params, memory).is_some_and(|found| found == *expected)
    } else {
        Argon2::default().verify_password(password.as_bytes(), &hash).is_ok()
    }
}

/// Hashes a password with a salt. The memory's previous content does not matter.
fn output(password: &str, salt: &Salt, length: usize, params: Params, memory: &mut Memory) -> Option<Output> {
    memory.resize(params.block_count(), Block::new());
    let mut bytes = [0; Output::MAX_LENGTH];
    let bytes = bytes.get_mut(..length)?;
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon2.hash_password_into_with_memory(password.as_bytes(), salt, bytes, memory).ok()?;
    Output::new(bytes).ok()
}

#[cfg(test)]
mod tests {
    use argon2::password_hash::PasswordHasher;

    use super::*;

    #[actix_rt::test]
    async fn a_password_fits_its_own_hash_only() {
        let hasher = Hasher::new();
        let hash = hasher.hash("here", "correct horse battery".into()).await.unwrap();
        let place = || hasher.queue("here").unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert!(hasher.fits(place(), "correct horse battery".into(), Some(hash.clone())).await.unwrap());
        assert!(!hasher.fits(place(), "correct horse batteri".into(), Some(hash)).await.unwrap());
        assert!(!hasher.fits(place(), "correct horse battery".into(), None).await.unwrap());
    }

    #[test]
    fn a_memory_that_was_used_makes_the_same_hashes() {
        let mut used = Memory::new();
        for password in ["correct horse battery", "", "пароль 🚌"] {
            let hash = hash_now(password, &mut used);
            // As the crate itself checks it, in a memory of its own.
            let parsed = PasswordHash::new(&hash).unwrap();
            assert!(Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok(), "{hash}");
            assert!(fits_now(password, &hash, &mut used) && fits_now(password, &hash, &mut Memory::new()));
            assert!(!fits_now("another", &hash, &mut used));
            assert_ne!(hash_now(password, &mut used), hash, "its salt is its own");
        }
        assert_eq!(used.len(), MEMORY_KIB as usize);
    }

    #[test]
    fn the_hash_of_nobody_costs_what_an_account_s_does() {
        let (nobody, account) =
            (PasswordHash::new(HASH_OF_NOBODY).unwrap(), hash_now("", &mut Memory::new()));
        let account = PasswordHash::new(&account).unwrap();
        assert_eq!((nobody.algorithm, nobody.version), (account.algorithm, account.version));
        assert_eq!(nobody.params, account.params);
        assert_eq!(nobody.salt.unwrap().len(), account.salt.unwrap().len());
        assert_eq!(nobody.hash.unwrap().len(), account.hash.unwrap().len());
    }

    #[test]
    fn hashes_of_other_costs_and_kinds_are_checked_by_their_own() {
        let mut memory = Memory::new();
        let params = Params::new(256, 3, 1, Some(HASH_BYTES)).unwrap();
        for algorithm in [Algorithm::Argon2i, Algorithm::Argon2id] {
            let argon2 = Argon2::new(algorithm, Version::V0x13, params.clone());
            let hash = argon2.hash_password(b"correct horse battery").unwrap().to_string();
            assert!(fits_now("correct horse battery", &hash, &mut memory), "{hash}");
            assert!(!fits_now("correct horse batterie", &hash, &mut memory), "{hash}");
        }
        for broken in ["", "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ", "plain"] {
            assert!(!fits_now("", broken, &mut memory), "{broken}");
        }
    }

    #[test]
    fn a_flood_of_sign_ins_stays_within_64_mib() {
        assert!(MEMORY_KIB * u32::try_from(MOST_SLOTS).unwrap() <= 64 * 1024);
    }

    #[test]
    fn the_queue_is_bounded_for_each_and_for_all_and_places_come_back() {
        let waiting = Mutex::default();
        let take = |address: &str| QueueSlot::take(&waiting, address);
        let mut places: Vec<_> = (0..QUEUE_OF_ONE).map(|_| take("a").unwrap()).collect();
        assert!(take("a").is_err(), "one address has its share");
        places.extend((places.len()..QUEUE).map(|_| take("b").unwrap()));
        assert!(take("b").is_err(), "those who wait have an end together");
        places.extend((0..FIRST_OF_ONE).map(|index| take(&format!("c{index}")).unwrap()));
        assert!(take("c0").is_err() && take("d").is_err(), "all of them have an end");
        drop(places);
        let left = waiting.lock();
        assert!(left.all == 0 && left.lines.is_empty());
    }

    #[actix_rt::test]
    async fn a_flood_of_one_address_keeps_another_waiting_for_one_hash_only() {
        let hasher = Hasher::new();
        let order = Mutex::new(Vec::new());
        let sign_in = async |address: &'static str| {
            // On a busy machine some of a flood wait too long.
            let place = hasher.queue(address).unwrap();
            if hasher.fits(place, "guess".into(), None).await.is_ok() {
                order.lock().push(address);
            }
        };
        let flood = futures_util::future::join_all((0..8 * MOST_SLOTS).map(|_| sign_in("flood")));
        tokio::join!(flood, sign_in("honest"));
        let place = order.lock().iter().position(|address| *address == "honest");
        let place = place.expect("the honest one is not turned away");
        assert!(place <= 2 * MOST_SLOTS, "{place} of the flood went before");
    }
}
