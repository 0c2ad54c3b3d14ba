//! W7: what vehicles and sockets take that do nothing: memory, and CPU time.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use waypost_client::{CpuMeter, resident_bytes};

use crate::load::Slice;
use crate::run::run;
use crate::systems::{Packing, Store, Subscription, Waypost, WaypostOptions};
use crate::table::{self, megabytes};
use crate::world::{Drive, Mix, Motion, World};

/// The pause after anything that was started, before memory is read.
pub(super) const QUIET_AFTER: Duration = Duration::from_secs(2);

/// How idleness is measured.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Vehicles that reported once and are not heard of any more
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000, 1_000_000])]
    idle: Vec<u32>,
    /// Sockets that were opened and say nothing
    #[arg(long, default_value_t = 5_000)]
    sockets: u32,
    /// Seconds without anything
    #[arg(long, default_value_t = 30)]
    still: u64,
}

/// Runs and prints.
pub(crate) fn w7(options: &Options) -> Result<()> {
    let mut rows = Vec::new();
    let empty = started(1, 0)?;
    let base = memory(&empty);
    rows.push(vec![
        "an empty server".to_owned(),
        "–".to_owned(),
        megabytes(base),
        "–".to_owned(),
        still(&empty, options),
    ]);
    drop(empty);
    for &count in &options.idle {
        let waypost = started(1, count)?;
        let bytes = memory(&waypost);
        rows.push(row("vehicles, known", count, base, bytes, still(&waypost, options)));
    }
    rows.extend(sockets(options)?);
    let headings = ["", "count", "RSS MB", "bytes each", "CPU ms/min"];
    table::print("W7: idle, null store", &headings, &rows);
    Ok(())
}

fn world(vehicles: u32) -> World {
    World { seed: 1, vehicles, fences: 100, vertices: 100, mix: Mix::Poly, motion: Motion::Roam }
}

fn started(vehicles: u32, idle_vehicles: u32) -> Result<Waypost> {
    let usual = WaypostOptions::new(&world(vehicles), Store::Null, Packing::Own { fixes: 1 });
    let options = WaypostOptions { idle_vehicles, ..usual };
    Waypost::start_on(options, None, crate::systems::begin_millis())
}

fn memory(waypost: &Waypost) -> u64 {
    std::thread::sleep(QUIET_AFTER);
    resident_bytes(waypost.child.pid()).unwrap_or_default()
}

/// CPU milliseconds per minute.
fn still(waypost: &Waypost, options: &Options) -> String {
    still_of(waypost.child.pid(), options)
}

fn still_of(pid: u32, options: &Options) -> String {
    let mut meter = CpuMeter::new(&[pid]);
    std::thread::sleep(Duration::from_secs(options.still));
    meter.sample();
    let seconds: f64 = meter.seconds().values().sum();
    format!("{:.0}", seconds * 1e3 * 60.0 / options.still.max(1) as f64)
}

fn row(name: &str, count: u32, before: u64, bytes: u64, cpu: String) -> Vec<String> {
    let each = bytes.saturating_sub(before) as f64 / f64::from(count.max(1));
    vec![name.to_owned(), count.to_string(), megabytes(bytes), format!("{each:.0}"), cpu]
}

/// Sockets that are open; then the same once each vehicle has reported and rests.
fn sockets(options: &Options) -> Result<Vec<Vec<String>>> {
    let waypost = started(options.sockets, 0)?;
    let before = memory(&waypost);
    let pid = waypost.child.pid();
    let world = waypost.options.world.clone();
    let mut session = waypost.open(&[Subscription::AllEvents])?;
    std::thread::sleep(QUIET_AFTER);
    let opened = resident_bytes(pid).unwrap_or_default();
    let mut rows = vec![row("sockets, open", options.sockets, before, opened, still_of(pid, options))];
    let mut drive = Drive::new(&world);
    run(&mut session, &Slice::next(&mut drive, 2), 2_000.0, 0.0)?;
    std::thread::sleep(QUIET_AFTER);
    let reported = resident_bytes(pid).unwrap_or_default();
    let cpu = still_of(pid, options);
    rows.push(row("vehicles, reported a moment ago", options.sockets, opened, reported, cpu));
    Ok(rows)
}
