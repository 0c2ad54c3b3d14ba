//! W8: killed, started again: how long until it answers and until its first events, which must be the right ones.

use std::time::Instant;

use anyhow::Result;
use clap::Args;
use waypost::store::open::{Location, Options as StoreOptions, open_and_migrate};

use crate::load::Slice;
use crate::run::run;
use crate::systems::{Packing, Store, Subscription, Waypost, WaypostOptions};
use crate::table;
use crate::world::{Drive, World};

/// Positions per second while it is probed.
const PROBE_RATE: f64 = 1_000.0;

/// How restarts are measured.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    world: World,
    /// Stores to run the server on
    #[arg(long, value_delimiter = ',', default_values = ["sqlite", "postgres"])]
    store: Vec<Store>,
    /// Positions of each vehicle before the kill
    #[arg(long, default_value_t = 10)]
    rounds: u32,
    /// Positions per second before the kill
    #[arg(long, default_value_t = 10_000.0)]
    rate: f64,
}

/// Runs and prints.
pub(crate) fn w8(options: &Options) -> Result<()> {
    let mut rows = Vec::new();
    for &store in &options.store {
        rows.extend(one(options, store)?);
    }
    let headings = [
        "equality gate passed",
        "positions before",
        "select of the rows s",
        "kill to listening s",
        "× select",
        "to sockets open s",
        "to all events of the next round s",
    ];
    let title = format!("W8: {} vehicles, {} fences", options.world.vehicles, options.world.fences);
    table::print(&title, &headings, &rows);
    Ok(())
}

fn one(options: &Options, store: Store) -> Result<Option<Vec<String>>> {
    let directory = tempfile::tempdir()?;
    let connections = 50.min(options.world.vehicles);
    let packing = Packing::Fleet { connections, fixes: 32 };
    let started = WaypostOptions {
        data_dir: Some(directory.path().to_owned()),
        ..WaypostOptions::new(&options.world, store, packing)
    };
    let Some(waypost) = Waypost::start(started.clone())? else { return Ok(None) };
    let (postgres, begin) = (waypost.postgres.clone(), waypost.begin_millis);
    let mut drive = Drive::new(&options.world);
    let mut next = |rounds| Slice::next(&mut drive, rounds);
    let mut session = waypost.open(&[Subscription::AllEvents])?;
    let before = next(options.rounds.max(2));
    let measured = run(&mut session, &before, options.rate, 0.0)?;
    // Acknowledged is committed: the next rounds begin where these ended, or the gate fails.
    let waypost = session.take::<(Waypost, Vec<std::net::TcpStream>)>();
    if let Some((waypost, _)) = waypost {
        waypost.child.kill();
    }
    let location = match &postgres {
        Some(postgres) => Location::Postgres(postgres.url("postgres")),
        None => Location::Embedded(directory.path().to_owned()),
    };
    let select = select_seconds(location)?;
    let killed = Instant::now();
    let waypost = Waypost::start_on(started, postgres, begin)?;
    let listening = killed.elapsed().as_secs_f64();
    let mut session = waypost.open(&[Subscription::AllEvents])?;
    let open = killed.elapsed().as_secs_f64();
    run(&mut session, &next(2), PROBE_RATE.max(f64::from(options.world.vehicles)), 0.0)?;
    let all = killed.elapsed().as_secs_f64();
    Ok(Some(vec![
        format!("{store:?}"),
        measured.positions.to_string(),
        format!("{select:.3}"),
        format!("{listening:.3}"),
        format!("{:.1}", listening / select),
        format!("{open:.3}"),
        format!("{all:.3}"),
    ]))
}

/// How long a bare read of what a start needs takes: states and fences.
fn select_seconds(location: Location) -> Result<f64> {
    actix_rt::System::new().block_on(async {
        let db = open_and_migrate(&StoreOptions::new(location)).await?;
        let begun = Instant::now();
        let states: Vec<(Vec<u8>,)> = db.read().sql("select state from vehicle_state").all().await?;
        let fences: Vec<(String,)> =
            db.read().sql("select cast(shape as text) from geofence_version").all().await?;
        let seconds = begun.elapsed().as_secs_f64();
        std::hint::black_box((states, fences));
        db.close().await;
        Ok(seconds)
    })
}
