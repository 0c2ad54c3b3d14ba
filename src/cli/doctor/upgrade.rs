//! `waypost upgrade --check`: what a start of this version would do to the store.

use anyhow::bail;
use clap::Args;

use super::store::version;
use crate::cli::setting_flags::MigrateArgs;
use waypost::clock::Clock;
use waypost::store::checkup::check_up;
use waypost::store::open::known_migration;

/// What `upgrade` takes.
#[derive(Debug, Args)]
pub(crate) struct UpgradeArgs {
    /// Change nothing, and tell what a start of this version would do. There is no other way yet: a server brings its
    /// tables up to date by itself.
    #[arg(long, required = true)]
    check: bool,
    #[command(flatten)]
    settings: MigrateArgs,
}

pub(crate) async fn upgrade(args: UpgradeArgs) -> anyhow::Result<()> {
    let location = args.settings.settings()?.store().location;
    let Some(found) = check_up(&location, Clock::system().now()).await? else {
        println!("There is no store yet: a start of waypost {} makes one.", env!("CARGO_PKG_VERSION"));
        return Ok(());
    };
    println!("waypost {}; {}, {}", env!("CARGO_PKG_VERSION"), found.engine, version(&found));
    if found.migration.is_some_and(|migration| migration > known_migration()) {
        bail!(
            "this version is older than the store, and cannot be started on it: there is no way back but a backup"
        );
    }
    if let Some(wrong) = found.wrong.first() {
        bail!("a start would be refused: {wrong}");
    }
    if found.migration.is_some_and(|migration| migration < known_migration()) {
        println!(
            "Next: waypost backup --to …, stop the server, start this version. `waypost migrate` does the tables alone."
        );
    } else {
        println!("Nothing to do to the tables: stop the server, start this version.");
    }
    Ok(())
}
