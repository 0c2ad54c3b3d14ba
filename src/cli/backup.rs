//! `waypost backup` and `waypost restore`.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use super::setting_flags::MigrateArgs;
use waypost::clock::Clock;
use waypost::store::backup::{self, BackupOf, Manifest};

/// What `backup` takes.
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The directory to make, such as /backup/waypost-2026-01-31. It holds what the store holds: keep it as private.
    #[arg(long, value_name = "DIRECTORY")]
    to: PathBuf,
    /// Give up when the log (-wal) of an embedded store grows beyond this many MiB meanwhile.
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    wal_limit: u64,
    #[command(flatten)]
    settings: MigrateArgs,
}

/// What `restore` takes.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The directory that `waypost backup` made.
    #[arg(long, value_name = "DIRECTORY")]
    from: PathBuf,
    #[command(flatten)]
    settings: MigrateArgs,
}

pub(super) async fn back_up(args: BackupArgs) -> anyhow::Result<()> {
    let began = Instant::now();
    let store = args.settings.settings()?.store();
    let made = backup::back_up(&store.location, &args.to, Clock::system().now(), args.wal_limit).await?;
    tell(&made);
    let read = match made.engine {
        BackupOf::Embedded => "read back and compared",
        BackupOf::Postgres => "its archive read to the end",
    };
    println!(
        "{} holds the store as of {}, {} bytes, {read}, in {:.1} s",
        args.to.display(),
        made.taken_at,
        made.bytes,
        began.elapsed().as_secs_f64()
    );
    println!(
        "Not in it: the master key, waypost.toml, an installed map, and letters saved as files (mail/)."
    );
    Ok(())
}

pub(super) async fn restore(args: RestoreArgs) -> anyhow::Result<()> {
    let store = args.settings.settings()?.store();
    let made = backup::restore(&args.from, &store.location).await?;
    tell(&made);
    println!(
        "restored the store of {}, read back and compared: every table holds what the backup holds",
        made.taken_at
    );
    println!("Next: start the server on it, with the masterKey it had.");
    Ok(())
}

fn tell(made: &Manifest) {
    for held in &made.tables {
        println!("  {:<22} {:>12}  {}", held.table, held.rows, held.digests);
    }
}
