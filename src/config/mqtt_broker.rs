//! Brokers (MQTT) that devices of an organization report to, as they are set: address, credentials, organization, topics
//! and what their messages are.

use std::fmt;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use waypost_actors::model::OrganizationId;

use super::value::{Secret, Value};

/// Topics of one connection at most.
const MOST_TOPICS: usize = 32;

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

/// A broker: `mqtts://user:password@host:8883/<organization id>?payload=owntracks&topic=owntracks/+/+`.
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
    /// Whose trackers report there.
    pub organization: OrganizationId,
    /// What the messages are.
    pub payload: MqttPayload,
    /// What is subscribed to, as filters.
    pub topics: Vec<String>,
}

impl MqttBroker {
    /// The name under which the broker keeps what comes while the server is away: the same after every start.
    #[must_use]
    pub fn client_id(&self) -> String {
        format!("waypost-{}-{}", self.organization.0.simple(), self.payload.as_str())
    }
}

/// Without the credentials.
impl fmt::Display for MqttBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, organization, .. } = self;
        let scheme = if self.has_tls { "mqtts" } else { "mqtt" };
        write!(f, "{scheme}://{host}:{port}/{}?payload={}", organization.0, self.payload.as_str())
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
                     owntracks, traccar or flespi as the payload, topic up to 32 times, and ca=/file.pem for authorities of \
                     your own; several are separated by commas";
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
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').ok_or(wrong)?;
            let value = plain(value)?;
            match name {
                "payload" => payload = MqttPayload::ALL.into_iter().find(|known| known.as_str() == value),
                "topic" if is_filter(&value) => topics.push(value),
                "ca" if has_tls && !value.is_empty() => authorities = Some(PathBuf::from(value)),
                _ => return Err(wrong),
            }
        }
        if topics.is_empty() || topics.len() > MOST_TOPICS {
            return Err(wrong);
        }
        Ok(Self {
            host: url.host_str().filter(|host| !host.is_empty()).ok_or(wrong)?.to_owned(),
            port: url.port().unwrap_or(if has_tls { 8883 } else { 1883 }),
            has_tls,
            authorities,
            user,
            organization,
            payload: payload.ok_or(wrong)?,
            topics,
        })
    }
}

/// Whether a text may be subscribed to.
fn is_filter(text: &str) -> bool {
    text.len() <= 1_000 && !text.contains('\0') && rumqttc::valid_filter(text)
}

impl Value for Vec<MqttBroker> {
    fn read(text: &str) -> Result<Self, &'static str> {
        let brokers = Vec::<String>::read(text)?;
        let brokers = brokers.iter().map(|part| MqttBroker::read(part)).collect::<Result<Self, _>>()?;
        let name = |broker: &MqttBroker| (broker.host.clone(), broker.port, broker.client_id());
        let is_twice = |at: usize| brokers[..at].iter().any(|other| name(other) == name(&brokers[at]));
        if (0..brokers.len()).any(is_twice) {
            return Err("one for each broker, organization and payload: its topics go together");
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
        assert_eq!(broker.topics, ["owntracks/+/+", "own/#"]);
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
            "mqtt://h/ORG?payload=traccar&topic=a,mqtt://h/ORG?payload=traccar&topic=b",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            read("mqtt://h/ORG?payload=traccar&topic=a,mqtt://h/ORG?payload=flespi&topic=b").unwrap().len(),
            2
        );
    }
}
