//! What an organization has by the settings: its listeners for hardware and its brokers.

use actix_rt::spawn;
use tokio_util::task::TaskTracker;
use waypost_actors::model::OrganizationId;

use super::error::StartError;
use crate::config::MqttBroker;
use crate::context::Context;
use crate::ingest::mqtt::{MqttError, Subscriber, publisher};

/// The organizations that listeners or brokers are set for and that are not served here: those of other shards, and those that
/// do not exist, which are told in the log. Their inputs stay shut: an organization that was deleted must not keep the server
/// from its next start.
pub(super) async fn missing_organizations(context: &Context) -> Result<Vec<OrganizationId>, StartError> {
    let listeners = context.settings.device_listeners.iter().map(|it| (it.organization, it.to_string()));
    let brokers = context.settings.mqtt_brokers.iter().map(|it| (it.organization, it.to_string()));
    let mut missing = Vec::new();
    for (organization, input) in listeners.chain(brokers) {
        if !context.db.shard().holds(organization) {
            missing.push(organization);
        } else if context.auth.organization_status(organization).await?.is_none() {
            tracing::error!(input, organization = %organization.0, "nobody can report or be told here: there is no such organization");
            missing.push(organization);
        }
    }
    Ok(missing)
}

/// Begins to subscribe at every broker that devices publish to and whose organization is not missing.
pub(super) fn subscribe(
    context: &Context,
    missing: &[OrganizationId],
    sockets: &TaskTracker,
) -> Result<(), StartError> {
    let failed = |broker: &MqttBroker| {
        let broker = broker.to_string();
        move |error: MqttError| StartError::Mqtt(broker, error)
    };
    for broker in context.settings.mqtt_brokers.iter().filter(|it| !missing.contains(&it.organization)) {
        if broker.output.is_some() {
            // The deliveries connect, on their thread.
            publisher(broker, 1).map_err(failed(broker))?;
        }
        let Some(input) = broker.input.clone() else { continue };
        let (auth, live, sessions) = (context.auth.clone(), context.live.clone(), context.sessions.clone());
        let (report_log, meters) = (context.report_log.clone(), context.meters.mqtt_in.clone());
        let subscriber = Subscriber::new((broker.clone(), input), auth, live, sessions, report_log, meters)
            .map_err(failed(broker))?;
        spawn(sockets.track_future(subscriber.run()));
    }
    Ok(())
}
