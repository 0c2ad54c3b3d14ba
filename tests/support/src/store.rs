//! A store of its own for each test, on either engine.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Once, OnceLock};
use std::time::Duration;

use sqlx::AssertSqlSafe;
use tempfile::TempDir;
use waypost::store::open::{Location, Options, embedded_file, open, open_and_migrate};
use waypost::store::sql::{Db, Engine};

use crate::postgres::{TEMPLATE, postgres};
use crate::report;
use crate::service::scratch;

/// A migrated store that only one test uses. Removed when the test has passed.
#[derive(Clone)]
pub struct TestStore {
    /// The open store.
    pub db: Db,
    /// The options with which it can be opened again.
    pub options: Options,
    places: Rc<Places>,
}

/// Everything one test was given for its stores.
enum Places {
    Embedded(RefCell<Vec<TempDir>>),
    Databases(RefCell<Vec<String>>),
}

impl TestStore {
    /// The engine it is on.
    #[must_use]
    pub const fn engine(&self) -> Engine {
        self.db.engine()
    }

    /// The URL of its database.
    ///
    /// # Panics
    /// It is embedded.
    #[must_use]
    pub fn url(&self) -> &str {
        match &self.options.location {
            Location::Postgres(url) => url,
            Location::Embedded(_) => panic!("only a store on PostgreSQL has a URL"),
        }
    }

    /// From now on the database rejects single positions (late ones, repeated ones) of this instant (microseconds since 1970), as if their rows broke
    /// a constraint.
    ///
    /// # Panics
    /// The trigger cannot be made.
    pub async fn refuse_positions_at(&self, recorded_at_micros: i64) {
        let texts = match self.engine() {
            Engine::Sqlite => vec![format!(
                "create trigger poison before insert on position when new.recorded_at = {recorded_at_micros} \
                 begin select raise(abort, 'poison'); end"
            )],
            Engine::Postgres => vec![
                format!(
                    "create function poison() returns trigger language plpgsql as $$ begin \
                     if extract(epoch from new.recorded_at) * 1000000 = {recorded_at_micros} then \
                     raise exception 'poison' using errcode = '22003'; end if; return new; end $$"
                ),
                "create trigger poison before insert on position for each row execute function poison()"
                    .to_owned(),
            ],
        };
        for text in texts {
            self.db.write().sql(AssertSqlSafe(text)).run().await.expect("the trigger can be made");
        }
    }

    /// The options for another store on the same engine: a fresh one, without any table.
    pub async fn empty(&self) -> Options {
        self.places.add(None).await
    }
}

impl Places {
    fn new(engine: Engine) -> Self {
        match engine {
            Engine::Sqlite => Self::Embedded(RefCell::default()),
            Engine::Postgres => Self::Databases(RefCell::default()),
        }
    }

    async fn add(&self, template: Option<&str>) -> Options {
        let location = match self {
            Self::Embedded(folders) => {
                let folder = tempfile::Builder::new().prefix("waypost-store-").tempdir();
                let folder = folder.expect("the folder for temporary files can be written");
                let path = folder.path().to_owned();
                if template.is_some() {
                    copy_migrated(&path);
                }
                folders.borrow_mut().push(folder);
                Location::Embedded(path)
            }
            Self::Databases(names) => {
                let server = postgres().expect("run() has found PostgreSQL");
                let name = server.create_test_database(template).await;
                let url = server.url(&name);
                names.borrow_mut().push(name);
                Location::Postgres(url)
            }
        };
        Options::new(location)
    }

    /// Temporary folders go when dropped; databases are dropped here.
    async fn clear(&self) {
        if let Self::Databases(names) = self {
            let server = postgres().expect("run() has found PostgreSQL");
            let names = names.take();
            for name in names {
                server.drop_database(&name).await;
            }
        }
    }
}

/// Runs a test on a store of its own; skips it, with a message, where the engine is not installed.
///
/// # Panics
/// The test panics, or the store cannot be made.
pub fn run<F, Fut>(engine: Engine, test: F)
where
    F: FnOnce(TestStore) -> Fut,
    Fut: Future<Output = ()>,
{
    static SQLITE: Once = Once::new();
    match engine {
        Engine::Sqlite => SQLITE.call_once(|| report::say("sqlite, built in")),
        Engine::Postgres if postgres().is_none() => {
            println!("skipped: not installed");
            return;
        }
        Engine::Postgres => {}
    }
    actix_rt::System::new().block_on(async {
        let places = Rc::new(Places::new(engine));
        let options = places.add(Some(TEMPLATE)).await;
        let db = open_and_migrate(&options).await.expect("a fresh store opens");
        test(TestStore { db: db.clone(), options, places: Rc::clone(&places) }).await;
        db.close().await;
        places.clear().await;
    });
}

/// Puts an embedded store with the schema of this build into an empty data directory, which is quicker than to migrate one.
///
/// # Panics
/// The folder cannot be written, or there is such a store already.
pub fn copy_migrated(directory: &Path) {
    static TEMPLATE: OnceLock<PathBuf> = OnceLock::new();
    let template = TEMPLATE.get_or_init(|| {
        let folder = scratch("template");
        let location = Location::Embedded(folder.clone());
        aside(async move || migrate(location).await);
        embedded_file(&folder)
    });
    let copy = embedded_file(directory);
    assert!(!copy.exists(), "a store is already in {}", directory.display());
    std::fs::copy(template, copy).expect("the template can be copied");
}

pub(crate) async fn migrate(location: Location) {
    let db = open_and_migrate(&Options::new(location)).await;
    db.expect("the migrations run on a fresh store").close().await;
}

/// Runs something to its end in a thread of its own, since the caller may be inside a runtime.
pub(crate) fn aside(work: impl AsyncFnOnce() + Send + 'static) {
    let done = std::thread::spawn(move || actix_rt::System::new().block_on(work()));
    done.join().expect("it ends without a panic");
}

/// Runs a statement about databases, which takes no parameters and no transaction.
pub(crate) async fn administer(url: &str, text: &str) {
    let admin = open(&Options {
        connections: 1,
        // A server that is busy takes its time to make and drop databases.
        statement_timeout: Duration::from_secs(60),
        ..Options::new(Location::Postgres(url.to_owned()))
    })
    .await;
    let admin = admin.expect("the private PostgreSQL answers");
    let done = admin.write().sql(AssertSqlSafe(text)).run().await;
    done.unwrap_or_else(|error| panic!("{text}: {error}"));
    admin.close().await;
}
