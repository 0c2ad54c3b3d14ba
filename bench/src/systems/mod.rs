//! The systems that are measured, each as sockets to write to, ears that understand what it answers, and the
//! processes whose CPU time counts.

mod acks;
mod child;
mod feed;
mod floor;
mod history;
mod items;
pub(crate) mod null_store;
mod prepare;
pub(crate) mod server;
mod session;
mod tile38;
mod traccar;
mod waypost;

pub(crate) use child::{Child, Ready, server_loop};
pub(crate) use floor::open_floor;
pub(crate) use history::History;
#[cfg(test)]
pub(crate) use items::encoder;
pub(crate) use items::frame_text;
pub(crate) use prepare::{EMAIL as OPERATOR_EMAIL, PASSWORD as OPERATOR_PASSWORD, keep_ready, kept_ready};
pub(crate) use session::{Processes, Session};
pub(crate) use tile38::open_tile38;
pub(crate) use traccar::open_traccar;
pub(crate) use waypost::{Subscription, Waypost, WaypostOptions, begin_millis};

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// What a server keeps fixes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum Store {
    /// Nothing: commits are numbered and forgotten.
    Null,
    /// The embedded database.
    Sqlite,
    /// A private PostgreSQL, `synchronous_commit=on`.
    Postgres,
}

/// How fixes are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Packing {
    /// This many connections report for a fleet: each frame has fixes of many vehicles.
    Fleet { connections: u32, fixes: usize },
    /// A connection per vehicle.
    Own { fixes: usize },
    /// A connection per vehicle, a request per fix.
    Http,
    /// A connection per vehicle, a fix per message: the first so many are Teltonika devices, the others make requests.
    Devices { teltonika: u32 },
}

/// What a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    /// The tracker socket's frames.
    Frames,
    /// Requests.
    Http,
    /// Packets of Teltonika's codec 8.
    Teltonika,
}

impl Packing {
    /// Connections, and fixes in a frame.
    pub(crate) const fn of(self, vehicles: u32) -> (u32, usize) {
        match self {
            Self::Fleet { connections, fixes } => (connections, fixes),
            Self::Own { fixes } => (vehicles, fixes),
            Self::Http | Self::Devices { .. } => (vehicles, 1),
        }
    }

    /// What a connection speaks, by its number.
    pub(crate) const fn speaks(self, connection: u32) -> Speaks {
        match self {
            Self::Fleet { .. } | Self::Own { .. } => Speaks::Frames,
            Self::Devices { teltonika } if connection < teltonika => Speaks::Teltonika,
            Self::Http | Self::Devices { .. } => Speaks::Http,
        }
    }
}

/// Other systems, which somebody else runs.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Rivals {
    /// Compare with a Tile38 there; it is emptied
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) tile38: Option<String>,
    /// Compare with a Traccar there (its REST interface); an administrator is made or must be bench@example.com
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) traccar: Option<String>,
    /// Where that Traccar takes OsmAnd
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:5055")]
    pub(crate) traccar_osmand: String,
    /// That Traccar's process
    #[arg(long, value_name = "PID", requires = "traccar")]
    pub(crate) traccar_pid: Option<u32>,
    /// The process of its database
    #[arg(long, value_name = "PID", requires = "traccar")]
    pub(crate) traccar_database_pid: Option<u32>,
}

/// Sends a server a request over HTTP, on a connection of its own.
pub(crate) fn ask(address: &str, request: &str) -> Result<(u16, Vec<u8>)> {
    let mut socket = TcpStream::connect(address).with_context(|| format!("{address}: no connection"))?;
    socket.set_read_timeout(Some(Duration::from_secs(60)))?;
    socket.write_all(request.as_bytes())?;
    let (mut bytes, mut some) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        if let Some((status, body, _)) = crate::wire::http::first_answer(&bytes) {
            return Ok((status, body));
        }
        match socket.read(&mut some)? {
            0 => return None.with_context(|| format!("{address}: no whole answer")),
            read => bytes.extend_from_slice(&some[..read]),
        }
    }
}
