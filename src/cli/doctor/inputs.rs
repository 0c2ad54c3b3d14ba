//! What devices report to besides the API, and brokers that are published to: the organizations of the listeners and brokers,
//! and the brokers themselves.

use uuid::Uuid;

use super::report::Report;
use crate::cli::output::with_causes;
use waypost::config::{MqttBroker, Settings};
use waypost::ingest::mqtt::check;

const ABOUT: &str = "inputs";

/// `organizations`: those of the store, where they can be told.
pub(super) async fn look(settings: &Settings, organizations: Option<&[Uuid]>, report: &mut Report) {
    let listeners = settings.device_listeners.iter().map(|it| (it.organization.0, it.to_string()));
    let brokers = settings.mqtt_brokers.iter().map(|it| (it.organization.0, it.to_string()));
    for (organization, input) in listeners.chain(brokers) {
        if organizations.is_some_and(|known| !known.contains(&organization)) {
            report.wrong(
                ABOUT,
                format!("{input}: there is no organization {organization}, so nobody can report there"),
                "name one that is there (GET /v1/organizations)",
            );
        }
    }
    for broker in &settings.mqtt_brokers {
        match check(broker).await {
            Ok(()) => report
                .good(ABOUT, format!("{broker}: the broker answers and takes the sign-in{}", rights(broker))),
            Err(error) => report.wrong(
                ABOUT,
                format!("{broker}: {}", with_causes(&error.into())),
                "see that it runs, and to address, credentials and ca in mqttBrokers",
            ),
        }
    }
}

/// What cannot be told from outside: a broker drops without a word what it does not allow.
fn rights(broker: &MqttBroker) -> String {
    let Some(output) = &broker.output else { return String::new() };
    let discovery = output.discovery_root().map_or_else(String::new, |root| format!(" and {root}/#"));
    format!(
        "; its account must be allowed to publish below {}/#{discovery}",
        output.root(broker.organization)
    )
}
