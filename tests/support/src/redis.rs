//! One private Redis per test binary, and others for tests that break theirs.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::programs::{redis_server, version_of};
use crate::report;
use crate::service::{Launch, Nest, Service, free_port, random_hex};

/// Databases of the server: each test takes the next, and there are more of them than tests.
const DATABASES: &str = "4096";
/// Its socket, in its directory.
const SOCKET: &str = "redis.socket";

/// A running Redis of the tests' own.
pub struct PrivateRedis {
    port: u16,
    password: String,
    next: AtomicU32,
    service: Service,
}

impl PrivateRedis {
    /// A Redis of the caller's own, to break; `None` where it is not installed. Stopped when dropped.
    ///
    /// # Panics
    /// It is installed and does not start.
    #[must_use]
    pub fn own() -> Option<Self> {
        start()
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        self.service.signal("KILL");
        self.service.wait();
    }

    /// Suspends it: connections stay open, but nothing is answered.
    pub fn freeze(&self) {
        self.service.signal("STOP");
    }

    /// Resumes it.
    pub fn thaw(&self) {
        self.service.signal("CONT");
    }

    /// Starts it again after it ended, empty, on the same port; does nothing while it runs.
    ///
    /// # Panics
    /// It does not start.
    pub fn start_again(&mut self) {
        if self.service.has_ended() {
            let started = self.service.start_again();
            started.unwrap_or_else(|log| panic!("Redis does not start again:\n{log}"));
        }
    }

    /// Forgets everything in all its databases.
    ///
    /// # Panics
    /// It does not answer.
    pub fn flush(&self) {
        tell(&self.service.nest.path, &self.password, "FLUSHALL\r\nQUIT").expect("Redis answers");
    }

    /// The URL of a database that was given to no other test.
    #[must_use]
    pub fn url(&self) -> String {
        let database = self.next.fetch_add(1, Ordering::Relaxed);
        format!("redis://:{}@127.0.0.1:{}/{database}", self.password, self.port)
    }
}

/// This binary's Redis, started by the first call; `None` where it is not installed.
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
    let mut command = vec![program.as_os_str().to_owned()];
    command.extend(
        ["--bind", "127.0.0.1", "--port", port_text.as_str(), "--databases", DATABASES].map(OsString::from),
    );
    let settings = ["--save", "", "--appendonly", "no", "--requirepass", password.as_str(), "--unixsocket"];
    command.extend(settings.map(OsString::from));
    command.push(socket.into_os_string());
    nest.write("password", &password).map_err(|error| error.to_string())?;
    let launch = Launch { stop: "TERM", command, ready: "eady to accept connections" };
    let service = Service::start(nest, launch)?;
    Ok(PrivateRedis { port, password, next: AtomicU32::new(0), service })
}

/// Shuts down the Redis that a killed run left in a directory, if it still listens.
pub(crate) fn shut_down(directory: &Path) {
    let password = std::fs::read_to_string(directory.join("password")).unwrap_or_default();
    // If it is gone already, that is fine.
    let _ = tell(directory, &password, "SHUTDOWN NOSAVE");
}

/// Sends a command after which Redis closes the connection.
fn tell(directory: &Path, password: &str, what: &str) -> std::io::Result<()> {
    let mut socket = UnixStream::connect(directory.join(SOCKET))?;
    write!(socket, "AUTH {password}\r\n{what}\r\n")?;
    socket.read_to_end(&mut Vec::new()).map(|_| ())
}
