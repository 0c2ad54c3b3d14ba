//! What trackers and a dispatcher received, what the store holds, and whether they agree. Pure: the forged
//! transcripts in `forged.rs` go through the same checks as a run's own.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

/// What identifies a fix.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FixKey {
    pub(crate) vehicle: Uuid,
    pub(crate) recorded_millis: i64,
    latitude_bits: u64,
    longitude_bits: u64,
}

impl FixKey {
    pub(crate) fn new(vehicle: Uuid, recorded_millis: i64, latitude: f64, longitude: f64) -> Self {
        // Adding zero turns -0 into 0.
        let (latitude_bits, longitude_bits) = ((latitude + 0.0).to_bits(), (longitude + 0.0).to_bits());
        Self { vehicle, recorded_millis, latitude_bits, longitude_bits }
    }

    /// 0,0: what devices send without a fix, and every server refuses.
    pub(crate) const fn is_nowhere(&self) -> bool {
        self.latitude_bits == 0 && self.longitude_bits == 0
    }
}

impl fmt::Debug for FixKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = (f64::from_bits(self.latitude_bits), f64::from_bits(self.longitude_bits));
        write!(f, "{} at {} in {place:?}", self.vehicle, self.recorded_millis)
    }
}

/// One record as the feed sent it.
#[derive(Clone, Debug)]
pub(crate) struct FeedRecord {
    pub(crate) id: Uuid,
    pub(crate) revision: i64,
    pub(crate) sequence: i64,
    pub(crate) is_active: bool,
    /// The whole record, as JSON.
    pub(crate) text: Arc<str>,
}

impl FeedRecord {
    /// A record out of its JSON.
    pub(crate) fn read(value: &Value) -> Self {
        let number = |name: &str| value[name].as_i64().unwrap_or_else(|| panic!("no {name}: {value}"));
        let id = value["id"].as_str().and_then(|id| id.parse().ok());
        Self {
            id: id.unwrap_or_else(|| panic!("no id: {value}")),
            revision: number("revision"),
            sequence: number("sequence"),
            is_active: value["status"] == "active",
            text: value.to_string().into(),
        }
    }

    /// The part of it that does not depend on how the fixes arrived.
    pub(crate) fn lasting(&self) -> String {
        let mut value: Value = serde_json::from_str(&self.text).expect("it was JSON");
        let members = value.as_object_mut().expect("a record is an object");
        for passing in ["sequence", "revision", "detectedAt", "origin"] {
            members.remove(passing);
        }
        value.to_string()
    }
}

/// What the clients saw.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transcript {
    pub(crate) sent: HashSet<FixKey>,
    pub(crate) acked: HashSet<FixKey>,
    pub(crate) refused: HashSet<FixKey>,
    /// What a broker took, which keeps it until a server has stored it.
    pub(crate) entrusted: HashSet<FixKey>,
    /// Records, in the order in which they came.
    pub(crate) told: Vec<FeedRecord>,
    /// Why the feed could not continue where it was.
    pub(crate) broken_off: Vec<String>,
}

/// What a store holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stored {
    /// With the number of times each is stored.
    pub(crate) fixes: HashMap<FixKey, usize>,
    /// Revision and number of each record.
    pub(crate) numbers: HashMap<Uuid, (i64, i64)>,
    /// How many changes of master data have numbers, which are of the same order.
    pub(crate) numbered_changes: i64,
    /// The number that is given next.
    pub(crate) next_sequence: i64,
    /// Numbers of records of which nothing is to be left.
    pub(crate) purged_numbers: i64,
    /// The whole records; read only at the end.
    pub(crate) records: BTreeMap<Uuid, FeedRecord>,
}

impl Stored {
    /// The active records, without the members that depend on arrival.
    pub(crate) fn lasting(&self) -> BTreeMap<Uuid, String> {
        let active = self.records.iter().filter(|(_, told)| told.is_active);
        active.map(|(id, told)| (*id, told.lasting())).collect()
    }
}

/// The result of the same load when nothing disturbs it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Undisturbed {
    pub(crate) fixes: HashSet<FixKey>,
    pub(crate) records: BTreeMap<Uuid, String>,
}

/// A promise that was not kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Violation {
    AckedNotStored(FixKey),
    NeverAnswered(FixKey),
    StoredTwice(FixKey),
    StoredNeverSent(FixKey),
    /// Stored in this run and not in the undisturbed one, or the other way round.
    FixesDiffer(FixKey),
    ToldNotStored {
        id: Uuid,
        revision: i64,
    },
    ToldTwice {
        id: Uuid,
        revision: i64,
    },
    ToldOutOfOrder {
        id: Uuid,
        sequence: i64,
    },
    /// The newest revision that was sent is not the one stored.
    LogDiffers {
        id: Uuid,
    },
    /// A record missing here, of the undisturbed run.
    RecordMissing {
        id: Uuid,
    },
    /// A record that the undisturbed run does not have.
    RecordTooMany {
        id: Uuid,
    },
    RecordDiffers {
        id: Uuid,
        here: String,
        undisturbed: String,
    },
    /// Numbers were assigned that no revision of any record has.
    NumbersLost {
        given: i64,
        revisions: i64,
    },
    BrokenOff(String),
}

/// What must hold at any moment: `stored` was read after the last ack and the last record of the transcript.
pub(crate) fn at_any_moment(transcript: &Transcript, stored: &Stored) -> Vec<Violation> {
    let lost = transcript.acked.iter().filter(|fix| !stored.fixes.contains_key(fix));
    let mut violations: Vec<Violation> = lost.map(|fix| Violation::AckedNotStored(*fix)).collect();
    for told in &transcript.told {
        let known = stored.numbers.get(&told.id);
        let is_stored = known.is_some_and(|(revision, sequence)| {
            told.revision < *revision || (told.revision, told.sequence) == (*revision, *sequence)
        });
        if !is_stored {
            violations.push(Violation::ToldNotStored { id: told.id, revision: told.revision });
        }
    }
    violations
}

/// What must hold in the end, when everything is acknowledged and every correction is done.
pub(crate) fn in_the_end(
    transcript: &Transcript,
    stored: &Stored,
    undisturbed: &Undisturbed,
) -> Vec<Violation> {
    let mut violations = at_any_moment(transcript, stored);
    fixes(transcript, stored, undisturbed, &mut violations);
    log(transcript, stored, &mut violations);
    records(stored, undisturbed, &mut violations);
    violations.extend(transcript.broken_off.iter().cloned().map(Violation::BrokenOff));
    violations
}

fn fixes(transcript: &Transcript, stored: &Stored, undisturbed: &Undisturbed, found: &mut Vec<Violation>) {
    let Transcript { acked, refused, entrusted, .. } = transcript;
    let answered = |fix: &&FixKey| [acked, refused, entrusted].iter().any(|some| some.contains(*fix));
    let lost = entrusted.iter().filter(|fix| !stored.fixes.contains_key(fix));
    found.extend(lost.map(|fix| Violation::AckedNotStored(*fix)));
    found.extend(
        transcript.sent.iter().filter(|fix| !answered(fix)).map(|fix| Violation::NeverAnswered(*fix)),
    );
    for (fix, times) in &stored.fixes {
        if *times > 1 {
            found.push(Violation::StoredTwice(*fix));
        }
        if !transcript.sent.contains(fix) {
            found.push(Violation::StoredNeverSent(*fix));
        }
        if !undisturbed.fixes.contains(fix) {
            found.push(Violation::FixesDiffer(*fix));
        }
    }
    let missing = undisturbed.fixes.iter().filter(|fix| !stored.fixes.contains_key(fix));
    found.extend(missing.map(|fix| Violation::FixesDiffer(*fix)));
}

/// The dispatcher's log: no revision twice, in the order of numbers, and folded by id what is stored.
fn log(transcript: &Transcript, stored: &Stored, found: &mut Vec<Violation>) {
    let mut told = HashSet::new();
    let mut folded: HashMap<Uuid, &FeedRecord> = HashMap::new();
    let mut last = 0;
    for record in &transcript.told {
        let (id, revision, sequence) = (record.id, record.revision, record.sequence);
        if !told.insert((id, revision)) {
            found.push(Violation::ToldTwice { id, revision });
        }
        if sequence <= last {
            found.push(Violation::ToldOutOfOrder { id, sequence });
        }
        last = last.max(sequence);
        let newest = folded.entry(id).or_insert(record);
        if revision > newest.revision {
            *newest = record;
        }
    }
    for (id, record) in &stored.records {
        if folded.get(id).is_none_or(|told| told.text != record.text) {
            found.push(Violation::LogDiffers { id: *id });
        }
    }
}

fn records(stored: &Stored, undisturbed: &Undisturbed, found: &mut Vec<Violation>) {
    let here = stored.lasting();
    for (id, value) in &here {
        match undisturbed.records.get(id) {
            None => found.push(Violation::RecordTooMany { id: *id }),
            Some(other) if other != value => found.push(Violation::RecordDiffers {
                id: *id,
                here: value.clone(),
                undisturbed: other.clone(),
            }),
            Some(_) => {}
        }
    }
    let missing = undisturbed.records.keys().filter(|id| !here.contains_key(id));
    found.extend(missing.map(|id| Violation::RecordMissing { id: *id }));
    // Every revision takes one number, and so does every change of master data; nothing else does.
    let revisions = stored.numbers.values().map(|(revision, _)| revision).sum();
    let given = stored.next_sequence - 1 - stored.numbered_changes - stored.purged_numbers;
    if given != revisions {
        found.push(Violation::NumbersLost { given, revisions });
    }
}
