//! Progress on standard error: a bar on a terminal, a plain line now and then elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tokio::time::Instant;

use super::stage::Counts;

/// The time between two lines if there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// Shows how far a run has come.
pub(super) enum Progress {
    /// Shows nothing.
    Silent,
    /// A bar.
    Bar(ProgressBar),
    /// Lines, with the moment of the last one.
    Lines {
        /// Fixes in all.
        total: u64,
        /// When the last line was written.
        last: Instant,
    },
}

impl Progress {
    /// The progress of `total` fixes.
    #[must_use]
    pub(super) fn new(total: u64, quiet: bool) -> Self {
        if quiet {
            return Self::Silent;
        }
        if !std::io::stderr().is_terminal() {
            return Self::Lines { total, last: Instant::now() };
        }
        let bar = ProgressBar::new(total);
        let style = "{elapsed_precise} {wide_bar} {pos}/{len} {per_sec} {msg}";
        // The template is a constant; were it wrong, indicatif's own would do.
        bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self::Bar(bar)
    }

    /// Shows the current state.
    pub(super) fn show(&mut self, counts: &Counts) {
        match self {
            Self::Silent => {}
            Self::Bar(bar) => {
                bar.set_position(counts.acknowledged);
                bar.set_message(format!("{} in flight, {} reconnects", counts.in_flight, counts.reconnects));
            }
            Self::Lines { last, .. } if last.elapsed() < BETWEEN_LINES => {}
            Self::Lines { total, last } => {
                *last = Instant::now();
                eprintln!(
                    "{} of {total} fixes acknowledged, {} reconnects",
                    counts.acknowledged, counts.reconnects
                );
            }
        }
    }

    /// Clears the bar.
    pub(super) fn finish(&mut self, counts: &Counts) {
        self.show(counts);
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
