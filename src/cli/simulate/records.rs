//! Reads the events a server stored: the feed of `GET /v1/geofence-events`, page by page.

use std::borrow::Cow;
use std::collections::HashMap;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::value::RawValue;
use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::api::Api;
use super::expected::{Key, Names};

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
    #[serde(borrow)]
    fix: RecordFix<'a>,
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

/// The events of an organization.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The active entries and exits.
    pub active: Vec<Key>,
    /// Newest revision of each record, dwells and retracted ones too, and how often the feed gave it.
    pub revisions: HashMap<Uuid, (i64, u32)>,
}

impl Events {
    /// Records given twice in one revision.
    #[must_use]
    pub(super) fn repeated(&self) -> usize {
        self.revisions.values().map(|(_, times)| *times as usize - 1).sum()
    }
}

/// Reads all of an organization's events in commit order.
pub(super) async fn read(api: &Api, organization_id: &str, names: &mut Names) -> Result<Events> {
    let mut events = Events::default();
    let mut active: HashMap<Uuid, Option<Key>> = HashMap::new();
    let mut after = None;
    loop {
        let body = api.get(&path(organization_id, after.as_deref())).await?;
        let page: Page<'_> = serde_json::from_slice(&body).context("a page of events")?;
        for record in &page.data {
            let newest = events.revisions.entry(record.id).or_insert((record.revision, 0));
            if newest.0 != record.revision {
                *newest = (record.revision, 0);
            }
            newest.1 += 1;
            active.insert(record.id, key(record, names)?);
        }
        after = page.pagination.end_cursor;
        if !page.pagination.has_next_page {
            events.active = active.into_values().flatten().collect();
            return Ok(events);
        }
    }
}

fn path(organization_id: &str, after: Option<&str>) -> String {
    let first = format!("/v1/geofence-events?organizationId={organization_id}&sort=sequence&limit=200");
    after.map_or_else(|| first.clone(), |cursor| format!("{first}&after={cursor}"))
}

/// What counts of a record: nothing of a retracted one or of a dwell.
fn key(record: &Record<'_>, names: &mut Names) -> Result<Option<Key>> {
    if record.status != "active" || record.kind == "dwell" {
        return Ok(None);
    }
    let place = (record.fix.latitude.get().parse()?, record.fix.longitude.get().parse()?);
    let (vehicle, fence) = (names.number(&record.vehicle_name), names.number(&record.geofence_name));
    Ok(Some(Key::new(vehicle, fence, record.kind == "entry", record.fix.recorded_at, place)))
}
