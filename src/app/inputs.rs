//! What reports to an organization by the settings: its listeners for hardware and its connections to brokers.

use actix_rt::spawn;
use tokio_util::task::TaskTracker;

use super::error::StartError;
use crate::context::Context;
use crate::ingest::mqtt::Subscriber;

/// Fails if a listener or a connection is set for an organization that does not exist: nobody could report there.
pub(super) async fn require_organizations(context: &Context) -> Result<(), StartError> {
    let listeners = context.settings.device_listeners.iter().map(|it| (it.organization, "deviceListeners"));
    let brokers = context.settings.mqtt_brokers.iter().map(|it| (it.organization, "mqttBrokers"));
    for (organization, setting) in listeners.chain(brokers) {
        if context.auth.organization_status(organization).await?.is_none() {
            return Err(StartError::NoOrganization(organization.0, setting));
        }
    }
    Ok(())
}

/// Begins to subscribe at every broker.
pub(super) fn subscribe(context: &Context, sockets: &TaskTracker) -> Result<(), StartError> {
    for broker in &context.settings.mqtt_brokers {
        let (auth, live, sessions) = (context.auth.clone(), context.live.clone(), context.sessions.clone());
        let subscriber = Subscriber::new(broker.clone(), auth, live, sessions, context.report_log.clone())
            .map_err(|error| StartError::Mqtt(broker.to_string(), error))?;
        spawn(sockets.track_future(subscriber.run()));
    }
    Ok(())
}
