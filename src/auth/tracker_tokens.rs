//! Trackers that report by requests: each is looked up by its token once, then found in memory until something about
//! it or its organization changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::secret;
use super::tracker::{TrackerCredential, TrackerRefused, find_hashed};
use crate::sessions::{Changes, Sessions};
use crate::store::sql::Db;

/// Most trackers kept, at some 500 bytes each; beyond that, the cache is emptied.
const MOST_TRACKERS: usize = 100_000;

/// Trackers that were looked up, by the hash of their tokens.
#[derive(Default)]
pub(super) struct TrackerTokens(Mutex<HashMap<secret::Hash, Known>>);

struct Known {
    tracker: Arc<TrackerCredential>,
    /// Counts changes to its organization's trackers.
    changes: Changes,
    /// The change count as of which `tracker` is valid.
    as_of: u64,
}

impl TrackerTokens {
    /// The tracker a token belongs to; `None` for an unknown or revoked one. Unknown tokens are not cached, because a
    /// stranger can make up any number of them.
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
        // A change committed after the query is counted already, or will be counted later than `as_of`.
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
