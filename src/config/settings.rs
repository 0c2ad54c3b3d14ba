//! The table of settings: names, types, defaults and explanations, and the struct made from it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use super::device_listener::DeviceListener;
use super::mqtt_broker::MqttBroker;
use super::value::{
    AdminListen, AllowedOrigin, LogFormat, Rate, Secret, Sender, SignUp, Value, WebAddress, reachable, time,
};
use crate::store::open;

/// A row of the table of settings.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The name in snake case: `data_dir` is `dataDir` in the file, `WAYPOST_DATA_DIR` as a
    /// variable, `--data-dir` as a flag.
    pub name: &'static str,
    /// The default as text; empty = none.
    pub default: &'static str,
    /// Its effect.
    pub explanation: &'static str,
    /// Whether its value must never be shown.
    pub is_secret: bool,
}

/// Whether a type, by its name in the source, hides its value.
const fn is_secret(of: &str) -> bool {
    matches!(of.as_bytes(), b"Secret" | b"Option<Secret>" | b"Vec<MqttBroker>")
}

macro_rules! settings {
    (@read $text:ident) => {
        Value::read($text)
    };
    (@read $text:ident $reader:ident) => {
        $reader($text)
    };
    // `by`: what reads it, where not every value of its type will do.
    ($($name:ident: $type:ty = $default:literal $(by $reader:ident)?, $explanation:literal;)+) => {
        /// Everything that can be set.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Settings {
            $(#[doc = $explanation] pub $name: $type,)+
        }

        /// The table of settings.
        pub const TABLE: &[Setting] = &[
            $(Setting { name: stringify!($name), default: $default, explanation: $explanation,
                is_secret: is_secret(stringify!($type)) },)+
        ];

        impl Settings {
            /// Sets one setting; `name` must be in the table.
            pub(super) fn assign(&mut self, name: &str, text: &str) -> Result<(), &'static str> {
                match name {
                    $(stringify!($name) => self.$name = settings!(@read text $($reader)?)?,)+
                    _ => return Err("a known setting"),
                }
                Ok(())
            }
        }

        impl Default for Settings {
            fn default() -> Self {
                Self { $($name: Value::read($default).expect("a default is valid, a test reads them all"),)+ }
            }
        }
    };
}

settings! {
    listen: SocketAddr = "127.0.0.1:8080", "Address and port of the server";
    node_listen: Option<SocketAddr> = "" by reachable, "Address and port at which other servers of the same PostgreSQL database hand requests on to this one, as they reach it; makes it a node of a cluster (docs/cluster.md). Keep it private";
    admin_listen: AdminListen = "auto", "Address and port of /metrics, /healthz and /readyz for operators, without sign-in: keep it private. auto is 127.0.0.1 and the port after that of listen, if it is free; or off";
    data_dir: PathBuf = "./waypost-data", "Directory of the embedded database, and of mail saved for want of an SMTP server";
    database_url: Option<Secret> = "", "PostgreSQL server to use instead of the embedded database: postgres://user:password@host/name (DATABASE_URL works too)";
    master_key: Option<Secret> = "", "Key that the signing keys are wrapped (encrypted) with, at least 32 characters, so that a copy of the store signs nobody in: openssl rand -base64 32";
    master_key_file: Option<PathBuf> = "", "File with that key, instead of master_key";
    redis_url: Option<Secret> = "", "Redis server for the newest vehicle states and for rate limits that several processes share (REDIS_URL works too)";
    public_url: Option<String> = "", "Address under which people reach the server, for links; default: the listen address";
    web_dir: Option<PathBuf> = "", "Directory to serve the dispatcher's page from instead of the built-in one, for work on it: web/dist";
    map_tiles: Option<WebAddress> = "", "Raster tiles under the map: https://host/{z}/{x}/{y}.png; without this, map_style or map_pmtiles the map has coasts only, and nothing is loaded from elsewhere";
    map_style: Option<WebAddress> = "", "MapLibre style under the map: https://host/style.json";
    map_hosts: Vec<WebAddress> = "", "Further origins, comma-separated, that the style loads tiles, letters and pictures from";
    map_pmtiles: Option<PathBuf> = "", "PMTiles file under the map, of pictures or of vectors as Protomaps cuts them; this server serves it. Without it, the one that `waypost map` has installed";
    map_attribution: Option<String> = "", "Who made what is under the map; shown on it";
    allowed_origins: Vec<AllowedOrigin> = "", "Further origins, comma-separated, whose pages may call /v1 (CORS) and open the live feed, such as https://{host}; * for all";
    sign_up: SignUp = "open", "Whether strangers may make system users and organizations: open or closed";
    smtp_url: Option<Secret> = "", "SMTP server for mail: smtps://user:password@host, or smtp://host:port?tls=required; without one, mail is saved as files in the data directory, mail/*.eml (SMTP_URL works too)";
    mail_from: Sender = "Waypost <waypost@localhost>", "Who mail is from, with a name or without";
    mail_timeout: Duration = "20s", "An SMTP server that takes longer for one mail is given up, to be tried again";
    admin_email: Option<String> = "", "E-mail of the first superAdmin, made at the first start";
    admin_password: Option<Secret> = "", "Password of the first superAdmin, at least 12 characters";
    log: String = "info", "Which log lines to write: a level, or a filter such as info,sqlx=warn";
    log_format: LogFormat = "text", "How log lines look: text or json";
    workers: Option<usize> = "", "Threads that serve HTTP; default: one per core";
    database_connections: u32 = "8", "Connections to the database at most";
    statement_timeout: Duration = "5s", "A statement of PostgreSQL that runs longer is cancelled";
    commit_timeout: Duration = "6s", "A batch of fixes whose commit takes longer is given up and loaded again";
    tracker_ping_interval: Duration = "30s", "Time between two pings to a tracker; one that answers none of three is closed";
    feed_heartbeat_interval: Duration = "15s", "Time between two heartbeats on the live feed; a client that answers none of three pings is closed";
    rate_limit: Option<Rate> = "12000/m", "Requests of one account, or of one address that is not signed in: 600/m, 5/s, or off";
    rate_limit_sign_in: Option<Rate> = "60/m", "Sign-ins, sign-ups and requests for mail from one address; what one account does to users and system users, its searches by licence; or off";
    rate_limit_ingest: Option<Rate> = "off", "Requests of one tracker, or off: its socket is slowed by acknowledgements anyway";
    waiting_connections: usize = "256", "Connections of one address that may keep the server waiting for a request; one more, and the one that has waited longest is closed. Behind a proxy (client_address_header) only those of devices are counted: the proxy must do so itself";
    client_address_header: Option<String> = "", "Header in which the reverse proxy in front names the client, such as X-Forwarded-For; its last address counts";
    device_listeners: Vec<DeviceListener> = "", "Ports for hardware trackers, comma-separated, each of one protocol (teltonika, gt06, h02, queclink) and one organization: teltonika://0.0.0.0:5027/ORGANIZATION; Teltonika by UDP too";
    mqtt_brokers: Vec<MqttBroker> = "", "Brokers (MQTT) that devices report to, or that positions and events are published to, comma-separated, each for one organization and with credentials: mqtts://user:password@host:8883/ORGANIZATION?payload=owntracks&topic=owntracks/+/+ reads (payload may also be traccar or flespi, topic may be repeated), ?publish=waypost publishes (event=geofence.* names what, may be repeated), both in one do both; ca=/file.pem names authorities of your own";
    webhook_networks: Vec<IpNet> = "", "Networks, comma-separated, that webhooks may reach beside the public Internet, by http too: 10.1.0.0/16, 192.168.1.20/32";
    // Fixes need not gather at all; every other time is one that passes.
    batch_interval: Duration = "25ms" by time, "How long fixes gather after a commit to share the next one; a lone fix is committed at once";
}

/// The file in the data directory that `waypost map` installs.
pub const INSTALLED_MAP: &str = "map.pmtiles";

impl Settings {
    /// The address under which people reach the server, without a slash at the end.
    #[must_use]
    pub fn public_url(&self) -> String {
        match &self.public_url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("http://{}", self.listen),
        }
    }

    /// Whether people reach the server by https, through a proxy.
    #[must_use]
    pub fn has_https(&self) -> bool {
        self.public_url.as_ref().is_some_and(|url| url.starts_with("https://"))
    }

    /// The PMTiles file under the map: the one that is set, or else the one that `waypost map` has installed.
    #[must_use]
    pub fn map_file(&self) -> Option<PathBuf> {
        let installed = || Some(self.data_dir.join(INSTALLED_MAP)).filter(|file| file.exists());
        self.map_pmtiles.clone().or_else(installed)
    }

    /// Where the data is and how it is opened.
    #[must_use]
    pub fn store(&self) -> open::Options {
        let location = match &self.database_url {
            Some(url) => open::Location::Postgres(url.reveal().to_owned()),
            None => open::Location::Embedded(self.data_dir.clone()),
        };
        open::Options {
            connections: self.database_connections,
            statement_timeout: self.statement_timeout,
            ..open::Options::new(location)
        }
    }
}
