//! W5: from the intended sending of a position to the dispatcher that has it, at several loads, beside a bare echo
//! of as many bytes.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use waypost_client::Quantiles;

use crate::load::Slice;
use crate::run::{Measured, run};
use crate::systems::{Child, Packing, Store, Subscription, Waypost, WaypostOptions};
use crate::table::{self, millis};
use crate::world::{Drive, World};

/// Fences of one dispatcher.
const FENCES_EACH: u32 = 50;
/// Bytes of a position's frame.
const ECHO_BYTES: usize = 170;
/// Echoes, one after the other.
const ECHOES: usize = 5_000;
const BETWEEN_ECHOES: Duration = Duration::from_micros(500);

/// How latency is measured.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    world: World,
    /// Stores to run the server on
    #[arg(long, value_delimiter = ',', default_values = ["null", "sqlite", "postgres"])]
    store: Vec<Store>,
    /// The highest rate that is held, of which shares are offered
    #[arg(long, default_value_t = 10_000.0)]
    highest: f64,
    /// Shares of it, in hundredths
    #[arg(long, value_delimiter = ',', default_values_t = [10, 30, 50, 70, 90])]
    load: Vec<u32>,
    /// Dispatchers
    #[arg(long, default_value_t = 20)]
    dispatchers: u32,
    /// Seconds at each load
    #[arg(long, default_value_t = 20)]
    seconds: u64,
}

/// Runs and prints.
pub(crate) fn w5(options: &Options) -> Result<()> {
    let world = &options.world;
    let mut rows = Vec::new();
    for &store in &options.store {
        let started = WaypostOptions::new(world, store, Packing::Own { fixes: 1 });
        let Some(waypost) = Waypost::start(started)? else { continue };
        let mut session = waypost.open(&watching(options))?;
        let mut drive = Drive::new(world);
        for load in &options.load {
            let rate = options.highest * f64::from(*load) / 100.0;
            let rounds = (rate * options.seconds as f64 / f64::from(world.vehicles)).ceil().max(1.0) as u32;
            let slice = Slice::next(&mut drive, rounds);
            let echo = echo()?;
            let measured = run(&mut session, &slice, rate, 0.2)?;
            rows.push(row(&session.name, *load, rate, &measured, echo));
        }
    }
    let headings = [
        "equality gate passed",
        "load %",
        "pos/s",
        "position p50 ms",
        "p99",
        "echo p50 ms",
        "p99",
        "p50 ×",
        "p99 ×",
        "event p50 ms",
        "p99",
        "ack p50 ms",
        "p99",
        "late p50",
        "p99",
        "µs/pos",
    ];
    let title = format!(
        "W5: {} vehicles, {} fences, {} dispatchers",
        world.vehicles, world.fences, options.dispatchers
    );
    table::print(&title, &headings, &rows);
    Ok(())
}

/// Half of the dispatchers watch fences' events, half positions; one more listens for the gate.
fn watching(options: &Options) -> Vec<Subscription> {
    let mut watching = vec![Subscription::AllEvents];
    for number in 0..options.dispatchers {
        let share = |all: u32, most: u32| -> Vec<u32> {
            let count = (all / options.dispatchers.max(1)).clamp(1, most);
            (number * count..(number + 1) * count).collect()
        };
        watching.push(if number % 2 == 0 {
            Subscription::PositionsOf(share(options.world.vehicles, u32::MAX))
        } else {
            Subscription::EventsOf(share(options.world.fences, FENCES_EACH))
        });
    }
    watching
}

/// The bare echo on this machine, now.
fn echo() -> Result<Option<Quantiles>> {
    let child = Child::start(&["echo".to_owned()])?;
    let mut socket = TcpStream::connect(&child.ready.address)?;
    socket.set_nodelay(true)?;
    let (bytes, mut back) = (vec![1; ECHO_BYTES], vec![0; ECHO_BYTES]);
    let mut micros = Vec::with_capacity(ECHOES);
    for _ in 0..ECHOES {
        std::thread::sleep(BETWEEN_ECHOES);
        let begun = Instant::now();
        socket.write_all(&bytes)?;
        socket.read_exact(&mut back)?;
        micros.push(u32::try_from(begun.elapsed().as_micros()).unwrap_or(u32::MAX));
    }
    Ok(Quantiles::of_micros(&mut micros))
}

fn row(name: &str, load: u32, rate: f64, run: &Measured, echo: Option<Quantiles>) -> Vec<String> {
    let times = |of: Option<f64>, by: Option<f64>| match (of, by) {
        (Some(of), Some(by)) => format!("{:.1}", of / by),
        _ => "–".to_owned(),
    };
    let (p50, p99) = (|q: Option<Quantiles>| q.map(|q| q.p50), |q: Option<Quantiles>| q.map(|q| q.p99));
    vec![
        name.to_owned(),
        load.to_string(),
        format!("{rate:.0}"),
        millis(p50(run.position)),
        millis(p99(run.position)),
        format!("{:.3}", p50(echo).unwrap_or_default()),
        format!("{:.3}", p99(echo).unwrap_or_default()),
        times(p50(run.position), p50(echo)),
        times(p99(run.position), p99(echo)),
        millis(p50(run.event)),
        millis(p99(run.event)),
        millis(p50(run.ack)),
        millis(p99(run.ack)),
        millis(p50(run.lateness)),
        millis(p99(run.lateness)),
        format!("{:.2}", run.micros_per_position()),
    ]
}
