//! Several systems on one world, taking turns: A B B A, so that a change of the machine meets all of them.

use anyhow::Result;
use waypost::config::Settings;

use crate::disk::fdatasync_millis;
use crate::load::Slice;
use crate::run::{Measured, run};
use crate::systems::{Packing, Rivals, Session, Store, Subscription, Waypost, WaypostOptions};
use crate::systems::{open_floor, open_tile38, open_traccar};
use crate::table::{self, median, megabytes, millis, range};
use crate::world::{Drive, Mix, World};

/// The share of each run that warms up.
const WARM_SHARE: f64 = 0.2;
/// Times the disk is asked after each turn of a durable system.
const FDATASYNCS: usize = 11;

/// The systems that take part.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) stores: Vec<Store>,
    pub(crate) with_floor: bool,
    pub(crate) rivals: Rivals,
}

/// The pace of a contest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Positions per second.
    pub(crate) rate: f64,
    /// Positions of one run.
    pub(crate) positions: u64,
    /// How many times to run through the systems there and back.
    pub(crate) pairs: usize,
}

/// A system that takes part.
struct Entry {
    session: Session,
    /// What it keeps fixes in, or its floor does.
    store: Store,
    is_floor: bool,
}

/// One system and the results of its runs.
struct Contestant {
    entry: Entry,
    drive: Drive,
    runs: Vec<Measured>,
}

impl Field {
    fn enter(&self, world: &World, packing: Packing) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        // The floor knows no circles and speaks no requests.
        let with_floor = self.with_floor && packing != Packing::Http && world.mix != Mix::Real;
        let mut stores = self.stores.clone();
        stores.retain(|store| *store != Store::Null);
        for store in [Store::Null].into_iter().chain(stores).filter(|_| with_floor) {
            let floor = open_floor(world, packing, store)?;
            entries.extend(floor.map(|session| Entry { session, store, is_floor: true }));
        }
        for &store in &self.stores {
            if let Some(waypost) = Waypost::start(WaypostOptions::new(world, store, packing))? {
                let session = waypost.open(&[Subscription::AllEvents])?;
                entries.push(Entry { session, store, is_floor: false });
            }
        }
        let rival = |session| Entry { session, store: Store::Null, is_floor: false };
        match (&self.rivals.tile38, packing) {
            (_, Packing::Http) => {}
            (Some(address), _) => entries.push(rival(open_tile38(world, packing, address)?)),
            (None, _) => println!("Tile38: skipped, no --tile38"),
        }
        match (&self.rivals.traccar, packing) {
            (Some(_), Packing::Http) => entries.push(rival(open_traccar(world, &self.rivals)?)),
            (None, Packing::Http) => println!("Traccar: skipped, no --traccar"),
            _ => {}
        }
        Ok(entries)
    }
}

/// Runs and prints a table.
pub(crate) fn contest(title: &str, world: &World, packing: Packing, field: &Field, pace: Pace) -> Result<()> {
    let rounds = u32::try_from(pace.positions.div_ceil(u64::from(world.vehicles)))?.max(2);
    let mut contestants: Vec<Contestant> = Vec::new();
    for entry in field.enter(world, packing)? {
        contestants.push(Contestant { entry, drive: Drive::new(world), runs: Vec::new() });
    }
    for contestant in &mut contestants {
        contestant.turn(rounds, pace.rate)?;
        contestant.runs.clear(); // the first one starts actors and fills caches
    }
    let mut fdatasync = Vec::new();
    for _ in 0..pace.pairs {
        let count = contestants.len();
        for index in (0..count).chain((0..count).rev()) {
            contestants[index].turn(rounds, pace.rate)?;
            if contestants[index].entry.store != Store::Null {
                fdatasync.extend(fdatasync_millis(FDATASYNCS)?);
            }
        }
    }
    print(title, &contestants, Promise { fdatasync_millis: median(fdatasync) });
    Ok(())
}

/// How soon a fix could be durable at all (P13).
struct Promise {
    /// The median of the run; none without a store that keeps anything.
    fdatasync_millis: f64,
}

impl Promise {
    /// The batch window, and what two commits wait for the disk: the one under way, and its own.
    fn millis(&self) -> f64 {
        Settings::default().batch_interval.as_secs_f64() * 1e3 + 2.0 * self.fdatasync_millis
    }
}

impl Contestant {
    fn turn(&mut self, rounds: u32, rate: f64) -> Result<()> {
        let slice = Slice::next(&mut self.drive, rounds);
        self.runs.push(run(&mut self.entry.session, &slice, rate, WARM_SHARE)?);
        Ok(())
    }

    fn micros(&self) -> Vec<f64> {
        self.runs.iter().map(Measured::micros_per_position).collect()
    }

    fn of(&self, figure: impl Fn(&Measured) -> Option<f64>) -> Option<f64> {
        let figures: Vec<f64> = self.runs.iter().filter_map(figure).collect();
        (!figures.is_empty()).then(|| median(figures))
    }
}

fn print(title: &str, contestants: &[Contestant], promise: Promise) {
    // A durable system is compared with the floor that is as durable.
    let floor = |of: &Contestant| {
        let same =
            |store| contestants.iter().find(|other| other.entry.is_floor && other.entry.store == store);
        same(of.entry.store).or(contestants.first()).map_or(f64::NAN, |floor| median(floor.micros()))
    };
    let row = |contestant: &Contestant| {
        let runs = &contestant.runs;
        let micros = contestant.micros();
        let per = |figure: fn(&Measured) -> f64| {
            median(runs.iter().map(|run| figure(run) * 1e6 / run.counted.max(1) as f64).collect())
        };
        let text = |value: Option<f64>| millis(value);
        vec![
            contestant.entry.session.name.clone(),
            runs.first().map_or(0, |run| run.positions).to_string(),
            runs.first().map_or(0, |run| run.transitions).to_string(),
            contestant
                .of(|run| Some(run.positions as f64 / run.seconds))
                .map_or_else(String::new, |rate| format!("{rate:.0}")),
            format!("{:.2}", per(|run| run.server_cpu)),
            format!("{:.2}", per(|run| run.database_cpu)),
            range(&micros),
            format!("{:.0}", median(runs.iter().map(Measured::positions_per_cpu_second).collect())),
            format!("{:.2}", floor(contestant) / median(micros)),
            text(contestant.of(|run| Some(run.ack?.p50))),
            text(contestant.of(|run| Some(run.ack?.p99))),
            match contestant.entry.store {
                Store::Null => text(None),
                _ => text(contestant.of(|run| Some(run.ack?.p99 / promise.millis()))),
            },
            text(contestant.of(|run| Some(run.event?.p50))),
            text(contestant.of(|run| Some(run.event?.p99))),
            text(contestant.of(|run| Some(run.lateness?.p99))),
            megabytes(runs.last().map_or(0, |run| run.rss_bytes)),
        ]
    };
    let headings = [
        "equality gate passed",
        "positions",
        "events",
        "per s",
        "server µs/pos",
        "database µs/pos",
        "µs/pos range",
        "pos/CPU s",
        "share of its floor",
        "ack p50 ms",
        "ack p99",
        "÷ promise",
        "event p50 ms",
        "event p99",
        "late p99",
        "RSS MB",
    ];
    table::print(title, &headings, &contestants.iter().map(row).collect::<Vec<_>>());
    if promise.fdatasync_millis.is_finite() {
        let (window, fdatasync) = (Settings::default().batch_interval, promise.fdatasync_millis);
        println!("promise: batch window {window:?} + 2 × fdatasync ({fdatasync:.2} ms, median of this run)");
    }
}
