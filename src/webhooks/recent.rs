//! The newest entries of the log of those organizations that have webhooks, so that many webhooks do not each read the
//! store for what was just committed.

use std::collections::{HashMap, HashSet, VecDeque};

use waypost_actors::model::OrganizationId;
use waypost_actors::watch::Update;

use crate::feed::Entry;

/// Entries kept of an organization.
const MOST: usize = 2_000;

/// The newest entries.
#[derive(Default)]
pub struct Recent {
    organizations: HashMap<OrganizationId, Kept>,
    /// Everything before this number is known.
    next: i64,
}

struct Kept {
    /// What is before this number must be read from the log.
    from: i64,
    entries: VecDeque<Entry>,
}

/// What is known from a number on.
pub enum Known {
    /// These entries; there are no others before the number.
    Entries(Vec<Entry>, i64),
    /// Nothing before this number: the log has it.
    InLog(i64),
}

impl Recent {
    /// Begins anew with a watch that brings everything from a number on.
    pub fn begin(&mut self, next: i64) {
        self.next = next;
        for kept in self.organizations.values_mut() {
            *kept = Kept { from: next, entries: VecDeque::new() };
        }
    }

    /// Keeps entries of these organizations only.
    pub fn follow(&mut self, organizations: &HashSet<OrganizationId>) {
        self.organizations.retain(|organization, _| organizations.contains(organization));
        for organization in organizations {
            let kept = || Kept { from: self.next, entries: VecDeque::new() };
            self.organizations.entry(*organization).or_insert_with(kept);
        }
    }

    /// Takes in a commit; returns the organizations that it has entries of.
    pub fn add(&mut self, update: &Update) -> HashSet<OrganizationId> {
        let records = update
            .records
            .iter()
            .map(|told| (Some(told.record.organization_id), Entry::Record(told.clone())));
        let changes = update.changes.iter().map(|change| (change.organization_id, Entry::Change(*change)));
        let mut entries: Vec<_> = records.chain(changes).collect();
        entries.sort_by_key(|(_, entry)| entry.sequence());
        let mut news = HashSet::new();
        for (organization, entry) in entries {
            let Some(organization) = organization else { continue };
            let Some(kept) = self.organizations.get_mut(&organization) else { continue };
            if kept.entries.len() >= MOST
                && let Some(dropped) = kept.entries.pop_front()
            {
                kept.from = dropped.sequence() + 1;
            }
            kept.entries.push_back(entry);
            news.insert(organization);
        }
        self.passed(update.next_sequence);
        news
    }

    /// Notes that everything before a number has been told.
    pub fn passed(&mut self, next: i64) {
        self.next = self.next.max(next);
    }

    /// What is known of an organization from a number on, at most so many entries.
    #[must_use]
    pub fn after(&self, organization: OrganizationId, from: i64, most: usize) -> Known {
        let Some(kept) = self.organizations.get(&organization) else { return Known::InLog(self.next) };
        if from < kept.from {
            return Known::InLog(kept.from);
        }
        let begin = kept.entries.partition_point(|entry| entry.sequence() < from);
        let entries: Vec<Entry> = kept.entries.range(begin..).take(most).cloned().collect();
        let next = match entries.last() {
            Some(last) if entries.len() == most => last.sequence() + 1,
            _ => self.next.max(from),
        };
        Known::Entries(entries, next)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;
    use waypost_actors::model::{Change, ChangeKind, ChangedResource, Timestamp};

    use super::*;

    const OWN: OrganizationId = OrganizationId(Uuid::max());

    fn update(sequences: std::ops::Range<i64>) -> Update {
        let change = |sequence| Change {
            sequence,
            organization_id: Some(OWN),
            resource: ChangedResource::Vehicle,
            resource_id: Uuid::nil(),
            kind: ChangeKind::Updated,
            changed_at: Timestamp::from_micros(0),
        };
        let next_sequence = sequences.end;
        let changes = sequences.map(change).collect();
        Update { vehicles: Vec::new(), removed: Vec::new(), records: Vec::new(), changes, next_sequence }
    }

    fn numbers(known: Known) -> (Vec<i64>, i64) {
        match known {
            Known::Entries(entries, next) => (entries.iter().map(Entry::sequence).collect(), next),
            Known::InLog(until) => (Vec::new(), -until),
        }
    }

    #[test]
    fn what_was_told_is_found_and_what_was_before_is_in_the_log() {
        let mut recent = Recent::default();
        recent.follow(&HashSet::from([OWN]));
        recent.begin(10);
        assert_eq!(numbers(recent.after(OWN, 4, 5)), (vec![], -10));
        assert_eq!(numbers(recent.after(OWN, 10, 5)), (vec![], 10));
        assert_eq!(recent.add(&update(10..13)), HashSet::from([OWN]));
        assert_eq!(numbers(recent.after(OWN, 10, 2)), (vec![10, 11], 12));
        assert_eq!(numbers(recent.after(OWN, 12, 2)), (vec![12], 13));
        recent.passed(20);
        assert_eq!(numbers(recent.after(OWN, 13, 2)), (vec![], 20));
        // Another organization's, followed from now on.
        let other = OrganizationId(Uuid::nil());
        recent.follow(&HashSet::from([OWN, other]));
        assert_eq!(numbers(recent.after(other, 13, 2)), (vec![], -20));
    }

    #[test]
    fn no_more_than_a_bound_are_kept() {
        let mut recent = Recent::default();
        recent.begin(0);
        recent.follow(&HashSet::from([OWN]));
        recent.add(&update(0..MOST as i64 + 3));
        assert_eq!(numbers(recent.after(OWN, 2, 1)), (vec![], -3));
        assert_eq!(numbers(recent.after(OWN, 3, 1)), (vec![3], 4));
    }
}
