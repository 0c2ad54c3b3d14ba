//! The server under test: the product as a library, in a process of its own, with a world in it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use tokio::sync::oneshot;
use uuid::Uuid;
use waypost::app::Application;
use waypost::config::{AdminListen, DeviceListener, DeviceProtocol, Secret, Settings};
use waypost::mail::{Mailbox, Transport};
use waypost::telemetry;
use waypost_actors::model::OrganizationId;

use super::Store;
use super::child::{Ready, say_ready, wait_for_parent};
use super::history::{History, SetBack};
use super::null_store::NullStore;
use super::prepare::{EMAIL, PASSWORD, Prepare};
use crate::world::World;

/// Pings and heartbeats would be answered by a loader that does nothing else.
const NEVER: Duration = Duration::from_secs(24 * 3600);

/// Says, in the data directory, that the history is written.
const FILLED: &str = "bench-filled";

/// What the server under test is started with.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServerOptions {
    #[command(flatten)]
    world: World,
    /// What it keeps fixes in
    #[arg(long, value_enum, default_value_t = Store::Null)]
    store: Store,
    /// Its PostgreSQL
    #[arg(long)]
    database_url: Option<String>,
    /// Its data, to be there again at the next start
    #[arg(long)]
    data_dir: Option<PathBuf>,
    #[command(flatten)]
    history: History,
    /// Vehicles that nobody hears of, with the null store
    #[arg(long, default_value_t = 0)]
    idle_vehicles: u32,
    /// Open a port for Teltonika devices of this organization
    #[arg(long, value_name = "ID")]
    devices_of: Option<Uuid>,
    /// Let its metrics be asked for
    #[arg(long)]
    with_metrics: bool,
    /// Store all states that lag before it is ready, as it does once an hour
    #[arg(long)]
    save_states: bool,
    /// Threads that serve sockets; default: one per core
    #[arg(long)]
    workers: Option<usize>,
}

/// Serves until the parent is gone.
pub(crate) async fn serve(options: ServerOptions) -> Result<()> {
    let temporary = tempfile::tempdir()?;
    let data_dir = options.data_dir.clone().unwrap_or_else(|| temporary.path().to_owned());
    std::fs::create_dir_all(&data_dir)?;
    let settings = settings(&options, data_dir.clone());
    telemetry::start(&settings)?;
    let mailbox = Mailbox::default();
    let (set_back, history) = (SetBack::default(), options.history);
    let is_filled = data_dir.join(FILLED).exists();
    if !is_filled {
        history.begin(&set_back);
    }
    let (is_null, idle_vehicles) = (options.store == Store::Null, options.idle_vehicles);
    let application = Application::build_on(
        settings,
        set_back.clock(),
        Some(Transport::Memory(mailbox.clone())),
        move |track| {
            if is_null { Arc::new(NullStore::new(track, idle_vehicles)) } else { track }
        },
    )
    .await?;
    let (context, address) = (application.context.clone(), application.address);
    let devices = application.device_addresses.first().map(ToString::to_string).unwrap_or_default();
    let metrics = application.admin_address.map(|address| address.to_string()).unwrap_or_default();
    let (stop, asked) = oneshot::channel::<()>();
    let running = actix_rt::spawn(application.run(async {
        asked.await.ok();
    }));
    let has_past = history.history_days > 0;
    let prepare = Prepare { context: &context, world: &options.world, mailbox: &mailbox, has_past };
    let mut ready = prepare.ready(&data_dir, &address.to_string()).await?;
    if !is_filled && history.history_days > 0 {
        history.fill(&context, &ready, &options.world, &set_back).await?;
        std::fs::write(data_dir.join(FILLED), "")?;
        // The tokens are of the first day.
        ready = prepare.ready(&data_dir, &address.to_string()).await?;
    }
    if options.save_states {
        context.track.save_states().await?;
    }
    say_ready(&Ready { devices, metrics, ..ready })?;
    tokio::task::spawn_blocking(wait_for_parent).await?;
    stop.send(()).ok();
    running.await?.context("the server did not end well")?;
    Ok(())
}

fn settings(options: &ServerOptions, data_dir: PathBuf) -> Settings {
    let teltonika = |organization| DeviceListener {
        protocol: DeviceProtocol::Teltonika,
        address: ([127, 0, 0, 1], 0).into(),
        organization: OrganizationId(organization),
    };
    Settings {
        listen: ([127, 0, 0, 1], 0).into(),
        data_dir,
        database_url: options.database_url.clone().map(Secret::new),
        admin_email: Some(EMAIL.to_owned()),
        admin_password: Some(Secret::new(PASSWORD.to_owned())),
        log: "warn".to_owned(),
        workers: options.workers,
        device_listeners: options.devices_of.map(teltonika).into_iter().collect(),
        tracker_ping_interval: NEVER,
        feed_heartbeat_interval: NEVER,
        admin_listen: if options.with_metrics { AdminListen::Auto } else { AdminListen::Off },
        rate_limit: None,
        rate_limit_sign_in: None,
        rate_limit_ingest: None,
        // A loader opens all its connections before it sends anything.
        waiting_connections: usize::MAX,
        ..Settings::default()
    }
}
