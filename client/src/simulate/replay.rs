//! All trackers together: start, progress, pauses, end.

use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};
use uuid::Uuid;

use super::options::{Options, Pace};
use super::progress::Progress;
use super::report::Replay;
use super::schedule::dues;
use super::source::Track;
use super::stage::{Counts, Stage};
use super::tracker::{Assignment, Tracker};
use crate::{CpuMeter, Quantiles};

/// Handshakes under way at a time: many sockets open gradually, not all at once.
const HANDSHAKES: usize = 32;
const FAILURES_SHOWN: usize = 20;

/// Makes the trackers' assignments. `tokens` are in the order of the tracks.
pub(super) fn assignments(
    options: &Options,
    tracks: Vec<Track>,
    tokens: &[String],
    server: &str,
) -> Vec<Assignment> {
    let items = usize::from(options.items);
    let fixes: Vec<_> = tracks.iter().map(|track| &track.fixes).collect();
    let dues = dues(&fixes, items, options.pace());
    let assigned = tracks.into_iter().zip(dues).zip(tokens).enumerate();
    assigned
        .map(|(vehicle, ((track, dues), token))| Assignment {
            vehicle,
            remaining: track.fixes.len(),
            points: track.fixes.into_points(),
            dues,
            server: server.to_owned(),
            token: token.clone(),
            boot_id: options.hello.then(|| Uuid::new_v4().to_string()),
            items,
            reconnect_for: Duration::from_secs(options.reconnect_for),
            stamps_now: options.now,
        })
        .collect()
}

/// Plays everything; returns when every tracker is done or has given up.
pub(super) async fn play(options: &Options, assignments: Vec<Assignment>, stage: &Rc<Stage>) -> Replay {
    let total = assignments.iter().map(|assignment| assignment.remaining as u64).sum();
    let count = assignments.len();
    let scheduled = options.pace() != Pace::Credit;
    // A schedule needs all trackers at once; acks let them queue.
    let sockets = if scheduled { count } else { options.connections.max(1) as usize };
    let mut trackers = spawn(assignments, stage, sockets);
    if scheduled {
        stage.until(|counts| counts.arrived == count).await;
    }
    let mut cpu = CpuMeter::new(&options.cpu_of);
    let begun = Instant::now();
    stage.begin();
    let mut progress = Progress::new(total, options.quiet);
    let mut tick = interval(Duration::from_millis(500));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failures = Vec::new();
    loop {
        tokio::select! {
            ended = trackers.join_next() => match ended {
                Some(Ok(Ok(()))) => {}
                Some(Ok(Err(failure))) => failures.push(failure),
                Some(Err(panic)) => failures.push(panic.to_string()),
                None => break,
            },
            _ = tick.tick() => {
                cpu.sample();
                progress.show(&stage.counts());
            }
        }
    }
    cpu.sample();
    progress.finish(&stage.counts());
    let until = stage.counts().last_ack.unwrap_or_else(Instant::now);
    let seconds = until.saturating_duration_since(begun).saturating_sub(stage.idle_for());
    let mut replay = replay(&mut stage.counts(), seconds, &cpu, failures);
    // Without a schedule nothing is late.
    replay.lateness = replay.lateness.filter(|_| scheduled);
    replay
}

fn spawn(assignments: Vec<Assignment>, stage: &Rc<Stage>, sockets: usize) -> JoinSet<Result<(), String>> {
    let handshakes = Rc::new(Semaphore::new(HANDSHAKES));
    let sockets = Rc::new(Semaphore::new(sockets));
    let mut trackers = JoinSet::new();
    for assignment in assignments {
        let tracker = Tracker::new(assignment, Rc::clone(stage), Rc::clone(&handshakes));
        let sockets = Rc::clone(&sockets);
        trackers.spawn_local(async move {
            let _socket = sockets.acquire().await.map_err(|gone| gone.to_string())?;
            tracker.play().await
        });
    }
    trackers
}

fn replay(counts: &mut Counts, elapsed: Duration, cpu: &CpuMeter, mut failures: Vec<String>) -> Replay {
    let seconds = elapsed.as_secs_f64();
    let cpu_seconds = cpu.seconds();
    let cpu_micros = cpu_seconds.values().sum::<f64>() * 1e6;
    let acknowledged = counts.acknowledged;
    failures.truncate(FAILURES_SHOWN);
    Replay {
        sent: counts.sent,
        acknowledged,
        stored: counts.stored,
        duplicates: counts.duplicates,
        refused: counts.refused.clone(),
        frames_resent: counts.frames_resent,
        reconnects: counts.reconnects,
        retries: counts.retries,
        seconds,
        positions_per_second: if seconds > 0.0 { acknowledged as f64 / seconds } else { 0.0 },
        ack_latency: Quantiles::of_micros(&mut counts.latencies_micros),
        lateness: Quantiles::of_micros(&mut counts.lateness_micros),
        cpu_micros_per_position: (!cpu_seconds.is_empty() && acknowledged > 0)
            .then(|| cpu_micros / acknowledged as f64),
        cpu_seconds,
        failures,
    }
}
