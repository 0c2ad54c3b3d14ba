//! `waypost keys`: the keys that sign access tokens and seal cursors.

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};

use super::setting_flags::{ELSEWHERE, KeysArgs};
use waypost::auth::{MasterKey, keys};
use waypost::clock::Clock;
use waypost::store::open::{Location, embedded_file, open};

/// What `keys` takes.
#[derive(Debug, Args)]
pub(crate) struct Keys {
    #[command(subcommand)]
    command: KeysCommand,
}

/// What can be done with the keys.
#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Make a new signing key, while servers run or not. Nobody is signed out: tokens of the old key are good until
    /// they end by themselves, a quarter of an hour later.
    #[command(after_help = ELSEWHERE)]
    Rotate(Rotate),
}

#[derive(Debug, Args)]
struct Rotate {
    /// The old key is known to somebody, or what it is wrapped with is lost: tokens and cursors of the old key are good
    /// no more. Clients refresh their tokens by themselves; lists that were being paged begin anew.
    #[arg(long)]
    at_once: bool,
    #[command(flatten)]
    settings: KeysArgs,
}

pub(super) async fn run(keys: Keys) -> anyhow::Result<()> {
    let KeysCommand::Rotate(Rotate { at_once, settings }) = keys.command;
    let settings = settings.settings()?;
    let (master, options) = (MasterKey::of(&settings)?, settings.store());
    if let Location::Embedded(directory) = &options.location
        && !embedded_file(directory).exists()
    {
        bail!("there is no store in {} (another directory: --data-dir)", directory.display());
    }
    let db = open(&options).await?;
    let rotated = keys::rotate(&db, &master, Clock::system().now(), at_once).await;
    db.close().await;
    rotated.context("the keys are as they were")?;
    println!("a new signing key is in force; running servers take it within ten seconds");
    if at_once {
        println!("tokens and cursors of the keys before are refused from then on");
    }
    Ok(())
}
