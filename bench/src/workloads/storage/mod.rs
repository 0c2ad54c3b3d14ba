//! W12: what the store takes, by fleets of several sizes: bytes of a fix where it is kept and in the log, CPU of server and database, a
//! start with a full fix log, a vehicle's past, and bytes of events and visits; or a start with a year of visits.

mod copies;
mod database;
mod flow;
mod reads;
mod site;

use std::collections::BTreeMap;

use anyhow::Result;
use clap::Args;

use self::copies::copy_visits;
use self::database::{Size, ask_database, sizes};
use self::flow::{Flow, Steady};
use self::reads::{Month, READ};
use self::site::{MADE, Site, Start};
use crate::systems::{History, Store};
use crate::table;
use crate::world::{Mix, Motion, World};

/// The log holds so many fixes, or so many for each vehicle, if that is more (docs/decisions/0014).
const LOG_FIXES: u64 = 300_000;
const LOG_FIXES_PER_VEHICLE: u64 = 16;
/// Fences of a history: depots and customers.
const FENCES: u32 = 100;
/// Vehicles of the history by which events and visits are measured, and one that does not drive.
const DRIVING: u32 = 101;
/// Fixes on a day of which one is outside and one in a depot: a visit or more.
const FIXES_OF_A_VISIT: u32 = 2;

/// How the store is measured.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Vehicles of each fleet
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000])]
    vehicles: Vec<u32>,
    /// Stores to run the server on
    #[arg(long, value_delimiter = ',', default_values = ["sqlite", "postgres"])]
    store: Vec<Store>,
    /// Fences among which they drive
    #[arg(long, default_value_t = 0)]
    fences: u32,
    /// Fixes before anything is measured; default: what the fix log holds
    #[arg(long)]
    fill_fixes: Option<u64>,
    /// Fixes in commits of 500, twice: behind a checkpoint and behind those
    #[arg(long, default_value_t = 50_000)]
    large_commits: u64,
    /// Fixes in commits of 30, twice
    #[arg(long, default_value_t = 10_000)]
    small_commits: u64,
    /// Calls of each read
    #[arg(long, default_value_t = 20)]
    calls: usize,
    /// Days on which a hundred vehicles make the events and visits that are measured
    #[arg(long, default_value_t = 30)]
    event_days: u32,
    /// Instead of all that, the start of each fleet with so many days of visits
    #[arg(long, default_value_t = 0)]
    visits_days: u32,
    /// Days from one of a vehicle's visits to the next
    #[arg(long, default_value_t = 14)]
    visits_every_days: u32,
}

/// Runs and prints.
pub(crate) fn w12(options: &Options) -> Result<()> {
    for &store in &options.store {
        if options.visits_days > 0 {
            starts(options, store)?;
        } else {
            figures(options, store)?;
        }
    }
    Ok(())
}

/// What was found of one fleet.
struct Found {
    vehicles: u32,
    fixes: u64,
    stored: BTreeMap<String, Size>,
    steady: Vec<Steady>,
    log: Size,
    start: Start,
    read: Vec<(&'static str, f64)>,
}

fn figures(options: &Options, store: Store) -> Result<()> {
    let mut fleets = Vec::new();
    let mut empty = BTreeMap::new();
    for &vehicles in &options.vehicles {
        let world = world(vehicles + READ, options.fences);
        let Some(site) = Site::make(store, &world, History::default())? else { return Ok(()) };
        empty = ask_database(&site.location(), sizes)?;
        fleets.push(measured(options, &site, &world, &empty)?);
    }
    print_stored(store, &fleets);
    print_steady(store, &fleets);
    print_starts(store, &fleets);
    let headings = ["", "positions, a day", "positions, a month", "raw data, a day", "raw data, a month"];
    let row = |found: &Found| {
        let medians = found.read.iter().map(|(_, millis)| format!("{millis:.2}"));
        [found.vehicles.to_string()].into_iter().chain(medians).collect()
    };
    let rows: Vec<Vec<String>> = fleets.iter().map(row).collect();
    let title = format!(
        "W12: {store:?}, a vehicle's past of a fix each minute, all pages, ms p50 of {} calls",
        options.calls
    );
    table::print(&title, &headings, &rows);
    events(options, store, &empty)
}

fn world(vehicles: u32, fences: u32) -> World {
    World { seed: 1, vehicles, fences, vertices: 20, mix: Mix::Poly, motion: Motion::Roam }
}

/// One fleet. Its first vehicles report nothing before they are to be read.
fn measured(options: &Options, site: &Site, world: &World, empty: &BTreeMap<String, Size>) -> Result<Found> {
    let (location, vehicles) = (site.location(), world.vehicles - READ);
    let full = LOG_FIXES.max(LOG_FIXES_PER_VEHICLE * u64::from(vehicles));
    let fill = options.fill_fixes.unwrap_or(full);
    eprintln!("{vehicles} vehicles: {fill} fixes fill the log");
    let mut flow = Flow::new(world, READ);
    let mut waypost = flow.fill(site.start()?, fill)?;
    let mut steady = Vec::new();
    for (fixes, batch) in [(options.large_commits, 500), (options.small_commits, 30)] {
        eprintln!("{vehicles} vehicles: twice {fixes} fixes in commits of {batch}");
        let (server, figures) = flow.steady(waypost, &location, batch, fixes)?;
        waypost = server;
        steady.push(figures);
    }
    let log = ask_database(&location, sizes)?.remove("fix_log").unwrap_or_default();
    eprintln!("{vehicles} vehicles: killed, and started again");
    let (waypost, start) = site.restart(waypost)?;
    waypost.child.kill();
    let waypost = site.start_saving()?;
    let stored = ask_database(&location, sizes)?;
    let stored = stored.into_iter().map(|(table, size)| {
        let before = empty.get(&table).copied().unwrap_or_default();
        (table, size.since(before))
    });
    let stored = stored.collect();
    eprintln!("{vehicles} vehicles: a month of {READ} is reported and read");
    let month = Month::before_now();
    month.make_room(&location)?;
    month.report(&waypost.child.ready)?;
    let read = month.read(&waypost.child.ready, options.calls)?;
    Ok(Found { vehicles, fixes: flow.sent, stored, steady, log, start, read })
}

/// Bytes for each of so many.
fn each(bytes: u64, many: u64) -> String {
    format!("{:.1}", bytes as f64 / many.max(1) as f64)
}

fn print_stored(store: Store, fleets: &[Found]) {
    let row = |found: &Found| {
        let of = |table: &str| found.stored.get(table).copied().unwrap_or_default();
        let (chunks, late, states) = (of("position_chunk"), of("position"), of("vehicle_state"));
        vec![
            found.vehicles.to_string(),
            found.fixes.to_string(),
            each(chunks.table, found.fixes),
            each(chunks.indexes, found.fixes),
            each(late.whole(), found.fixes),
            each(states.table, found.vehicles.into()),
            each(states.indexes, found.vehicles.into()),
            each(chunks.whole() + late.whole() + states.whole(), found.fixes),
        ]
    };
    let headings = [
        "vehicles",
        "fixes",
        "chunks, table B/fix",
        "indexes",
        "rows of late ones",
        "states, table B/vehicle",
        "indexes",
        "all of these B/fix",
    ];
    let title = format!("W12: {store:?}, stored: place, speed, heading and both times");
    table::print(&title, &headings, &fleets.iter().map(row).collect::<Vec<_>>());
}

fn print_steady(store: Store, fleets: &[Found]) {
    let row = |(found, steady): (&Found, &Steady)| {
        vec![
            found.vehicles.to_string(),
            steady.batch.to_string(),
            format!("{:.1}", steady.met),
            format!("{:.1}", steady.log),
            format!("{:.1}", steady.with_checkpoint),
            format!("{:.2}", steady.server_micros),
            format!("{:.2}", steady.database_micros),
        ]
    };
    let all = fleets.iter().flat_map(|found| found.steady.iter().map(move |steady| (found, steady)));
    let with_checkpoint = match store {
        Store::Postgres => "log behind a checkpoint",
        Store::Sqlite | Store::Null => "written, with checkpoints",
    };
    let headings = [
        "equality gate passed, vehicles",
        "wanted in a commit",
        "met",
        "log B/fix",
        with_checkpoint,
        "server µs/fix",
        "database µs/fix",
    ];
    table::print(&format!("W12: {store:?}, logged"), &headings, &all.map(row).collect::<Vec<_>>());
}

fn print_starts(store: Store, fleets: &[Found]) {
    let row = |found: &Found| {
        let Start { ready, acknowledged } = found.start;
        let log = table::megabytes(found.log.whole());
        vec![found.vehicles.to_string(), log, format!("{ready:.2}"), format!("{acknowledged:.2}")]
    };
    let headings = ["vehicles", "fix log MB", "kill to ready s", "to the first acknowledged fix s"];
    let title = format!("W12: {store:?}, a start with a full fix log");
    table::print(&title, &headings, &fleets.iter().map(row).collect::<Vec<_>>());
}

/// What events and visits take that came about in the order of time.
fn events(options: &Options, store: Store, empty: &BTreeMap<String, Size>) -> Result<()> {
    let history = History { history_days: options.event_days, fixes_a_day: 75, every_days: 1 };
    eprintln!("a history of {} days for events and visits", history.history_days);
    let Some(site) = Site::make(store, &world(DRIVING, FENCES), history)? else { return Ok(()) };
    let (sizes, kinds, visits) = ask_database(&site.location(), async |db| {
        let kinds = "select kind, count(*) from records group by 1 order by 2 desc";
        let kinds: Vec<(String, i64)> = db.read().sql(kinds).all().await?;
        let visits: i64 = db.read().sql("select count(*) from visit").scalar().await?;
        Ok((sizes(db).await?, kinds, visits.unsigned_abs()))
    })?;
    let row = |name: &str, table: &str, many: u64| {
        let of = |sizes: &BTreeMap<String, Size>| sizes.get(table).copied().unwrap_or_default();
        let size = of(&sizes).since(of(empty));
        let bytes = [size.table, size.indexes, size.whole()].map(|bytes| each(bytes, many));
        [name.to_owned(), many.to_string()].into_iter().chain(bytes).collect()
    };
    let events = kinds.iter().map(|(_, many)| many.unsigned_abs()).sum();
    let rows: [Vec<String>; 2] = [row("events", "records", events), row("visits", "visit", visits)];
    let headings = ["", "rows", "table B", "indexes B", "each B"];
    table::print(&format!("W12: {store:?}, events and visits"), &headings, &rows);
    let kinds: Vec<String> = kinds.iter().map(|(kind, many)| format!("{many} {kind}")).collect();
    println!("events: {}", kinds.join(", "));
    Ok(())
}

/// Starts with a history of visits.
fn starts(options: &Options, store: Store) -> Result<()> {
    let mut rows = Vec::new();
    let history = History {
        history_days: options.visits_days,
        fixes_a_day: FIXES_OF_A_VISIT,
        every_days: options.visits_every_days,
    };
    for &vehicles in &options.vehicles {
        let world = world(vehicles, FENCES);
        eprintln!("{vehicles} vehicles: {} days of visits", options.visits_days);
        let Some(site) = Site::make(store, &world, history)? else { return Ok(()) };
        let location = site.location();
        let mut waypost = None;
        if vehicles > MADE {
            ask_database(&location, copy_visits)?;
            eprintln!("{vehicles} vehicles: each copy reports once");
            waypost = Some(Flow::new(&world, MADE).fill(site.start()?, u64::from(vehicles - MADE))?);
        }
        let (visits, records): (i64, i64) = ask_database(&location, async |db| {
            let text = "select (select count(*) from visit), (select count(*) from records)";
            Ok(db.read().sql(text).one().await?)
        })?;
        let (_, start) = site.restart(waypost.map_or_else(|| site.start(), Ok)?)?;
        rows.push(vec![
            vehicles.to_string(),
            visits.to_string(),
            records.to_string(),
            format!("{:.2}", start.ready),
            format!("{:.2}", start.acknowledged),
        ]);
    }
    let headings = ["vehicles", "visits", "events", "kill to ready s", "to the first acknowledged fix s"];
    let title = format!("W12: {store:?}, a start with {} days of visits", options.visits_days);
    table::print(&title, &headings, &rows);
    println!(
        "the product wrote visits and events of {MADE} vehicles at most, on a clock set back, one stop in {} days; those of the \
         others are copies by SQL, with ids in order and indexes made behind them; each of these vehicles has reported once since",
        options.visits_every_days
    );
    Ok(())
}
