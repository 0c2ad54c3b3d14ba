//! The kinds of values that settings have: how they are parsed and shown.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

/// A value that never appears in a log line or a debug print.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    #[must_use]
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// The secret itself, for the one place that needs it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Where the operators' listener listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminListen {
    /// On loopback, at the port after the server's, if it is free.
    Auto,
    /// Only at this address.
    At(SocketAddr),
    /// Nowhere.
    Off,
}

/// Whether strangers may sign up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignUp {
    /// They may.
    Open,
    /// Accounts are made by those who have one.
    Closed,
}

/// Whom mail is from, as `Name <address>` or as an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender(pub lettre::message::Mailbox);

/// A web address, whose origin may be named in a content security policy.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct WebAddress(String);

impl WebAddress {
    /// Scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> &str {
        let authority = self.0.find("://").map_or(0, |at| at + 3);
        let end = self.0[authority..].find('/').map_or(self.0.len(), |at| authority + at);
        &self.0[..end]
    }
}

/// An origin whose pages may use the server, or every origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedOrigin(String);

impl AllowedOrigin {
    /// Scheme, host and port as browsers send them, or `*`. An error completes the sentence "… must be …".
    pub fn new(text: &str) -> Result<Self, &'static str> {
        let is_origin = WebAddress::read(text).is_ok_and(|address| address.origin() == text);
        if is_origin || text == "*" {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err("origins such as https://console.example.org without a path, or *")
        }
    }

    /// Whether it is every origin.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.0 == "*"
    }

    /// Whether it is this one.
    #[must_use]
    pub fn covers(&self, origin: &str) -> bool {
        self.is_any() || self.0 == origin
    }
}

/// A setting's type: read from the text of a file, a variable or a flag.
pub(super) trait Value: Sized {
    /// Parses it; an error completes the sentence "… must be …".
    fn read(text: &str) -> Result<Self, &'static str>;
}

impl Value for String {
    fn read(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() { Err("a text that is not empty") } else { Ok(text.to_owned()) }
    }
}

impl Value for Secret {
    fn read(text: &str) -> Result<Self, &'static str> {
        String::read(text).map(Self)
    }
}

impl Value for PathBuf {
    fn read(text: &str) -> Result<Self, &'static str> {
        String::read(text).map(Self::from)
    }
}

impl Value for SocketAddr {
    fn read(text: &str) -> Result<Self, &'static str> {
        text.parse().map_err(|_| "an address with a port, such as 127.0.0.1:8080 or [::]:8080")
    }
}

/// Reads an address that others reach this machine at, if there is one: one of its own, and not all of them.
pub(super) fn reachable(text: &str) -> Result<Option<SocketAddr>, &'static str> {
    let address = Option::<SocketAddr>::read(text)?;
    if address.is_some_and(|address| address.ip().to_canonical().is_unspecified()) {
        return Err(
            "the one address of this machine that the other nodes reach it at, such as 10.0.0.1:7300, and not \
                    all of its addresses (0.0.0.0 or [::])",
        );
    }
    Ok(address)
}

impl Value for usize {
    fn read(text: &str) -> Result<Self, &'static str> {
        text.parse().map_err(|_| "a whole number")
    }
}

impl Value for u32 {
    fn read(text: &str) -> Result<Self, &'static str> {
        text.parse().ok().filter(|n| *n > 0).ok_or("a whole number from 1")
    }
}

impl Value for LogFormat {
    fn read(text: &str) -> Result<Self, &'static str> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("text or json"),
        }
    }
}

impl Value for AdminListen {
    fn read(text: &str) -> Result<Self, &'static str> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            _ => text
                .parse()
                .map(Self::At)
                .map_err(|_| "an address with a port such as 127.0.0.1:9090, auto, or off"),
        }
    }
}

impl Value for SignUp {
    fn read(text: &str) -> Result<Self, &'static str> {
        match text {
            "open" => Ok(Self::Open),
            "closed" => Ok(Self::Closed),
            _ => Err("open or closed"),
        }
    }
}

impl Value for Sender {
    fn read(text: &str) -> Result<Self, &'static str> {
        text.parse().map(Self).map_err(|_| "an address such as Waypost <waypost@example.org>")
    }
}

impl Value for Duration {
    fn read(text: &str) -> Result<Self, &'static str> {
        Some(time(text)?).filter(|time| !time.is_zero()).ok_or("a time such as 250ms, 5s or 15m, and not 0")
    }
}

/// Reads a time that may be none at all.
pub(super) fn time(text: &str) -> Result<Duration, &'static str> {
    let wrong = "a time such as 250ms, 5s or 15m";
    let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or(wrong)?;
    let amount: u64 = text[..digits].parse().map_err(|_| wrong)?;
    match &text[digits..] {
        "ms" => Ok(Duration::from_millis(amount)),
        "s" => Ok(Duration::from_secs(amount)),
        "m" => amount.checked_mul(60).map(Duration::from_secs).ok_or(wrong),
        _ => Err(wrong),
    }
}

/// A rate limit: `count` times within `per`, all at once or spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many times, at least once.
    pub count: u32,
    /// The period.
    pub per: Duration,
}

impl Value for Rate {
    fn read(text: &str) -> Result<Self, &'static str> {
        let wrong = "a rate such as 5/s, 600/m or 1000/h, or off";
        let (count, unit) = text.split_once('/').ok_or(wrong)?;
        let per = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            _ => return Err(wrong),
        };
        let count = count.parse().ok().filter(|count| (1..=10_000_000).contains(count)).ok_or(wrong)?;
        Ok(Self { count, per: Duration::from_secs(per) })
    }
}

impl<T: Value> Value for Option<T> {
    fn read(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() || text == "off" { Ok(None) } else { T::read(text).map(Some) }
    }
}

impl Value for WebAddress {
    fn read(text: &str) -> Result<Self, &'static str> {
        let wrong = "an address such as https://tiles.example.org/{z}/{x}/{y}.png";
        let address = Self(text.to_owned());
        let host = address.origin().strip_prefix("https://").or(address.origin().strip_prefix("http://"));
        // A blank or a semicolon would end the origin within the policy.
        let is_host = |host: &str| {
            !host.is_empty()
                && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte))
        };
        if host.is_some_and(is_host) { Ok(address) } else { Err(wrong) }
    }
}

impl Value for Vec<WebAddress> {
    fn read(text: &str) -> Result<Self, &'static str> {
        Vec::<String>::read(text)?.iter().map(|part| WebAddress::read(part)).collect()
    }
}

impl Value for Vec<AllowedOrigin> {
    fn read(text: &str) -> Result<Self, &'static str> {
        Vec::<String>::read(text)?.iter().map(|part| AllowedOrigin::new(part)).collect()
    }
}

impl Value for Vec<IpNet> {
    fn read(text: &str) -> Result<Self, &'static str> {
        let parts = Vec::<String>::read(text)?;
        let networks: Option<Self> = parts.iter().map(|part| part.parse().ok()).collect();
        networks.ok_or("networks such as 10.1.0.0/16, fd12::/16 or 192.168.1.20/32")
    }
}

impl Value for Vec<String> {
    fn read(text: &str) -> Result<Self, &'static str> {
        Ok(text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect())
    }
}
