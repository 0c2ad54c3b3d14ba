//! W6: a hundred vehicles, each position to every dispatcher; beside a bare fan-out of as many writes of as many
//! bytes.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use waypost_client::CpuMeter;

use crate::load::{Ear, Ears, SharedLog, Slice};
use crate::run::{Measured, run};
use crate::systems::{Child, Packing, Store, Subscription, Waypost, WaypostOptions};
use crate::table::{self, megabytes};
use crate::world::{Drive, Mix, Motion, World};

const VEHICLES: u32 = 100;
/// Bytes that a slow dispatcher reads each second.
const SLOW_BYTES: usize = 1_000;

/// How fan-out is measured.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Dispatchers, one row each
    #[arg(long, value_delimiter = ',', default_values_t = [10, 100, 500, 1_000])]
    dispatchers: Vec<usize>,
    /// Of a hundred dispatchers so many read slowly
    #[arg(long, default_value_t = 1)]
    slow: usize,
    /// Positions per second, all vehicles together
    #[arg(long, default_value_t = 1_000.0)]
    rate: f64,
    /// Seconds of a run
    #[arg(long, default_value_t = 10)]
    seconds: u64,
}

/// Runs and prints.
pub(crate) fn w6(options: &Options) -> Result<()> {
    let world =
        World { seed: 1, vehicles: VEHICLES, fences: 1, vertices: 100, mix: Mix::One, motion: Motion::Roam };
    let mut rows = Vec::new();
    for &count in &options.dispatchers {
        let started = WaypostOptions::new(&world, Store::Null, Packing::Own { fixes: 1 });
        let Some(waypost) = Waypost::start(started)? else { continue };
        let slow = count * options.slow / 100;
        let mut watching = vec![Subscription::AllEvents, Subscription::PositionsOf((0..VEHICLES).collect())];
        watching.extend((slow + 1..count).map(|_| Subscription::AllPositions));
        watching.extend((0..slow).map(|_| Subscription::Slowly(SLOW_BYTES)));
        let mut session = waypost.open(&watching)?;
        let mut drive = Drive::new(&world);
        let rounds = (options.rate * options.seconds as f64 / f64::from(VEHICLES)) as u32;
        let slice = Slice::next(&mut drive, rounds.max(2));
        let quiet = run(&mut session, &slice, options.rate, 0.0)?;
        let floor = bare(count - slow, &quiet, options)?;
        rows.push(row(count - slow, &quiet, floor));
    }
    let headings = [
        "equality gate passed",
        "deliveries",
        "per s",
        "per CPU s",
        "bytes/write",
        "writes/s each",
        "floor per CPU s",
        "share of floor",
        "position p50 ms",
        "p99",
        "RSS MB",
    ];
    table::print("W6: 100 vehicles to many dispatchers, null store", &headings, &rows);
    Ok(())
}

/// Deliveries per CPU second of a bare fan-out of the same writes.
fn bare(readers: usize, of: &Measured, options: &Options) -> Result<f64> {
    let bytes = of.delivered_bytes / of.delivered_frames.max(1);
    let writes_per_second = of.delivered_frames as f64 / readers as f64 / of.seconds;
    let per_write = of.deliveries as f64 / of.delivered_frames.max(1) as f64;
    let child = Child::start(&[
        "fan-out".to_owned(),
        format!("--readers={readers}"),
        format!("--bytes={bytes}"),
        format!("--per-second={writes_per_second}"),
    ])?;
    let ears = Ears::start()?;
    let mut sockets = Vec::with_capacity(readers);
    for _ in 0..readers {
        let socket = TcpStream::connect(&child.ready.address)?;
        ears.add(&socket, Box::new(Counting))?;
        sockets.push(socket);
    }
    std::thread::sleep(Duration::from_secs(1));
    let mut meter = CpuMeter::new(&[child.pid()]);
    let before = ears.log().lock().delivered_bytes;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(options.seconds) {
        std::thread::sleep(Duration::from_millis(50));
    }
    meter.sample();
    let delivered = (ears.log().lock().delivered_bytes - before) as f64 / bytes.max(1) as f64 * per_write;
    Ok(delivered / meter.seconds().values().sum::<f64>().max(1e-9))
}

/// Counts bytes.
struct Counting;

impl Ear for Counting {
    fn hear(&mut self, bytes: &[u8], _: Instant, log: &SharedLog) -> usize {
        log.lock().delivered_bytes += bytes.len() as u64;
        bytes.len()
    }
}

fn row(count: usize, run: &Measured, floor: f64) -> Vec<String> {
    let per_cpu = run.deliveries as f64 / run.server_cpu.max(1e-9);
    vec![
        format!("{count} dispatchers"),
        run.deliveries.to_string(),
        format!("{:.0}", run.deliveries as f64 / run.seconds),
        format!("{per_cpu:.0}"),
        (run.delivered_bytes / run.delivered_frames.max(1)).to_string(),
        format!("{:.1}", run.delivered_frames as f64 / count as f64 / run.seconds),
        format!("{floor:.0}"),
        format!("{:.2}", per_cpu / floor),
        table::millis(run.position.map(|q| q.p50)),
        table::millis(run.position.map(|q| q.p99)),
        megabytes(run.rss_bytes),
    ]
}
