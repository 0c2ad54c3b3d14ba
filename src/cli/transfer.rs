//! `waypost transfer`: moves an embedded store into PostgreSQL.

use clap::Args;

use super::setting_flags::DataDirFlags;
use waypost::clock::Clock;
use waypost::store::transfer::transfer as move_store;

/// What `transfer` takes.
#[derive(Debug, Args)]
pub(crate) struct TransferArgs {
    /// The PostgreSQL database to fill, an empty one: postgres://user:password@host/name. The password may come
    /// from PGPASSWORD or ~/.pgpass instead.
    #[arg(long, value_name = "URL")]
    to: String,
    #[command(flatten)]
    from: DataDirFlags,
}

pub(super) async fn transfer(args: TransferArgs) -> anyhow::Result<()> {
    let directory = args.from.settings()?.data_dir;
    println!("moving {}", directory.display());
    let moved = move_store(&directory, &args.to, Clock::system().now(), |moved| {
        println!("  {:<22} {:>12} rows sent", moved.table, moved.sum.rows);
    })
    .await?;
    println!(
        "read back and compared, table by table: rows and the sum of their digests, equal on both sides"
    );
    for moved in &moved {
        println!("  {:<22} {:>12}  {:032x}", moved.table, moved.sum.rows, moved.sum.digests);
    }
    let rows: u64 = moved.iter().map(|moved| moved.sum.rows).sum();
    println!("{rows} rows in {} tables are in PostgreSQL now.", moved.len());
    println!(
        "Next: set DATABASE_URL (databaseUrl in waypost.toml) to that database and start the server. Trackers,"
    );
    println!("sign-ins and cursors of the live feed go on where they were.");
    println!(
        "{} is as it was, with a file waypost.moved that keeps servers from starting there: delete the whole \
         directory when it is not needed any more.",
        directory.display()
    );
    Ok(())
}
