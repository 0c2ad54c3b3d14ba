//! `waypost keys`: the keys that sign access tokens and seal cursors.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};

use super::setting_flags::{ELSEWHERE, KeysArgs};
use waypost::auth::{MasterKey, keys};
use waypost::clock::Clock;
use waypost::store::checkup::check_up;
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
    /// File with another master key, of at least 32 characters: what is wrapped with masterKey, and what is in clear, is
    /// wrapped with this one. No server may run; start it with this one.
    #[arg(long, value_name = "FILE")]
    new_master_key_file: Option<PathBuf>,
    #[command(flatten)]
    settings: KeysArgs,
}

pub(super) async fn run(keys: Keys) -> anyhow::Result<()> {
    let KeysCommand::Rotate(Rotate { at_once, new_master_key_file, settings }) = keys.command;
    let settings = settings.settings()?;
    let (master, options) = (MasterKey::of(&settings)?, settings.store());
    if let Location::Embedded(directory) = &options.location
        && !embedded_file(directory).exists()
    {
        bail!("there is no store in {} (another directory: --data-dir)", directory.display());
    }
    let now = Clock::system().now();
    let is_served = check_up(&options.location, now).await?.is_some_and(|found| found.is_served);
    let new = new_master_key_file.as_deref().map(MasterKey::read).transpose()?;
    if new.is_some() && is_served {
        bail!("a server has the store and the master key that it started with: stop it first");
    }
    let db = open(&options).await?;
    let rotated = keys::rotate(&db, (&master, new.as_ref().unwrap_or(&master)), now, at_once).await;
    db.close().await;
    let unreadable = rotated.context("the keys are as they were")?;
    println!("a new signing key is in force; running servers take it within ten seconds");
    if new.is_some() {
        println!("everything is wrapped with the new master key: start servers with that one");
    }
    if unreadable > 0 {
        println!(
            "{unreadable} webhooks have secrets wrapped with a key that is not this one: give them new ones"
        );
    }
    if at_once {
        println!("tokens and cursors of the keys before are refused from then on");
    }
    Ok(())
}
