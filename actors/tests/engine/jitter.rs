//! A parked vehicle: its fixes wander, it does not.
//!
//! `WAYPOST_TEST_PARKED=n` parks n vehicles at each distance instead of 2.

use waypost_actors::geofence::{FenceSet, FenceTimeline};
use waypost_actors::model::{Cause, Circle, EventKind, FenceVersion, Fix, Place, Rules, ShapeSpec};
use waypost_actors::tracking::{Context, apply};

use crate::script::{Script, at, version};

const DAY_SECONDS: u32 = 24 * 3_600;
const NOISE_METERS: f64 = 8.0;
const CORRELATION_SECONDS: f64 = 60.0;
const RADIUS_METERS: f64 = 50.0;
const METERS_PER_DEGREE: f64 = 111_320.0;
const PARKED: Place = Place::new(48.1, 11.5);

/// Normal numbers, the same in every run (Knuth's MMIX generator; Box and Muller).
struct Noise(u64);

impl Noise {
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.share().ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}

/// How far a fix is off, in metres north and east: each second keeps most of the last one's error.
struct Wander {
    noise: Noise,
    off: [f64; 2],
}

impl Wander {
    fn new(seed: u64) -> Self {
        let mut noise = Noise(seed);
        let off = [(); 2].map(|()| NOISE_METERS * noise.normal());
        Self { noise, off }
    }

    fn step(&mut self) -> [f64; 2] {
        let kept = (-1.0 / CORRELATION_SECONDS).exp();
        for axis in &mut self.off {
            *axis = kept * *axis + (1.0 - kept * kept).sqrt() * NOISE_METERS * self.noise.normal();
        }
        self.off
    }
}

fn shifted(place: Place, [north, east]: [f64; 2]) -> Place {
    let parallel = METERS_PER_DEGREE * place.latitude.to_radians().cos();
    Place::new(place.latitude + north / METERS_PER_DEGREE, place.longitude + east / parallel)
}

/// Parks a vehicle for a day beside a fence whose centre is so many metres away; what is recorded.
fn park(center_meters: f64, bearing: f64, rules: Rules, seed: u64) -> Script {
    let (sin, cos) = bearing.to_radians().sin_cos();
    let center = shifted(PARKED, [center_meters * cos, center_meters * sin]);
    let shape = ShapeSpec::Circle(Circle { center, radius_meters: RADIUS_METERS });
    let mut script = Script::with(vec![FenceVersion { shape, ..version(1, rules) }]);
    script.vehicle.limits.max_speed_kmh = Some(250.0);
    script.vehicle.limits.max_accuracy_meters = Some(200.0);
    let fences = FenceSet::new(vec![FenceTimeline::prepare(&script.fences[0]).into()]);
    let context = Context { vehicle: &script.vehicle, fences: &fences, detected_at: script.now };
    let mut wander = Wander::new(seed);
    for second in 0..DAY_SECONDS {
        let mut fix = Fix::new(at(f64::from(second)), script.now, shifted(PARKED, wander.step()));
        fix.accuracy_meters = Some(12.0);
        apply(&mut script.state, fix, &context, &mut script.effects);
        script.effects.rows.clear();
    }
    script
}

/// Seeds for each distance and bearing.
fn seeds() -> u64 {
    std::env::var("WAYPOST_TEST_PARKED").ok().and_then(|count| count.parse().ok()).unwrap_or(2)
}

fn each_parked(distances: [f64; 4], rules: Rules, mut look: impl FnMut(&Script, f64, u64)) {
    for seed in 0..seeds() {
        for (number, meters) in distances.into_iter().enumerate() {
            let number = number as u64;
            let bearing = 90.0 * number as f64 + 37.0 * seed as f64;
            look(&park(meters, bearing, rules, 1 + seed * 1_000 + number), meters, seed);
        }
    }
}

fn entries_and_exits(script: &Script) -> (usize, usize) {
    let count = |kind| script.effects.events.iter().filter(|event| event.kind == kind).count();
    (count(EventKind::Entry), count(EventKind::Exit))
}

#[test]
fn a_vehicle_parked_inside_enters_once_and_stays() {
    each_parked([0.0, 10.0, 20.0, 30.0], Rules::default(), |script, meters, seed| {
        assert_eq!(entries_and_exits(script), (1, 0), "{meters} m, seed {seed}: {:?}", script.events());
    });
}

#[test]
fn a_vehicle_parked_on_the_edge_enters_once_and_stays_with_a_wide_margin() {
    let rules = Rules { exit_margin_meters: 60.0, ..Rules::default() };
    each_parked([30.0, 40.0, 50.0, 60.0], rules, |script, meters, seed| {
        assert_eq!(entries_and_exits(script), (1, 0), "{meters} m, seed {seed}: {:?}", script.events());
        assert!(matches!(script.effects.events[0].cause, Cause::Initial | Cause::Crossing));
    });
}

#[test]
fn with_exact_rules_the_same_vehicle_flaps() {
    // The noise is worth the name: without a margin it makes hundreds of visits.
    let (entries, exits) = entries_and_exits(&park(50.0, 0.0, Rules::EXACT, 1));
    assert!(entries > 300 && exits >= entries - 1, "{entries} entries, {exits} exits");
}
