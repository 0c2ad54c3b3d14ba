//! What single steps of a position cost: decode, point in polygon, index, engine. `cargo bench -p waypost-bench`.
//!
//! CPU time of the thread; `.ci/instructions` counts the instructions of the same steps. The engine's
//! answers are checked elsewhere: here nothing is asserted.

mod cpu;

#[expect(dead_code, unused_imports, reason = "the benches drive no vehicles and ask no oracle")]
#[path = "../../src/world/mod.rs"]
mod world;

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use uuid::Uuid;
use waypost::ingest::decode;
use waypost_actors::geofence::{FenceSet, FenceTimeline, Shape};
use waypost_actors::model::{
    Fence, FenceVersion, Fix, GeofenceId, OrganizationId, Place, Rules, Timestamp, Vehicle, VehicleId,
    VehicleLimits,
};
use waypost_actors::tracking::{Context, Effects, VehicleState, apply};

use cpu::CpuTime;
use world::{Mix, Motion, Outline, SOUTH, WEST, WIDTH, World, make_fences};

/// Places asked about in turn: more than the caches hold answers for.
const PLACES: usize = 65_536;

fn world(fences: u32, vertices: u32) -> World {
    World { seed: 1, vehicles: 1, fences, vertices, mix: Mix::Poly, motion: Motion::Roam }
}

fn places(low: (f64, f64), width: f64) -> Vec<Place> {
    let mut dice = StdRng::seed_from_u64(2);
    let mut place =
        || Place::new(low.1 + dice.random_range(0.0..width), low.0 + dice.random_range(0.0..width));
    (0..PLACES).map(|_| place()).collect()
}

/// Takes turns through a list.
fn next<'a, T>(all: &'a [T], at: &mut usize) -> &'a T {
    *at = (*at + 1) % all.len();
    &all[*at]
}

fn shape(outline: &Outline) -> waypost_actors::model::ShapeSpec {
    serde_json::from_value(outline.to_json()).expect("outlines are shapes")
}

fn fences(world: &World) -> Vec<Arc<FenceTimeline>> {
    let timeline = |(outline, number): (&Outline, u128)| {
        let version = FenceVersion {
            version: 1,
            effective_from: None,
            changed_at: Timestamp::FIRST,
            active: true,
            deleted: false,
            shape: shape(outline),
            rules: Rules::default(),
        };
        Arc::new(FenceTimeline::prepare(&Fence {
            id: GeofenceId(Uuid::from_u128(number)),
            organization_id: OrganizationId(Uuid::nil()),
            name: format!("f{number}"),
            versions: vec![version],
        }))
    };
    make_fences(world).iter().zip(0..).map(timeline).collect()
}

fn decodes(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("decode");
    for items in [1, 32] {
        let item = |n: i64| {
            format!(
                r#"{{"seq":{n},"uniqueId":"v{n}","recordedAt":{},"latitude":45.1234567,"longitude":10.7654321,"speedKmh":54,"headingDegrees":90}}"#,
                1_790_000_000_000 + n
            )
        };
        let list: Vec<String> = (1..=items).map(item).collect();
        let text = format!(r#"{{"type":"positions","items":[{}]}}"#, list.join(","));
        group.throughput(Throughput::Elements(items as u64));
        group.bench_function(BenchmarkId::from_parameter(items), |bencher| {
            bencher.iter(|| black_box(decode::frame(black_box(&text)).is_ok()));
        });
    }
    group.finish();
}

fn polygons(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("polygon");
    for vertices in [10, 100, 1_000, 10_000] {
        let outline = &make_fences(&world(100, vertices))[0];
        let (low, high) = outline.corners();
        let prepared = Shape::prepare(&shape(outline));
        println!("polygon of {vertices}: {} bytes", prepared.memory_bytes());
        let (places, mut at) = (places((low.x, low.y), high.x - low.x), 0);
        group.bench_function(BenchmarkId::from_parameter(vertices), |bencher| {
            bencher.iter(|| prepared.covers(*next(&places, &mut at)));
        });
    }
    group.finish();
}

fn indexes(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("index");
    for count in [1_000, 10_000, 100_000] {
        let all = fences(&world(count, 100));
        group.bench_function(BenchmarkId::new("build", count), |bencher| {
            bencher.iter_with_large_drop(|| FenceSet::new(all.clone()));
        });
        let set = FenceSet::new(all.clone());
        println!("index of {count} fences: {} bytes a fence", set.index_bytes() / all.len());
        let places = places((WEST, SOUTH), WIDTH);
        let mut at = 0;
        group.bench_function(BenchmarkId::new("place", count), |bencher| {
            bencher.iter(|| {
                let mut inside = 0_u32;
                set.for_each_near(*next(&places, &mut at), |near| {
                    inside += u32::from(near.is_in(near.fence.newest()));
                });
                inside
            });
        });
        // 16 m to the east.
        group.bench_function(BenchmarkId::new("way", count), |bencher| {
            bencher.iter(|| {
                let (from, mut met) = (*next(&places, &mut at), 0_u32);
                let to = Place::new(from.latitude, from.longitude + 0.000_2);
                set.for_each_near_segment(from, to, |_| met += 1);
                met
            });
        });
        let (mut edited, mut number) = (set.clone(), 0);
        group.bench_function(BenchmarkId::new("edit", count), |bencher| {
            bencher.iter(|| {
                number = (number + 7_919) % all.len();
                edited = edited.with(Arc::clone(&all[number]));
            });
        });
    }
    group.finish();
}

fn engines(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("engine");
    for count in [1_000, 10_000, 100_000] {
        let set = FenceSet::new(fences(&world(count, 100)));
        let vehicle = Vehicle {
            id: VehicleId(Uuid::from_u128(1)),
            organization_id: OrganizationId(Uuid::nil()),
            name: "V".to_owned(),
            limits: VehicleLimits::default(),
            out_of_service: Vec::new(),
            calibrations: Vec::new(),
        };
        let starts = places((WEST, SOUTH), WIDTH);
        let mut states: Vec<VehicleState> = vec![VehicleState::default(); 1_000];
        let mut step = 0_usize;
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            let mut effects = Effects::default();
            bencher.iter(|| {
                // Each of a thousand vehicles a step of 14 m to the east, in turn.
                let (number, second) = (step % states.len(), step / states.len());
                step += 1;
                let east = second as f64 * 0.000_2;
                let longitude = WEST + (starts[number].longitude - WEST + east) % WIDTH;
                let at = Timestamp::from_micros(second as i64 * 1_000_000);
                let context = Context { vehicle: &vehicle, fences: &set, detected_at: at };
                let fix = Fix::new(at, at, Place::new(starts[number].latitude, longitude));
                apply(&mut states[number], fix, &context, &mut effects);
                effects.rows.clear();
                effects.records.clear();
                effects.visits.clear();
                effects.checkpoints.clear();
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = steps;
    config = Criterion::default().with_measurement(CpuTime::new());
    targets = decodes, polygons, indexes, engines
}
criterion_main!(steps);
