//! The real program as a process of its own, to be killed, stopped and inspected. Killed when dropped.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use waypost::store::open::Location;
use waypost_client::{Api, most_resident_bytes, resident_bytes};

use crate::eventually;
use crate::service::{random_hex, send};

/// The first superAdmin's address.
pub const ROOT: &str = "root@example.org";
/// The first superAdmin's password.
pub const PASSWORD: &str = "correct horse battery";
/// The setting that makes a server a node of a cluster.
pub const NODE_LISTEN: &str = "WAYPOST_NODE_LISTEN";
/// How long a start or a stop may take on a busy machine.
const DEADLINE: Duration = Duration::from_secs(120);
/// The time limit of one check whether it is ready.
const LOOK: Duration = Duration::from_secs(10);

/// How a server is started, the first time and again.
#[derive(Clone, Debug)]
pub struct Launch {
    program: PathBuf,
    /// What runs the program, which is given as its last arguments; empty: nothing does.
    pub runner: Vec<OsString>,
    /// Its store.
    pub location: Location,
    /// Where it listens, on loopback.
    pub port: u16,
    /// Settings by their variables.
    pub settings: Vec<(String, String)>,
}

impl Launch {
    /// A launch on a port that stays free while the server is away. `program`: the one just built, which
    /// `WAYPOST_TEST_BINARY` overrides.
    #[must_use]
    pub fn new(program: &str, location: Location) -> Self {
        let program = std::env::var_os("WAYPOST_TEST_BINARY").map_or_else(|| program.into(), PathBuf::from);
        Self { program, runner: Vec::new(), location, port: port_for_restarts(), settings: Vec::new() }
    }

    /// Makes it a node of a cluster, by [`NODE_LISTEN`].
    pub fn make_node(&mut self) {
        let address = format!("127.0.0.1:{}", port_for_restarts());
        self.settings.push((NODE_LISTEN.to_owned(), address));
    }

    /// `http://…`
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn command(&self, directory: &Path) -> std::io::Result<Command> {
        let mut command = dying_with_us();
        command.args(&self.runner).arg(&self.program).arg("serve").env_clear().current_dir(directory);
        command.env("WAYPOST_LISTEN", format!("127.0.0.1:{}", self.port)).env("WAYPOST_LOG", "warn");
        command.env("WAYPOST_ADMIN_EMAIL", ROOT).env("WAYPOST_ADMIN_PASSWORD", PASSWORD);
        command.env("WAYPOST_RATE_LIMIT", "off").env("WAYPOST_RATE_LIMIT_SIGN_IN", "off");
        match &self.location {
            Location::Embedded(directory) => command.env("WAYPOST_DATA_DIR", directory),
            Location::Postgres(url) => command.env("WAYPOST_DATABASE_URL", url),
        };
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        let log = File::create(directory.join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(command)
    }
}

/// A command that runs a program which the kernel kills when this test is gone, however it ends. Without `setpriv`,
/// a killed test leaves its server behind.
fn dying_with_us() -> Command {
    let mut command = Command::new("env");
    if Command::new("setpriv").args(["--pdeathsig", "KILL", "true"]).status().is_ok_and(|done| done.success())
    {
        command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
    }
    command
}

/// `waypost serve`, running.
#[derive(Debug)]
pub struct Program {
    process: Child,
    launch: Launch,
    /// Its working directory, without settings of its own; holds its log.
    directory: TempDir,
}

impl Program {
    /// Starts the program without waiting.
    ///
    /// # Panics
    /// It cannot be started.
    #[must_use]
    pub fn spawn(launch: &Launch) -> Self {
        let directory = tempfile::tempdir().expect("the folder for temporary files can be written");
        let process = launch.command(directory.path()).and_then(|mut command| command.spawn());
        Self { process: process.expect("the program can be started"), launch: launch.clone(), directory }
    }

    /// Starts the program and waits until it is ready.
    pub async fn start(launch: &Launch) -> Self {
        let program = Self::spawn(launch);
        program.ready().await;
        program
    }

    /// Waits until it reports that it is ready.
    pub async fn ready(&self) {
        eventually(DEADLINE, || self.is_ready()).await;
    }

    /// An API client signed in as the first superAdmin, once the server allows it.
    pub async fn operator(&self) -> Api {
        let url = self.url();
        eventually(DEADLINE, || Api::sign_in(&url, ROOT, PASSWORD, DEADLINE)).await
    }

    /// Whether it reports that it is ready now.
    pub async fn is_ready(&self) -> bool {
        let asked = async {
            let mut socket = TcpStream::connect(("127.0.0.1", self.launch.port)).await?;
            socket.write_all(b"GET /readyz HTTP/1.1\r\nHost: waypost\r\nConnection: close\r\n\r\n").await?;
            let mut answer = String::new();
            socket.read_to_string(&mut answer).await?;
            std::io::Result::Ok(answer.starts_with("HTTP/1.1 200 "))
        };
        matches!(timeout(LOOK, asked).await, Ok(Ok(true)))
    }

    /// `kill -9`, and waits until it is gone.
    ///
    /// # Panics
    /// It was already gone.
    pub fn kill(&mut self) {
        self.process.kill().expect("a process of ours can be killed");
        self.process.wait().expect("and be waited for");
    }

    /// Sends a signal by its name.
    pub fn signal(&self, signal: &str) {
        send(signal, std::iter::once(self.process.id().to_string().as_str()));
    }

    /// Asks it to stop, as a service manager does, and waits.
    pub async fn stop(&mut self) {
        self.signal("TERM");
        self.ended().await;
    }

    /// Asks all to stop, and waits: nodes of a cluster then do not go on for each other.
    pub async fn stop_all(programs: impl IntoIterator<Item = &mut Self>) {
        let stopping: Vec<&mut Self> =
            programs.into_iter().inspect(|program| program.signal("TERM")).collect();
        for program in stopping {
            program.ended().await;
        }
    }

    /// Waits until it has ended by itself.
    ///
    /// # Panics
    /// It does not say that all went well.
    pub async fn ended(&mut self) {
        let process = RefCell::new(&mut self.process);
        let ended = || async { process.borrow_mut().try_wait().expect("it is ours to wait for") };
        let status = eventually(DEADLINE, ended).await;
        assert!(status.success(), "{status}\n{}", self.log());
    }

    /// Its process, for what measures it.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Memory the process uses, in bytes.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        resident_bytes(self.process.id()).unwrap_or_default()
    }

    /// How many files and sockets it has open.
    #[must_use]
    pub fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.process.id())).map_or(0, Iterator::count)
    }

    /// The most memory it ever used, in bytes.
    #[must_use]
    pub fn most_resident_bytes(&self) -> u64 {
        most_resident_bytes(self.process.id()).unwrap_or_default()
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> String {
        self.launch.url()
    }

    /// What it has logged.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already; a stopped one dies too.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            println!("the server's last words:\n{}", lines[lines.len().saturating_sub(30)..].join("\n"));
        }
    }
}

/// A free port below those the system gives to clients: while a server is away, none of its clients can be given it. It is even and
/// given once, so no other server of this process takes it meanwhile, whose metrics are at its own and one.
#[must_use]
pub fn port_for_restarts() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let random = || u16::from_str_radix(&random_hex()[..4], 16).expect("four hexadecimal digits");
    let is_free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut some = std::iter::repeat_with(|| 12_000 + random() % 10_000 * 2);
    let is_ours = |port: &u16| is_free(*port) && is_free(*port + 1) && given.insert(*port);
    some.find(is_ours).expect("a port of 10,000 is free")
}
