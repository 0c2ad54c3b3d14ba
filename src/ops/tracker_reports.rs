//! What is known of trackers beside their fixes: saved from time to time, shown to users who look for a fault.

use waypost_actors::model::{Timestamp, TrackerId};

use super::error::OpError;
use super::scoped::Scoped;
use crate::auth::Action;
use crate::context::Context;
use crate::domain::tracker_report::TrackerReports;
use crate::report_log::Contact;
use crate::store::sql::SqlError;
use crate::store::{tracker, tracker_report};

/// Saves what is not saved yet. After an error it is tried again with the next call.
pub async fn save(context: &Context, with_contacts: bool) -> Result<(), SqlError> {
    let _turn = context.report_log.turn().await;
    save_in_turn(context, with_contacts).await
}

async fn save_in_turn(context: &Context, with_contacts: bool) -> Result<(), SqlError> {
    let unsaved = context.report_log.take(with_contacts);
    if unsaved.contacts.is_empty() && unsaved.rejected.is_empty() && unsaved.pending.is_empty() {
        return Ok(());
    }
    let saved = tracker_report::save(&context.db, &unsaved).await;
    if saved.is_err() {
        context.report_log.put_back(unsaved);
    }
    saved
}

/// When a tracker was last heard, and what it sent that was refused.
pub async fn list_reports(context: &Context, by: &Scoped, id: TrackerId) -> Result<TrackerReports, OpError> {
    // What was refused tells where somebody was.
    let scope = by.scope(context, Action::ReadPositions).await?;
    tracker::find_now(&context.db, &scope, id).await?.ok_or(OpError::NotFound)?;
    let turn = context.report_log.turn().await;
    save_in_turn(context, false).await?;
    let newest = context.report_log.last_contact(id);
    drop(turn);
    let stored = tracker_report::last_contact(context.db.read(), id).await?;
    let rejected = tracker_report::list(context.db.read(), id).await?;
    let last = |of: fn(Contact) -> Option<Timestamp>| newest.and_then(of).max(stored.and_then(of));
    Ok(TrackerReports {
        last_contact_at: last(|contact| Some(contact.at)),
        last_position_at: last(|contact| contact.position_at),
        public_url: context.settings.public_url.as_ref().map(|_| context.settings.public_url()),
        rejected,
    })
}
