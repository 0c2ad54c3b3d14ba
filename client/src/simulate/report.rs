//! The outcome of a run, as a value, as JSON and as text.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::backlog::BacklogReport;
use super::edits::EditsReport;
use super::expected::Comparison;
use super::inside::InsideReport;
use super::source::FileReading;
use super::watch::WatchReport;
use crate::Quantiles;

/// The outcome of a run.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The organization created; none in a dry run.
    pub organization_id: Option<String>,
    /// Vehicles played.
    pub vehicles: usize,
    /// Fences created.
    pub fences: usize,
    /// What was read from each file.
    pub files: Vec<FileReading>,
    /// Fixes to send.
    pub fixes: u64,
    /// What happened on the sockets.
    pub replay: Replay,
    /// The stored events against the expected ones.
    pub events: Option<Comparison>,
    /// Records that the list of events gave twice.
    pub events_listed_twice: usize,
    /// The live feed against the stored events.
    pub watch: Option<WatchReport>,
    /// Who is inside, at the pauses.
    pub inside: Option<InsideReport>,
    /// The edits made during the run.
    pub edits: Option<EditsReport>,
    /// The late fixes sent during the run.
    pub backlog: Option<BacklogReport>,
}

/// What happened on the trackers' sockets.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replay {
    /// Fixes sent, each counted once.
    pub sent: u64,
    /// Fixes committed or refused.
    pub acknowledged: u64,
    /// Fixes the server stored. Those of an ack that a crash swallowed come back as duplicates.
    pub stored: u64,
    /// Fixes the server already had.
    pub duplicates: u64,
    /// Fixes refused, by code.
    pub refused: BTreeMap<String, u64>,
    /// Frames sent again.
    pub frames_resent: u64,
    /// Connections made again.
    pub reconnects: u64,
    /// Times the server asked to send again.
    pub retries: u64,
    /// From the first intended sending to the last ack, pauses left out.
    pub seconds: f64,
    /// Fixes acknowledged per second of that.
    pub positions_per_second: f64,
    /// From a frame's intended sending to its ack.
    pub ack_latency: Option<Quantiles>,
    /// From a frame's intended sending to its sending, where there was a schedule. A run whose p99 here is
    /// not far below the ack latency's measures the loader.
    pub lateness: Option<Quantiles>,
    /// CPU seconds of the requested processes.
    pub cpu_seconds: BTreeMap<u32, f64>,
    /// Their sum, per fix acknowledged.
    pub cpu_micros_per_position: Option<f64>,
    /// Trackers that gave up, and why (the first twenty).
    pub failures: Vec<String>,
}

impl Summary {
    /// Whether everything was acknowledged and every requested check agrees.
    #[must_use]
    pub fn passed(&self) -> bool {
        let played = self.organization_id.is_none()
            || (self.replay.failures.is_empty() && self.replay.acknowledged == self.fixes);
        played
            && self.events_listed_twice == 0
            && self.events.as_ref().is_none_or(Comparison::agrees)
            && self.watch.as_ref().is_none_or(WatchReport::agrees)
            && self.inside.as_ref().is_none_or(|inside| inside.differing == 0)
            && self.edits.as_ref().is_none_or(EditsReport::agrees)
            && self.backlog.as_ref().is_none_or(|backlog| backlog.accepted == backlog.fixes)
    }

    fn skipped(&self) -> BTreeMap<&'static str, u64> {
        let mut skipped = BTreeMap::new();
        for (skip, count) in self.files.iter().flat_map(|file| &file.skipped) {
            *skipped.entry(skip.as_str()).or_default() += count;
        }
        skipped
    }
}

/// `3 x, 2 y`, or `none`.
fn listed<K: fmt::Display>(counts: &BTreeMap<K, u64>) -> String {
    if counts.is_empty() {
        return "none".to_owned();
    }
    counts.iter().map(|(what, count)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.files.len() > 1 || self.organization_id.is_none() {
            for file in &self.files {
                writeln!(f, "{}: {} points, skipped: {}", file.file, file.points, listed(&file.skipped))?;
            }
        }
        writeln!(
            f,
            "to play       {} fixes of {} vehicles, {} fences",
            self.fixes, self.vehicles, self.fences
        )?;
        writeln!(f, "skipped       {}", listed(&self.skipped()))?;
        let Some(organization) = &self.organization_id else { return Ok(()) };
        writeln!(f, "organization  {organization}")?;
        write!(f, "{}", self.replay)?;
        if let Some(events) = &self.events {
            let Comparison { expected, found, missing, unexpected, doubled, differences } = events;
            writeln!(
                f,
                "events        {expected} expected, {found} found: {missing} missing, {unexpected} unexpected, {doubled} doubled"
            )?;
            differences.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        if self.events_listed_twice > 0 {
            writeln!(f, "events        {} listed twice", self.events_listed_twice)?;
        }
        if let Some(watch) = &self.watch {
            let WatchReport { received, missing, repeated, unknown, cuts, resets, failure } = watch;
            writeln!(
                f,
                "live feed     {received} received, {cuts} cuts, {resets} resets: {missing} missing, {repeated} repeated, {unknown} unknown"
            )?;
            failure.iter().try_for_each(|reason| writeln!(f, "  gave up: {reason}"))?;
        }
        if let Some(inside) = &self.inside {
            let InsideReport { pauses, agreed, differing, differences } = inside;
            writeln!(f, "inside        {pauses} pauses: {agreed} agree, {differing} differ")?;
            differences.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        if let Some(edits) = &self.edits {
            let EditsReport { made, explained, unexplained, latency, failures, examples } = edits;
            let latency = latency.unwrap_or_default();
            writeln!(f, "edits         {made}, {} failed, answered in {latency}", failures.len())?;
            writeln!(f, "versions      explain {explained} events, do not explain {unexplained}")?;
            failures.iter().chain(examples).try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        if let Some(BacklogReport { fixes, accepted, seconds }) = &self.backlog {
            writeln!(f, "backlog       {accepted} of {fixes} late fixes accepted in {seconds:.1} s")?;
        }
        writeln!(f, "{}", if self.passed() { "passed" } else { "FAILED" })
    }
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "sent          {} fixes in {:.1} s", self.sent, self.seconds)?;
        writeln!(
            f,
            "acknowledged  {} ({} stored, {} duplicates, refused: {})",
            self.acknowledged,
            self.stored,
            self.duplicates,
            listed(&self.refused)
        )?;
        if self.reconnects + self.retries + self.frames_resent > 0 {
            let Self { reconnects, retries, frames_resent, .. } = self;
            writeln!(
                f,
                "interrupted   {reconnects} reconnects, {retries} retries asked, {frames_resent} frames resent"
            )?;
        }
        writeln!(f, "throughput    {:.0} positions/s acknowledged", self.positions_per_second)?;
        if let Some(latency) = &self.ack_latency {
            writeln!(f, "ack latency   {latency}")?;
        }
        if let Some(lateness) = &self.lateness {
            writeln!(f, "sent late by  {lateness}")?;
        }
        for (pid, seconds) in &self.cpu_seconds {
            writeln!(f, "CPU of {pid:<7}{seconds:.2} s")?;
        }
        if let Some(micros) = self.cpu_micros_per_position {
            writeln!(f, "CPU           {micros:.2} µs per position")?;
        }
        self.failures.iter().try_for_each(|failure| writeln!(f, "gave up       {failure}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fix_without_an_ack_fails_the_run() {
        let replay = Replay { acknowledged: 9, ..Replay::default() };
        let mut summary =
            Summary { organization_id: Some("o".to_owned()), fixes: 10, replay, ..Summary::default() };
        assert!(!summary.passed());
        summary.replay.acknowledged = 10;
        assert!(summary.passed());
        summary.events = Some(Comparison { missing: 1, ..Comparison::default() });
        assert!(!summary.passed());
    }
}
