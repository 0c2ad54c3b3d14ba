//! What is known of trackers beside their fixes, until it is stored: when each was last heard, what it sent that was
//! refused for good, and what devices sent that are no trackers yet. Knows no store; `ops::tracker_reports` saves it.
//!
//! For people who look for a fault: what is not saved when the server is killed is lost, and of very many refusals the
//! oldest are.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp, TrackerId};

use crate::domain::pending_tracker::{KeptFix, MOST_FIXES, MOST_PENDING};

/// Most refused reports that wait to be saved.
const MOST_WAITING: usize = 1_000;
/// Most devices that are no trackers yet and wait to be saved.
const MOST_PENDING_WAITING: usize = 1_000;
/// Most bytes kept of what was sent.
pub const MOST_RAW_BYTES: usize = 1_024;
/// Most characters kept of a reason.
const MOST_DETAIL_CHARS: usize = 500;

/// A report that was refused for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRejected {
    /// Orders those of a tracker by their arrival.
    pub id: Uuid,
    /// Who sent it.
    pub tracker_id: TrackerId,
    /// When it arrived.
    pub received_at: Timestamp,
    /// The adapter or protocol it came by.
    pub input: &'static str,
    /// Why, for programs.
    pub code: &'static str,
    /// Why, for people.
    pub detail: String,
    /// The beginning of what was sent.
    pub raw: Vec<u8>,
}

/// What a device sent that is no tracker of its organization yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The adapter or protocol it came by last.
    pub input: &'static str,
    /// When it was first heard.
    pub first_seen_at: Timestamp,
    /// When it was last heard.
    pub last_seen_at: Timestamp,
    /// Its last fixes, as they came.
    pub fixes: VecDeque<KeptFix>,
}

/// What became of the messages that came by one adapter or protocol, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Positions stored.
    pub stored: u64,
    /// Positions that were stored before.
    pub duplicates: u64,
    /// Positions refused, and requests that could not be read.
    pub rejected: u64,
    /// Messages without a position.
    pub contacts: u64,
}

/// When a tracker was last heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contact {
    /// Whatever it said.
    pub at: Timestamp,
    /// With a position that was not refused; none since the last save.
    pub position_at: Option<Timestamp>,
}

/// What is not saved yet.
#[derive(Debug, Default)]
pub struct Unsaved {
    /// When trackers were last heard.
    pub contacts: HashMap<TrackerId, Contact>,
    /// Refused reports, oldest first.
    pub rejected: VecDeque<NewRejected>,
    /// Devices that are no trackers yet, by organization and name.
    pub pending: HashMap<(OrganizationId, String), Sighting>,
}

/// The log; cheap to clone.
#[derive(Clone, Default)]
pub struct ReportLog(Arc<Log>);

#[derive(Default)]
struct Log {
    unsaved: Mutex<Unsaved>,
    tallies: Tallies,
    saving: tokio::sync::Mutex<()>,
}

/// What became of all messages so far, by adapter or protocol; cheap to clone.
#[derive(Clone, Default)]
pub struct Tallies(Arc<Mutex<BTreeMap<&'static str, Tally>>>);

impl Tallies {
    /// For these adapters or protocols, from 0.
    #[must_use]
    pub fn of(inputs: impl Iterator<Item = &'static str>) -> Self {
        Self(Arc::new(Mutex::new(inputs.map(|input| (input, Tally::default())).collect())))
    }

    /// All of them.
    #[must_use]
    pub fn read(&self) -> Vec<(&'static str, Tally)> {
        self.0.lock().iter().map(|(input, tally)| (*input, *tally)).collect()
    }

    fn add(&self, input: &'static str, more: Tally) {
        let mut tallies = self.0.lock();
        let tally = tallies.entry(input).or_default();
        tally.stored += more.stored;
        tally.duplicates += more.duplicates;
        tally.rejected += more.rejected;
        tally.contacts += more.contacts;
    }
}

impl ReportLog {
    /// An empty log that adds to these tallies.
    #[must_use]
    pub fn new(tallies: Tallies) -> Self {
        Self(Arc::new(Log { tallies, ..Log::default() }))
    }

    /// Notes that trackers were heard, and of each whether with a position that is not refused.
    pub fn heard(&self, trackers: impl IntoIterator<Item = (TrackerId, bool)>, at: Timestamp) {
        let contacts = &mut self.lock().contacts;
        for (tracker, has_position) in trackers {
            let contact = contacts.entry(tracker).or_insert(Contact { at, position_at: None });
            contact.at = at;
            if has_position {
                contact.position_at = Some(at);
            }
        }
    }

    /// Keeps a refused report, of which the beginning.
    pub fn rejected(&self, mut rejected: NewRejected) {
        rejected.raw.truncate(MOST_RAW_BYTES);
        rejected.detail =
            rejected.detail.chars().filter(|sign| !sign.is_control()).take(MOST_DETAIL_CHARS).collect();
        let waiting = &mut self.lock().rejected;
        if waiting.len() >= MOST_WAITING {
            waiting.pop_front();
        }
        waiting.push_back(rejected);
    }

    /// Notes that a device was heard which is no tracker of its organization yet, and keeps its last fixes.
    pub fn pending(
        &self,
        organization: OrganizationId,
        name: &str,
        input: &'static str,
        at: Timestamp,
        fixes: impl Iterator<Item = KeptFix>,
    ) {
        let pending = &mut self.lock().pending;
        let key = (organization, name.to_owned());
        if !pending.contains_key(&key) {
            let of_it = pending.keys().filter(|(other, _)| *other == organization).count();
            if pending.len() >= MOST_PENDING_WAITING || of_it >= MOST_PENDING as usize {
                return;
            }
        }
        let new = Sighting { input, first_seen_at: at, last_seen_at: at, fixes: VecDeque::new() };
        let sighting = pending.entry(key).or_insert(new);
        (sighting.input, sighting.last_seen_at) = (input, at);
        for fix in fixes {
            // While the store is away, the same is tried again and again.
            if sighting.fixes.iter().all(|kept| kept.recorded_at != fix.recorded_at) {
                sighting.fixes.push_back(fix);
            }
        }
        let too_many = sighting.fixes.len().saturating_sub(MOST_FIXES);
        sighting.fixes.drain(..too_many);
    }

    /// Adds to what became of the messages of an adapter or protocol.
    pub fn count(&self, input: &'static str, more: Tally) {
        self.0.tallies.add(input, more);
    }

    /// When a tracker was heard since the last save.
    #[must_use]
    pub fn last_contact(&self, tracker: TrackerId) -> Option<Contact> {
        self.lock().contacts.get(&tracker).copied()
    }

    /// The turn to save: its holder knows that nothing is on its way to the store.
    pub async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.0.saving.lock().await
    }

    /// Takes what is not saved yet; contacts, which change all the time, only if asked for.
    #[must_use]
    pub fn take(&self, with_contacts: bool) -> Unsaved {
        let unsaved = &mut *self.lock();
        let contacts = if with_contacts { std::mem::take(&mut unsaved.contacts) } else { HashMap::new() };
        let (rejected, pending) =
            (std::mem::take(&mut unsaved.rejected), std::mem::take(&mut unsaved.pending));
        Unsaved { contacts, rejected, pending }
    }

    /// Puts back what could not be saved. What came meanwhile is newer.
    pub fn put_back(&self, Unsaved { contacts, rejected, pending }: Unsaved) {
        let unsaved = &mut *self.lock();
        for (tracker, older) in contacts {
            let newer = unsaved.contacts.entry(tracker).or_insert(older);
            newer.position_at = newer.position_at.or(older.position_at);
        }
        for (key, older) in pending {
            let newer = unsaved
                .pending
                .entry(key)
                .or_insert_with(|| Sighting { fixes: VecDeque::new(), ..older.clone() });
            newer.first_seen_at = older.first_seen_at;
            for fix in older.fixes.into_iter().rev().take(MOST_FIXES.saturating_sub(newer.fixes.len())) {
                newer.fixes.push_front(fix);
            }
        }
        for rejected in rejected.into_iter().rev().take(MOST_WAITING.saturating_sub(unsaved.rejected.len())) {
            unsaved.rejected.push_front(rejected);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Unsaved> {
        self.0.unsaved.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(number: u128) -> NewRejected {
        NewRejected {
            id: Uuid::from_u128(number),
            tracker_id: TrackerId(Uuid::nil()),
            received_at: Timestamp::from_micros(0),
            input: "osmand",
            code: "nullIsland",
            detail: "x".repeat(10_000),
            raw: vec![0; 10_000],
        }
    }

    #[test]
    fn what_waits_is_bounded_and_the_oldest_goes_first() {
        let log = ReportLog::default();
        for number in 0..=MOST_WAITING as u128 {
            log.rejected(rejected(number));
        }
        let taken = log.take(true);
        assert_eq!((taken.rejected.len(), taken.rejected[0].id.as_u128()), (MOST_WAITING, 1));
        assert_eq!(
            (taken.rejected[0].raw.len(), taken.rejected[0].detail.len()),
            (MOST_RAW_BYTES, MOST_DETAIL_CHARS)
        );
        log.rejected(rejected(5_000));
        log.put_back(taken);
        let again = log.take(true).rejected;
        let ends = (again[0].id.as_u128(), again[MOST_WAITING - 1].id.as_u128());
        assert_eq!((again.len(), ends), (MOST_WAITING, (2, 5_000)));
    }

    #[test]
    fn names_made_up_for_one_organization_take_no_room_of_anothers() {
        let (log, now) = (ReportLog::default(), Timestamp::from_micros(0));
        let [flooded, other] = [1, 2].map(|number| OrganizationId(Uuid::from_u128(number)));
        let heard =
            |organization, name: &str| log.pending(organization, name, "h02", now, std::iter::empty());
        (0..2 * MOST_PENDING_WAITING).for_each(|number| heard(flooded, &format!("made-up-{number}")));
        heard(other, "real");
        let pending = log.take(false).pending;
        assert!(pending.contains_key(&(other, "real".to_owned())));
        assert_eq!(pending.len(), MOST_PENDING as usize + 1);
    }

    #[test]
    fn a_newer_contact_is_not_replaced_by_one_that_was_put_back() {
        let (log, tracker) = (ReportLog::default(), TrackerId(Uuid::nil()));
        let [first, second] = [1_000, 2_000].map(Timestamp::from_micros);
        log.heard([(tracker, true)], first);
        assert!(log.take(false).contacts.is_empty());
        let taken = log.take(true);
        log.heard([(tracker, false)], second);
        log.put_back(taken);
        assert_eq!(log.last_contact(tracker), Some(Contact { at: second, position_at: Some(first) }));
    }
}
