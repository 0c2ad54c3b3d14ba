//! The thread of webhooks, apart from those that serve requests and trackers.

use std::rc::Rc;
use std::time::Duration;

use actix_rt::Arbiter;
use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::context::Context;
use crate::http::show_change;
use crate::ops::webhooks::disable;
use crate::webhooks::{Dispatcher, Ports, Webhooks};

/// Deliveries that run.
pub(super) struct Deliveries {
    webhooks: Webhooks,
    arbiter: Arbiter,
    ended: oneshot::Receiver<()>,
}

impl Deliveries {
    /// Starts delivering.
    pub(super) fn start(context: Context) -> Self {
        let (arbiter, webhooks) = (Arbiter::new(), context.webhooks.clone());
        let (sender, ended) = oneshot::channel::<()>();
        arbiter.spawn_fn(move || {
            actix_rt::spawn(async move {
                run(context).await;
                drop(sender);
            });
        });
        Self { webhooks, arbiter, ended }
    }

    /// Ends deliveries and saves how far they got, if that takes no longer than `within`. What is under way is delivered
    /// again after the next start.
    pub(super) async fn end(&mut self, within: Duration) -> bool {
        self.webhooks.stop();
        timeout(within, &mut self.ended).await.is_ok()
    }

    /// Ends the thread. Not before the store is closed, since connections to it may have been opened there.
    pub(super) fn close(self) {
        self.arbiter.stop();
    }
}

async fn run(context: Context) {
    let disabling = context.clone();
    let ports = Ports {
        show_change: show_change(context.clone()),
        disable: Rc::new(move |organization, id, reason| {
            let context = disabling.clone();
            async move { disable(&context, organization, id, reason).await.map_err(|error| error.to_string()) }
                .boxed_local()
        }),
    };
    let parts = (context.db.clone(), context.live.clone(), context.clock.clone());
    if let Some(dispatcher) = Dispatcher::new(parts, context.track.clone(), &context.webhooks, ports) {
        dispatcher.run().await;
    }
}
