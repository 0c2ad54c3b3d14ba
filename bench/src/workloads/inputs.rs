//! What the fixes of other clients cost beside those of our own socket: Teltonika devices by TCP and phones by HTTP
//! kept alive, each in turns with as many trackers at the same rate, then both beside each other.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use tempfile::TempDir;
use waypost_client::resident_bytes;

use super::idle::QUIET_AFTER;
use crate::load::Slice;
use crate::run::{Measured, run};
use crate::systems::{Packing, Session, Store, Subscription, Waypost, WaypostOptions};
use crate::table::{self, median, megabytes, millis, range};
use crate::world::{Drive, Mix, Motion, World};

/// Seconds between two reports: of a device, and of a phone. In a round each phone reports and every other device.
const DEVICE_EVERY: u32 = 10;
const PHONE_EVERY: u32 = 5;

/// How inputs are compared.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Teltonika devices, each with a record every ten seconds
    #[arg(long, default_value_t = 5_000)]
    devices: u32,
    /// Phones, each with a request every five seconds
    #[arg(long, default_value_t = 2_000)]
    phones: u32,
    /// Fences
    #[arg(long, default_value_t = 1_000)]
    fences: u32,
    /// Stores to run the server on
    #[arg(long, value_delimiter = ',', default_values = ["null"])]
    store: Vec<Store>,
    /// Seconds of a run, of which the first ten are not counted
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(20..))]
    seconds: u32,
    /// Runs of each: there and back, so many times
    #[arg(long, default_value_t = 2)]
    pairs: usize,
}

/// How a world's fixes come in.
#[derive(Clone, Copy, Debug)]
struct Way {
    name: &'static str,
    packing: Packing,
    /// How many report every ten seconds, and how many every five.
    slow: u32,
    quick: u32,
    /// The way by our own socket that it is compared with.
    own: Option<usize>,
}

impl Way {
    fn per_second(self) -> f64 {
        f64::from(self.slow) / f64::from(DEVICE_EVERY) + f64::from(self.quick) / f64::from(PHONE_EVERY)
    }

    /// Rounds of five seconds: half of those that report every ten take turns in them.
    const fn reports(self, vehicle: u32, round: u32) -> bool {
        vehicle >= self.slow || vehicle % 2 == round % 2
    }
}

const fn ways(devices: u32, phones: u32) -> [Way; 5] {
    let own = Packing::Own { fixes: 1 };
    let teltonika = Packing::Devices { teltonika: devices };
    let requests = Packing::Devices { teltonika: 0 };
    [
        Way { name: "own socket", packing: own, slow: devices, quick: 0, own: None },
        Way { name: "Teltonika", packing: teltonika, slow: devices, quick: 0, own: Some(0) },
        Way { name: "own socket", packing: own, slow: 0, quick: phones, own: None },
        Way { name: "HTTP kept alive", packing: requests, slow: 0, quick: phones, own: Some(2) },
        Way { name: "both beside each other", packing: teltonika, slow: devices, quick: phones, own: None },
    ]
}

/// A server of its own for each way, so that what one leaves behind costs no other.
struct Entrant {
    way: Way,
    waypost: Option<Waypost>,
    drive: Drive,
    runs: Vec<Measured>,
    /// What each connection takes that was opened and has said no more than its name.
    idle_bytes: Option<f64>,
    _directory: TempDir,
}

/// Runs and prints.
pub(crate) fn inputs(options: &Options) -> Result<()> {
    for &store in &options.store {
        let mut entrants = Vec::new();
        for way in ways(options.devices, options.phones) {
            let Some(entrant) = Entrant::enter(way, options, store)? else { break };
            entrants.push(entrant);
        }
        for _ in 0..options.pairs {
            let count = entrants.len();
            for index in (0..count).chain((0..count).rev()) {
                entrants[index].turn(options.seconds)?;
            }
        }
        if !entrants.is_empty() {
            print(&entrants, options, store);
        }
    }
    Ok(())
}

impl Entrant {
    /// Makes its world; the port for devices is one organization's, so it opens once that is there.
    fn enter(way: Way, options: &Options, store: Store) -> Result<Option<Self>> {
        let world = World {
            seed: 1,
            vehicles: way.slow + way.quick,
            fences: options.fences,
            vertices: 100,
            mix: Mix::Poly,
            motion: Motion::Roam,
        };
        let directory = tempfile::tempdir()?;
        let data_dir: Option<PathBuf> = Some(directory.path().to_owned());
        let first = WaypostOptions { data_dir, ..WaypostOptions::new(&world, store, way.packing) };
        let Some(made) = Waypost::start(first.clone())? else { return Ok(None) };
        let devices_of = Some(made.child.ready.organization.clone());
        let (postgres, begin_millis) = (made.postgres.clone(), made.begin_millis);
        drop(made);
        let waypost = Waypost::start_on(WaypostOptions { devices_of, ..first }, postgres, begin_millis)?;
        let drive = Drive::new(&world);
        let (runs, idle_bytes) = (Vec::new(), None);
        Ok(Some(Self { way, waypost: Some(waypost), drive, runs, idle_bytes, _directory: directory }))
    }

    /// Opens the connections, reports, and hangs up.
    fn turn(&mut self, seconds: u32) -> Result<()> {
        let waypost = self.waypost.take().context("its server is gone")?;
        let (way, pid) = (self.way, waypost.child.pid());
        let before = self.runs.is_empty().then(|| settled_bytes(pid));
        let mut session = waypost.open(&[Subscription::AllEvents])?;
        if let Some(before) = before.filter(|_| !session.sockets().is_empty()) {
            let grown = settled_bytes(pid).saturating_sub(before);
            self.idle_bytes = Some(grown as f64 / session.sockets().len() as f64);
        }
        let slice = Slice::next_of(&mut self.drive, seconds / PHONE_EVERY, |vehicle, round| {
            way.reports(vehicle, round)
        });
        let warm_share = f64::from(DEVICE_EVERY) / f64::from(seconds);
        self.runs.push(run(&mut session, &slice, way.per_second(), warm_share)?);
        self.waypost = taken(&mut session);
        Ok(())
    }

    fn micros(&self) -> f64 {
        median(self.runs.iter().map(Measured::micros_per_position).collect())
    }
}

fn taken(session: &mut Session) -> Option<Waypost> {
    session.take::<(Waypost, Vec<std::net::TcpStream>)>().map(|(waypost, _)| waypost)
}

fn settled_bytes(pid: u32) -> u64 {
    std::thread::sleep(QUIET_AFTER);
    resident_bytes(pid).unwrap_or_default()
}

fn print(entrants: &[Entrant], options: &Options, store: Store) {
    let row = |entrant: &Entrant| {
        let runs = &entrant.runs;
        let of = |figure: fn(&Measured) -> Option<f64>| {
            let all: Vec<f64> = runs.iter().filter_map(figure).collect();
            (!all.is_empty()).then(|| median(all))
        };
        let per = |figure: fn(&Measured) -> f64| {
            median(runs.iter().map(|run| figure(run) * 1e6 / run.counted.max(1) as f64).collect())
        };
        let own = entrant.way.own.map(|own| entrant.micros() / entrants[own].micros());
        vec![
            entrant.way.name.to_owned(),
            (entrant.way.slow + entrant.way.quick).to_string(),
            format!("{:.0}", entrant.way.per_second()),
            format!("{:.1}", per(|run| run.server_cpu)),
            format!("{:.1}", per(|run| run.database_cpu)),
            range(&runs.iter().map(Measured::micros_per_position).collect::<Vec<_>>()),
            millis(own),
            millis(of(|run| Some(run.ack?.p50))),
            millis(of(|run| Some(run.ack?.p99))),
            millis(of(|run| Some(run.lateness?.p99))),
            entrant.idle_bytes.map_or_else(|| "–".to_owned(), |bytes| format!("{:.1}", bytes / 1e3)),
            megabytes(runs.last().map_or(0, |run| run.rss_bytes)),
        ]
    };
    let headings = [
        "equality gate passed",
        "connections",
        "fixes/s",
        "server µs/fix",
        "database µs/fix",
        "µs/fix range",
        "÷ own socket",
        "ack p50 ms",
        "ack p99",
        "late p99",
        "kB an idle connection",
        "RSS MB",
    ];
    let title = format!(
        "inputs: {} Teltonika devices, {} phones, {} fences, {store:?} store",
        options.devices, options.phones, options.fences
    );
    table::print(&title, &headings, &entrants.iter().map(row).collect::<Vec<_>>());
    let [device, phone, both] =
        [1, 3, 4].map(|index| (entrants[index].micros(), entrants[index].way.per_second()));
    let apart = (device.0 * device.1 + phone.0 * phone.1) / both.1;
    println!("both beside each other ÷ the same apart: {:.2}", both.0 / apart);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_two_rounds_a_device_reports_once_and_a_phone_twice() {
        let [.., both] = ways(4, 2);
        let reports = |vehicle| (0..2).filter(|round| both.reports(vehicle, *round)).count();
        assert_eq!((0..6).map(reports).collect::<Vec<_>>(), [1, 1, 1, 1, 2, 2]);
        assert_eq!(both.per_second(), 0.8);
    }
}
