//! The handle by which use cases reach the deliveries, which run on a thread of their own.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use uuid::Uuid;

use super::guard::Guard;
use super::meters::Meters;
use crate::auth::MasterKey;
use crate::domain::webhook::WebhookAttempt;

/// Orders that may wait.
const MOST_ORDERS: usize = 64;

/// Why an order was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotDone {
    /// Too many wait, or too many of the organization are under way, or the server stops.
    Busy,
    /// The log has no such entry any more, or the webhook is not sent it.
    Gone,
    /// The store does not answer.
    Away,
}

/// What is to be sent at once, beside the queue of a webhook.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// A test event.
    Test,
    /// The entry of the log with this number.
    Entry(i64),
}

/// An order to send something at once.
pub(super) struct Order {
    pub(super) webhook: Uuid,
    pub(super) what: What,
    pub(super) reply: oneshot::Sender<Result<WebhookAttempt, NotDone>>,
}

/// The way to the deliveries; cheap to clone.
#[derive(Clone)]
pub struct Webhooks {
    /// Which addresses they may reach.
    pub guard: Arc<Guard>,
    /// Seals their secrets.
    pub master: MasterKey,
    /// What they count.
    pub meters: Arc<Meters>,
    orders: mpsc::Sender<Order>,
    changed: Arc<Notify>,
    stopping: Arc<watch::Sender<bool>>,
    /// Until the deliveries start.
    inbox: Arc<Mutex<Option<Inbox>>>,
}

/// The other end of the handle.
pub(super) struct Inbox {
    pub(super) orders: mpsc::Receiver<Order>,
    pub(super) changed: Arc<Notify>,
    pub(super) stopping: watch::Receiver<bool>,
}

impl Webhooks {
    /// A handle to deliveries that do not run yet.
    #[must_use]
    pub fn new(guard: Guard, master: MasterKey, meters: Arc<Meters>) -> Self {
        let (orders, received) = mpsc::channel(MOST_ORDERS);
        let (changed, (stopping, stopped)) = (Arc::new(Notify::new()), watch::channel(false));
        let inbox = Inbox { orders: received, changed: Arc::clone(&changed), stopping: stopped };
        let (guard, stopping, inbox) =
            (Arc::new(guard), Arc::new(stopping), Arc::new(Mutex::new(Some(inbox))));
        Self { guard, master, meters, orders, changed, stopping, inbox }
    }

    /// Takes the inbox, which only the first caller gets.
    pub(super) fn take_inbox(&self) -> Option<Inbox> {
        self.inbox.lock().take()
    }

    /// Tells the deliveries that webhooks, or what they may be sent, have changed.
    pub fn changed(&self) {
        self.changed.notify_one();
    }

    /// Becomes true when deliveries are to end.
    #[must_use]
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    /// Asks the deliveries to end.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Sends a test event at once; returns how that went.
    pub async fn test(&self, webhook: Uuid) -> Result<WebhookAttempt, NotDone> {
        self.order(webhook, What::Test).await
    }

    /// Sends an entry of the log again at once, beside what else is sent; returns how that went.
    pub async fn resend(&self, webhook: Uuid, sequence: i64) -> Result<WebhookAttempt, NotDone> {
        self.order(webhook, What::Entry(sequence)).await
    }

    async fn order(&self, webhook: Uuid, what: What) -> Result<WebhookAttempt, NotDone> {
        let (reply, answer) = oneshot::channel();
        self.orders.try_send(Order { webhook, what, reply }).map_err(|_| NotDone::Busy)?;
        answer.await.unwrap_or(Err(NotDone::Busy))
    }
}
