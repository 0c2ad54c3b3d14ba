//! W9: fences made, moved and deleted while positions come. They lie where no vehicle drives, so that the oracle
//! stays right; what they cost the others is what is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use futures_util::future::join_all;
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};
use waypost_client::{Api, Method, Quantiles};

use crate::load::Slice;
use crate::run::{Measured, run};
use crate::systems::{
    OPERATOR_EMAIL, OPERATOR_PASSWORD, Packing, Store, Subscription, Waypost, WaypostOptions,
};
use crate::table::{self, millis};
use crate::world::{Drive, World};

/// Editors side by side; each makes a fence, moves it and deletes it, over and over.
const EDITORS: usize = 16;

/// How edits are measured.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    world: World,
    /// Stores to run the server on
    #[arg(long, value_delimiter = ',', default_values = ["null", "postgres"])]
    store: Vec<Store>,
    /// Positions per second
    #[arg(long, default_value_t = 5_000.0)]
    rate: f64,
    /// Edits per second
    #[arg(long, default_value_t = 100.0)]
    edits: f64,
    /// Seconds of a run
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Without and with, so many times
    #[arg(long, default_value_t = 2)]
    pairs: usize,
}

/// Runs and prints.
pub(crate) fn w9(options: &Options) -> Result<()> {
    let world = &options.world;
    let mut rows = Vec::new();
    for &store in &options.store {
        let started = WaypostOptions::new(world, store, Packing::Own { fixes: 1 });
        let Some(waypost) = Waypost::start(started)? else { continue };
        let (server, organization) =
            (format!("http://{}", waypost.child.ready.address), waypost.child.ready.organization.clone());
        let all = (0..world.vehicles).collect();
        let mut session = waypost.open(&[Subscription::AllEvents, Subscription::PositionsOf(all)])?;
        let mut drive = Drive::new(world);
        let rounds = (options.rate * options.seconds as f64 / f64::from(world.vehicles)).ceil() as u32;
        let mut turn = |edits: Option<f64>| -> Result<(Measured, Edited)> {
            let slice = Slice::next(&mut drive, rounds.max(2));
            let editing = edits.map(|rate| Editing::start(&server, &organization, rate));
            let measured = run(&mut session, &slice, options.rate, 0.2)?;
            let edited = editing.map(Editing::stop).transpose()?.unwrap_or_default();
            Ok((measured, edited))
        };
        turn(None)?;
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for _ in 0..options.pairs {
            without.push(turn(None)?);
            with.push(turn(Some(options.edits))?);
            with.push(turn(Some(options.edits))?);
            without.push(turn(None)?);
        }
        rows.push(row(&format!("{store:?}, without"), &without, &without));
        rows.push(row(&format!("{store:?}, with"), &with, &without));
    }
    let headings = [
        "equality gate passed",
        "edits/s",
        "edit p50 ms",
        "edit p99",
        "position p50 ms",
        "p99",
        "p99 ×",
        "ack p99 ms",
        "µs/pos",
        "late p99",
    ];
    let title =
        format!("W9: {} vehicles, {} fences, {} positions/s", world.vehicles, world.fences, options.rate);
    table::print(&title, &headings, &rows);
    Ok(())
}

fn row(name: &str, runs: &[(Measured, Edited)], without: &[(Measured, Edited)]) -> Vec<String> {
    let of = |runs: &[(Measured, Edited)], figure: fn(&Measured) -> Option<f64>| {
        let figures: Vec<f64> = runs.iter().filter_map(|(run, _)| figure(run)).collect();
        (!figures.is_empty()).then(|| table::median(figures))
    };
    let p99 = |run: &Measured| run.position.map(|q| q.p99);
    let edits: u64 = runs.iter().map(|(_, edited)| edited.count).sum();
    let seconds: f64 = runs.iter().map(|(run, _)| run.seconds).sum();
    let latency = runs.iter().rev().find_map(|(_, edited)| edited.latency);
    let times = of(runs, p99).zip(of(without, p99)).map(|(with, without)| with / without);
    vec![
        name.to_owned(),
        format!("{:.0}", edits as f64 / seconds),
        millis(latency.map(|q| q.p50)),
        millis(latency.map(|q| q.p99)),
        millis(of(runs, |run| run.position.map(|q| q.p50))),
        millis(of(runs, p99)),
        millis(times),
        millis(of(runs, |run| run.ack.map(|q| q.p99))),
        millis(of(runs, |run| Some(run.micros_per_position()))),
        millis(of(runs, |run| run.lateness.map(|q| q.p99))),
    ]
}

/// The outcome of a run's edits.
#[derive(Clone, Copy, Debug, Default)]
struct Edited {
    count: u64,
    latency: Option<Quantiles>,
}

/// Edits under way, on a thread of their own.
struct Editing {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Edited>>,
}

impl Editing {
    fn start(server: &str, organization: &str, per_second: f64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (server, organization, stopped) = (server.to_owned(), organization.to_owned(), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            actix_rt::System::new().block_on(async {
                let api =
                    Api::sign_in(&server, OPERATOR_EMAIL, OPERATOR_PASSWORD, Duration::from_secs(5)).await?;
                let editor =
                    |number| edit(&api, &organization, number, per_second / EDITORS as f64, &stopped);
                let mut micros = Vec::new();
                for edited in join_all((0..EDITORS).map(editor)).await {
                    micros.extend(edited?);
                }
                Ok(Edited { count: micros.len() as u64, latency: Quantiles::of_micros(&mut micros) })
            })
        });
        Self { stop, thread }
    }

    fn stop(self) -> Result<Edited> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|_| None.context("an editor panicked"))
    }
}

/// How long each edit took to be answered, microseconds.
async fn edit(
    api: &Api,
    organization: &str,
    number: usize,
    per_second: f64,
    stopped: &AtomicBool,
) -> Result<Vec<u32>> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let mut tick = interval(Duration::from_secs_f64(1.0 / per_second));
    tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut micros = Vec::new();
    let circle = |step: u32| {
        let longitude = 5.0 + number as f64 * 0.5 + f64::from(step) * 0.001;
        json!({ "type": "circle", "center": { "latitude": 20.0, "longitude": longitude }, "radiusMeters": 5_000 })
    };
    let query = format!("?organizationId={organization}");
    let mut path = None;
    for step in 0.. {
        tick.tick().await;
        let begun = tokio::time::Instant::now();
        path = match path.take() {
            None => {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                let name = format!("edited {}", MADE.fetch_add(1, Ordering::Relaxed));
                let body = json!({ "organizationId": organization, "name": name, "shape": circle(step) });
                let made = api.send(Method::POST, "/v1/geofences", &body).await?;
                Some((format!("/v1/geofences/{}{query}", made["id"].as_str().unwrap_or_default()), false))
            }
            Some((path, false)) => {
                api.send(Method::PUT, &path, &json!({ "shape": circle(step) })).await?;
                Some((path, true))
            }
            Some((path, true)) => {
                api.remove(&path).await?;
                None
            }
        };
        micros.push(u32::try_from(begun.elapsed().as_micros()).unwrap_or(u32::MAX));
    }
    Ok(micros)
}
