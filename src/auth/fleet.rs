//! The trackers that a system user reports for: all of its organization's, each looked up by name once and cached
//! until one of them changes.

use std::collections::HashMap;
use std::sync::Arc;

use waypost_actors::model::{OrganizationId, Timestamp, TrackerId};

use super::scope::OrgScope;
use super::service::{Auth, TrackerNames};
use super::tracker::{self, TrackerCredential};
use crate::domain::pending_tracker::MOST_NAME_CHARS;
use crate::domain::tracker::{TrackerConfig, TrackerStatus};
use crate::sessions::ChangeCounter;
use crate::store::sql::{Db, SqlError};
use crate::store::tracker as store;

/// Most names kept, including names of no tracker; beyond that, the cache is emptied and filled anew.
const MOST_NAMES: usize = 50_000;

/// A name that was looked up, and its tracker, if there is one.
type LookedUp = (String, Option<Arc<TrackerCredential>>);

/// The trackers a connection may report for.
pub enum Reports {
    /// One tracker, signed in with its own token.
    Own(Arc<TrackerCredential>),
    /// Every tracker of an organization.
    Fleet(Box<Fleet>),
}

/// The trackers of an organization, by their names.
pub struct Fleet {
    db: Db,
    scope: OrgScope,
    /// What all who report for the organization looked up.
    names: Arc<TrackerNames>,
    known: HashMap<String, Option<Arc<TrackerCredential>>>,
    changes: ChangeCounter,
    /// The change count as of which `known` is valid.
    as_of: u64,
    /// The config last sent to each tracker; `None` unless the connection asked for configs.
    told: Option<HashMap<TrackerId, TrackerConfig>>,
    /// Configs not yet taken by [`Fleet::take_configs`].
    to_tell: Vec<Configured>,
}

/// A config for a tracker of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configured {
    /// The tracker.
    pub tracker_id: TrackerId,
    /// The device's own id.
    pub unique_id: String,
    /// The config.
    pub config: TrackerConfig,
}

/// The result of looking up a name.
#[derive(Debug)]
pub enum Named<'f> {
    /// A tracker that may send.
    Tracker(&'f TrackerCredential),
    /// A tracker that is disabled.
    Disabled(TrackerId),
    /// No tracker of the organization.
    Unknown,
}

impl Auth {
    /// The trackers of an organization that a broker's connection is set for: who may publish there says the broker.
    #[must_use]
    pub fn fleet_of(&self, organization: OrganizationId) -> Fleet {
        self.fleet(OrgScope::new(organization))
    }

    /// The trackers of a scope's organization.
    #[must_use]
    pub fn fleet(&self, scope: OrgScope) -> Fleet {
        let changes = self.sessions.tracker_changes(scope.organization_id());
        Fleet {
            db: self.db.clone(),
            scope,
            names: Arc::clone(&self.tracker_names),
            known: HashMap::new(),
            as_of: changes.count(),
            changes,
            told: None,
            to_tell: Vec::new(),
        }
    }
}

impl Fleet {
    /// Starts collecting configs: one for each tracker when its name is next looked up, and one after each change.
    pub fn tell_configs(&mut self) {
        self.known.clear();
        self.told = Some(HashMap::new());
    }

    /// Whose they are.
    #[must_use]
    pub const fn organization_id(&self) -> OrganizationId {
        self.scope.organization_id()
    }

    /// Takes the configs collected since the last call.
    pub fn take_configs(&mut self) -> Vec<Configured> {
        std::mem::take(&mut self.to_tell)
    }

    /// Looks up the names that are not cached yet, in one query at most.
    pub async fn learn<'n>(
        &mut self,
        names: impl Iterator<Item = &'n str>,
        now: Timestamp,
    ) -> Result<(), SqlError> {
        // Read before the query, so that a change during it is noticed by the next call.
        let count = self.changes.count();
        if count != self.as_of || self.known.len() > MOST_NAMES {
            self.known.clear();
            self.as_of = count;
        }
        let unknown = names.filter(|name| !self.known.contains_key(*name) && may_be_called(name));
        let mut unknown: Vec<&str> = unknown.collect();
        unknown.sort_unstable();
        unknown.dedup();
        if unknown.is_empty() {
            return Ok(());
        }
        let organization = self.scope.organization_id();
        let mut found: Vec<LookedUp> = Vec::with_capacity(unknown.len());
        unknown.retain(|name| {
            let known = self.names.known(&(organization, (*name).to_owned()));
            found.extend(known.clone().map(|tracker| ((*name).to_owned(), tracker)));
            known.is_none()
        });
        if !unknown.is_empty() {
            let looked_up = self.look_up(&unknown).await?;
            let named =
                looked_up.iter().map(|(name, tracker)| ((organization, name.clone()), tracker.clone()));
            self.names.keep(named, &self.changes, self.as_of);
            found.extend(looked_up);
        }
        self.collect_configs(found.iter().filter_map(|(_, tracker)| tracker.as_deref()), now);
        self.known.extend(found);
        Ok(())
    }

    async fn look_up(&self, names: &[&str]) -> Result<Vec<LookedUp>, SqlError> {
        let rows = store::find_named(&self.db, &self.scope, names).await?;
        let found: Vec<Arc<TrackerCredential>> =
            tracker::assembled(&rows).into_iter().map(Arc::new).collect();
        let own = |name: &str| found.iter().find(|tracker| tracker.is_called(name)).cloned();
        Ok(names.iter().map(|name| ((*name).to_owned(), own(name))).collect())
    }

    fn collect_configs<'t>(&mut self, found: impl Iterator<Item = &'t TrackerCredential>, now: Timestamp) {
        let Some(told) = &mut self.told else { return };
        if told.len() > MOST_NAMES {
            told.clear();
        }
        for tracker in found {
            let (tracker_id, config) = (tracker.tracker_id, tracker.config_at(now));
            if told.insert(tracker_id, config) != Some(config) {
                self.to_tell.push(Configured { tracker_id, unique_id: tracker.unique_id.clone(), config });
            }
        }
    }

    /// The tracker with a name that was looked up before.
    #[must_use]
    pub fn find(&self, name: &str) -> Named<'_> {
        match self.known.get(name) {
            Some(Some(tracker)) if tracker.status == TrackerStatus::Active => Named::Tracker(tracker),
            Some(Some(tracker)) => Named::Disabled(tracker.tracker_id),
            Some(None) | None => Named::Unknown,
        }
    }
}

/// Whether a tracker may be called so, by its id or the device's own. Other names are not looked up (PostgreSQL accepts no NUL), and
/// not kept, so that what is kept of names is small however long they are.
fn may_be_called(name: &str) -> bool {
    // Counted no further than needed: whoever reports makes names as long as a frame.
    name.chars().nth(MOST_NAME_CHARS).is_none() && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_tracker_can_be_called_is_neither_looked_up_nor_kept() {
        let (longest, longer) = ("ö".repeat(MOST_NAME_CHARS), "x".repeat(MOST_NAME_CHARS + 1));
        for name in ["imei-1", "{0190b3c2-7a51-7c3e-9d0a-5b7f6c1e2d43}", longest.as_str()] {
            assert!(may_be_called(name), "{name}");
        }
        for name in ["a\0b", "a\nb", longer.as_str()] {
            assert!(!may_be_called(name), "{name:?}");
        }
    }
}
