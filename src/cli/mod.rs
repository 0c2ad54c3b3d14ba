//! The command line: its subcommands and their arguments.
//!
//! Owns what is shown at the terminal. The code that subcommands start lives elsewhere.

mod config;
mod demo;
mod export;
mod keys;
mod output;
mod serve;
mod setting_flags;
mod transfer;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use output::print_all;
use setting_flags::{DemoArgs, ELSEWHERE, MigrateArgs, ServeArgs};
use transfer::TransferArgs;
use waypost::http::openapi::Written;
use waypost::http::routes::document;
use waypost::store::open::open_and_migrate;
use waypost_client::simulate;

const OF_THE_DEMO: &str = "The demo keeps its data in ./waypost-demo unless --data-dir names another place, and \
empties it at each start. It uses no PostgreSQL, no Redis and no administrator of yours, whatever is set.";

/// Waypost, a real-time fleet tracking server.
#[derive(Debug, Parser)]
#[command(name = "waypost", version, about, args_conflicts_with_subcommands = true, after_help = ELSEWHERE)]
pub(crate) struct Cli {
    /// What to do; `serve` when left out.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Settings of `serve`.
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

/// What Waypost can be asked to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the server (the default).
    #[command(after_help = ELSEWHERE)]
    Serve(ServeArgs),
    /// Run the server on its own data with real buses replayed, and print a link that signs in.
    #[command(after_help = OF_THE_DEMO)]
    Demo(DemoArgs),
    /// Play traces or made-up vehicles into a running server, and check what comes of it.
    Simulate(Box<simulate::Options>),
    /// Bring the database up to date and stop.
    #[command(after_help = ELSEWHERE)]
    Migrate(MigrateArgs),
    /// Move an embedded store into an empty PostgreSQL database, check that all of it is there, and stop.
    #[command(after_help = ELSEWHERE)]
    Transfer(TransferArgs),
    /// Print what is stored, as CSV; also while a server runs.
    Export(export::Export),
    /// Work on the keys that sign access tokens.
    Keys(keys::Keys),
    /// Print every setting with its default, the value in force and where that came from.
    #[command(after_help = ELSEWHERE)]
    Config(ServeArgs),
    /// Print the OpenAPI document and stop.
    Openapi,
}

/// Runs a command to completion.
pub(crate) async fn run(cli: Cli) -> ExitCode {
    let done = match cli.command.unwrap_or(Command::Serve(cli.serve)) {
        Command::Serve(args) => serve::serve(args).await,
        Command::Demo(args) => demo::demo(args).await,
        Command::Migrate(args) => migrate(args).await,
        Command::Transfer(args) => transfer::transfer(args).await,
        Command::Export(export) => export::run(export).await,
        Command::Keys(keys) => keys::run(keys).await,
        Command::Config(args) => config::config(args),
        Command::Openapi => openapi(),
        Command::Simulate(options) => return simulate::main(*options).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("waypost: {}", with_causes(&error));
            ExitCode::FAILURE
        }
    }
}

/// The error and its causes, except those that an earlier error quotes already.
fn with_causes(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| {
        let cause = cause.trim_end();
        match text.as_str() {
            "" => cause.to_owned(),
            _ if text.contains(cause) => text,
            _ => format!("{text}: {cause}"),
        }
    })
}

async fn migrate(args: MigrateArgs) -> anyhow::Result<()> {
    let db = open_and_migrate(&args.settings()?.store()).await?;
    db.close().await;
    println!("the database is up to date");
    Ok(())
}

fn openapi() -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(&Written(&document()))?;
    print_all(&text)
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let error = Err::<(), _>(std::io::Error::other("refused"))
            .context("talking failed: refused")
            .context("no server");
        assert_eq!(with_causes(&error.unwrap_err()), "no server: talking failed: refused");
    }
}
