//! The command line: which subcommands there are and what they take.
//!
//! Owns the definitions and `simulate`. The bodies of the other subcommands live with what they start.

pub mod simulate;

use clap::{Args, Parser, Subcommand};

/// Waypost, a real-time fleet tracking server.
#[derive(Debug, Parser)]
#[command(name = "waypost", version, about, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// What to do; `serve` when left out.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Settings of `serve`.
    #[command(flatten)]
    pub serve: ServeArgs,
}

/// What Waypost can be asked to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the server (the default).
    Serve(ServeArgs),
    /// Run the server on its own data with real buses replayed, and print a link that signs in.
    Demo(ServeArgs),
    /// Play traces or made-up vehicles into a running server, and check what comes of it.
    Simulate(Box<simulate::Options>),
    /// Bring the database up to date and stop.
    Migrate(ServeArgs),
    /// Print the OpenAPI document and stop.
    Openapi,
}

/// Settings given as flags, passed on as they are to the configuration.
#[derive(Clone, Debug, Default, Args)]
pub struct ServeArgs {
    /// Settings, such as `--listen 127.0.0.1:8080`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub settings: Vec<String>,
}
