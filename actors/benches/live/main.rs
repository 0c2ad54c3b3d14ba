//! What a fix costs from its connection to its acknowledgement: CPU microseconds of the live core alone, without
//! sockets and without a database.
//!
//! `cargo bench -p waypost-actors --bench live`. The load is `waypost-bench w1`'s: frames at a steady rate, on two
//! threads that lend themselves to the core, among 10,000 fences. Prints figures, asserts only that every fix is stored.

mod store;

use std::f64::consts::TAU;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::{Arbiter, System};
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;
use waypost_actors::live::{Live, LiveConfig, LiveParts, LiveThreads, WatchdogConfig};
use waypost_actors::meters::Meters;
use waypost_actors::model::{
    AttributesByFix, Fence, FenceVersion, Fix, GeofenceId, OrganizationId, Place, Polygon, Rules, ShapeSpec,
    Timestamp, Vehicle, VehicleId, VehicleLimits,
};
use waypost_actors::ports::{Seeds, VehicleSeed};
use waypost_actors::prepare::fences_by_organization;
use waypost_actors::tracking::VehicleState;

use crate::store::Forgetful;

// As the programs do: states are made on one thread and dropped on another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ORGANIZATION: OrganizationId = OrganizationId(Uuid::from_u128(1));
const FENCES: u128 = 10_000;
/// Degrees of a country that the fences cover one and a half times with their boxes.
const WIDTH: f64 = 10.0;
/// Degrees of latitude at 15 m/s in a second.
const STEP: f64 = 15.0 / 111_195.0;
const THREADS: usize = 2;
/// Each vehicle reports so often before the clock runs.
const WARM_UP: usize = 3;
const SECONDS: usize = 6;

/// Numbers that look random and are the same in every run (Knuth's MMIX generator).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: f64) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64 * limit
    }
}

fn main() {
    println!(
        "{:>10} {:>10} {:>10} {:>12} {:>12}",
        "vehicles", "in a frame", "fixes/s", "CPU µs/fix", "ack p50 ms"
    );
    for (vehicles, items, rate) in [(1_000, 32, 20_000), (10_000, 32, 20_000), (3_000, 1, 5_000)] {
        let (micros, ack) = System::new().block_on(measured(vehicles, items, rate));
        println!("{vehicles:>10} {items:>10} {rate:>10} {micros:>12.2} {ack:>12.1}");
    }
}

/// A frame, and when it is due after the beginning.
type Frame = (Duration, Vec<(VehicleId, Fix)>);

/// CPU microseconds per fix, and the median time to its acknowledgement.
async fn measured(vehicles: usize, items: usize, rate: usize) -> (f64, f64) {
    let ids: Vec<VehicleId> =
        (1..=vehicles as u128).map(|id| VehicleId(Uuid::from_u128(id << 64 | id))).collect();
    let connections = if items == 1 { vehicles } else { 50 };
    let (warm_up, fixes) = (WARM_UP * vehicles, SECONDS * rate);
    let frames = driven(&ids, connections, items, rate, warm_up + fixes);
    let live = started(&ids).await;
    let (answer, mut answers) = mpsc::unbounded_channel();
    let threads: Vec<Arbiter> = (0..THREADS).map(|_| Arbiter::new()).collect();
    let begin = Instant::now() + Duration::from_millis(100);
    for (number, frames) in frames.into_iter().enumerate() {
        let (live, answer) = (live.clone(), answer.clone());
        threads[number % THREADS].spawn(async move {
            live.lend_thread();
            report(&live, frames, begin, answer).await;
        });
    }
    drop(answer);
    let measured_from = begin + Duration::from_secs_f64(warm_up as f64 / rate as f64);
    sleep_until(measured_from).await;
    let before = cpu_micros();
    let (mut stored, mut waits) = (0, Vec::new());
    while let Some((due, many)) = answers.recv().await {
        if due >= measured_from {
            stored += many;
            waits.push(due.elapsed().as_secs_f64() * 1e3);
        }
    }
    let spent = cpu_micros() - before;
    assert!(stored.abs_diff(fixes as u64) <= (connections * items) as u64, "{stored} of {fixes} were stored");
    live.stop().await;
    waits.sort_by(f64::total_cmp);
    (spent / stored as f64, waits[waits.len() / 2])
}

/// Reports a connection's frames, each when it is due.
async fn report(live: &Live, frames: Vec<Frame>, begin: Instant, answer: UnboundedSender<(Instant, u64)>) {
    let mut reporter = live.reporter().for_long();
    for (after, frame) in frames {
        let due = begin + after;
        sleep_until(due).await;
        let now = live.now();
        let frame =
            frame.into_iter().map(|(vehicle, fix)| (vehicle, Fix { received_at: now, ..fix })).collect();
        let pending = reporter.report_all(frame, AttributesByFix::default()).await.expect("taken");
        let answer = answer.clone();
        actix_rt::spawn(async move {
            let stored = pending.committed().await.expect("committed").stored;
            answer.send((due, stored)).ok();
        });
    }
}

/// The frames of each connection: every vehicle on a random walk, a fix of each in turn.
fn driven(ids: &[VehicleId], connections: usize, items: usize, rate: usize, fixes: usize) -> Vec<Vec<Frame>> {
    let mut dice = Dice(7);
    let mut ways: Vec<(Place, f64)> = ids.iter().map(|_| (anywhere(&mut dice), dice.below(TAU))).collect();
    let mut frames: Vec<Vec<Frame>> = vec![Vec::new(); connections];
    let mut open: Vec<Vec<(VehicleId, Fix)>> = vec![Vec::new(); connections];
    for number in 0..fixes {
        // A stride without a common divisor: who shares a connection does not report one after the other.
        let turn = number % ids.len() * 7_919 % ids.len();
        let (place, heading) = &mut ways[turn];
        *heading += dice.below(0.34) - 0.17;
        place.latitude += STEP * heading.cos();
        place.longitude += STEP * heading.sin() / place.latitude.to_radians().cos();
        let at = begin_of_time().plus_seconds((number / ids.len()) as f64);
        let fix = Fix { speed_kmh: Some(54.0), heading_degrees: Some(0.0), ..Fix::new(at, at, *place) };
        let connection = turn % connections;
        open[connection].push((ids[turn], fix));
        if open[connection].len() == items {
            let due = Duration::from_secs_f64(number as f64 / rate as f64);
            frames[connection].push((due, std::mem::take(&mut open[connection])));
        }
    }
    frames
}

async fn started(ids: &[VehicleId]) -> Live {
    let vehicle = |id: &VehicleId| Vehicle {
        id: *id,
        organization_id: ORGANIZATION,
        name: "V".to_owned(),
        limits: VehicleLimits::default(),
        out_of_service: Vec::new(),
        calibrations: Vec::new(),
    };
    let seed = |id| VehicleSeed {
        vehicle: vehicle(id),
        state: VehicleState::default(),
        is_lost: false,
        is_removed: false,
        dirty_from: None,
        connection: None,
    };
    let mut dice = Dice(5);
    let seeds = Seeds {
        vehicles: ids.iter().map(seed).collect(),
        fences: fences_by_organization(
            &(0..FENCES).map(|number| fence(number, &mut dice)).collect::<Vec<_>>(),
        ),
        unsettled: Vec::new(),
        uncalibrated: Vec::new(),
        silences: Vec::new(),
        next_sequence: 1,
    };
    let begun = Instant::now();
    // A day ahead of the fixes, which must not be in its future.
    let clock = move || begin_of_time().plus_seconds(86_400.0 + begun.elapsed().as_secs_f64());
    let (store, config) = (Arc::new(Forgetful::new(seeds)), LiveConfig::default());
    let (clock, meters) = (Arc::new(clock), Meters::default());
    let threads = LiveThreads::start(1, WatchdogConfig::default(), &meters);
    Live::start(LiveParts { config, store, cache: None, clock, meters, threads }).await.expect("it starts")
}

/// A smooth ring of a hundred vertices.
fn fence(number: u128, dice: &mut Dice) -> Fence {
    let (center, phase) = (anywhere(dice), dice.below(TAU));
    let radius = 0.43 * (1.5 * WIDTH * WIDTH / FENCES as f64).sqrt();
    let vertex = |number: i32| {
        let angle = f64::from(number) / 100.0 * TAU;
        let far = radius * 0.25f64.mul_add((3.0 * angle + phase).sin(), 1.0);
        Place::new(center.latitude + far * angle.sin(), center.longitude + far * angle.cos())
    };
    let version = FenceVersion {
        version: 1,
        effective_from: None,
        changed_at: Timestamp::FIRST,
        active: true,
        deleted: false,
        shape: ShapeSpec::Polygon(Polygon { vertices: (0..100).map(vertex).collect(), holes: Vec::new() }),
        rules: Rules::EXACT,
    };
    let id = GeofenceId(Uuid::from_u128(number << 64 | number));
    Fence { id, organization_id: ORGANIZATION, name: format!("F{number}"), versions: vec![version] }
}

fn anywhere(dice: &mut Dice) -> Place {
    Place::new(40.0 + dice.below(WIDTH), 5.0 + dice.below(WIDTH))
}

fn begin_of_time() -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000)
}

/// CPU time of all threads of this process (Linux).
fn cpu_micros() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").expect("Linux");
    let of = |thread: std::io::Result<std::fs::DirEntry>| {
        let told = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        told.split(' ').next()?.parse::<f64>().ok()
    };
    threads.filter_map(of).sum::<f64>() / 1e3
}
