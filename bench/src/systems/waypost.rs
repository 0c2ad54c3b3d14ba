//! This server: the tracker socket, `/in/{token}` or a port for hardware in, the live feed out.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::json;
use waypost_test_support::PrivatePostgres;

use super::acks::{AckEar, AnswerEar, CountEar};
use super::child::{Child, Ready};
use super::feed::FeedEar;
use super::history::History;
use super::items::{encoder, teltonika_greeting};
use super::session::{Answer, Opening, Processes, Session, wait_until};
use super::{Packing, Speaks, Store};
use crate::wire::{http, ws};
use crate::world::World;

/// How long ago a world began: no fix of it is ahead of any clock.
const BEGUN_AGO_SECONDS: i64 = 6 * 3600;
/// Sensible on a machine that also runs the rest; all else as it comes, durable.
const POSTGRES: [&str; 3] = ["shared_buffers=256MB", "max_wal_size=4GB", "checkpoint_timeout=15min"];

/// What a dispatcher watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subscription {
    /// Every event; these are what the gate compares.
    AllEvents,
    /// The events of some fences, by number.
    EventsOf(Vec<u32>),
    /// Where some vehicles are, by number.
    PositionsOf(Vec<u32>),
    /// Where all are.
    AllPositions,
    /// All positions, read at this many bytes each second.
    Slowly(usize),
}

/// How this server is started.
#[derive(Clone, Debug)]
pub(crate) struct WaypostOptions {
    pub(crate) world: World,
    pub(crate) store: Store,
    pub(crate) packing: Packing,
    pub(crate) data_dir: Option<PathBuf>,
    pub(crate) idle_vehicles: u32,
    pub(crate) history: History,
    /// The organization that a port for Teltonika devices is open for.
    pub(crate) devices_of: Option<String>,
    /// Whether its metrics can be asked for.
    pub(crate) with_metrics: bool,
    /// Whether all states that lag are stored before it is ready.
    pub(crate) save_states: bool,
}

impl WaypostOptions {
    /// Without a directory of its own, idle vehicles, a past, a port for devices and metrics.
    pub(crate) fn new(world: &World, store: Store, packing: Packing) -> Self {
        Self {
            world: world.clone(),
            store,
            packing,
            data_dir: None,
            idle_vehicles: 0,
            history: History::default(),
            devices_of: None,
            with_metrics: false,
            save_states: false,
        }
    }
}

/// A running server with a world in it.
pub(crate) struct Waypost {
    pub(crate) options: WaypostOptions,
    pub(crate) child: Child,
    pub(crate) begin_millis: i64,
    pub(crate) postgres: Option<Arc<PrivatePostgres>>,
}

/// Now, in milliseconds since 1970.
pub(crate) fn now_millis() -> i64 {
    waypost_actors::clock::now().as_millis()
}

/// When a world begins, in milliseconds since 1970.
pub(crate) fn begin_millis() -> i64 {
    now_millis() / 1_000 * 1_000 - BEGUN_AGO_SECONDS * 1_000
}

impl Waypost {
    /// Starts it; `None`, and says so, where its store is not installed.
    pub(crate) fn start(options: WaypostOptions) -> Result<Option<Self>> {
        let postgres = match options.store {
            Store::Postgres => match start_postgres()? {
                Some(postgres) => Some(Arc::new(postgres)),
                None => {
                    println!("{:?}: skipped, not installed", options.store);
                    return Ok(None);
                }
            },
            Store::Null | Store::Sqlite => None,
        };
        Self::start_on(options, postgres, begin_millis()).map(Some)
    }

    /// Starts it on a PostgreSQL that is there.
    pub(crate) fn start_on(
        options: WaypostOptions,
        postgres: Option<Arc<PrivatePostgres>>,
        begin_millis: i64,
    ) -> Result<Self> {
        let mut arguments = vec!["server".to_owned()];
        arguments.extend(world_arguments(&options.world));
        arguments.push(format!("--store={}", format!("{:?}", options.store).to_lowercase()));
        arguments.push(format!("--idle-vehicles={}", options.idle_vehicles));
        arguments.push(format!("--history-days={}", options.history.history_days));
        arguments.push(format!("--fixes-a-day={}", options.history.fixes_a_day));
        arguments.push(format!("--every-days={}", options.history.every_days));
        let asked = [(options.with_metrics, "--with-metrics"), (options.save_states, "--save-states")];
        arguments.extend(asked.iter().filter(|(is_asked, _)| *is_asked).map(|(_, flag)| (*flag).to_owned()));
        arguments
            .extend(options.devices_of.iter().map(|organization| format!("--devices-of={organization}")));
        if let Some(directory) = &options.data_dir {
            arguments.push(format!("--data-dir={}", directory.display()));
        }
        if let Some(postgres) = &postgres {
            arguments.push(format!("--database-url={}", postgres.url("postgres")));
        }
        Ok(Self { child: Child::start(&arguments)?, options, begin_millis, postgres })
    }

    /// Opens its trackers' sockets and its dispatchers'.
    pub(crate) fn open(self, watching: &[Subscription]) -> Result<Session> {
        let processes = Processes {
            server: Some(self.child.pid()),
            database: self.postgres.as_ref().map(|postgres| postgres.process_id()),
        };
        let name = match self.options.store {
            Store::Null => "waypost, null store",
            Store::Sqlite => "waypost, SQLite",
            Store::Postgres => "waypost, PostgreSQL",
        };
        let (packing, vehicles) = (self.options.packing, self.options.world.vehicles);
        let feeds = watching.iter().map(|what| self.feed(what)).collect::<Result<Vec<_>>>()?;
        let encode =
            encoder(self.begin_millis, packing, &self.child.ready.address, &self.child.ready.trackers);
        let mut session = Session::new(name, processes, packing, vehicles, encode)?;
        let listening = session.listen(feeds)?;
        let subscriptions = watching.len() as u64;
        let log = session.log().clone();
        wait_until("subscriptions", Duration::from_secs(120), || {
            let log = log.lock();
            log.subscribed >= subscriptions || !log.failures.is_empty()
        })?;
        if let Some(why) = log.lock().failures.first() {
            bail!("a dispatcher could not subscribe: {why}");
        }
        let ready = self.child.ready.clone();
        if (0..packing.of(vehicles).0).any(|connection| packing.speaks(connection) == Speaks::Http) {
            session.reopen = Some(Box::new(move || openings_of(&ready, packing, vehicles)));
        } else {
            session.open(openings_of(&ready, packing, vehicles))?;
        }
        session.keep(Box::new((self, listening)));
        Ok(session)
    }

    fn feed(&self, what: &Subscription) -> Result<Opening> {
        let ready = &self.child.ready;
        let ids = |all: &[String], numbers: &[u32]| -> Vec<String> {
            numbers.iter().filter_map(|number| all.get(*number as usize)).cloned().collect()
        };
        let (topics, filter) = match what {
            Subscription::AllEvents => (["events"], json!({})),
            Subscription::EventsOf(fences) => {
                (["events"], json!({ "geofenceIds": ids(&ready.fences, fences) }))
            }
            // A filter that names thousands is too large a frame; without one it is all of them.
            Subscription::PositionsOf(vehicles) if vehicles.len() < ready.vehicles.len() => {
                (["positions"], json!({ "vehicleIds": ids(&ready.vehicles, vehicles) }))
            }
            Subscription::PositionsOf(_) | Subscription::AllPositions | Subscription::Slowly(_) => {
                (["positions"], json!({}))
            }
        };
        let subscribe = json!({
            "type": "subscribe", "id": "b", "topics": topics, "filter": filter, "minIntervalMs": 0,
        });
        let mut then = Vec::new();
        ws::push_text(&subscribe.to_string(), &mut then);
        let numbers: HashMap<String, u32> = match what {
            Subscription::PositionsOf(_) => ready.vehicles.iter().cloned().zip(0..).collect(),
            _ => HashMap::new(),
        };
        Ok(Opening {
            address: ready.address.clone(),
            request: ws::upgrade(&ready.address, "/v1/ws/live", None, &ready.operator).into_bytes(),
            answer: Answer::Head("101"),
            then,
            ear: Box::new(FeedEar { begin_millis: self.begin_millis, what: what.clone(), numbers }),
        })
    }
}

/// A private PostgreSQL; `None` where it is not installed.
pub(super) fn start_postgres() -> Result<Option<PrivatePostgres>> {
    PrivatePostgres::start(&POSTGRES).map_err(anyhow::Error::msg)
}

/// The trackers' sockets.
fn openings_of(ready: &Ready, packing: Packing, vehicles: u32) -> Vec<Opening> {
    let opening = |connection: u32| match packing.speaks(connection) {
        // As a phone does, it says who it is at once: of strangers the server lets few wait. It says nothing else.
        Speaks::Http => Opening {
            request: http::get(&ready.address, &format!("/in/{}", ready.trackers[connection as usize]))
                .into_bytes(),
            answer: Answer::Whole,
            ..http_opening(&ready.address)
        },
        Speaks::Teltonika => Opening {
            address: ready.devices.clone(),
            request: teltonika_greeting(connection),
            answer: Answer::Byte(1),
            then: Vec::new(),
            ear: Box::<CountEar>::default(),
        },
        Speaks::Frames => {
            let is_fleet = matches!(packing, Packing::Fleet { .. });
            let token = if is_fleet { &ready.fleet } else { &ready.trackers[connection as usize] };
            Opening {
                address: ready.address.clone(),
                request: tracker_upgrade(&ready.address, token).into_bytes(),
                answer: Answer::Head("101"),
                then: Vec::new(),
                ear: Box::<AckEar>::default(),
            }
        }
    };
    (0..packing.of(vehicles).0).map(opening).collect()
}

/// A connection for requests, with nothing said on it.
pub(super) fn http_opening(address: &str) -> Opening {
    Opening {
        address: address.to_owned(),
        request: Vec::new(),
        answer: Answer::Nothing,
        then: Vec::new(),
        ear: Box::<AnswerEar>::default(),
    }
}

pub(super) fn tracker_upgrade(address: &str, token: &str) -> String {
    ws::upgrade(address, "/v1/ws/tracker", Some("waypost.tracker.v1"), token)
}

/// A world as the options of a child.
pub(crate) fn world_arguments(world: &World) -> Vec<String> {
    vec![
        format!("--seed={}", world.seed),
        format!("--vehicles={}", world.vehicles),
        format!("--fences={}", world.fences),
        format!("--vertices={}", world.vertices),
        format!("--mix={}", format!("{:?}", world.mix).to_lowercase()),
        format!("--motion={}", format!("{:?}", world.motion).to_lowercase()),
    ]
}
