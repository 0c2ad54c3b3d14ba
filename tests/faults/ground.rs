//! The start of every run: a store with one organization, its buses and its fences, and copies of it.
//!
//! Since all runs begin with a copy, the vehicles, the fences and therefore the records have the same ids in all of
//! them: a run with faults can be compared with one without, down to the last value.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::time::timeout;
use uuid::Uuid;
use waypost::store::open::Location;
use waypost_client::trace::{self, Point, fences};
use waypost_client::{Api, Method};
use waypost_test_support::{Engine, Launch, PrivatePostgres, Program, scratch};

use crate::ledger::{FixKey, Undisturbed};

/// The longest wait of a run, unless it names another.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);
/// The longest run, unless `WAYPOST_TEST_MINUTES` is set.
const MINUTES: usize = 10;

/// The launch of the program on a store.
pub(crate) fn launch(place: Location) -> Launch {
    Launch::new(env!("CARGO_BIN_EXE_waypost"), place)
}

/// The prepared store of one engine, and the servers under it that can be broken.
pub(crate) struct Ground {
    pub(crate) engine: Engine,
    pub(crate) postgres: Option<PrivatePostgres>,
    pub(crate) fleet: Rc<Fleet>,
    /// The result of an undisturbed load, by which buses take part.
    pub(crate) undisturbed: HashMap<usize, Rc<Undisturbed>>,
    prepared: Prepared,
}

/// What is kept between the tests of a binary, which run one after another.
#[derive(Default)]
struct Kept {
    postgres: Option<PrivatePostgres>,
    prepared: Option<Prepared>,
    fleet: Option<Fleet>,
    undisturbed: Vec<(usize, Undisturbed)>,
}

struct Prepared {
    folder: PathBuf,
    copies: usize,
}

/// An organization with its buses.
#[derive(Clone)]
pub(crate) struct Fleet {
    pub(crate) organization: String,
    pub(crate) buses: Vec<Bus>,
}

/// A bus and what it will report.
#[derive(Clone)]
pub(crate) struct Bus {
    pub(crate) vehicle: Uuid,
    pub(crate) tracker: Uuid,
    /// What its tracker calls itself: fifteen digits, as hardware has them, where the bus has a number.
    pub(crate) unique_id: String,
    pub(crate) token: String,
    pub(crate) points: Vec<Point>,
}

impl Bus {
    /// What identifies a fix of it.
    pub(crate) fn key(&self, point: &Point) -> FixKey {
        let place = point.place;
        FixKey::new(self.vehicle, point.recorded_at.as_millis(), place.latitude, place.longitude)
    }
}

static SQLITE: Mutex<Option<Kept>> = Mutex::new(None);
static POSTGRES: Mutex<Option<Kept>> = Mutex::new(None);
/// Faults need the machine's cores to themselves.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs a test on an engine's ground; skips it, with a message, where the engine is not installed.
pub(crate) fn on(engine: Engine, test: impl AsyncFnOnce(&mut Ground)) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = match engine {
        Engine::Sqlite => &SQLITE,
        Engine::Postgres => &POSTGRES,
    };
    // A test that failed took the ground with it; the next one prepares another.
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = kept.take();
    actix_rt::System::new().block_on(async {
        let Some(mut ground) = Ground::take(engine, taken).await else {
            println!("skipped: not installed");
            return;
        };
        let limit = Duration::from_secs(60 * crate::seed::number("WAYPOST_TEST_MINUTES", MINUTES) as u64);
        timeout(limit, test(&mut ground)).await.expect("a run is bounded: WAYPOST_TEST_MINUTES");
        if let Some(postgres) = &mut ground.postgres {
            postgres.thaw();
            postgres.start_again();
        }
        *kept = Some(ground.keep());
    });
}

impl Ground {
    async fn take(engine: Engine, kept: Option<Kept>) -> Option<Self> {
        if let Some(Kept { postgres, prepared: Some(prepared), fleet: Some(fleet), undisturbed }) = kept {
            let undisturbed = undisturbed.into_iter().map(|(step, of)| (step, Rc::new(of))).collect();
            return Some(Self { engine, postgres, prepared, fleet: Rc::new(fleet), undisturbed });
        }
        let postgres = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => Some(PrivatePostgres::own()?),
        };
        let prepared = Prepared { folder: scratch("faults"), copies: 0 };
        let fleet = Rc::new(Fleet { organization: String::new(), buses: Vec::new() });
        let mut ground = Self { engine, postgres, fleet, undisturbed: HashMap::new(), prepared };
        if let Some(postgres) = &ground.postgres {
            postgres.create_database("prepared", None).await;
        }
        ground.fleet = ground.prepare_at(&ground.place("prepared")).await;
        Some(ground)
    }

    /// Prepares an empty store for runs to start from.
    pub(crate) async fn prepare_at(&self, place: &Location) -> Rc<Fleet> {
        let mut program = Program::start(&launch(place.clone())).await;
        let fleet = prepare(&program.operator().await).await;
        program.stop().await;
        Rc::new(fleet)
    }

    fn keep(self) -> Kept {
        let owned = |(step, of): (usize, Rc<Undisturbed>)| (step, (*of).clone());
        Kept {
            postgres: self.postgres,
            prepared: Some(self.prepared),
            fleet: Some((*self.fleet).clone()),
            undisturbed: self.undisturbed.into_iter().map(owned).collect(),
        }
    }

    fn place(&self, name: &str) -> Location {
        match &self.postgres {
            Some(postgres) => Location::Postgres(postgres.url(name)),
            None => Location::Embedded(self.prepared.folder.join(name)),
        }
    }

    /// A copy of the prepared store.
    pub(crate) async fn copy(&mut self) -> Location {
        self.prepared.copies += 1;
        let name = format!("copy_{}", self.prepared.copies);
        let place = self.place(&name);
        match (&self.postgres, &place) {
            (Some(postgres), _) => postgres.create_database(&name, Some("prepared")).await,
            (None, Location::Embedded(to)) => self.copy_to(to),
            (None, Location::Postgres(_)) => unreachable!("no PostgreSQL, no place on it"),
        }
        place
    }

    /// A place with nothing in it yet.
    pub(crate) async fn empty(&mut self) -> Location {
        self.prepared.copies += 1;
        let name = format!("empty_{}", self.prepared.copies);
        if let Some(postgres) = &self.postgres {
            postgres.create_database(&name, None).await;
        }
        self.place(&name)
    }

    /// A copy of the prepared embedded store in a folder chosen by the test.
    pub(crate) fn copy_to(&self, folder: &Path) {
        copy_folder(&self.prepared.folder.join("prepared"), folder);
    }

    /// Drops a copy.
    pub(crate) async fn drop_copy(&self, place: &Location) {
        match (&self.postgres, place) {
            (Some(postgres), Location::Postgres(url)) => {
                postgres.drop_database(url.rsplit('/').next().unwrap()).await;
            }
            (_, Location::Embedded(folder)) => drop(std::fs::remove_dir_all(folder)),
            (None, Location::Postgres(_)) => {}
        }
    }

    /// The servers of a PostgreSQL ground that can be broken.
    pub(crate) fn postgres(&mut self) -> &mut PrivatePostgres {
        self.postgres.as_mut().expect("a test of PostgreSQL's faults runs on it")
    }
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

fn bundled(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo").join(name);
    let bytes = std::fs::read(path).unwrap();
    trace::inflate(&bytes).unwrap().into_owned()
}

/// What the buses will report: `WAYPOST_TEST_DATA`, a folder of traces, or the bundled evenings.
fn tracks() -> BTreeMap<String, Vec<Point>> {
    let mut tracks: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    let contents: Vec<Vec<u8>> = match std::env::var_os("WAYPOST_TEST_DATA") {
        None => vec![bundled("traces.csv.gz")],
        Some(folder) => {
            let files = std::fs::read_dir(folder).expect("WAYPOST_TEST_DATA is a folder").flatten();
            let read = |path| trace::inflate(&std::fs::read(path).unwrap()).unwrap().into_owned();
            files.map(|file| read(file.path())).collect()
        }
    };
    for content in &contents {
        // The traces' folder may also hold the events they lead to.
        for found in trace::read(content).into_iter().flatten().flatten() {
            let name = found.vehicle.as_deref().unwrap_or("bus").to_owned();
            // Hardware reports whole numbers, and always a course; a bus is to lead to the same records by whatever it reports.
            let speed_kmh = found.point.speed_kmh.map(f64::round);
            let heading_degrees = Some(found.point.heading_degrees.map_or(0.0, f64::floor));
            tracks.entry(name).or_default().push(Point { speed_kmh, heading_degrees, ..found.point });
        }
    }
    tracks
}

/// Makes the organization, its buses and the fences of the bundle.
async fn prepare(api: &Api) -> Fleet {
    let made = api
        .send(
            Method::POST,
            "/v1/organizations",
            &json!({ "name": "Austin", "contactEmail": "austin@example.org",
            "admin": { "email": "admin@example.org", "firstName": "A", "lastName": "B" } }),
        )
        .await
        .unwrap();
    let organization = text(&made["id"]);
    let path = format!("/v1/organizations/activate/{organization}");
    api.send(Method::PUT, &path, &json!({})).await.unwrap();
    // Who is silent, and when, depends on the machine's clock: no run would have another's records.
    let patient = json!({ "settings": { "staleAfterSeconds": 604_800, "offlineAfterSeconds": 2_592_000 } });
    let path = format!("/v1/organizations/organization/{organization}");
    api.send(Method::PUT, &path, &patient).await.unwrap();
    let mut shapes = fences::polygons(&bundled("fences.geojson.gz")).unwrap();
    shapes.extend(fences::circles(&bundled("circles.json")).unwrap());
    let fences = shapes.iter().map(|fence| {
        // Every fourth one also watches for dwells.
        let dwell = fence.id.len().is_multiple_of(4).then_some(120);
        let body = json!({ "organizationId": organization, "name": fence.id, "shape": fence.shape,
            "effectiveFrom": null, "rules": { "dwellAfterSeconds": dwell } });
        async move { api.send(Method::POST, "/v1/geofences", &body).await.unwrap() }
    });
    let _made: Vec<Value> = stream::iter(fences).buffer_unordered(4).collect().await;
    let mut buses = Vec::new();
    for (name, points) in tracks() {
        buses.push(bus(api, &organization, &name, points).await);
    }
    Fleet { organization, buses }
}

/// Makes a bus.
pub(crate) async fn bus(api: &Api, organization: &str, name: &str, points: Vec<Point>) -> Bus {
    let unique_id = format!("{name:0>15}");
    let body = json!({ "organizationId": organization, "name": name, "category": "bus",
        "tracker": { "uniqueId": unique_id } });
    let made = api.send(Method::POST, "/v1/vehicles", &body).await.unwrap();
    let id = |value: &Value| text(value).parse().unwrap();
    let (vehicle, tracker) = (id(&made["id"]), id(&made["tracker"]["id"]));
    Bus { vehicle, tracker, unique_id, token: text(&made["tracker"]["token"]), points }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text, not {value}")).to_owned()
}
