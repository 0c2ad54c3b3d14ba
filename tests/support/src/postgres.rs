//! One private PostgreSQL per test binary, durable as in production, with a migrated template database; and more of
//! them for tests that break theirs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use waypost::store::open::Location;

use crate::programs::{postgres_folder, version_of};
use crate::report;
use crate::service::{Launch, Nest, Service, free_port, random_hex};

const KIND: &str = "postgresql";
/// The database that each test's own is copied from.
pub(crate) const TEMPLATE: &str = "waypost_template";
/// Durability stays on: the store refuses a server without it.
const SETTINGS: [&str; 5] =
    ["max_connections=300", "shared_buffers=32MB", "wal_level=minimal", "max_wal_senders=0", "timezone=UTC"];

/// How long the children of a killed PostgreSQL may prevent it from starting again.
const START_AGAIN_WITHIN: Duration = Duration::from_secs(30);

/// A running PostgreSQL of the tests' own.
pub struct PrivatePostgres {
    port: u16,
    password: String,
    service: Service,
}

/// How a PostgreSQL is shut down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// As for maintenance: connections are closed, everything is written.
    Fast,
    /// Without writing anything: the next start recovers.
    Immediate,
}

impl PrivatePostgres {
    /// A PostgreSQL of the caller's own, to break; `None` where it is not installed. Stopped when dropped.
    ///
    /// # Panics
    /// It is installed and does not start.
    #[must_use]
    pub fn own() -> Option<Self> {
        Self::own_in(None)
    }

    /// Like [`Self::own`], with its files in a folder that every user may enter.
    #[must_use]
    pub fn own_in(folder: Option<&Path>) -> Option<Self> {
        let nest = || match folder {
            Some(folder) => Nest::new_in(folder, KIND),
            None => Nest::new(KIND),
        };
        Some(start_or_panic(&installed()?, nest))
    }

    /// Whether it can count its statements: `create extension pg_stat_statements`.
    #[must_use]
    pub fn counts_statements(&self) -> bool {
        postgres_folder().is_some_and(|programs| has_statistics(&programs))
    }

    /// Makes a database, empty or as a copy of another that has no open connections.
    pub async fn create_database(&self, name: &str, template: Option<&str>) {
        let template = template.map(|template| format!(" template {template}")).unwrap_or_default();
        let text = format!("create database {name}{template}");
        crate::store::administer(&self.url("postgres"), &text).await;
    }

    /// Makes a database with the schema of this build, and tells its name.
    ///
    /// # Panics
    /// This is not the server of [`postgres`], the only one with such a database to copy.
    pub async fn create_migrated_database(&self) -> String {
        self.create_test_database(Some(TEMPLATE)).await
    }

    /// As [`Self::create_database`], with a name of its own, which it tells.
    pub(crate) async fn create_test_database(&self, template: Option<&str>) -> String {
        let name = format!("test_{}", random_hex());
        self.create_database(&name, template).await;
        name
    }

    /// Drops a database, even if it has open connections.
    pub async fn drop_database(&self, name: &str) {
        let text = format!("drop database if exists {name} with (force)");
        crate::store::administer(&self.url("postgres"), &text).await;
    }

    /// `kill -9` of all its processes.
    pub fn kill(&mut self) {
        self.service.signal_all("KILL");
        self.service.wait();
    }

    /// Shuts it down.
    pub fn shut_down(&mut self, how: Shutdown) {
        self.service.signal(match how {
            Shutdown::Fast => "INT",
            Shutdown::Immediate => "QUIT",
        });
        self.service.wait();
    }

    /// Suspends all its processes: connections stay open, but nothing is answered.
    pub fn freeze(&self) {
        self.service.signal_all("STOP");
    }

    /// Resumes its processes.
    pub fn thaw(&self) {
        self.service.signal_all("CONT");
    }

    /// Starts it again after it ended, on the same port; does nothing while it runs.
    ///
    /// # Panics
    /// It does not start.
    pub fn start_again(&mut self) {
        let end = Instant::now() + START_AGAIN_WITHIN;
        while self.service.has_ended()
            && let Err(log) = self.service.start_again()
        {
            // Its children die a moment later than itself.
            let may_pass = log.contains("still in use") && Instant::now() < end;
            assert!(may_pass, "PostgreSQL does not start again:\n{log}");
        }
    }
    /// The URL of one of its databases.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://waypost:{}@127.0.0.1:{}/{database}", self.password, self.port)
    }

    /// Starts another one for measurements, with settings (`name=value`) added to ours; `None` where it is not
    /// installed. Its databases are those of a new cluster.
    pub fn start(further: &[&str]) -> Result<Option<Self>, String> {
        postgres_folder().map(|programs| start_in(&programs, Nest::new(KIND), further)).transpose()
    }

    /// The process that is the parent of all its processes.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.service.process_id()
    }
}

/// This binary's PostgreSQL, started by the first call; `None` where it is not installed.
///
/// # Panics
/// It is installed and does not start.
pub fn postgres() -> Option<&'static PrivatePostgres> {
    static RUNNING: OnceLock<Option<PrivatePostgres>> = OnceLock::new();
    RUNNING.get_or_init(start).as_ref()
}

fn installed() -> Option<PathBuf> {
    let programs = postgres_folder();
    if programs.is_none() {
        report::missing("postgresql");
    }
    programs
}

fn start_or_panic(programs: &Path, nest: impl Fn() -> std::io::Result<Nest>) -> PrivatePostgres {
    // A second try, in case another process took the free port in between.
    let server = start_in(programs, nest(), &[]).or_else(|_| start_in(programs, nest(), &[]));
    let server = server.unwrap_or_else(|log| panic!("PostgreSQL does not start:\n{log}"));
    let version = version_of(&programs.join("postgres"));
    report::say(&format!("postgresql {version}, private, on port {}", server.port));
    server
}

fn start() -> Option<PrivatePostgres> {
    let server = start_or_panic(&installed()?, || Nest::in_memory(KIND));
    migrate_template(&server);
    Some(server)
}

/// Whether the module that counts statements lies where Debian puts it.
fn has_statistics(programs: &Path) -> bool {
    programs.join("../lib/pg_stat_statements.so").exists()
}

fn start_in(
    programs: &Path,
    nest: std::io::Result<Nest>,
    further: &[&str],
) -> Result<PrivatePostgres, String> {
    let nest = nest.map_err(|error| format!("no directory for it: {error}"))?;
    let password = random_hex();
    make_cluster(&nest, programs, &password)?;
    let port = free_port();
    let (data, postgres) = (nest.path.join("data"), programs.join("postgres"));
    let port_text = port.to_string();
    let mut command = vec![postgres.into_os_string(), "-D".into(), data.into_os_string()];
    // No socket in the file system: its path may be longer than the limit for sockets.
    command.extend(["-h", "127.0.0.1", "-p", port_text.as_str(), "-k", ""].map(OsString::from));
    command.extend(SETTINGS.iter().chain(further).flat_map(|setting| ["-c", setting]).map(OsString::from));
    if has_statistics(programs) {
        command.extend(["-c", "shared_preload_libraries=pg_stat_statements"].map(OsString::from));
    }
    let launch = Launch { stop: "INT", command, ready: "ready to accept connections" };
    let service = Service::start(nest, launch)?;
    Ok(PrivatePostgres { port, password, service })
}

fn make_cluster(nest: &Nest, programs: &Path, password: &str) -> Result<(), String> {
    let secret = nest.write("password", password).map_err(|error| error.to_string())?;
    let mut initdb = nest.command(programs.join("initdb"));
    // Of a random password md5 is as safe, and an unoptimised client takes ten milliseconds for each connection with SCRAM.
    initdb.args(["--username=waypost", "--auth=md5", "--encoding=UTF8", "--locale=C", "--no-sync"]);
    initdb.arg("--pgdata").arg(nest.path.join("data")).arg("--pwfile").arg(secret);
    let made = initdb.output().map_err(|error| format!("initdb: {error}"))?;
    if made.status.success() {
        return Ok(());
    }
    let _ = std::fs::remove_dir_all(&nest.path);
    Err(String::from_utf8_lossy(&made.stderr).into_owned())
}

fn migrate_template(server: &PrivatePostgres) {
    let (admin, template) = (server.url("postgres"), server.url(TEMPLATE));
    crate::store::aside(async move || {
        crate::store::administer(&admin, &format!("create database {TEMPLATE}")).await;
        crate::store::migrate(Location::Postgres(template)).await;
    });
}
