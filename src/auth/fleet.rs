//! The trackers that a system user reports for: all of its organization's, looked up by name once and kept
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

/// Names kept at most, those of no tracker included; beyond, all are looked up anew.
const MOST_NAMES: usize = 50_000;

/// Whose positions a connection may report.
pub enum Reports {
    /// A tracker's own.
    Own(Arc<TrackerCredential>),
    /// Those of every tracker of an organization.
    Fleet(Box<Fleet>),
}

/// The trackers of an organization, by their names.
pub struct Fleet {
    db: Db,
    scope: OrgScope,
    known: HashMap<String, Option<TrackerCredential>>,
    changes: Changes,
    /// The count of changes as of which `known` is true.
    as_of: u64,
    /// What trackers were told to do; `None` while nobody wants to know.
    told: Option<HashMap<TrackerId, TrackerConfig>>,
    /// What they have to be told.
    to_tell: Vec<Configured>,
}

/// What a tracker of a fleet is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configured {
    /// Which.
    pub tracker_id: TrackerId,
    /// Its own id.
    pub unique_id: String,
    /// What it is to do.
    pub config: TrackerConfig,
}

/// What a name stands for.
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
    /// The trackers of a scope's organization. `changes` counts theirs.
    #[must_use]
    pub fn new(db: Db, scope: OrgScope, changes: Changes) -> Self {
        let as_of = changes.count();
        Self { db, scope, known: HashMap::new(), changes, as_of, told: None, to_tell: Vec::new() }
    }

    /// From now on each tracker is to be told what to do: with its next name that is learnt, and after each change.
    pub fn tell_configs(&mut self) {
        self.known.clear();
        self.told = Some(HashMap::new());
    }

    /// What trackers have to be told since the last call.
    pub fn take_configs(&mut self) -> Vec<Configured> {
        std::mem::take(&mut self.to_tell)
    }

    /// Looks up those of some names that are not known, in one query.
    pub async fn learn<'n>(
        &mut self,
        names: impl Iterator<Item = &'n str>,
        now: Timestamp,
    ) -> Result<(), SqlError> {
        // Counted before the look: whoever changes a tracker after it counts on.
        let count = self.changes.count();
        if count != self.as_of || self.known.len() > MOST_NAMES {
            self.known.clear();
            self.as_of = count;
        }
        // No tracker has a control character in its name, and PostgreSQL takes no NUL: unknown without a look.
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

    /// The tracker with a name that was looked up.
    #[must_use]
    pub fn find(&self, name: &str) -> Named<'_> {
        match self.known.get(name) {
            Some(Some(tracker)) if tracker.status == TrackerStatus::Active => Named::Tracker(tracker),
            Some(Some(_)) => Named::Disabled,
            Some(None) | None => Named::Unknown,
        }
    }
}
