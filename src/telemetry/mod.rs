//! Log lines: who may see what, and their format. Metrics: their table, and where their values come from.
//!
//! Lines carry ids, never tokens, passwords, mail addresses or exact coordinates above debug level.

mod metrics;
mod page;
mod panics;

pub use metrics::Metrics;
pub use page::Format;

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

use crate::config::{LogFormat, Settings};

/// The log filter cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the setting log is not a level or a filter such as info,sqlx=warn")]
pub struct InvalidFilter(#[from] tracing_subscriber::filter::ParseError);

/// Starts writing log lines to the standard error stream. A second call changes nothing.
pub fn start(settings: &Settings) -> Result<(), InvalidFilter> {
    let filter: EnvFilter = settings.log.parse()?;
    let colored = std::io::stderr().is_terminal();
    let lines =
        fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colored).with_target(false);
    let started = match settings.log_format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    // An error means that the process has a subscriber already, as in tests.
    if started.is_ok() {
        panics::listen();
    }
    Ok(())
}
