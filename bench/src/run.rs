//! One measured run: a slice of a world through a system, at a fixed rate. No figure leaves here unless the
//! reported transitions are the oracle's, one for one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use waypost_client::{CpuMeter, Quantiles, resident_bytes};

use crate::load::{Log, Slice, send, send_in_turn};
use crate::systems::{Processes, Session};
use crate::world::Transition;

/// Without news for this long, nothing more is expected.
const QUIET: Duration = Duration::from_secs(15);
/// How long to wait for a surplus transition after the last expected one.
const SURPLUS_WITHIN: Duration = Duration::from_millis(300);
/// The pause before the first frame is due.
const LEAD: Duration = Duration::from_millis(20);

/// The outcome of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) positions: u64,
    pub(crate) transitions: usize,
    pub(crate) seconds: f64,
    /// CPU seconds, of the positions after the warm-up.
    pub(crate) server_cpu: f64,
    pub(crate) database_cpu: f64,
    pub(crate) counted: u64,
    pub(crate) ack: Option<Quantiles>,
    pub(crate) event: Option<Quantiles>,
    pub(crate) position: Option<Quantiles>,
    pub(crate) lateness: Option<Quantiles>,
    pub(crate) rss_bytes: u64,
    pub(crate) deliveries: u64,
    pub(crate) delivered_frames: u64,
    pub(crate) delivered_bytes: u64,
}

impl Measured {
    /// CPU microseconds of a position, database included.
    pub(crate) fn micros_per_position(&self) -> f64 {
        (self.server_cpu + self.database_cpu) * 1e6 / self.counted.max(1) as f64
    }

    pub(crate) fn positions_per_cpu_second(&self) -> f64 {
        self.counted as f64 / (self.server_cpu + self.database_cpu).max(1e-9)
    }
}

/// CPU seconds of a system's processes.
struct Meters {
    server: CpuMeter,
    database: CpuMeter,
}

impl Meters {
    fn new(processes: &Processes) -> Self {
        let meter = |pid: Option<u32>| CpuMeter::new(&pid.into_iter().collect::<Vec<_>>());
        Self { server: meter(processes.server), database: meter(processes.database) }
    }

    fn read(&mut self) -> (f64, f64) {
        let sum = |meter: &mut CpuMeter| {
            meter.sample();
            meter.seconds().values().fold(0.0, |sum, seconds| sum + seconds)
        };
        (sum(&mut self.server), sum(&mut self.database))
    }
}

/// When frames are sent.
#[derive(Clone, Copy, Debug)]
enum Pace {
    /// At so many fixes a second, whatever comes back.
    PerSecond(f64),
    /// As soon as no more than so many frames wait for their acknowledgement: latencies say nothing.
    InTurn(usize),
}

/// Sends a slice and waits for all that comes back. The first part of it warms up and is not counted.
pub(crate) fn run(
    session: &mut Session,
    slice: &Arc<Slice>,
    per_second: f64,
    warm_share: f64,
) -> Result<Measured> {
    run_at(session, slice, Pace::PerSecond(per_second), warm_share)
}

/// Sends a slice with so many frames under way, and waits for all that comes back. All of it is counted.
pub(crate) fn run_in_turn(session: &mut Session, slice: &Arc<Slice>, under_way: usize) -> Result<Measured> {
    run_at(session, slice, Pace::InTurn(under_way), 0.0)
}

fn run_at(session: &mut Session, slice: &Arc<Slice>, pace: Pace, warm_share: f64) -> Result<Measured> {
    let per_second = if let Pace::PerSecond(rate) = pace { rate } else { f64::INFINITY };
    let plan = session.plan(slice, per_second)?;
    let log = session.log().clone();
    let begun = Instant::now() + LEAD;
    log.lock().begin_at(begun);
    let warm_frames = (plan.frames.len() as f64 * warm_share) as usize;
    let warm_fixes: u64 = plan.frames[..warm_frames].iter().map(|frame| u64::from(frame.fixes)).sum();
    let processes = session.processes.clone();
    let mut meters = None;
    let mut lateness = match pace {
        Pace::PerSecond(_) => send(&plan, session.sockets(), begun, warm_frames, || {
            meters = Some(Meters::new(&processes));
        })?,
        Pace::InTurn(under_way) => {
            meters = Some(Meters::new(&processes));
            send_in_turn(&plan, session.sockets(), &log, under_way)?;
            Vec::new()
        }
    };
    let is_pushed = session.fetch_transitions.is_none();
    let (fixes, transitions) = (slice.fixes.len() as u64, slice.expected.len());
    wait_until_done(session, |log| {
        log.acknowledged >= fixes && (!is_pushed || log.transitions.len() >= transitions)
    });
    let seconds = begun.elapsed().as_secs_f64();
    let (server_cpu, database_cpu) = meters.map_or((0.0, 0.0), |mut meters| meters.read());
    let rss = processes.server.and_then(resident_bytes).unwrap_or_default();
    std::thread::sleep(SURPLUS_WITHIN);
    let fetched = session.fetch_transitions.as_mut().map(|fetch| fetch(slice)).transpose()?;
    let mut log = std::mem::take(&mut *log.lock());
    if let Some(fetched) = fetched {
        log.transitions = fetched;
    }
    gate(&session.name, &mut log, slice)?;
    Ok(Measured {
        positions: fixes,
        transitions,
        seconds,
        server_cpu,
        database_cpu,
        counted: fixes - warm_fixes,
        ack: Quantiles::of_micros(&mut log.ack_micros),
        event: Quantiles::of_micros(&mut log.event_micros),
        position: Quantiles::of_micros(&mut log.position_micros),
        lateness: Quantiles::of_micros(&mut lateness),
        rss_bytes: rss,
        deliveries: log.deliveries,
        delivered_frames: log.delivered_frames,
        delivered_bytes: log.delivered_bytes,
    })
}

/// Waits until everything is there, or nothing comes any more.
fn wait_until_done(session: &Session, is_done: impl Fn(&Log) -> bool) {
    let mut last = (0, 0, Instant::now());
    loop {
        {
            let log = session.log().lock();
            if is_done(&log) || !log.failures.is_empty() {
                return;
            }
            if (log.acknowledged, log.transitions.len()) != (last.0, last.1) {
                last = (log.acknowledged, log.transitions.len(), Instant::now());
            }
        }
        if last.2.elapsed() > QUIET {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The gate that every figure passes: everything is acknowledged, and the reported transitions are the ones that
/// happened.
fn gate(name: &str, log: &mut Log, slice: &Slice) -> Result<()> {
    if !log.failures.is_empty() {
        bail!("{name}: {}", log.failures.join("; "));
    }
    if log.acknowledged != slice.fixes.len() as u64 {
        bail!("{name}: {} of {} fixes acknowledged", log.acknowledged, slice.fixes.len());
    }
    log.transitions.sort_unstable();
    match first_difference(&log.transitions, &slice.expected) {
        None => Ok(()),
        Some(difference) => bail!(
            "{name}: {} transitions told, {} expected; {difference}",
            log.transitions.len(),
            slice.expected.len()
        ),
    }
}

/// The difference of two sorted lists in words; `None` if they are equal.
fn first_difference(told: &[Transition], expected: &[Transition]) -> Option<String> {
    let alike = told.iter().zip(expected).take_while(|(told, expected)| told == expected).count();
    match (told.get(alike), expected.get(alike)) {
        (None, None) => None,
        (told, expected) => Some(format!("first: told {told:?}, expected {expected:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_tells_one_too_many_and_one_too_few() {
        let told = |round| Transition { vehicle: 1, round, is_entry: true, fence: 1 };
        assert_eq!(first_difference(&[told(1), told(2)], &[told(1), told(2)]), None);
        for (told, expected) in
            [(vec![told(1), told(1)], vec![told(1)]), (vec![], vec![told(1)]), (vec![told(2)], vec![told(1)])]
        {
            assert!(first_difference(&told, &expected).is_some());
        }
    }
}
