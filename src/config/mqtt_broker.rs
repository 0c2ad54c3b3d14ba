//! Brokers (MQTT) of an organization, as they are set: address, credentials, what devices publish there, and what is
//! published there for others.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use serde_json::json;
use waypost_actors::model::OrganizationId;

use super::value::{Secret, Value};
use crate::domain::webhook_event::{EventTypes, event_types};

/// Topics of one connection at most.
const MOST_TOPICS: usize = 32;
/// Bytes of the longest beginning of what is published.
const LONGEST_PREFIX: usize = 200;
/// What is published of events unless the setting says otherwise: what happens, and no change of master data.
const USUAL_EVENTS: [&str; 3] = ["geofence.*", "fuel.*", "vehicle.*"];

/// Whose words a broker's messages are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MqttPayload {
    /// OwnTracks; the topic names the device.
    OwnTracks,
    /// A Traccar server's `forward.type=mqtt`.
    Traccar,
    /// flespi.
    Flespi,
}

impl MqttPayload {
    const ALL: [Self; 3] = [Self::OwnTracks, Self::Traccar, Self::Flespi];

    /// The name in the settings, which is that of the adapter.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OwnTracks => "owntracks",
            Self::Traccar => "traccar",
            Self::Flespi => "flespi",
        }
    }
}

/// What devices publish, and is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MqttInput {
    /// What the messages are.
    pub payload: MqttPayload,
    /// What is subscribed to, as filters.
    pub topics: Vec<String>,
}

/// What is published for others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MqttOutput {
    /// What its topics begin with.
    pub prefix: String,
    /// The types of events.
    pub events: EventTypes,
    /// What the topics begin with at which a Home Assistant looks for devices; `None` = it is told of none.
    pub discovery: Option<String>,
}

/// A broker: `mqtts://user:password@host:8883/<organization id>?payload=owntracks&topic=owntracks/+/+&publish=waypost`.
#[derive(Clone, PartialEq, Eq)]
pub struct MqttBroker {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Whether it is spoken to by TLS.
    pub has_tls: bool,
    /// A PEM file with the authorities that its certificate may come from; `None` = the public ones.
    pub authorities: Option<PathBuf>,
    /// User and password.
    pub user: Option<(String, Secret)>,
    /// Whose it is.
    pub organization: OrganizationId,
    /// What is read there; this or `output` is set, or both.
    pub input: Option<MqttInput>,
    /// What is published there.
    pub output: Option<MqttOutput>,
}

impl MqttBroker {
    /// The name of the connection that reads, under which the broker keeps what comes while the server is away: the same
    /// after every start.
    #[must_use]
    pub fn reader_id(&self) -> Option<String> {
        self.input.as_ref().map(|input| self.client_id("waypost", input.payload.as_str()))
    }

    /// The name of the connection that publishes: a broker ends the connection before of the same name, so each of an
    /// organization's prefixes has its own.
    #[must_use]
    pub fn publisher_id(&self) -> Option<String> {
        self.output.as_ref().map(|output| self.client_id(&output.prefix, "publish"))
    }

    fn client_id(&self, prefix: &str, what: &str) -> String {
        format!("{prefix}-{}-{what}", self.organization.0.simple())
    }
}

impl MqttOutput {
    /// The beginning of the topics of an organization.
    #[must_use]
    pub fn root(&self, organization: OrganizationId) -> String {
        format!("{}/{}", self.prefix, organization.0)
    }

    /// The beginning of the topics at which a Home Assistant is told of vehicles.
    #[must_use]
    pub fn discovery_root(&self) -> Option<String> {
        self.discovery.as_ref().map(|prefix| format!("{prefix}/device_tracker/waypost"))
    }
}

/// Without the credentials.
impl fmt::Display for MqttBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, organization, input, output, .. } = self;
        let scheme = if self.has_tls { "mqtts" } else { "mqtt" };
        write!(f, "{scheme}://{host}:{port}/{}?", organization.0)?;
        if let Some(input) = input {
            write!(f, "payload={}", input.payload.as_str())?;
        }
        if let Some(output) = output {
            write!(f, "{}publish={}", if input.is_some() { "&" } else { "" }, output.prefix)?;
        }
        Ok(())
    }
}

impl fmt::Debug for MqttBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Value for MqttBroker {
    fn read(text: &str) -> Result<Self, &'static str> {
        let wrong = "mqtts://user:password@host:port/organization id?payload=owntracks&topic=owntracks/+/+, with mqtt or mqtts, \
                     owntracks, traccar or flespi as the payload, topic up to 32 times, publish=waypost with or instead of those \
                     two, event=geofence.* up to 50 times, discovery=homeassistant, and ca=/file.pem for authorities \
                     of your own; several are separated by commas";
        // The wildcards # and + mean something else in an address.
        let (address, query) = text.split_once('?').ok_or(wrong)?;
        let url = url::Url::parse(address).map_err(|_| wrong)?;
        let has_tls = match url.scheme() {
            "mqtts" => true,
            "mqtt" => false,
            _ => return Err(wrong),
        };
        let organization =
            url.path().trim_start_matches('/').parse().map(OrganizationId).map_err(|_| wrong)?;
        let plain = |text: &str| percent_decode_str(text).decode_utf8().map(String::from).map_err(|_| wrong);
        let user = match (url.username(), url.password()) {
            ("", None) => None,
            (user, password) => Some((plain(user)?, Secret::new(plain(password.unwrap_or_default())?))),
        };
        let (mut payload, mut topics, mut authorities) = (None, Vec::new(), None);
        let (mut prefix, mut events, mut discovery) = (None, Vec::new(), None);
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').ok_or(wrong)?;
            let value = plain(value)?;
            match name {
                "payload" => {
                    payload = Some(
                        MqttPayload::ALL.into_iter().find(|known| known.as_str() == value).ok_or(wrong)?,
                    );
                }
                "topic" if is_filter(&value) => topics.push(value),
                "publish" if is_prefix(&value) => prefix = Some(value),
                "event" => events.push(value),
                "discovery" if is_prefix(&value) => discovery = Some(value),
                "ca" if has_tls && !value.is_empty() => authorities = Some(PathBuf::from(value)),
                _ => return Err(wrong),
            }
        }
        let input = match (payload, topics.len()) {
            (Some(payload), 1..=MOST_TOPICS) => Some(MqttInput { payload, topics }),
            (None, 0) => None,
            _ => return Err(wrong),
        };
        let output = match prefix {
            Some(prefix) => Some(MqttOutput { prefix, events: types(&events)?, discovery }),
            None if events.is_empty() && discovery.is_none() && input.is_some() => None,
            None => return Err(wrong),
        };
        Ok(Self {
            host: url.host_str().filter(|host| !host.is_empty()).ok_or(wrong)?.to_owned(),
            port: url.port().unwrap_or(if has_tls { 8883 } else { 1883 }),
            has_tls,
            authorities,
            user,
            organization,
            input,
            output,
        })
    }
}

fn types(events: &[String]) -> Result<EventTypes, &'static str> {
    let named = if events.is_empty() { json!(USUAL_EVENTS) } else { json!(events) };
    event_types(&named)
        .map_err(|_| "with events as webhooks name them: event=geofence.entry, event=fuel.*, event=*")
}

/// Whether topics may begin so.
fn is_prefix(text: &str) -> bool {
    let is_plain = |text: &str| !text.contains(['+', '#', '\0']) && !text.starts_with('$');
    (1..=LONGEST_PREFIX).contains(&text.len())
        && is_plain(text)
        && text.split('/').all(|level| !level.is_empty())
}

/// What is published at a broker, as filters: `+` stands for a level that has many values.
fn published(output: &MqttOutput, organization: OrganizationId) -> Vec<String> {
    let root = output.root(organization);
    let own = [format!("{root}/vehicles/+/position"), format!("{root}/events/+")];
    own.into_iter().chain(output.discovery_root().map(|root| format!("{root}/+/config"))).collect()
}

/// Whether any topic matches both what is subscribed to and what is published.
fn meet(subscribed: &str, published: &str) -> bool {
    let (mut subscribed, mut published) = (subscribed.split('/'), published.split('/'));
    loop {
        match (subscribed.next(), published.next()) {
            (Some("#"), _) | (None, None) => return true,
            (Some(one), Some(other)) if one == other || one == "+" || other == "+" => {}
            _ => return false,
        }
    }
}

/// Whether some of the entries read what some of them publish at the same broker.
fn read_themselves(brokers: &[MqttBroker]) -> bool {
    let publishing = brokers.iter().filter_map(|broker| Some((broker, broker.output.as_ref()?)));
    let mut publishing = publishing.map(|(broker, output)| (broker, published(output, broker.organization)));
    publishing.any(|(publisher, published)| {
        let is_same =
            |it: &&MqttBroker| it.port == publisher.port && it.host.eq_ignore_ascii_case(&publisher.host);
        let mut filters = brokers.iter().filter(is_same).filter_map(|it| it.input.as_ref());
        filters
            .any(|input| input.topics.iter().any(|filter| published.iter().any(|topic| meet(filter, topic))))
    })
}

/// Whether a text may be subscribed to.
fn is_filter(text: &str) -> bool {
    text.len() <= 1_000 && !text.contains('\0') && rumqttc::valid_filter(text)
}

impl Value for Vec<MqttBroker> {
    fn read(text: &str) -> Result<Self, &'static str> {
        let brokers = Vec::<String>::read(text)?;
        let brokers = brokers.iter().map(|part| MqttBroker::read(part)).collect::<Result<Self, _>>()?;
        let mut names = HashSet::new();
        for broker in &brokers {
            let is_new = |name| names.insert((broker.host.clone(), broker.port, name));
            let publishes = broker.output.as_ref().map(|_| broker.organization.0.to_string());
            if !broker.reader_id().into_iter().chain(publishes).all(is_new) {
                return Err(
                    "one for each broker, organization and payload, whose topics go together, and one that publishes",
                );
            }
        }
        if read_themselves(&brokers) {
            return Err(
                "without a topic that has what is published at that broker: the server would read what it says itself",
            );
        }
        Ok(brokers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORGANIZATION: &str = "0190b3c2-7a51-7c3e-9d0a-5b7f6c1e2d43";

    fn read(text: &str) -> Result<Vec<MqttBroker>, &'static str> {
        Vec::<MqttBroker>::read(&text.replace("ORG", ORGANIZATION))
    }

    #[test]
    fn an_address_has_everything_and_shows_no_password() {
        let broker = read(
            "mqtts://fleet:p%2Cw%40rd@broker.example.org/ORG?payload=owntracks&topic=owntracks/+/+&topic=own/#&ca=/etc/ca.pem",
        )
        .unwrap()
        .remove(0);
        assert_eq!((broker.host.as_str(), broker.port, broker.has_tls), ("broker.example.org", 8883, true));
        assert_eq!(broker.user, Some(("fleet".to_owned(), Secret::new("p,w@rd".to_owned()))));
        assert_eq!(broker.input.as_ref().unwrap().topics, ["owntracks/+/+", "own/#"]);
        assert_eq!(broker.authorities, Some(PathBuf::from("/etc/ca.pem")));
        let shown = format!("mqtts://broker.example.org:8883/{ORGANIZATION}?payload=owntracks");
        assert_eq!((broker.to_string(), format!("{broker:?}")), (shown.clone(), shown));
        let plain = read("mqtt://[::1]:1884/ORG?payload=flespi&topic=a").unwrap().remove(0);
        assert_eq!((plain.port, plain.user), (1884, None));
    }

    #[test]
    fn what_is_no_broker_is_refused() {
        for wrong in [
            "mqtt://h/ORG",
            "mqtt://h/ORG?topic=a",
            "mqtt://h/ORG?payload=traccar",
            "mqtt://h/ORG?payload=nmea&topic=a",
            "mqtt://h/ORG?payload=traccar&topic=",
            "mqtt://h/ORG?payload=traccar&topic=a/#/b",
            "mqtt://h/ORG?payload=traccar&topic=a&ca=/x",
            "mqtt://h/ORG?payload=traccar&topic=a&qos=0",
            "mqtt://h/fleet?payload=traccar&topic=a",
            "mqtt:///ORG?payload=traccar&topic=a",
            "ws://h/ORG?payload=traccar&topic=a",
            "mqtt://h/ORG?publish=",
            "mqtt://h/ORG?publish=a/%23",
            "mqtt://h/ORG?publish=a/+",
            "mqtt://h/ORG?publish=/a",
            "mqtt://h/ORG?publish=a//b",
            "mqtt://h/ORG?publish=$SYS",
            "mqtt://h/ORG?publish=a&topic=b",
            "mqtt://h/ORG?publish=a&discovery=",
            "mqtt://h/ORG?publish=a&discovery=h/%23",
            "mqtt://h/ORG?payload=traccar&topic=t&discovery=homeassistant",
            "mqtt://h/ORG?payload=traccar&topic=h/device_tracker/%23&publish=a&discovery=h",
            "mqtt://h/ORG?publish=a&payload=traccar",
            "mqtt://h/ORG?publish=a&event=geofence",
            "mqtt://h/ORG?event=geofence.*",
            "mqtt://h/ORG?payload=traccar&topic=t&event=geofence.*",
            "mqtt://h/ORG?publish=a,mqtt://h/ORG?publish=b",
            "mqtt://h/ORG?publish=a&payload=traccar&topic=%23",
            "mqtt://h/ORG?publish=a&payload=traccar&topic=a/+/vehicles/+/position",
            "mqtt://h/ORG?publish=a&payload=traccar&topic=a/ORG/events/geofence.entry",
            "mqtt://h/ORG?publish=a&payload=traccar&topic=+/ORG/events/geofence.entry",
            "mqtt://h/ORG?publish=a&payload=traccar&topic=a/+/+/0190b3c2-7a51-7c3e-9d0a-000000000001/position",
            "mqtt://h/ORG?publish=a&discovery=h&payload=traccar&topic=+/+/waypost/+/config",
            "mqtt://h/ORG?publish=a,mqtt://h/ORG?payload=traccar&topic=a/%23",
            "mqtt://h/ORG?payload=traccar&topic=a/+/events/%23,mqtt://u:p@H/0190b3c2-7a51-7c3e-9d0a-000000000002?publish=a",
            "mqtt://h/ORG?payload=traccar&topic=a,mqtt://h/ORG?payload=traccar&topic=b",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        for right in [
            "mqtt://h/ORG?payload=traccar&topic=a,mqtt://h/ORG?payload=flespi&topic=b",
            // At another broker, and beside what is published.
            "mqtt://h/ORG?publish=a,mqtt://h:1884/ORG?payload=traccar&topic=a/%23",
            "mqtt://h/ORG?publish=a,mqtt://h/ORG?payload=traccar&topic=a/+/+&topic=a/+/vehicles/+&topic=+/a/%23",
        ] {
            assert_eq!(read(right).map(|brokers| brokers.len()), Ok(2), "{right}");
        }
    }

    #[test]
    fn one_broker_is_read_and_published_to() {
        let read = |text| read(text).unwrap().remove(0);
        let out = read("mqtt://h/ORG?publish=fleet/waypost");
        let types = |out: &MqttBroker| out.output.clone().unwrap().events;
        assert!(types(&out).matches("geofence.entry") && types(&out).matches("vehicle.overspeed"));
        assert!(!types(&out).matches("change.user.created"));
        assert_eq!(
            out.output.as_ref().unwrap().root(out.organization),
            format!("fleet/waypost/{ORGANIZATION}")
        );
        assert_eq!(
            (out.input.is_none(), out.to_string()),
            (true, format!("mqtt://h:1883/{ORGANIZATION}?publish=fleet/waypost"))
        );
        let both = read(
            "mqtt://h/ORG?payload=flespi&topic=a/%23&publish=waypost&event=change.vehicle.*&event=fuel.refuel",
        );
        assert!(types(&both).matches("change.vehicle.deleted") && !types(&both).matches("geofence.entry"));
        assert_eq!(both.to_string(), format!("mqtt://h:1883/{ORGANIZATION}?payload=flespi&publish=waypost"));
        assert_ne!(both.reader_id(), both.publisher_id());
        assert_ne!(out.publisher_id(), both.publisher_id());
    }
}
