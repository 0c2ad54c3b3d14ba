//! What is known of trackers beside their fixes: when each was last heard, and what it sent that was refused for good.

use waypost_actors::model::{OrganizationId, Timestamp, TrackerId};

use super::pending_tracker;
use super::rows::{Column, Insert};
use super::sql::{Db, On, Result};
use super::time::Time;
use crate::domain::tracker_report::RejectedReport;
use crate::report_log::{Contact, Unsaved};

/// Refused reports kept of each tracker.
pub const MOST_REPORTS: i64 = 100;

/// Saves what is not saved yet, and drops what is too many of a tracker. Saying it twice changes nothing.
pub async fn save(db: &Db, unsaved: &Unsaved) -> Result<()> {
    let mut tx = db.begin().await?;
    let contacts: Vec<_> = unsaved.contacts.iter().collect();
    Insert {
        into: "insert into tracker_contact (tracker_id, last_contact_at, last_position_at)",
        columns: vec![
            Column::Uuid(contacts.iter().map(|(tracker, _)| tracker.0).collect()),
            Column::Time(contacts.iter().map(|(_, contact)| Time(contact.at)).collect()),
            Column::MaybeTime(contacts.iter().map(|(_, contact)| contact.position_at.map(Time)).collect()),
        ],
        after: "on conflict (tracker_id) do update set last_contact_at = excluded.last_contact_at, \
            last_position_at = coalesce(excluded.last_position_at, tracker_contact.last_position_at)",
    }
    .run(&mut tx)
    .await?;
    let rejected = &unsaved.rejected;
    Insert {
        into: "insert into rejected_report (tracker_id, id, received_at, input, code, detail, raw)",
        columns: vec![
            Column::Uuid(rejected.iter().map(|report| report.tracker_id.0).collect()),
            Column::Uuid(rejected.iter().map(|report| report.id).collect()),
            Column::Time(rejected.iter().map(|report| Time(report.received_at)).collect()),
            Column::Text(rejected.iter().map(|report| report.input).collect()),
            Column::Text(rejected.iter().map(|report| report.code).collect()),
            Column::Text(rejected.iter().map(|report| report.detail.as_str()).collect()),
            Column::Bytes(rejected.iter().map(|report| report.raw.clone()).collect()),
        ],
        after: "on conflict (tracker_id, id) do nothing",
    }
    .run(&mut tx)
    .await?;
    let mut trackers: Vec<_> = rejected.iter().map(|report| report.tracker_id.0).collect();
    trackers.sort_unstable();
    trackers.dedup();
    for tracker in trackers {
        let older = "delete from rejected_report where tracker_id = $1 and id <= (select id from rejected_report \
            where tracker_id = $1 order by id desc limit 1 offset $2)";
        tx.on().sql(older).bind(tracker).bind(MOST_REPORTS).run().await?;
    }
    pending_tracker::save(&mut tx, &unsaved.pending).await?;
    tx.commit().await
}

#[derive(sqlx::FromRow)]
struct Row {
    received_at: Time,
    input: String,
    code: String,
    detail: String,
    raw: Vec<u8>,
}

/// The refused reports of a tracker, newest first. Its scope is checked where the tracker is found.
pub async fn list(on: On<'_>, tracker: TrackerId) -> Result<Vec<RejectedReport>> {
    let select = "select received_at, input, code, detail, raw from rejected_report where tracker_id = $1 \
        order by id desc limit $2";
    let rows: Vec<Row> = on.sql(select).bind(tracker.0).bind(MOST_REPORTS).all().await?;
    let report = |row: Row| {
        let Row { received_at, input, code, detail, raw } = row;
        RejectedReport { received_at: received_at.into(), input, code, detail, raw: shown(&raw) }
    };
    Ok(rows.into_iter().map(report).collect())
}

/// When a tracker was last heard, as of the last save.
pub async fn last_contact(on: On<'_>, tracker: TrackerId) -> Result<Option<Contact>> {
    let select = "select last_contact_at, last_position_at from tracker_contact where tracker_id = $1";
    let found: Option<(Time, Option<Time>)> = on.sql(select).bind(tracker.0).optional().await?;
    Ok(found.map(|(at, position_at)| Contact { at: at.into(), position_at: position_at.map(Into::into) }))
}

/// Deletes an organization's refused reports up to an instant: they tell where somebody was, as positions do.
pub async fn forget(db: &Db, organization: OrganizationId, until: Timestamp) -> Result<()> {
    let delete = "delete from rejected_report where received_at <= $2 \
        and tracker_id in (select id from tracker where organization_id = $1)";
    db.write().sql(delete).bind(organization.0).bind(Time(until)).run().await?;
    Ok(())
}

/// Text as it is; what is none, in hexadecimal.
fn shown(raw: &[u8]) -> String {
    match std::str::from_utf8(raw) {
        Ok(text) => text.to_owned(),
        // Cut in the middle of a character.
        Err(error) if error.error_len().is_none() => {
            String::from_utf8_lossy(&raw[..error.valid_up_to()]).into_owned()
        }
        Err(_) => raw.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
