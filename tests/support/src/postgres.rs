//! One private PostgreSQL per test binary, durable as in production, with a migrated template database.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::OnceLock;

use waypost::store::open::{Location, Options, open_and_migrate};

use crate::programs::{postgres_folder, version_of};
use crate::report;
use crate::service::{Nest, Service, free_port, random_hex};

/// The database that each test's own is copied from.
pub(crate) const TEMPLATE: &str = "waypost_template";
/// Durability stays on: the store refuses a server without it.
const SETTINGS: [&str; 5] =
    ["max_connections=300", "shared_buffers=32MB", "wal_level=minimal", "max_wal_senders=0", "timezone=UTC"];

/// A running PostgreSQL that nobody else uses.
pub struct PrivatePostgres {
    port: u16,
    password: String,
    service: Service,
}

impl PrivatePostgres {
    /// The URL of one of its databases.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://waypost:{}@127.0.0.1:{}/{database}", self.password, self.port)
    }

    /// Another one, with settings (`name=value`) beside ours, for whoever measures; `None` where it is not
    /// installed. Its databases are those of a new cluster.
    pub fn start(further: &[&str]) -> Result<Option<Self>, String> {
        postgres_folder().map(|programs| start_in(&programs, further)).transpose()
    }

    /// The process below which all of its processes are.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.service.process_id()
    }
}

/// This binary's PostgreSQL, started at the first call; `None` where it is not installed.
///
/// # Panics
/// It is installed and does not start.
pub fn postgres() -> Option<&'static PrivatePostgres> {
    static RUNNING: OnceLock<Option<PrivatePostgres>> = OnceLock::new();
    RUNNING.get_or_init(start).as_ref()
}

fn start() -> Option<PrivatePostgres> {
    let Some(programs) = postgres_folder() else {
        report::missing("postgresql");
        return None;
    };
    // A second try for the case that somebody took the free port in between.
    let server = start_in(&programs, &[]).or_else(|_| start_in(&programs, &[]));
    let server = server.unwrap_or_else(|log| panic!("PostgreSQL does not start:\n{log}"));
    migrate_template(&server);
    let version = version_of(&programs.join("postgres"));
    report::say(&format!("postgresql {version}, private, on port {}", server.port));
    Some(server)
}

fn start_in(programs: &Path, further: &[&str]) -> Result<PrivatePostgres, String> {
    let nest = Nest::new("postgresql").map_err(|error| format!("no directory for it: {error}"))?;
    let password = random_hex();
    make_cluster(&nest, programs, &password)?;
    let port = free_port();
    let (data, postgres) = (nest.path.join("data"), programs.join("postgres"));
    let (port_text, sockets) = (port.to_string(), nest.path.clone());
    let mut command = vec![postgres.as_os_str(), OsStr::new("-D"), data.as_os_str()];
    command.extend(["-h", "127.0.0.1", "-p", port_text.as_str(), "-k"].map(OsStr::new));
    command.push(sockets.as_os_str());
    command.extend(SETTINGS.iter().chain(further).flat_map(|setting| ["-c", setting]).map(OsStr::new));
    let service = Service::start(nest, "INT", &command, "ready to accept connections")?;
    Ok(PrivatePostgres { port, password, service })
}

fn make_cluster(nest: &Nest, programs: &Path, password: &str) -> Result<(), String> {
    let secret = nest.write("password", password).map_err(|error| error.to_string())?;
    let mut initdb = nest.command(programs.join("initdb"));
    initdb.args(["--username=waypost", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"]);
    initdb.arg("--pgdata").arg(nest.path.join("data")).arg("--pwfile").arg(secret);
    let made = initdb.output().map_err(|error| format!("initdb: {error}"))?;
    if made.status.success() {
        return Ok(());
    }
    let _ = std::fs::remove_dir_all(&nest.path);
    Err(String::from_utf8_lossy(&made.stderr).into_owned())
}

/// In a thread of its own, since the first caller may be inside a runtime.
fn migrate_template(server: &PrivatePostgres) {
    let (admin, template) = (server.url("postgres"), server.url(TEMPLATE));
    let migrated = std::thread::spawn(move || {
        actix_rt::System::new().block_on(async {
            crate::store::administer(&admin, &format!("create database {TEMPLATE}")).await;
            let db = open_and_migrate(&Options::new(Location::Postgres(template))).await;
            db.expect("the migrations run on a fresh PostgreSQL").close().await;
        });
    });
    migrated.join().expect("the template database can be made");
}
