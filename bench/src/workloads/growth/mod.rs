//! W11: a store with a year in it beside one with a hundredth of the vehicles. How long each list takes, what readers and a fence
//! that is dated back cost the trackers, how much is stored, and how long a start takes.

mod forms;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::json;
use waypost::store::open::{Location, Options as StoreOptions, open_and_migrate};
use waypost_client::Quantiles;

use self::forms::forms;
use crate::systems::{History, Packing, Ready, Store, Waypost, WaypostOptions, ask};
use crate::table;
use crate::wire::http;
use crate::world::{Mix, Motion, World};

/// How much smaller the other store's fleet is.
const SMALLER: u32 = 100;
/// A list is flat if it takes no longer than this at the median, or twice as long as of the small store.
const FLAT_MILLIS: f64 = 15.0;
/// The most that a list may take at the 99th percentile.
const MOST_MILLIS: f64 = 50.0;
/// Between two reports while acknowledgements are timed.
const REPORT_EVERY: Duration = Duration::from_millis(10);

/// How growth is measured.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Vehicles of the large store
    #[arg(long, default_value_t = 2_000)]
    vehicles: u32,
    /// Fences of either store
    #[arg(long, default_value_t = 5_000)]
    fences: u32,
    #[command(flatten)]
    history: History,
    /// Stores to run the server on
    #[arg(long, value_delimiter = ',', default_values = ["sqlite", "postgres"])]
    store: Vec<Store>,
    /// Calls of each list
    #[arg(long, default_value_t = 20)]
    calls: usize,
    /// Seconds for which acknowledgements are timed, each time
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// Writes the embedded stores there and keeps them for the next run
    #[arg(long)]
    keep: Option<PathBuf>,
}

/// Runs and prints.
pub(crate) fn w11(options: &Options) -> Result<()> {
    if options.history.history_days == 0 || options.vehicles < 2 * SMALLER {
        bail!("w11 needs --history-days, and --vehicles of {} at least", 2 * SMALLER);
    }
    for &store in &options.store {
        let temporary = tempfile::tempdir()?;
        let directory = options.keep.clone().unwrap_or_else(|| temporary.path().to_owned());
        let begun = Instant::now();
        let Some(large) = Grown::start(options, store, options.vehicles, &directory)? else { continue };
        let written = begun.elapsed().as_secs_f64();
        let Some(small) = Grown::start(options, store, options.vehicles / SMALLER, &directory)? else {
            continue;
        };
        lists(options, store, &large, &small)?;
        drop(small);
        acknowledgements(options, store, &large)?;
        large.restart(store, written)?;
    }
    Ok(())
}

/// A server with a history.
struct Grown {
    waypost: Waypost,
    directory: PathBuf,
}

impl Grown {
    fn start(options: &Options, store: Store, vehicles: u32, directory: &Path) -> Result<Option<Self>> {
        let name = format!("{store:?}-{vehicles}-{}", options.history.history_days).to_lowercase();
        let directory = directory.join(name);
        let world = World {
            seed: 1,
            vehicles,
            fences: options.fences,
            vertices: 20,
            mix: Mix::Poly,
            motion: Motion::Roam,
        };
        let started = WaypostOptions {
            data_dir: Some(directory.clone()),
            history: options.history,
            ..WaypostOptions::new(&world, store, Packing::Own { fixes: 1 })
        };
        Ok(Waypost::start(started)?.map(|waypost| Self { waypost, directory }))
    }

    fn ready(&self) -> &Ready {
        &self.waypost.child.ready
    }

    /// Milliseconds and status of a request.
    fn get(&self, path: &str) -> Result<(f64, u16)> {
        get(self.ready(), path)
    }

    /// Prints what is stored, kills the server, and starts another one on the store.
    fn restart(self, store: Store, written_seconds: f64) -> Result<()> {
        let Waypost { options, child, begin_millis, postgres } = self.waypost;
        let fixes = u64::from(options.world.vehicles - 1)
            * u64::from(options.history.history_days * options.history.fixes_a_day);
        child.kill();
        let bytes = match &postgres {
            Some(postgres) => database_bytes(postgres.url("postgres"))?,
            None => directory_bytes(&self.directory)?,
        };
        let killed = Instant::now();
        let again = Waypost::start_on(options, postgres, begin_millis)?;
        let row = vec![
            format!("{store:?}"),
            fixes.to_string(),
            format!("{written_seconds:.0}"),
            table::megabytes(bytes),
            format!("{:.1}", bytes as f64 / fixes as f64),
            format!("{:.2}", killed.elapsed().as_secs_f64()),
        ];
        drop(again);
        let headings = ["", "fixes", "written in s", "store MB", "bytes per fix, all in", "kill to ready s"];
        table::print("W11: the store", &headings, &[row]);
        Ok(())
    }
}

fn directory_bytes(directory: &Path) -> Result<u64> {
    std::fs::read_dir(directory)?.map(|entry| Ok(entry?.metadata()?.len())).sum()
}

fn database_bytes(url: String) -> Result<u64> {
    actix_rt::System::new().block_on(async {
        let db = open_and_migrate(&StoreOptions::new(Location::Postgres(url))).await?;
        let bytes: i64 = db.read().sql("select pg_database_size(current_database())").scalar().await?;
        db.close().await;
        Ok(bytes.unsigned_abs())
    })
}

fn get(ready: &Ready, path: &str) -> Result<(f64, u16)> {
    let begun = Instant::now();
    let (status, _) = ask(&ready.address, &http::get_as(&ready.address, path, &ready.operator))?;
    Ok((begun.elapsed().as_secs_f64() * 1e3, status))
}

fn lists(options: &Options, store: Store, large: &Grown, small: &Grown) -> Result<()> {
    let mut rows = Vec::new();
    let days = options.history.history_days;
    for ((form, path), (_, small_path)) in forms(large.ready(), days).iter().zip(forms(small.ready(), days)) {
        let (small_p50, _, _) = timed(options.calls, || small.get(&small_path))?;
        let (p50, p99, status) = timed(options.calls, || large.get(path))?;
        let is_flat = status == 200 && (p50 <= FLAT_MILLIS || p50 <= 2.0 * small_p50) && p99 <= MOST_MILLIS;
        rows.push(vec![
            (*form).to_owned(),
            format!("{small_p50:.1}"),
            format!("{p50:.1}"),
            format!("{p99:.1}"),
            format!("{:.1}", p50 / small_p50),
            status.to_string(),
            if is_flat { "" } else { "NOT FLAT" }.to_owned(),
        ]);
    }
    let flat = rows.iter().filter(|row| row[6].is_empty()).count();
    let title = format!("W11: lists, {store:?}, {flat} of {} flat", rows.len());
    let headings = ["", "small p50 ms", "large p50 ms", "p99", "factor", "status", ""];
    table::print(&title, &headings, &rows);
    Ok(())
}

/// Median and 99th percentile of some calls after a first one, milliseconds, and the last status.
fn timed(calls: usize, mut call: impl FnMut() -> Result<(f64, u16)>) -> Result<(f64, f64, u16)> {
    let (_, mut status) = call()?;
    let mut micros = Vec::new();
    for _ in 0..calls {
        let (millis, last) = call()?;
        status = last;
        micros.push((millis * 1e3) as u32);
    }
    let quantiles = Quantiles::of_micros(&mut micros).context("no calls")?;
    Ok((quantiles.p50, quantiles.p99, status))
}

/// What readers, and a fence dated back by a month that nobody came near, cost the trackers.
fn acknowledgements(options: &Options, store: Store, large: &Grown) -> Result<()> {
    let ready = large.ready();
    let all = forms(ready, options.history.history_days);
    let mut rows = Vec::new();
    for (name, readers) in [("alone", 0), ("4 readers", 4), ("12 readers", 12)] {
        let stop = Arc::new(AtomicBool::new(false));
        let reading: Vec<_> = (0..readers).map(|reader| read_on(ready, &all, reader, &stop)).collect();
        let acks = acks(ready, options.seconds);
        stop.store(true, Ordering::Relaxed);
        let pages: usize = reading.into_iter().map(|reader| reader.join().unwrap_or_default()).sum();
        rows.push(row(name, acks?, format!("{pages} pages")));
    }
    let month = waypost_actors::clock::now().plus_seconds(-30.0 * 86_400.0).to_string();
    let body = json!({
        "organizationId": ready.organization,
        "name": "dated back",
        "effectiveFrom": month,
        "shape": { "type": "circle", "center": { "latitude": -40.0, "longitude": 100.0 }, "radiusMeters": 500 },
    });
    let (address, operator) = (ready.address.clone(), ready.operator.clone());
    let edit = std::thread::spawn(move || {
        let begun = Instant::now();
        let request = http::post(
            &address,
            "/v1/geofences",
            &[("Authorization", &format!("Bearer {operator}")), ("Content-Type", "application/json")],
            &body.to_string(),
        );
        ask(&address, &request).map(|(status, _)| (status, begun.elapsed().as_secs_f64()))
    });
    let acks = acks(ready, options.seconds)?;
    let (status, seconds) = edit.join().map_err(|_| anyhow::anyhow!("the editor panicked"))??;
    rows.push(row("a fence dated back a month", acks, format!("{status} after {seconds:.2} s")));
    let headings = ["", "ack p50 ms", "p99", "worst", ""];
    table::print(&format!("W11: acknowledgements, {store:?}"), &headings, &rows);
    Ok(())
}

fn row(name: &str, acks: Quantiles, remark: String) -> Vec<String> {
    let millis = |value: f64| format!("{value:.1}");
    vec![name.to_owned(), millis(acks.p50), millis(acks.p99), millis(acks.max), remark]
}

/// Asks for one list after the other until it is told to stop; returns how many.
fn read_on(
    ready: &Ready,
    all: &[(&str, String)],
    first: usize,
    stop: &Arc<AtomicBool>,
) -> std::thread::JoinHandle<usize> {
    let (address, operator) = (ready.address.clone(), ready.operator.clone());
    let (stop, paths) = (Arc::clone(stop), all.iter().map(|(_, path)| path.clone()).collect::<Vec<_>>());
    std::thread::spawn(move || {
        let mut pages = 0;
        for path in paths.iter().cycle().skip(first * 7) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            pages += usize::from(ask(&address, &http::get_as(&address, path, &operator)).is_ok());
        }
        pages
    })
}

/// How long a request with one new fix takes until it is answered, which is after its commit.
fn acks(ready: &Ready, seconds: u64) -> Result<Quantiles> {
    let mut micros = Vec::new();
    let until = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < until {
        let token = &ready.trackers[micros.len() % (ready.trackers.len() - 1)];
        let fix = json!({
            "latitude": 32.0, "longitude": 10.0, "recordedAt": waypost_actors::clock::now().to_string(),
        });
        let headers = [("Authorization", &*format!("Bearer {token}")), ("Content-Type", "application/json")];
        let begun = Instant::now();
        let request =
            http::post(&ready.address, "/v1/positions", &headers, &json!({ "items": [fix] }).to_string());
        let (status, body) = ask(&ready.address, &request)?;
        if status != 200 {
            bail!("a report was answered {status}: {}", String::from_utf8_lossy(&body));
        }
        micros.push(u32::try_from(begun.elapsed().as_micros()).unwrap_or(u32::MAX));
        std::thread::sleep(REPORT_EVERY.saturating_sub(begun.elapsed()));
    }
    Quantiles::of_micros(&mut micros).context("nothing was reported")
}
