//! The real program as a process of its own, to be killed, stopped and looked at. Gone when dropped.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use awc::Client;
use rand::RngExt;
use tempfile::TempDir;
use waypost::store::open::Location;
use waypost_test_support::eventually;

use crate::ground::{DEADLINE, PASSWORD, ROOT};

/// How a server is started, the first time and again.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(crate) location: Location,
    pub(crate) port: u16,
    /// Settings by their variables.
    pub(crate) settings: Vec<(String, String)>,
}

impl Launch {
    pub(crate) fn new(location: Location) -> Self {
        Self { location, port: port_for_restarts(), settings: Vec::new() }
    }

    /// `http://…`
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn command(&self, log: &File) -> Command {
        let mut command = dying_with_us();
        command.arg(program()).arg("serve").env_clear().env("WAYPOST_LOG", "warn");
        command.env("WAYPOST_LISTEN", format!("127.0.0.1:{}", self.port));
        command.env("WAYPOST_ADMIN_EMAIL", ROOT).env("WAYPOST_ADMIN_PASSWORD", PASSWORD);
        command.env("WAYPOST_RATE_LIMIT", "off").env("WAYPOST_RATE_LIMIT_SIGN_IN", "off");
        match &self.location {
            Location::Embedded(directory) => command.env("WAYPOST_DATA_DIR", directory),
            Location::Postgres(url) => command.env("WAYPOST_DATABASE_URL", url),
        };
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        let out = || Stdio::from(log.try_clone().expect("a file can be shared"));
        command.stdin(Stdio::null()).stdout(out()).stderr(out());
        command
    }
}

/// The program under test: `WAYPOST_TEST_BINARY`, or the one just built.
fn program() -> PathBuf {
    std::env::var_os("WAYPOST_TEST_BINARY")
        .map_or_else(|| env!("CARGO_BIN_EXE_waypost").into(), PathBuf::from)
}

/// What runs a program that the kernel kills when this test is gone, however it ends. Without `setpriv` a
/// killed test leaves its server behind.
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
pub(crate) struct Program {
    process: std::process::Child,
    launch: Launch,
    /// Where it runs, without settings of its own, and its log.
    directory: TempDir,
}

impl Program {
    /// Starts the program and does not wait.
    pub(crate) fn spawn(launch: &Launch) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = File::create(directory.path().join("log")).unwrap();
        let mut command = launch.command(&log);
        let process = command.current_dir(directory.path()).spawn().unwrap();
        Self { process, launch: launch.clone(), directory }
    }

    /// Starts the program and waits until it is ready.
    pub(crate) async fn start(launch: &Launch) -> Self {
        let program = Self::spawn(launch);
        program.ready().await;
        program
    }

    /// Waits until it says that it is ready.
    pub(crate) async fn ready(&self) {
        eventually(DEADLINE, || self.is_ready()).await;
    }

    pub(crate) async fn is_ready(&self) -> bool {
        let ready = format!("{}/readyz", self.launch.url());
        let client = Client::builder().timeout(Duration::from_secs(10)).finish();
        client.get(&ready).send().await.is_ok_and(|answer| answer.status().is_success())
    }

    /// `kill -9`, and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args(["-s", signal, &self.process.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Asks it to stop, as a service manager does, and waits; it must say that all went well.
    pub(crate) async fn stop(&mut self) {
        self.signal("TERM");
        let process = std::cell::RefCell::new(&mut self.process);
        let status = eventually(DEADLINE, || async { process.borrow_mut().try_wait().unwrap() }).await;
        assert!(status.success(), "{status}\n{}", self.log());
    }

    /// Memory of the process that is in use, bytes.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kibibytes.unwrap_or_default() * 1024
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> String {
        self.launch.url()
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
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

/// A free port below those the system gives to clients: while the server is away, none of its clients
/// can be given it.
fn port_for_restarts() -> u16 {
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let mut rng = rand::rng();
    let mut some = std::iter::repeat_with(|| rng.random_range(12_000..32_000_u16));
    some.find(free).unwrap()
}
