//! W10: a moderate load for a long time. Nothing may grow but what is stored: a row per turn shows the server's
//! memory and the latencies as time goes by, with the share of the machine that was not ours, and the last line how
//! the end compares with the beginning.

use anyhow::Result;
use clap::Args;

use crate::load::Slice;
use crate::run::{Measured, run};
use crate::systems::{Packing, Store, Subscription, Waypost, WaypostOptions};
use crate::table::{self, median, megabytes, millis};
use crate::world::{Drive, World};

/// How a soak is run.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    world: World,
    /// Store to run the server on
    #[arg(long, default_value = "postgres")]
    store: Store,
    /// Positions per frame; each vehicle has its own connection
    #[arg(long, default_value_t = 1)]
    items: usize,
    /// Positions per second
    #[arg(long, default_value_t = 7_500.0)]
    rate: f64,
    /// Minutes in all
    #[arg(long, default_value_t = 30)]
    minutes: u64,
    /// Seconds of a turn, each a row of the table; between two of them the next one's positions are made
    #[arg(long, default_value_t = 60)]
    turn_seconds: u64,
}

/// Runs and prints.
pub(crate) fn w10(options: &Options) -> Result<()> {
    let Options { world, store, items, rate, .. } = options;
    let packing = Packing::Own { fixes: *items };
    let Some(waypost) = Waypost::start(WaypostOptions::new(world, *store, packing))? else { return Ok(()) };
    let mut session = waypost.open(&[Subscription::AllEvents])?;
    let mut drive = Drive::new(world);
    let rounds = (rate * options.turn_seconds as f64 / f64::from(world.vehicles)).ceil() as u32;
    let turns = (options.minutes * 60).div_ceil(options.turn_seconds.max(1));
    let (mut runs, mut stolen) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        let slice = Slice::next(&mut drive, rounds.max(2));
        let before = ProcessorTime::now();
        runs.push(run(&mut session, &slice, *rate, 0.0)?);
        stolen.push(ProcessorTime::now().stolen_since(before));
    }
    let rows: Vec<_> = (1..).zip(runs.iter().zip(stolen)).map(|(turn, of)| row(turn, of)).collect();
    let headings = [
        "equality gate passed, turn",
        "positions",
        "events",
        "per s",
        "µs/pos",
        "ack p50 ms",
        "ack p99",
        "event p50 ms",
        "event p99",
        "late p99",
        "stolen %",
        "RSS MB",
    ];
    let title = format!(
        "W10: {} vehicles, {} fences, {rate} positions/s, {items} per frame, {store:?}, {turns} turns of {} s",
        world.vehicles, world.fences, options.turn_seconds
    );
    table::print(&title, &headings, &rows);
    if let Some(trend) = trend(&runs) {
        println!("{trend}");
    }
    Ok(())
}

fn row(turn: usize, (run, stolen): (&Measured, f64)) -> Vec<String> {
    vec![
        turn.to_string(),
        run.positions.to_string(),
        run.transitions.to_string(),
        format!("{:.0}", run.positions as f64 / run.seconds),
        format!("{:.2}", run.micros_per_position()),
        millis(run.ack.map(|q| q.p50)),
        millis(run.ack.map(|q| q.p99)),
        millis(run.event.map(|q| q.p50)),
        millis(run.event.map(|q| q.p99)),
        millis(run.lateness.map(|q| q.p99)),
        format!("{:.1}", stolen * 100.0),
        megabytes(run.rss_bytes),
    ]
}

/// Time of all processors since the machine started, in the kernel's ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ProcessorTime {
    whole: u64,
    /// While there was work for one, and the host gave it to another machine.
    stolen: u64,
}

impl ProcessorTime {
    fn now() -> Self {
        Self::of(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// Of the first line of `/proc/stat` (proc_stat(5)): user, nice, system, idle, iowait, irq, softirq, steal.
    fn of(stat: &str) -> Self {
        let line = stat.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = line.split_whitespace().skip(1).take(8).flat_map(str::parse).collect();
        Self { whole: ticks.iter().sum(), stolen: ticks.get(7).copied().unwrap_or_default() }
    }

    /// The share that was stolen.
    fn stolen_since(self, before: Self) -> f64 {
        (self.stolen - before.stolen) as f64 / (self.whole - before.whole).max(1) as f64
    }
}

/// The last third beside the second one, by medians; the first third warms up. Nothing of fewer than three turns.
fn trend(runs: &[Measured]) -> Option<String> {
    let third = runs.len() / 3;
    if third == 0 {
        return None;
    }
    let (before, after) = (&runs[third..2 * third], &runs[runs.len() - third..]);
    let of = |figure: fn(&Measured) -> f64| {
        let middle = |runs: &[Measured]| median(runs.iter().map(figure).collect());
        let (before, after) = (middle(before), middle(after));
        format!("{before:.2} to {after:.2} ({:+.1} %)", (after / before - 1.0) * 100.0)
    };
    let memory = of(|run| run.rss_bytes as f64 / 1e6);
    let ack = of(|run| run.ack.map_or(f64::NAN, |q| q.p99));
    let event = of(|run| run.event.map_or(f64::NAN, |q| q.p99));
    Some(format!(
        "from the second third of the turns to the last: RSS {memory} MB, ack p99 {ack} ms, event p99 {event} ms"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_a_share_of_all_of_it() {
        let before = ProcessorTime::of("cpu  10 0 10 80 0 0 0 5 3 0\ncpu0 1 1");
        let after = ProcessorTime::of("cpu  20 0 20 160 0 0 0 15 6 0");
        assert_eq!((after.whole, after.stolen), (215, 15));
        assert!((after.stolen_since(before) - 10.0 / 110.0).abs() < 1e-12);
    }

    #[test]
    fn growth_is_told_of_the_time_after_the_warm_up() {
        let turn = |megabytes: u64| Measured { rss_bytes: megabytes * 1_000_000, ..Measured::default() };
        let runs: Vec<_> = [10, 50, 100, 100, 110, 110].map(turn).into();
        assert!(trend(&runs).is_some_and(|told| told.contains("RSS 100.00 to 110.00 (+10.0 %) MB")));
        assert_eq!(trend(&runs[..2]), None);
    }
}
