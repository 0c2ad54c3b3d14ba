//! Attempts to sign in: one after another, and counted before they are judged.

use tokio::time::timeout;
use waypost_actors::model::Timestamp;

use super::entry::Peer;
use super::error::AuthError;
use super::password::{PATIENCE, QueueSlot};
use super::service::{Attempt, Auth};
use crate::locks::KeyGuard;
use crate::store::sign_in_attempt::{self, ALL, ALL_FAILURES, Attempts, FAILURES};
use crate::store::sql::SqlError;

/// How long failures count, in seconds.
const WINDOW_SECONDS: f64 = 15.0 * 60.0;

/// A sign-in that is refused before its password is checked.
pub(super) struct Refused {
    /// When to try again.
    pub(super) wait_seconds: u64,
    /// Whether it is the first refusal in its window.
    pub(super) is_first: bool,
}

impl Auth {
    /// Waits until no other attempt at this account from this address is being judged. Until a password fits, its
    /// attempt counts as a failure, so right ones at the same moment would refuse each other.
    pub(super) async fn attempt_turn(
        &self,
        key: &str,
        peer: &Peer,
    ) -> Result<(QueueSlot<'_>, KeyGuard<Attempt>), AuthError> {
        let place = self.hasher.queue(&peer.address)?;
        let attempt = (key.to_owned(), peer.address.clone());
        let turn = timeout(PATIENCE, self.attempts.lock(attempt)).await.map_err(|_| AuthError::Busy)?;
        Ok((place, turn))
    }

    /// Whether a password matches the hash. An attempt that found no room to be judged is no failure.
    pub(super) async fn judge(
        &self,
        place: QueueSlot<'_>,
        password: String,
        hash: Option<String>,
        key: &str,
        peer: &Peer,
    ) -> Result<bool, AuthError> {
        let fits = self.hasher.fits(place, password, hash).await;
        if matches!(fits, Err(AuthError::Busy)) {
            sign_in_attempt::take_back(&self.db, key, &peer.address).await?;
        }
        fits
    }

    /// Counts an attempt. Failures from one address make that address wait, for that account alone. Very many
    /// failures from all addresses make every address wait that the account has not signed in from before.
    pub(super) async fn count_attempt(
        &self,
        key: &str,
        peer: &Peer,
        now: Timestamp,
    ) -> Result<Option<Refused>, SqlError> {
        let ends_at = now.plus_seconds(WINDOW_SECONDS).into();
        let of = |attempts: Attempts, most: i64| {
            let wait = attempts.window_ends_at.0.seconds_since(now).ceil().max(1.0);
            (attempts.failures > most)
                .then_some(Refused { wait_seconds: wait as u64, is_first: attempts.failures == most + 1 })
        };
        let own = sign_in_attempt::count(&self.db, key, &peer.address, now.into(), ends_at).await?;
        if let Some(refused) = of(own, FAILURES) {
            return Ok(Some(refused)); // counted there alone, so that no single address fills the count of all
        }
        let all = sign_in_attempt::count(&self.db, key, ALL, now.into(), ends_at).await?;
        match of(all, ALL_FAILURES) {
            Some(refused) if !sign_in_attempt::is_known(&self.db, key, &peer.address).await? => {
                Ok(Some(refused))
            }
            _ => Ok(None),
        }
    }
}
