//! The real program as a process of its own, which a test may kill. Gone when dropped.

use std::net::TcpListener;
use std::process::{Command, Stdio};

use awc::Client;
use rand::RngExt;
use tempfile::TempDir;
use waypost::store::open::Location;
use waypost_test_support::{TestStore, eventually};

use crate::server::{DEADLINE, PASSWORD, ROOT};

/// `waypost serve` on a test's store.
pub(crate) struct Child {
    process: std::process::Child,
    pub(crate) url: String,
    /// Where it runs: without settings of its own.
    _directory: TempDir,
}

impl Child {
    /// Starts the program and waits until it is ready.
    pub(crate) async fn start(store: &TestStore, port: u16) -> Self {
        Self::start_with(store, port, &[]).await
    }

    /// The same, with further variables.
    pub(crate) async fn start_with(store: &TestStore, port: u16, variables: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_waypost"));
        command.arg("serve").env_clear().current_dir(directory.path());
        command.env("WAYPOST_LISTEN", format!("127.0.0.1:{port}")).env("WAYPOST_LOG", "warn");
        command.env("WAYPOST_ADMIN_EMAIL", ROOT).env("WAYPOST_ADMIN_PASSWORD", PASSWORD);
        command.envs(variables.iter().copied());
        match &store.options.location {
            Location::Embedded(directory) => command.env("WAYPOST_DATA_DIR", directory),
            Location::Postgres(url) => command.env("WAYPOST_DATABASE_URL", url),
        };
        // Its log goes to the test's, shown when the test fails.
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let child = Self { process, url: format!("http://127.0.0.1:{port}"), _directory: directory };
        let ready = format!("{}/readyz", child.url);
        eventually(DEADLINE, || async {
            let answer = Client::default().get(&ready).send().await;
            answer.is_ok_and(|answer| answer.status().is_success())
        })
        .await;
        child
    }

    /// How much memory it has, in bytes.
    pub(crate) fn resident_bytes(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// The most memory it ever had, in bytes.
    pub(crate) fn most_resident_bytes(&self) -> u64 {
        self.memory("VmHWM:")
    }

    fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
    }

    /// `kill -9`, and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Asks it to stop, as a service manager does.
    pub(crate) fn terminate(&self) {
        let asked = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
        assert!(asked.unwrap().success());
    }

    /// Waits until it has ended by itself; whether it says that all went well.
    pub(crate) async fn ended(&mut self) -> bool {
        let process = std::cell::RefCell::new(&mut self.process);
        eventually(DEADLINE, || async { process.borrow_mut().try_wait().unwrap() }).await.success()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A free port below those the system gives to clients: while the server is away, none of its clients
/// can be given it.
pub(crate) fn port_for_restarts() -> u16 {
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let mut rng = rand::rng();
    let mut some = std::iter::repeat_with(|| rng.random_range(20_000..32_000_u16));
    some.find(free).unwrap()
}
