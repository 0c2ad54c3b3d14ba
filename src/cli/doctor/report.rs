//! The lines of a report, and what they come to.

use std::process::ExitCode;

use crate::cli::output::print_all;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Good,
    Doubtful,
    Wrong,
}

/// What was found, in order.
#[derive(Debug, Default)]
pub(super) struct Report(Vec<(Kind, String)>);

impl Report {
    pub(super) fn good(&mut self, about: &str, what: impl AsRef<str>) {
        self.add(Kind::Good, "ok", about, what.as_ref(), "");
    }

    /// Something that works and that an operator may not want.
    pub(super) fn doubtful(&mut self, about: &str, what: impl AsRef<str>, remedy: &str) {
        self.add(Kind::Doubtful, "look", about, what.as_ref(), remedy);
    }

    pub(super) fn wrong(&mut self, about: &str, what: impl AsRef<str>, remedy: &str) {
        self.add(Kind::Wrong, "WRONG", about, what.as_ref(), remedy);
    }

    fn add(&mut self, kind: Kind, word: &str, about: &str, what: &str, remedy: &str) {
        let end = if remedy.is_empty() { String::new() } else { format!(". To do: {remedy}") };
        self.0.push((kind, format!("{word:<5}  {about:<11}  {}{end}", what.replace('\n', " "))));
    }

    fn count(&self, of: Kind) -> usize {
        self.0.iter().filter(|(kind, _)| *kind == of).count()
    }

    /// Prints everything, and what it comes to.
    pub(super) fn told(&self) -> ExitCode {
        let (wrong, doubtful) = (self.count(Kind::Wrong), self.count(Kind::Doubtful));
        let mut lines: Vec<&str> = self.0.iter().map(|(_, line)| line.as_str()).collect();
        let sum = format!("{wrong} wrong, {doubtful} to look at");
        lines.push(&sum);
        let printed = print_all(&lines.join("\n"));
        if wrong == 0 && printed.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
