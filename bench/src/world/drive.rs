//! Vehicles on their way: a round is one fix of each that reports then, in random order, with the oracle's transitions.

use geo::Coord;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::fences::{make_fences, rounded};
use super::{Motion, SOUTH, Transition, Truth, WEST, WIDTH, World};

/// Degrees of latitude at 15 m/s in a second.
const STEP_DEGREES: f64 = 15.0 / 111_195.0;
/// The most a heading changes from one fix to the next. Degrees.
const TURN_DEGREES: f64 = 10.0;

/// A fix to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fix {
    /// The vehicle's number.
    pub(crate) vehicle: u32,
    /// The number of the vehicle's fix, from 0: seconds since the world began.
    pub(crate) round: u32,
    /// x longitude, y latitude.
    pub(crate) place: Coord,
    /// Degrees clockwise from north.
    pub(crate) heading: u16,
}

#[derive(Clone)]
struct Vehicle {
    place: Coord,
    heading: f64,
    inside: Vec<u32>,
}

/// All vehicles of a world, under way.
pub(crate) struct Drive {
    truth: Truth,
    motion: Motion,
    dice: StdRng,
    vehicles: Vec<Vehicle>,
    round: u32,
}

impl Drive {
    pub(crate) fn new(world: &World) -> Self {
        let mut dice = StdRng::seed_from_u64(world.seed);
        let vehicle = |_| Vehicle {
            place: Coord {
                x: WEST + dice.random_range(0.0..WIDTH),
                y: SOUTH + dice.random_range(0.0..WIDTH),
            },
            heading: dice.random_range(0.0..360.0),
            inside: Vec::new(),
        };
        let vehicles = (0..world.vehicles).map(vehicle).collect();
        let truth = Truth::new(make_fences(world));
        Self { truth, motion: world.motion, dice, vehicles, round: 0 }
    }

    /// The next rounds, and every transition in them. Says of a vehicle and a round whether it reports then; one that
    /// does not stands still meanwhile.
    pub(crate) fn next(
        &mut self,
        rounds: u32,
        reports: impl Fn(u32, u32) -> bool,
    ) -> (Vec<Fix>, Vec<Transition>) {
        let mut fixes = Vec::with_capacity(rounds as usize * self.vehicles.len());
        let mut transitions = Vec::new();
        let mut order: Vec<u32> = (0..self.vehicles.len() as u32).collect();
        for _ in 0..rounds {
            order.shuffle(&mut self.dice);
            let round = self.round;
            for &vehicle in order.iter().filter(|vehicle| reports(**vehicle, round)) {
                fixes.push(self.step(vehicle, &mut transitions));
            }
            self.round += 1;
        }
        (fixes, transitions)
    }

    fn step(&mut self, number: u32, transitions: &mut Vec<Transition>) -> Fix {
        let mut vehicle = self.vehicles[number as usize].clone();
        let inside = loop {
            vehicle.drive(number, self.round, self.motion, &self.truth, &mut self.dice);
            if let Some(inside) = self.truth.inside(vehicle.place) {
                break inside;
            }
        };
        let told = |fence: u32, is_entry| Transition { vehicle: number, round: self.round, is_entry, fence };
        let left = vehicle.inside.iter().filter(|fence| !inside.contains(fence));
        transitions.extend(left.map(|fence| told(*fence, false)));
        let entered = inside.iter().filter(|fence| !vehicle.inside.contains(fence));
        transitions.extend(entered.map(|fence| told(*fence, true)));
        vehicle.inside = inside;
        let fix = Fix {
            vehicle: number,
            round: self.round,
            place: vehicle.place,
            heading: vehicle.heading as u16 % 360,
        };
        self.vehicles[number as usize] = vehicle;
        fix
    }
}

impl Vehicle {
    fn drive(&mut self, number: u32, round: u32, motion: Motion, truth: &Truth, dice: &mut StdRng) {
        self.heading = (self.heading + dice.random_range(-TURN_DEGREES..TURN_DEGREES)).rem_euclid(360.0);
        let next = match motion {
            Motion::Jump if round.is_multiple_of(2) => {
                let outlines = truth.outlines();
                let middle = outlines[number as usize % outlines.len()].middle();
                let mut off = || dice.random_range(-1e-4..1e-4);
                Coord { x: middle.x + off(), y: middle.y + off() }
            }
            // South of the region: no fence is so large.
            Motion::Jump => Coord { x: WEST + dice.random_range(0.0..WIDTH), y: SOUTH - 8.0 },
            Motion::Roam => self.roamed(),
        };
        self.place = rounded(next);
    }

    /// A step ahead; reflected at the border.
    fn roamed(&mut self) -> Coord {
        let (sin, cos) = self.heading.to_radians().sin_cos();
        let y = self.place.y + STEP_DEGREES * cos;
        let x = self.place.x + STEP_DEGREES * sin / self.place.y.to_radians().cos();
        if !(SOUTH..SOUTH + WIDTH).contains(&y) {
            self.heading = (180.0 - self.heading).rem_euclid(360.0);
            return self.place;
        }
        if !(WEST..WEST + WIDTH).contains(&x) {
            self.heading = 360.0 - self.heading;
            return self.place;
        }
        Coord { x, y }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Mix;

    #[test]
    fn the_same_seed_is_the_same_world_and_transitions_alternate() {
        let world =
            World { seed: 9, vehicles: 50, fences: 300, vertices: 12, mix: Mix::Poly, motion: Motion::Jump };
        let drive = || Drive::new(&world);
        let (fixes, transitions) = drive().next(6, |_, _| true);
        assert_eq!(fixes.len(), 300);
        assert!((fixes, transitions.clone()) == drive().next(6, |_, _| true));
        assert!(transitions.len() > 100);
        for vehicle in 0..50 {
            for fence in 0..300 {
                let own = transitions.iter().filter(|told| told.vehicle == vehicle && told.fence == fence);
                let kinds: Vec<bool> = own.map(|told| told.is_entry).collect();
                assert!(kinds.iter().enumerate().all(|(at, is_entry)| *is_entry == (at % 2 == 0)));
            }
        }
    }
}
