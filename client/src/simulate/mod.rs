//! `waypost simulate`: plays traces or made-up vehicles through real sockets into a running server, and checks the
//! outcome. The load generator, too.
//!
//! Owns the client's side of the documented protocols. Must know nothing of the server's insides: no
//! store, no actor, no handler.

mod backlog;
mod edits;
mod expected;
mod inside;
mod options;
mod order;
mod outbox;
mod progress;
mod records;
mod replay;
mod report;
mod schedule;
mod setup;
mod source;
mod stage;
mod tour;
mod tracker;
mod watch;

#[cfg(test)]
mod tracker_tests;

use std::collections::{BTreeMap, VecDeque};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep};
use waypost_actors::model::Timestamp;

use crate::Api;
pub use crate::Quantiles;

pub use backlog::BacklogReport;
pub use edits::EditsReport;
pub use expected::Comparison;
pub use inside::InsideReport;
pub use options::{Options, Order, Pace, RuleSet, Speed};
pub use report::{Replay, Summary};
pub use source::FileReading;
pub use watch::WatchReport;

use edits::Edits;
use expected::{Key, Names};
use records::Log;
use setup::Fleet;
use source::Source;
use stage::Stage;
use tour::Area;
use watch::QUIET;

/// The time between two reads of the log of events.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// Runs and prints the summary; 1 when something was not as expected. Needs an actix system, or any
/// single-threaded tokio runtime with a local task set.
pub async fn main(options: Options) -> ExitCode {
    let json = options.json;
    match run(options).await {
        Ok(summary) => {
            let text = if json {
                serde_json::to_string_pretty(&summary).unwrap_or_default() + "\n"
            } else {
                summary.to_string()
            };
            print!("{text}");
            if summary.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("simulate: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs. An error means that the run could not be carried out; whether its checks agree is in the summary.
pub async fn run(options: Options) -> Result<Summary> {
    let mut source = source::load(&options)?;
    order::arrange(&options, &mut source.tracks);
    let mut summary = Summary {
        vehicles: source.tracks.len(),
        fences: source.fences.len(),
        files: std::mem::take(&mut source.files),
        fixes: source.tracks.iter().map(|track| track.fixes.len() as u64).sum(),
        ..Summary::default()
    };
    if options.dry_run {
        return Ok(summary);
    }
    let mut names = Names::default();
    let expected = match &options.expect {
        Some(path) => {
            expected::read(&source::content(path)?, &mut names).with_context(|| path.display().to_string())?
        }
        None => Vec::new(),
    };

    let api = Rc::new(sign_in(&options).await?);
    let fleet = setup::create(&api, &options, &source).await?;
    summary.organization_id = Some(fleet.organization_id.clone());
    let watch = match options.watch {
        true => Some(
            watch::begin(Rc::clone(&api), watch_plan(&options, &fleet)).await.map_err(anyhow::Error::msg)?,
        ),
        false => None,
    };
    let edits = edits(&options, &api, &source, &fleet)?;
    let editing =
        edits.clone().zip(options.edits).map(|(edits, rate)| tokio::task::spawn_local(edits.run(rate)));
    let backlog = backlog(&options, &api, &source, &fleet);
    let run = Run { api: &api, fleet: &fleet, expected: &expected };
    let replay = run.replay(&options, source, summary.fixes, &mut names);
    let (replay, backlog) = tokio::join!(replay, backlog);
    (summary.replay, summary.inside) = replay?;
    summary.backlog = backlog.transpose()?;
    if let (Some(edits), Some(editing)) = (&edits, editing) {
        edits.stop();
        editing.await?;
    }
    if options.expect.is_some() || options.save.is_some() || watch.is_some() || edits.is_some() {
        let mut log = Log::new(&fleet.organization_id, edits.is_some());
        let wanted = options.expect.is_some().then_some(expected.as_slice());
        summary.events = await_expected(&mut log, &api, wanted, &mut names).await?;
        let events = log.events;
        summary.events_listed_twice = events.repeated();
        summary.edits = edits.map(|edits| edits.report(events.crossings.values()));
        if let Some(path) = &options.save {
            let saved =
                expected::write(events.active(), &names).with_context(|| path.display().to_string())?;
            std::fs::write(path, saved).with_context(|| path.display().to_string())?;
        }
        if let Some(watch) = watch {
            summary.watch = Some(watch.finish(&events).await);
        }
    }
    Ok(summary)
}

fn edits(options: &Options, api: &Rc<Api>, source: &Source, fleet: &Fleet) -> Result<Option<Rc<Edits>>> {
    if options.edits.is_none() {
        return Ok(None);
    }
    if options.rules != RuleSet::Exact {
        bail!("--edits checks events by the exact rules: give --rules exact");
    }
    Edits::new(Rc::clone(api), &source.fences, fleet, options.seed).map(Some)
}

/// Sends the backlog, if one was requested.
fn backlog(
    options: &Options,
    api: &Rc<Api>,
    source: &Source,
    fleet: &Fleet,
) -> impl Future<Output = Option<Result<BacklogReport>>> + use<> {
    let area = Area::around(source.fences.iter().map(|fence| &fence.shape));
    let (api, token, seed) = (Rc::clone(api), fleet.tokens.first().cloned(), options.seed);
    let reconnect_for = Duration::from_secs(options.reconnect_for);
    let count = options.backlog;
    async move { Some(backlog::send(&api, &token?, area, seed, count?, reconnect_for).await) }
}

/// Reads the log of events until it is as expected, or nothing new comes: late fixes are corrected
/// after their acks.
async fn await_expected(
    log: &mut Log,
    api: &Api,
    expected: Option<&[Key]>,
    names: &mut Names,
) -> Result<Option<Comparison>> {
    // Only a saved list has digests; then they are compared too.
    let has_digests = expected.is_some_and(|expected| expected.iter().any(|key| key.digest.is_some()));
    let compared = |log: &Log, names: &Names| {
        let plain = |key: Key| if has_digests { key } else { key.plain() };
        let found: Vec<Key> = log.events.active().map(plain).collect();
        expected.map(|expected| expected::compare(expected, &found, names))
    };
    log.read_on(api, names).await?;
    let (mut comparison, mut last_news) = (compared(log, names), Instant::now());
    while !comparison.as_ref().is_some_and(Comparison::agrees) && last_news.elapsed() < QUIET {
        sleep(BETWEEN_LOOKS).await;
        if log.read_on(api, names).await? > 0 {
            (comparison, last_news) = (compared(log, names), Instant::now());
        }
    }
    Ok(comparison)
}

async fn sign_in(options: &Options) -> Result<Api> {
    let (Some(email), Some(password)) = (&options.email, &options.password) else {
        bail!(
            "whose organization? Give --email and --password of a platform operator, or set WAYPOST_ADMIN_EMAIL and WAYPOST_ADMIN_PASSWORD"
        );
    };
    let reconnect_for = Duration::from_secs(options.reconnect_for);
    Api::sign_in(&options.server, email, password, reconnect_for)
        .await
        .with_context(|| options.server.clone())
}

fn watch_plan(options: &Options, fleet: &Fleet) -> watch::Plan {
    watch::Plan {
        organization_id: fleet.organization_id.clone(),
        cut_seconds: options.cut,
        seed: options.seed,
        reconnect_for: Duration::from_secs(options.reconnect_for),
    }
}

/// What the replay and its pauses need.
struct Run<'a> {
    api: &'a Api,
    fleet: &'a Fleet,
    expected: &'a [Key],
}

impl Run<'_> {
    async fn replay(
        &self,
        options: &Options,
        source: Source,
        fixes: u64,
        names: &mut Names,
    ) -> Result<(Replay, Option<InsideReport>)> {
        let vehicles: Vec<u32> = source.tracks.iter().map(|track| names.number(&track.vehicle)).collect();
        let stage = Rc::new(Stage::new(vehicles.len(), pauses(options, fixes)));
        let server = self.api.server();
        let assignments = replay::assignments(options, source.tracks, &self.fleet.tokens, server);
        let mut report = options.check_inside.map(|_| InsideReport::default());
        let play = replay::play(options, assignments, &stage);
        let Some(inside) = &mut report else { return Ok((play.await, None)) };
        let replay = tokio::select! {
            replay = play => replay,
            failed = self.check_at_pauses(&stage, &vehicles, names, inside) => return Err(failed),
        };
        Ok((replay, report))
    }

    /// At each pause, once everything sent is acknowledged, asks who is inside. Returns only with an error.
    async fn check_at_pauses(
        &self,
        stage: &Stage,
        vehicles: &[u32],
        names: &mut Names,
        report: &mut InsideReport,
    ) -> anyhow::Error {
        let mut paused = stage.pauses();
        loop {
            if let Err(gone) = paused.wait_for(|paused| *paused).await {
                return gone.into();
            }
            let since = Instant::now();
            stage.until(|counts| counts.in_flight == 0).await;
            let idle_since = Instant::now();
            let newest: BTreeMap<u32, Timestamp> = {
                let counts = stage.counts();
                let sent = vehicles.iter().zip(&counts.newest_sent);
                sent.filter_map(|(vehicle, newest)| Some((*vehicle, (*newest)?))).collect()
            };
            let fleet = (self.fleet.organization_id.as_str(), self.fleet.fences.as_slice());
            if let Err(error) = inside::check(self.api, fleet, self.expected, &newest, names, report).await {
                return error;
            }
            stage.resume(since, idle_since);
        }
    }
}

/// Seeded moments at which to pause, as counts of fixes sent; never before the first or after the last.
fn pauses(options: &Options, fixes: u64) -> VecDeque<u64> {
    let mut rng = StdRng::seed_from_u64(options.seed);
    let count = options.check_inside.unwrap_or_default();
    let mut pauses: Vec<u64> = (0..count)
        .filter(|_| fixes > 2)
        .map(|_| rng.random_range(1..fixes.saturating_sub(1).max(2)))
        .collect();
    pauses.sort_unstable();
    pauses.dedup();
    pauses.into()
}
