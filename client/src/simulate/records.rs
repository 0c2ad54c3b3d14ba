//! Reads the events a server stored: the feed of `GET /v1/geofence-events`, page by page.

use std::borrow::Cow;
use std::collections::HashMap;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use uuid::Uuid;
use waypost_actors::model::{Place, Timestamp};

use super::expected::{Key, Names};
use crate::Api;

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    data: Vec<Record<'a>>,
    pagination: Pagination,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pagination {
    pub(super) end_cursor: Option<String>,
    pub(super) has_next_page: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record<'a> {
    id: Uuid,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
    revision: i64,
    #[serde(borrow)]
    vehicle_name: Cow<'a, str>,
    #[serde(borrow)]
    geofence_name: Cow<'a, str>,
    geofence_version: i64,
    #[serde(borrow)]
    occurred_at: &'a RawValue,
    #[serde(borrow)]
    time_uncertainty_seconds: &'a RawValue,
    #[serde(borrow)]
    cause: Cow<'a, str>,
    inferred: bool,
    #[serde(borrow)]
    location: &'a RawValue,
    #[serde(borrow)]
    fix: &'a RawValue,
    #[serde(borrow)]
    analytics: Option<&'a RawValue>,
}

impl Record<'_> {
    /// When and where the fix was recorded that the record rests on.
    fn fix(&self) -> Result<(Timestamp, Place)> {
        let fix: RecordFix<'_> = serde_json::from_str(self.fix.get())?;
        Ok((fix.recorded_at, Place::new(fix.latitude.get().parse()?, fix.longitude.get().parse()?)))
    }

    /// Everything that follows from the fixes and the fences, in one number. Ids are left out: they differ from run
    /// to run.
    fn digest(&self) -> u64 {
        let mut hash = Sha256::new();
        for part in [self.occurred_at, self.time_uncertainty_seconds, self.location, self.fix] {
            hash.update(part.get());
        }
        hash.update(self.cause.as_bytes());
        hash.update(self.analytics.map_or("", RawValue::get));
        hash.update([u8::from(self.inferred)]);
        hash.update(self.geofence_version.to_be_bytes());
        let digest = hash.finalize();
        u64::from_be_bytes(std::array::from_fn(|index| digest[index]))
    }
}

/// Coordinates stay text until the standard library parses them: serde_json may be off by one unit in
/// the last place.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordFix<'a> {
    recorded_at: Timestamp,
    #[serde(borrow)]
    latitude: &'a RawValue,
    #[serde(borrow)]
    longitude: &'a RawValue,
}

/// What an active entry or exit says, as far as its fence's version must explain it.
#[derive(Clone, Debug)]
pub(super) struct CrossingRecord {
    /// The vehicle's name.
    pub vehicle: String,
    /// The fence's name.
    pub fence: String,
    /// Entry or exit.
    pub entry: bool,
    /// Why it exists.
    pub cause: String,
    /// The version of the fence that it names.
    pub version: i64,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// Where it happened.
    pub location: Place,
    /// When the fix it rests on was recorded.
    pub recorded_at: Timestamp,
    /// Where that fix was.
    pub place: Place,
}

/// The events of an organization.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The content of each active entry and exit, if it is to be kept.
    pub crossings: HashMap<Uuid, CrossingRecord>,
    /// How each record counts: not at all once it is retracted, or as a dwell.
    pub keys: HashMap<Uuid, Option<Key>>,
    /// The newest revision of each record, dwells and retracted ones included, and how often the feed returned it.
    pub revisions: HashMap<Uuid, (i64, u32)>,
}

impl Events {
    /// The active entries and exits.
    pub(super) fn active(&self) -> impl Iterator<Item = Key> {
        self.keys.values().flatten().copied()
    }

    /// Records returned twice in one revision.
    #[must_use]
    pub(super) fn repeated(&self) -> usize {
        self.revisions.values().map(|(_, times)| *times as usize - 1).sum()
    }
}

/// An organization's events in commit order, as far as they were read.
pub(super) struct Log {
    organization_id: String,
    keeps_told: bool,
    after: Option<String>,
    /// What was read.
    pub(super) events: Events,
}

impl Log {
    /// A log that has read nothing yet. `keeps_told`: whether to keep the records' content.
    #[must_use]
    pub(super) fn new(organization_id: &str, keeps_told: bool) -> Self {
        Self {
            organization_id: organization_id.to_owned(),
            keeps_told,
            after: None,
            events: Events::default(),
        }
    }

    /// Reads what came since; returns the number of records.
    pub(super) async fn read_on(&mut self, api: &Api, names: &mut Names) -> Result<usize> {
        let mut count = 0;
        loop {
            let body = api.get(&self.path()).await?;
            let page: Page<'_> = serde_json::from_slice(&body).context("a page of events")?;
            for record in &page.data {
                self.take(record, names)?;
            }
            count += page.data.len();
            self.after = page.pagination.end_cursor.or(self.after.take());
            if !page.pagination.has_next_page {
                return Ok(count);
            }
        }
    }

    fn path(&self) -> String {
        let first =
            format!("/v1/geofence-events?organizationId={}&sort=sequence&limit=200", self.organization_id);
        self.after.as_ref().map_or_else(|| first.clone(), |cursor| format!("{first}&after={cursor}"))
    }

    fn take(&mut self, record: &Record<'_>, names: &mut Names) -> Result<()> {
        let newest = self.events.revisions.entry(record.id).or_insert((record.revision, 0));
        if newest.0 != record.revision {
            *newest = (record.revision, 0);
        }
        newest.1 += 1;
        let key = key(record, names)?;
        self.events.keys.insert(record.id, key);
        if self.keeps_told {
            match key {
                Some(_) => self.events.crossings.insert(record.id, crossing(record)?),
                None => self.events.crossings.remove(&record.id),
            };
        }
        Ok(())
    }
}

fn crossing(record: &Record<'_>) -> Result<CrossingRecord> {
    let (recorded_at, place) = record.fix()?;
    Ok(CrossingRecord {
        vehicle: record.vehicle_name.to_string(),
        fence: record.geofence_name.to_string(),
        entry: record.kind == "entry",
        cause: record.cause.to_string(),
        version: record.geofence_version,
        occurred_at: serde_json::from_str(record.occurred_at.get())?,
        location: serde_json::from_str(record.location.get())?,
        recorded_at,
        place,
    })
}

/// How a record counts: not at all if it is retracted or a dwell.
fn key(record: &Record<'_>, names: &mut Names) -> Result<Option<Key>> {
    if record.status != "active" || record.kind == "dwell" {
        return Ok(None);
    }
    let (recorded_at, place) = record.fix()?;
    let (vehicle, fence) = (names.number(&record.vehicle_name), names.number(&record.geofence_name));
    let place = (place.latitude, place.longitude);
    let mut key = Key::new(vehicle, fence, record.kind == "entry", recorded_at, place);
    key.digest = Some(record.digest());
    Ok(Some(key))
}
