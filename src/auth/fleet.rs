//! The trackers that a system user reports for: all of its organization's, each looked up by name once and cached
//! until one of them changes.

use std::collections::HashMap;
use std::sync::Arc;

use waypost_actors::model::{Timestamp, TrackerId};

use super::scope::OrgScope;
use super::tracker::{self, TrackerCredential};
use crate::domain::tracker::{TrackerConfig, TrackerStatus};
use crate::sessions::Changes;
use crate::store::sql::{Db, SqlError};
use crate::store::tracker as store;

/// Most names kept, including names of no tracker; beyond that, the cache is emptied and filled anew.
const MOST_NAMES: usize = 50_000;

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
    known: HashMap<String, Option<TrackerCredential>>,
    changes: Changes,
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
    Disabled,
    /// No tracker of the organization.
    Unknown,
}

impl Fleet {
    /// The trackers of a scope's organization; `changes` counts changes to them.
    #[must_use]
    pub fn new(db: Db, scope: OrgScope, changes: Changes) -> Self {
        let as_of = changes.count();
        Self { db, scope, known: HashMap::new(), changes, as_of, told: None, to_tell: Vec::new() }
    }

    /// Starts collecting configs: one for each tracker when its name is next looked up, and one after each change.
    pub fn tell_configs(&mut self) {
        self.known.clear();
        self.told = Some(HashMap::new());
    }

    /// Takes the configs collected since the last call.
    pub fn take_configs(&mut self) -> Vec<Configured> {
        std::mem::take(&mut self.to_tell)
    }

    /// Looks up the names that are not cached yet, in one query.
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
        // A tracker's name has no control characters, and PostgreSQL accepts no NUL: such names need no lookup.
        let may_be = |name: &&str| !name.chars().any(char::is_control);
        let unknown = names.filter(|name| !self.known.contains_key(*name)).filter(may_be);
        let mut unknown: Vec<&str> = unknown.collect();
        unknown.sort_unstable();
        unknown.dedup();
        if unknown.is_empty() {
            return Ok(());
        }
        let rows = store::find_named(&self.db, &self.scope, &unknown).await?;
        let found = tracker::assembled(&rows);
        for name in unknown {
            let own = |tracker: &&TrackerCredential| tracker.is_called(name);
            self.known.insert(name.to_owned(), found.iter().find(own).cloned());
        }
        let Some(told) = &mut self.told else { return Ok(()) };
        if told.len() > MOST_NAMES {
            told.clear();
        }
        for tracker in found {
            let (tracker_id, config) = (tracker.tracker_id, tracker.config_at(now));
            if told.insert(tracker_id, config) != Some(config) {
                self.to_tell.push(Configured { tracker_id, unique_id: tracker.unique_id, config });
            }
        }
        Ok(())
    }

    /// The tracker with a name that was looked up before.
    #[must_use]
    pub fn find(&self, name: &str) -> Named<'_> {
        match self.known.get(name) {
            Some(Some(tracker)) if tracker.status == TrackerStatus::Active => Named::Tracker(tracker),
            Some(Some(_)) => Named::Disabled,
            Some(None) | None => Named::Unknown,
        }
    }
}
