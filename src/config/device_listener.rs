//! Listeners for hardware trackers, as they are set: protocol, address and organization.

use std::fmt;
use std::net::SocketAddr;

use waypost_actors::model::OrganizationId;

use super::value::Value;

/// A protocol that hardware trackers speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceProtocol {
    /// Teltonika's codecs 8, 8 Extended and 16, over TCP and UDP.
    Teltonika,
    /// GT06 of Concox, Jimi and their clones, over TCP.
    Gt06,
    /// H02, over TCP.
    H02,
    /// Queclink's @Track as text, over TCP.
    Queclink,
}

impl DeviceProtocol {
    const ALL: [Self; 4] = [Self::Teltonika, Self::Gt06, Self::H02, Self::Queclink];

    /// The name in the settings and in log lines.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Teltonika => "teltonika",
            Self::Gt06 => "gt06",
            Self::H02 => "h02",
            Self::Queclink => "queclink",
        }
    }
}

/// A port for hardware trackers of one organization: `teltonika://0.0.0.0:5027/<organization id>`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DeviceListener {
    /// What the devices speak.
    pub protocol: DeviceProtocol,
    /// Where they connect to.
    pub address: SocketAddr,
    /// Whose trackers may report here.
    pub organization: OrganizationId,
}

impl fmt::Display for DeviceListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}/{}", self.protocol.as_str(), self.address, self.organization.0)
    }
}

impl fmt::Debug for DeviceListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Value for DeviceListener {
    fn read(text: &str) -> Result<Self, &'static str> {
        let wrong = "protocol://address:port/organization id, with teltonika, gt06, h02 or queclink as the protocol, \
                     such as teltonika://0.0.0.0:5027/0190b3c2-7a51-7c3e-9d0a-5b7f6c1e2d43; several are separated by commas";
        let (protocol, rest) = text.split_once("://").ok_or(wrong)?;
        let (address, organization) = rest.split_once('/').ok_or(wrong)?;
        let protocol =
            DeviceProtocol::ALL.into_iter().find(|known| known.as_str() == protocol).ok_or(wrong)?;
        let organization = organization.parse().map(OrganizationId).map_err(|_| wrong)?;
        Ok(Self { protocol, address: address.parse().map_err(|_| wrong)?, organization })
    }
}

impl Value for Vec<DeviceListener> {
    fn read(text: &str) -> Result<Self, &'static str> {
        Vec::<String>::read(text)?.iter().map(|part| DeviceListener::read(part)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_read_as_it_is_written_and_what_is_none_is_refused() {
        let two = "teltonika://0.0.0.0:5027/0190b3c2-7a51-7c3e-9d0a-5b7f6c1e2d43, \
                   h02://[::1]:5013/0190b3c2-7a51-7c3e-9d0a-5b7f6c1e2d43";
        let read = Vec::<DeviceListener>::read(two).unwrap();
        let written: Vec<String> = read.iter().map(ToString::to_string).collect();
        assert_eq!(written.join(", "), two.split_whitespace().collect::<Vec<_>>().join(" "));
        for wrong in [
            "teltonika",
            "tk103://0.0.0.0:1/0190b3c2-7a51-7c3e-9d0a-5b7f6c1e2d43",
            "h02://localhost:1/0190b3c2-7a51-7c3e-9d0a-5b7f6c1e2d43",
            "h02://0.0.0.0:1",
            "h02://0.0.0.0:1/fleet",
        ] {
            assert!(Vec::<DeviceListener>::read(wrong).is_err(), "{wrong}");
        }
    }
}
