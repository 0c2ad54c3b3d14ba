//! What is sent by hand, at once and beside the queue of a webhook: test events, and entries of the log once more.

use std::rc::Rc;
use std::sync::Arc;

use uuid::Uuid;
use waypost_actors::watch::Audience;

use super::delivery_log;
use super::handle::{NotDone, What};
use super::message::{self, Message, Selection, Writer};
use super::parts::Shared;
use super::worker::Sender;
use crate::domain::webhook::{AttemptOutcome, WebhookAttempt};
use crate::store::sql::{Db, SqlError};
use crate::store::webhook_delivery::{Target, target};

/// Sends something to a webhook now, and logs how that went.
pub(super) async fn send_now(
    shared: &Rc<Shared>,
    db: &Db,
    webhook: Uuid,
    what: What,
) -> Result<WebhookAttempt, NotDone> {
    let away = |_: SqlError| NotDone::Away;
    let target = Arc::new(target(db, webhook).await.map_err(away)?.ok_or(NotDone::Gone)?);
    let _place = shared.orders.begin(target.organization_id).ok_or(NotDone::Busy)?;
    let message = match what {
        What::Test => message::test(&target, shared.clock.now()),
        What::Entry(sequence) => logged(shared, &target, sequence).await?,
    };
    // A sender of its own: no connection stays open behind it, to wherever the webhook leads now.
    let attempted = Sender::new(Rc::clone(shared), target).send(&message).await;
    // Nothing is given up by it: what is in the queue goes on being tried.
    let outcome = if attempted.is_delivered() { AttemptOutcome::Delivered } else { AttemptOutcome::Failed };
    let sequence = match what {
        What::Test => None,
        What::Entry(sequence) => Some(sequence),
    };
    let attempt = attempted.logged(&message, sequence, 1, outcome);
    shared.note(webhook, attempt.clone());
    // The user who ordered it may look it up next.
    delivery_log::save(&shared.delivery_log, db).await;
    Ok(attempt)
}

async fn logged(shared: &Shared, target: &Arc<Target>, sequence: i64) -> Result<Message, NotDone> {
    let audience = Audience::Organization(target.organization_id);
    let entry = shared.entry(audience, sequence).await.map_err(|_| NotDone::Away)?.ok_or(NotDone::Gone)?;
    let written = Writer::new(Selection::from(&**target)).write(&entry, &shared.ports.show_change).await;
    written.map_err(|_| NotDone::Away)?.ok_or(NotDone::Gone)
}
