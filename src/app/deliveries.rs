//! The thread of webhooks and of what is published to brokers, apart from those that serve requests and trackers.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use futures_util::FutureExt;
use serde::Serialize;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use waypost_actors::model::OrganizationId;

use crate::context::Context;
use crate::http::show_change;
use crate::mqtt_out::{self, FleetNow, Publisher};
use crate::ops::error::OpError;
use crate::ops::positions::Newest;
use crate::ops::webhooks::disable;
use crate::webhooks::{Ports, Supervisor, Webhooks};

/// The deliveries of a shard. Dropped, they end at once.
pub(super) struct Deliveries {
    webhooks: Webhooks,
    ended: oneshot::Receiver<()>,
    _going_on: DropGuard,
}

impl Deliveries {
    /// Starts delivering on a thread, which is to outlive the connections to the store, since some may be opened there; nothing
    /// is published for the missing organizations, whose inputs stay shut too.
    pub(super) fn start(thread: &ArbiterHandle, context: Context, missing: Vec<OrganizationId>) -> Self {
        let webhooks = context.webhooks.clone();
        let ((sender, ended), going_on) = (oneshot::channel::<()>(), CancellationToken::new());
        let dropped = going_on.clone();
        thread.spawn_fn(move || {
            actix_rt::spawn(async move {
                dropped.run_until_cancelled(run(context, &missing)).await;
                drop(sender);
            });
        });
        Self { webhooks, ended, _going_on: going_on.drop_guard() }
    }

    /// Ends deliveries and saves how far they got, if that takes no longer than `within`. What is under way is delivered
    /// again after the next start.
    pub(super) async fn end(mut self, within: Duration) -> bool {
        self.webhooks.stop();
        timeout(within, &mut self.ended).await.is_ok()
    }
}

async fn run(context: Context, missing: &[OrganizationId]) {
    let mut publishing = JoinSet::new();
    for publisher in publishers(&context, missing) {
        publishing.spawn_local(publisher.run());
    }
    deliver(context).await;
    publishing.join_all().await;
}

/// One for each broker that is published to and whose organization is not missing.
fn publishers(context: &Context, missing: &[OrganizationId]) -> Vec<Publisher> {
    let parts = mqtt_out::Parts {
        db: context.db.clone(),
        live: context.live.clone(),
        log: context.track.clone(),
        auth: context.auth.clone(),
        clock: context.clock.clone(),
        meters: Arc::clone(&context.meters.mqtt_out),
        stopping: context.webhooks.stopping(),
    };
    let (reading, naming) = (context.clone(), context.clone());
    let ports = mqtt_out::Ports {
        show_change: show_change(context.clone()),
        fleet: Rc::new(move |organization| {
            let context = reading.clone();
            async move { fleet(&context, organization).await.map_err(|error| error.to_string()) }
                .boxed_local()
        }),
        names: Rc::new(move |organization| {
            let context = naming.clone();
            async move { Newest::names(&context, organization).await.map_err(|error| error.to_string()) }
                .boxed_local()
        }),
    };
    let brokers = context.settings.mqtt_brokers.iter().filter(|it| !missing.contains(&it.organization));
    let published = brokers.filter_map(|broker| Some((broker.clone(), broker.output.clone()?)));
    let publishers = published.map(|broker| Publisher::new(broker, parts.clone(), ports.clone()));
    // The start has tried it.
    publishers.filter_map(Result::ok).collect()
}

async fn fleet(context: &Context, organization: OrganizationId) -> Result<FleetNow, OpError> {
    let (newest, vehicles) = Newest::read(context, organization).await?;
    Ok(FleetNow { vehicles, show: Rc::new(move |vehicle, now| json(&newest.show(vehicle, now))) })
}

fn json(position: &impl Serialize) -> String {
    serde_json::to_string(position).expect("its parts have JSON forms")
}

async fn deliver(context: Context) {
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
    if let Some(supervisor) = Supervisor::new(parts, context.track.clone(), &context.webhooks, ports) {
        supervisor.run().await;
    }
}
