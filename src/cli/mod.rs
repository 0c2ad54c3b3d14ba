//! The command line: its subcommands and their arguments.
//!
//! Owns what is shown at the terminal. The code that subcommands start lives elsewhere.

mod backup;
mod config;
mod demo;
mod doctor;
mod export;
mod keys;
mod licences;
mod manual;
mod map;
mod output;
mod serve;
mod setting_flags;
mod transfer;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use output::{print_all, with_causes};
use setting_flags::{DemoArgs, ELSEWHERE, MigrateArgs, ServeArgs};
use transfer::TransferArgs;
use waypost::http::openapi::Written;
use waypost::http::routes::document;
use waypost::store::open::open_and_migrate;
use waypost_client::simulate;

const OF_THE_DEMO: &str = "The demo keeps its data in ./waypost-demo unless --data-dir names another place, and \
empties it at each start. It uses no PostgreSQL, no Redis, no mail server, no devices or brokers and no administrator \
of yours, whatever is set.";

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
    /// Back up the store into a new directory, while a server runs or not, and read it back.
    #[command(after_help = ELSEWHERE)]
    Backup(backup::BackupArgs),
    /// Restore a backup into an empty data directory or database, and read it back.
    #[command(after_help = ELSEWHERE)]
    Restore(backup::RestoreArgs),
    /// Look at settings, store, clock, disk, mail, Redis and ports, and tell what is wrong and what to do.
    #[command(after_help = ELSEWHERE)]
    Doctor(ServeArgs),
    /// Tell what a start of this version would do to the store.
    #[command(after_help = ELSEWHERE)]
    Upgrade(doctor::UpgradeArgs),
    /// Put streets under the dispatchers' map: a PMTiles file, for a server that runs too.
    #[command(after_help = ELSEWHERE)]
    Map(map::MapArgs),
    /// Print what is stored, as CSV or GeoJSON; also while a server runs.
    Export(export::Export),
    /// Work on the keys that sign access tokens.
    Keys(keys::Keys),
    /// Print every setting with its default, the value in force and where that came from.
    #[command(after_help = ELSEWHERE)]
    Config(ServeArgs),
    /// Print the OpenAPI document and stop.
    Openapi,
    /// Print what ships in this program and in its page, with versions and licences.
    Licences(licences::LicencesArgs),
    /// Print the completions of a shell.
    Completions(manual::Completions),
    /// Print the manual page, or write those of all commands into a directory.
    Man(manual::Manual),
}

/// Runs a command to completion.
pub(crate) async fn run(cli: Cli) -> ExitCode {
    let done = match cli.command.unwrap_or(Command::Serve(cli.serve)) {
        Command::Serve(args) => serve::serve(args).await,
        Command::Demo(args) => demo::demo(args).await,
        Command::Migrate(args) => migrate(args).await,
        Command::Transfer(args) => transfer::transfer(args).await,
        Command::Backup(args) => backup::back_up(args).await,
        Command::Restore(args) => backup::restore(args).await,
        Command::Doctor(args) => return doctor::doctor(args).await,
        Command::Upgrade(args) => doctor::upgrade(args).await,
        Command::Licences(args) => licences::print(&args),
        Command::Completions(args) => manual::completions(&args, Cli::command()),
        Command::Man(args) => manual::man(args, Cli::command()),
        Command::Map(args) => map::install(args),
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
