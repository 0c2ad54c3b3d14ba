//! What geometry costs: CPU nanoseconds per question, beside a plain loop over every edge in the same run.
//!
//! `cargo bench -p waypost-actors`. The real fences are the demo's; `WAYPOST_BENCH_FENCES` names another
//! GeoJSON file (`.gz` or not). Prints figures, asserts only that both sides give the same answers.

mod cpu;
mod shapes;

use std::hint::black_box;
use std::sync::Arc;

use geo::Intersects;
use uuid::Uuid;
use waypost_actors::geofence::{FenceSet, FenceTimeline, Shape};
use waypost_actors::model::{
    Fence, FenceVersion, Fix, GeofenceId, OrganizationId, Place, Rules, ShapeSpec, Timestamp, Vehicle,
    VehicleId, VehicleLimits,
};
use waypost_actors::tracking::{Context, Effects, VehicleState, apply};

use crate::cpu::nanoseconds;
use crate::shapes::{Dice, Named, around, brute_crossings, plane, real_fences, ring_fence};

fn main() {
    let mut fences: Vec<Named> = [(false, "smooth"), (true, "ragged")]
        .into_iter()
        .flat_map(|(ragged, kind)| [10, 100, 1_000, 10_000].map(|n| ring_fence(kind, n, ragged)))
        .collect();
    let mut real = real_fences();
    real.sort_by_key(|fence| std::cmp::Reverse(fence.vertices));
    fences.extend(real.iter().take(6).cloned());
    println!(
        "{:<24} {:>8} {:>9} {:>9} {:>6} {:>9} {:>9} {:>6} {:>9} {:>7}",
        "one fence, ns", "vertices", "in: loop", "ours", "x", "way: loop", "ours", "x", "margin", "B/vtx"
    );
    fences.iter().for_each(one_fence);
    println!();
    real_set(&real);
    for count in [1_000, 10_000, 100_000] {
        many_fences(count);
    }
}

/// Points in the fence's box and a tenth around it; ways of about a kilometre between such points.
fn one_fence(fence: &Named) {
    let shape = Shape::prepare(&fence.spec);
    let flat = plane(&fence.spec);
    let mut dice = Dice(7);
    let points: Vec<Place> = (0..4_096).map(|_| around(&shape, 0.1, &mut dice)).collect();
    let ways: Vec<(Place, Place)> = points.iter().map(|from| (*from, dice.near(*from, 0.01))).collect();
    let held = |p: &Place| flat.intersects(&geo::Point::new(p.longitude, p.latitude));
    assert!(points.iter().all(|p| held(p) == shape.covers(*p)), "{}", fence.name);
    let few = &ways[..256];
    let [inside_loop, inside, way_loop, way, margin] = nanoseconds([
        &mut || count(&points[..512], held),
        &mut || count(&points, |p| shape.covers(*p)),
        &mut || count(few, |(from, to)| brute_crossings(&flat, *from, *to) > 0),
        &mut || count(&ways, |(from, to)| !shape.crossings(*from, *to).is_empty()),
        &mut || count(&points, |p| shape.is_farther_outside_than(*p, 20.0)),
    ]);
    println!(
        "{:<24} {:>8} {inside_loop:>9.0} {inside:>9.1} {:>6.1} {way_loop:>9.0} {way:>9.0} {:>6.1} {margin:>9.0} {:>7.1}",
        fence.name,
        fence.vertices,
        inside_loop / inside,
        way_loop / way,
        shape.memory_bytes() as f64 / fence.vertices as f64,
    );
}

/// What it costs to index fences, all of them and one in place of its like.
fn changes(name: &str, mut set: FenceSet, fences: &[Arc<FenceTimeline>]) {
    let index_bytes = set.index_bytes() / fences.len();
    let shape_bytes: usize = fences.iter().map(|fence| fence.newest().shape.memory_bytes()).sum();
    let mut number = 0;
    let [build, edit] = nanoseconds([
        &mut || {
            black_box(FenceSet::new(fences.to_vec()));
            1
        },
        &mut || {
            for _ in 0..100 {
                number = (number + 7_919) % fences.len();
                set = set.with(Arc::clone(&fences[number]));
            }
            100
        },
    ]);
    println!(
        "{name:<24} build {:>6.0} ms, edit {:>6.1} µs, bytes a fence: index {index_bytes}, shape {}",
        build / 1e6,
        edit / 1e3,
        shape_bytes / fences.len(),
    );
}

/// Asks something of every item; how many were asked.
fn count<T>(items: &[T], ask: impl Fn(&T) -> bool) -> u64 {
    for item in items {
        black_box(ask(black_box(item)));
    }
    items.len() as u64
}

/// All real fences at once, along the streets of their middle.
fn real_set(real: &[Named]) {
    let set = FenceSet::new(timelines(real.iter().map(|fence| fence.spec.clone())));
    let largest = Shape::prepare(&real[real.len() / 8].spec);
    let mut dice = Dice(3);
    let places: Vec<Place> = (0..20_000).map(|_| around(&largest, 2.0, &mut dice)).collect();
    report(&format!("{} real fences", real.len()), &set, &places);
}

/// Many fences of a hundred vertices, one and a half boxes over each point.
fn many_fences(count: usize) {
    let mut dice = Dice(5);
    let side = (1.5 * shapes::WIDTH * shapes::WIDTH / count as f64).sqrt();
    let ring = |_| {
        let center = dice.place();
        shapes::ring_at(center, side * 0.43, 100, false, &mut dice)
    };
    let fences = timelines((0..count).map(ring));
    let set = FenceSet::new(fences.clone());
    let places: Vec<Place> = (0..200_000).map(|_| dice.place()).collect();
    let name = format!("{count} fences of 100");
    report(&name, &set, &places);
    changes(&name, set, &fences);
}

fn report(name: &str, set: &FenceSet, places: &[Place]) {
    let vehicle = Vehicle {
        id: VehicleId(Uuid::from_u128(1)),
        organization_id: OrganizationId(Uuid::from_u128(1)),
        name: "V".into(),
        limits: VehicleLimits {
            max_speed_kmh: Some(250.0),
            max_accuracy_meters: Some(200.0),
            overspeed_kmh: None,
        },
        out_of_service: Vec::new(),
        calibrations: vec![],
    };
    let mut inside = 0_u64;
    let [near, covering, way, engine] = nanoseconds([
        &mut || {
            for place in places {
                set.for_each_near(*place, |near| {
                    black_box(near.fence.id);
                });
            }
            places.len() as u64
        },
        &mut || {
            inside = 0;
            for place in places {
                set.for_each_near(*place, |near| inside += u64::from(near.is_in(near.fence.newest())));
            }
            places.len() as u64
        },
        &mut || {
            for place in places {
                let to = Place::new(place.latitude, place.longitude + 0.000_2);
                set.for_each_near_segment(*place, to, |fence| {
                    black_box(fence.id);
                });
            }
            places.len() as u64
        },
        &mut || {
            // A vehicle at 15 m/s that turns round at times: the engine's whole step.
            let (mut fixes, mut effects) = (0, Effects::default());
            for start in places.iter().step_by(200) {
                let mut state = VehicleState::default();
                for second in 0..200_i32 {
                    let east = f64::from((second - 100).abs()) * 0.000_14;
                    let place = Place::new(start.latitude, start.longitude + east);
                    let at = Timestamp::from_micros(i64::from(second) * 1_000_000);
                    let context = Context { vehicle: &vehicle, fences: set, detected_at: at };
                    apply(&mut state, Fix::new(at, at, place), &context, &mut effects);
                    fixes += 1;
                }
                effects.rows.clear();
                effects.records.clear();
                effects.visits.clear();
            }
            fixes
        },
    ]);
    println!(
        "{name:<24} near {near:>6.0} ns, near and inside {covering:>6.0} ns ({:.2} inside), way of 16 m {way:>6.0} ns, engine step {engine:>6.0} ns",
        inside as f64 / places.len() as f64
    );
}

fn timelines(specs: impl Iterator<Item = ShapeSpec>) -> Vec<Arc<FenceTimeline>> {
    let timeline = |(number, shape): (usize, ShapeSpec)| {
        let version = FenceVersion {
            version: 1,
            effective_from: None,
            changed_at: Timestamp::from_micros(0),
            active: true,
            deleted: false,
            shape,
            rules: Rules::default(),
        };
        Arc::new(FenceTimeline::prepare(&Fence {
            id: GeofenceId(Uuid::from_u128(number as u128)),
            organization_id: OrganizationId(Uuid::from_u128(1)),
            name: "F".into(),
            versions: vec![version],
        }))
    };
    specs.enumerate().map(timeline).collect()
}
