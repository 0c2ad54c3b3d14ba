//! What the tasks of all webhooks share, and how they read the log.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use tokio::sync::Semaphore;
use uuid::Uuid;
use waypost_actors::model::OrganizationId;
use waypost_actors::ports::RecordLog;
use waypost_actors::watch::Audience;

use super::client::Dialer;
use super::delivery_log::DeliveryLog;
use super::log::read_log;
use super::orders::Orders;
use super::recent::Recent;
use crate::auth::MasterKey;
use crate::clock::Clock;
use crate::domain::webhook::{DisabledReason, WebhookAttempt};
use crate::feed::{Entry, ShowChange};

/// Disables a webhook of an organization; the error is the store's.
pub type Disable =
    Rc<dyn Fn(OrganizationId, Uuid, DisabledReason) -> LocalBoxFuture<'static, Result<(), String>>>;

/// What the deliveries ask use cases for.
pub struct Ports {
    /// What a caller may see of a change.
    pub show_change: ShowChange,
    /// Disables a webhook.
    pub disable: Disable,
}

/// What all tasks share.
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) log: Arc<dyn RecordLog>,
    pub(super) master: MasterKey,
    pub(super) dialer: Dialer,
    pub(super) ports: Ports,
    pub(super) recent: RefCell<Recent>,
    pub(super) delivery_log: RefCell<DeliveryLog>,
    pub(super) reading: Semaphore,
    pub(super) orders: Orders,
}

impl Shared {
    /// Entries of the log from a number on and before another, at most so many, and the number before which there are
    /// no others.
    pub(super) async fn read(
        &self,
        audience: Audience,
        from: i64,
        until: i64,
        most: usize,
    ) -> Result<(Vec<Entry>, i64), String> {
        let _one = self.reading.acquire().await.map_err(|closed| closed.to_string())?;
        read_log(&*self.log, audience, from..until, most).await
    }

    /// The entry of the log with a number.
    pub(super) async fn entry(&self, audience: Audience, sequence: i64) -> Result<Option<Entry>, String> {
        let (entries, _) = self.read(audience, sequence, sequence + 1, 1).await?;
        Ok(entries.into_iter().next())
    }

    /// Logs an attempt that was ordered by hand.
    pub(super) fn note(&self, webhook: Uuid, attempt: WebhookAttempt) {
        self.delivery_log.borrow_mut().add(webhook, attempt);
    }
}
