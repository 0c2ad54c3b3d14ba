//! A tank whose state is known: what flows in and out of it, and what a sensor in it reads.
//!
//! The sensor has white noise and steps. A moving tank has waves on top (they die within half a minute
//! of standing) and leans with the road; a parked one leans as its place does.

use uuid::Uuid;
use waypost_actors::fuel::{FuelEvent, FuelEventKind, FuelState, Reading, Tank, step};
use waypost_actors::model::{Place, Timestamp, VehicleId};

pub(crate) const START: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);
/// Seconds after which waves and hills have half forgotten where they were.
const WAVE_SECONDS: f64 = 10.0;
const HILL_SECONDS: f64 = 60.0;
/// Relative to the lean while driving; parking places are flatter.
const PARKED_LEAN: f64 = 0.3;

/// The properties of a tank and its sensor. Deviations are shares of the tank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rig {
    pub(crate) capacity_liters: f64,
    pub(crate) seconds_between: u32,
    pub(crate) noise: f64,
    pub(crate) waves: f64,
    pub(crate) hills: f64,
    pub(crate) resolution: f64,
    pub(crate) seed: u64,
}

impl Rig {
    pub(crate) const fn quiet(capacity_liters: f64) -> Self {
        Self {
            capacity_liters,
            seconds_between: 20,
            noise: 0.001,
            waves: 0.03,
            hills: 0.015,
            resolution: 0.001,
            seed: 7,
        }
    }
}

/// What really happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Truth {
    pub(crate) kind: FuelEventKind,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    pub(crate) liters: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Engine {
    Off,
    Idling,
    Driving,
}

/// A vehicle with its tank, second by second.
pub(crate) struct Simulation {
    rig: Rig,
    seconds: u32,
    pub(crate) liters: f64,
    wave: f64,
    hill: f64,
    random: Random,
    kilometers: f64,
    reported_kilometers: f64,
    pub(crate) readings: Vec<Reading>,
    pub(crate) truth: Vec<Truth>,
}

impl Simulation {
    pub(crate) fn new(rig: Rig, share: f64) -> Self {
        Self {
            rig,
            seconds: 0,
            liters: share * rig.capacity_liters,
            wave: 0.0,
            hill: 0.0,
            random: Random(rig.seed),
            kilometers: 0.0,
            reported_kilometers: 0.0,
            readings: Vec::new(),
            truth: Vec::new(),
        }
    }

    /// A lorry's day: a refuel, another one that is not seen, and a theft.
    pub(crate) fn day(rig: Rig, idling: bool) -> Self {
        let mut tank = Self::new(rig, 0.4);
        tank.drive(45.0);
        tank.park(10.0);
        tank.refuel(150.0, 50.0, idling);
        tank.park(10.0);
        tank.drive(30.0);
        tank.park(30.0);
        tank.unseen(FuelEventKind::Refuel, 60.0, 120.0);
        tank.park(20.0);
        tank.drain(30.0, 6.0);
        tank.park(40.0);
        tank.drive(20.0);
        tank
    }

    pub(crate) fn now(&self) -> Timestamp {
        START.plus_seconds(f64::from(self.seconds))
    }

    /// At 60 km/h, with a red light of 40 seconds every four minutes.
    pub(crate) fn drive(&mut self, minutes: f64) {
        let start = self.seconds;
        while self.seconds - start < (minutes * 60.0) as u32 {
            let red = (self.seconds - start) % 240 >= 200;
            self.second(if red { Engine::Idling } else { Engine::Driving }, 0.0, true);
        }
    }

    pub(crate) fn idle(&mut self, minutes: f64) {
        self.stand(minutes, Engine::Idling, 0.0, true);
    }

    pub(crate) fn park(&mut self, minutes: f64) {
        self.stand(minutes, Engine::Off, 0.0, true);
    }

    /// Nothing is reported for this long.
    pub(crate) fn silence(&mut self, minutes: f64) {
        self.stand(minutes, Engine::Off, 0.0, false);
    }

    /// Parked with a hole that leaks `liters_per_hour`.
    pub(crate) fn leak(&mut self, minutes: f64, liters_per_hour: f64) {
        self.stand(minutes, Engine::Off, -liters_per_hour / 3600.0, true);
    }

    pub(crate) fn refuel(&mut self, liters: f64, liters_per_minute: f64, idling: bool) {
        let engine = if idling { Engine::Idling } else { Engine::Off };
        self.flow(FuelEventKind::Refuel, liters, liters / liters_per_minute, engine, true);
    }

    pub(crate) fn drain(&mut self, liters: f64, minutes: f64) {
        self.flow(FuelEventKind::Drain, liters, minutes, Engine::Off, true);
    }

    /// A change while nothing is reported, in the middle of the silence.
    pub(crate) fn unseen(&mut self, kind: FuelEventKind, liters: f64, minutes: f64) {
        let last = self.readings.last().map_or(START, |reading| reading.at);
        self.flow(kind, liters, minutes, Engine::Off, false);
        let truth = self.truth.last_mut().expect("a flow is a truth");
        truth.from = last;
    }

    fn flow(&mut self, kind: FuelEventKind, liters: f64, minutes: f64, engine: Engine, reported: bool) {
        let from = self.now();
        let signed = if kind == FuelEventKind::Refuel { liters } else { -liters };
        let whole = (minutes * 60.0).round();
        self.stand(minutes, engine, signed / whole, reported);
        self.truth.push(Truth { kind, from, to: self.now(), liters });
    }

    fn stand(&mut self, minutes: f64, engine: Engine, liters_per_second: f64, reported: bool) {
        for _ in 0..(minutes * 60.0).round() as u32 {
            self.second(engine, liters_per_second, reported);
        }
    }

    fn second(&mut self, engine: Engine, flow: f64, reported: bool) {
        // A car of 60 l burns 6 l an hour at 60 km/h, a lorry of 600 l 36.
        let hourly = 3.0 + 0.055 * self.rig.capacity_liters;
        let burnt = match engine {
            Engine::Off => 0.0,
            Engine::Idling => (0.01 * self.rig.capacity_liters).min(2.5) / 3600.0,
            Engine::Driving => hourly / 3600.0,
        };
        self.liters = (self.liters + flow - burnt).clamp(0.0, self.rig.capacity_liters);
        self.lean(engine == Engine::Driving);
        self.seconds += 1;
        self.kilometers += if engine == Engine::Driving { 60.0 / 3600.0 } else { 0.0 };
        if reported && self.seconds.is_multiple_of(self.rig.seconds_between) {
            self.report(engine);
        }
    }

    /// Waves and hills as first-order processes; standing, waves die and the hill stays.
    fn lean(&mut self, driving: bool) {
        let keep = 0.5_f64.powf(1.0 / WAVE_SECONDS);
        let push = if driving { (1.0 - keep * keep).sqrt() * self.rig.waves } else { 0.0 };
        self.wave = self.wave * keep + push * self.random.normal();
        if driving {
            let keep = 0.5_f64.powf(1.0 / HILL_SECONDS);
            self.hill = self.hill * keep + (1.0 - keep * keep).sqrt() * self.rig.hills * self.random.normal();
        }
    }

    fn report(&mut self, engine: Engine) {
        let driving = engine == Engine::Driving;
        let lean = if driving { self.hill } else { self.hill * PARKED_LEAN };
        let strayed = lean + self.wave + self.rig.noise * self.random.normal();
        let share = (self.liters / self.rig.capacity_liters + strayed).clamp(0.0, 1.0);
        let share = (share / self.rig.resolution).round() * self.rig.resolution;
        let meters = (self.kilometers - self.reported_kilometers) * 1000.0;
        self.reported_kilometers = self.kilometers;
        self.readings.push(Reading {
            at: self.now(),
            level_liters: Some(share * self.rig.capacity_liters),
            speed_kmh: Some(if driving { 60.0 } else { 0.0 }),
            ignition: Some(engine != Engine::Off),
            place: Some(Place::new(48.0, 11.0 + self.kilometers / 100.0)),
            distance_meters: Some(meters),
        });
    }

    pub(crate) fn tank(&self) -> Tank {
        Tank { capacity_liters: self.rig.capacity_liters, window_seconds: 300.0, version: 1 }
    }

    pub(crate) fn found(&self) -> Vec<FuelEvent> {
        detect(&self.readings, &self.tank())
    }

    /// Panics unless the findings match what happened: the right kinds in order, volumes within 5 %, times within
    /// two minutes, and nothing else.
    pub(crate) fn assert_found(&self) {
        let found = self.found();
        let kinds = |events: &[FuelEvent]| events.iter().map(|event| event.kind).collect::<Vec<_>>();
        let want: Vec<FuelEventKind> = self.truth.iter().map(|truth| truth.kind).collect();
        assert_eq!(kinds(&found), want, "{:?}\n{:#?}\n{found:#?}", self.rig, self.truth);
        for (event, truth) in found.iter().zip(&self.truth) {
            let off = (event.volume_liters - truth.liters).abs() / truth.liters;
            assert!(off <= 0.05, "volume off by {off:.3}: {:?} {event:?} {truth:?}", self.rig);
            for (placed, real) in [(event.started_at, truth.from), (event.ended_at, truth.to)] {
                let off = placed.seconds_since(real).abs();
                assert!(off <= 120.0, "off by {off} s: {:?} {event:?} {truth:?}", self.rig);
            }
        }
    }
}

pub(crate) fn vehicle() -> VehicleId {
    VehicleId(Uuid::from_u128(5))
}

pub(crate) fn detect(readings: &[Reading], tank: &Tank) -> Vec<FuelEvent> {
    let mut state = FuelState::default();
    readings.iter().flat_map(|reading| step(&mut state, reading, tank, vehicle())).collect()
}

/// SplitMix64 (Steele, Lea, Flood 2014), and Box and Muller's normal numbers from it.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (radius, angle) = ((1.0 - self.uniform()).ln() * -2.0, self.uniform() * std::f64::consts::TAU);
        radius.sqrt() * angle.cos()
    }
}
