//! One private Redis per test binary.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::programs::{redis_server, version_of};
use crate::report;
use crate::service::{Nest, Service, free_port, random_hex};

/// Databases of the server: each test takes the next, and there are more of them than tests.
const DATABASES: &str = "4096";
/// Its socket, in its directory.
const SOCKET: &str = "redis.socket";

/// A running Redis that nobody else uses.
pub struct PrivateRedis {
    port: u16,
    password: String,
    next: AtomicU32,
    _service: Service,
}

impl PrivateRedis {
    /// The URL of a database that no other test was given.
    #[must_use]
    pub fn url(&self) -> String {
        let database = self.next.fetch_add(1, Ordering::Relaxed);
        format!("redis://:{}@127.0.0.1:{}/{database}", self.password, self.port)
    }
}

/// This binary's Redis, started at the first call; `None` where it is not installed.
///
/// # Panics
/// It is installed and does not start.
pub fn redis() -> Option<&'static PrivateRedis> {
    static RUNNING: OnceLock<Option<PrivateRedis>> = OnceLock::new();
    RUNNING.get_or_init(start).as_ref()
}

fn start() -> Option<PrivateRedis> {
    let Some(program) = redis_server() else {
        report::missing("redis");
        return None;
    };
    let server = start_in(&program).or_else(|_| start_in(&program));
    let server = server.unwrap_or_else(|log| panic!("Redis does not start:\n{log}"));
    report::say(&format!("redis {}, private, on port {}", version_of(&program), server.port));
    Some(server)
}

fn start_in(program: &Path) -> Result<PrivateRedis, String> {
    let nest = Nest::new("redis").map_err(|error| format!("no directory for it: {error}"))?;
    let (port, password) = (free_port(), random_hex());
    let (port_text, socket) = (port.to_string(), nest.path.join(SOCKET));
    let mut command = vec![program.as_os_str()];
    command.extend(
        ["--bind", "127.0.0.1", "--port", port_text.as_str(), "--databases", DATABASES].map(OsStr::new),
    );
    command.extend(["--save", "", "--appendonly", "no", "--requirepass", password.as_str()].map(OsStr::new));
    command.extend([OsStr::new("--unixsocket"), socket.as_os_str()]);
    nest.write("password", &password).map_err(|error| error.to_string())?;
    let service = Service::start(nest, "TERM", &command, "eady to accept connections")?;
    Ok(PrivateRedis { port, password, next: AtomicU32::new(0), _service: service })
}

/// Ends the Redis, if one still listens, of a directory that a killed run left.
pub(crate) fn shut_down(directory: &Path) {
    let Ok(mut socket) = UnixStream::connect(directory.join(SOCKET)) else { return };
    let password = std::fs::read_to_string(directory.join("password")).unwrap_or_default();
    let asked = write!(socket, "AUTH {password}\r\nSHUTDOWN NOSAVE\r\n");
    // It answers by closing the connection; one that is gone already is as good.
    let _ = asked.and_then(|()| socket.read_to_end(&mut Vec::new()));
}
