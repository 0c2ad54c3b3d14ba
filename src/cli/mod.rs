//! The command line: which subcommands there are and what they take.
//!
//! Owns what a person at a terminal sees. What the subcommands start lives elsewhere.

mod demo;
mod serve;
pub mod simulate;

use std::process::ExitCode;

use clap::{ArgMatches, Args, FromArgMatches, Parser, Subcommand};

use crate::config::{self, Settings, Sources};
use crate::store::open::open_and_migrate;

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

/// Settings given as flags; the table of settings says which there are.
#[derive(Clone, Debug, Default)]
pub struct ServeArgs {
    flags: Vec<(&'static str, String)>,
}

impl Args for ServeArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.args(config::flags())
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ServeArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { flags: config::given_flags(matches) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.flags = config::given_flags(matches);
        Ok(())
    }
}

impl ServeArgs {
    /// The settings of the file, the environment and these flags.
    fn settings(self) -> anyhow::Result<Settings> {
        Ok(Settings::load(&Sources::of_process(None, self.flags))?)
    }
}

/// Runs a command to its end.
pub async fn run(cli: Cli) -> ExitCode {
    let done = match cli.command.unwrap_or(Command::Serve(cli.serve)) {
        Command::Serve(args) => serve::serve(args).await,
        Command::Demo(args) => demo::demo(args).await,
        Command::Migrate(args) => migrate(args).await,
        Command::Openapi => openapi(),
        Command::Simulate(options) => return simulate::main(*options).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("waypost: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn migrate(args: ServeArgs) -> anyhow::Result<()> {
    let db = open_and_migrate(&args.settings()?.store()).await?;
    db.close().await;
    println!("the database is up to date");
    Ok(())
}

fn openapi() -> anyhow::Result<()> {
    println!("{}", serde_json::to_string_pretty(&crate::http::openapi::document())?);
    Ok(())
}
