//! Trackers that report by requests: each is found by its token in the store once, then in memory until something
//! about it or its organization changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::secret;
use super::tracker::{TrackerCredential, TrackerRefused, find_hashed};
use crate::sessions::{Changes, Sessions};
use crate::store::sql::Db;

/// Trackers kept at most, at some 500 bytes each; beyond, all are looked up anew.
const MOST_TRACKERS: usize = 100_000;

/// Trackers that were looked up, by the hash of their tokens.
#[derive(Default)]
pub(super) struct TrackerTokens(Mutex<HashMap<secret::Hash, Known>>);

struct Known {
    tracker: Arc<TrackerCredential>,
    /// Counts the changes to its organization's trackers.
    changes: Changes,
    /// The count of changes as of which `tracker` is true.
    as_of: u64,
}

impl TrackerTokens {
    /// The tracker a token belongs to; `None` for an unknown or revoked one. Unknown ones are not kept: of these a
    /// stranger has as many as it likes.
    pub(super) async fn find(
        &self,
        db: &Db,
        sessions: &Sessions,
        token: &str,
    ) -> Result<Option<Arc<TrackerCredential>>, TrackerRefused> {
        let hash = secret::hash(token);
        if let Some(tracker) = self.known(&hash) {
            return Ok(Some(tracker));
        }
        let looked_up_at = sessions.revocations();
        let Some(tracker) = find_hashed(db, &hash).await?.map(Arc::new) else { return Ok(None) };
        let changes = sessions.tracker_changes(tracker.organization_id);
        let as_of = changes.count();
        // A change that was committed after the look is counted by now, or counts later than `as_of`.
        if sessions.revocations() == looked_up_at {
            let mut known = self.lock();
            if known.len() >= MOST_TRACKERS {
                known.clear();
            }
            known.insert(hash, Known { tracker: Arc::clone(&tracker), changes, as_of });
        }
        Ok(Some(tracker))
    }

    fn known(&self, hash: &[u8]) -> Option<Arc<TrackerCredential>> {
        let mut all = self.lock();
        let known = all.get(hash)?;
        if known.changes.count() == known.as_of {
            return Some(Arc::clone(&known.tracker));
        }
        all.remove(hash);
        None
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<secret::Hash, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
