//! This program again, as a process of its own: what is measured shares nothing with the loader.

use std::io::{BufRead, BufReader};
use std::process::{self, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

/// What a child says once it can be measured, in one line.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ready {
    /// Where it listens.
    pub(crate) address: String,
    /// Where Teltonika devices connect; empty if nowhere.
    #[serde(default)]
    pub(crate) devices: String,
    /// Where its metrics are; empty if nowhere.
    #[serde(default)]
    pub(crate) metrics: String,
    /// A platform operator's access token.
    pub(crate) operator: String,
    /// The access token of a system user that reports for all trackers.
    pub(crate) fleet: String,
    /// The trackers' tokens, by vehicle.
    pub(crate) trackers: Vec<String>,
    /// The vehicles' ids.
    pub(crate) vehicles: Vec<String>,
    /// The drivers' ids, if there is a history; the last one has no vehicle.
    #[serde(default)]
    pub(crate) drivers: Vec<String>,
    /// The fences' ids.
    pub(crate) fences: Vec<String>,
    /// The organization that owns all of it.
    pub(crate) organization: String,
}

/// A running child. Ends with this handle, and with this process: it waits for the end of its input.
#[derive(Debug)]
pub(crate) struct Child {
    process: process::Child,
    pub(crate) ready: Ready,
}

impl Child {
    /// Starts a subcommand of this program and waits until it is ready.
    pub(crate) fn start(arguments: &[String]) -> Result<Self> {
        let program = std::env::current_exe().context("the path of this program")?;
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("this program cannot start itself")?;
        let output = process.stdout.take().context("the child has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let Ok(ready) = serde_json::from_str(&line) else {
            process.kill().ok();
            process.wait().ok();
            bail!("{} did not get ready: {line}", arguments.join(" "));
        };
        Ok(Self { process, ready })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        self.process.wait().ok();
    }
}

/// Says that a child is ready; then waits until its parent lets it go.
pub(crate) fn say_ready(ready: &Ready) -> Result<()> {
    use std::io::Write;
    let mut output = std::io::stdout();
    writeln!(output, "{}", serde_json::to_string(ready)?)?;
    output.flush().context("the parent does not listen")
}

/// Returns when the parent is gone or wants no more.
pub(crate) fn wait_for_parent() {
    let mut rest = String::new();
    while std::io::stdin().read_line(&mut rest).is_ok_and(|read| read > 0) {}
}

/// Runs a small server in one thread until the parent is gone. `start` says where it listens, and serves.
pub(crate) fn server_loop<S>(start: impl Future<Output = Result<(Ready, S)>>) -> Result<()>
where
    S: Future<Output = std::io::Result<()>> + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = tokio::task::LocalSet::new().block_on(&runtime, async {
        let (ready, serve) = start.await?;
        let serving = tokio::task::spawn_local(serve);
        say_ready(&ready)?;
        tokio::select! {
            parent = tokio::task::spawn_blocking(wait_for_parent) => parent?,
            served = serving => served??,
        }
        Ok(())
    });
    runtime.shutdown_background();
    done
}
