//! W1 to W4: CPU time per position, systems side by side; and the gate alone.

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::contest::{Field, Pace, contest};
use crate::systems::{Packing, Rivals, Store};
use crate::world::{Mix, Motion, World};

/// Which packings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Packed {
    /// 50 connections for the whole fleet, 32 positions per frame.
    Batched,
    /// Each vehicle's own connection, 32 positions per frame.
    Own,
    /// Each vehicle's own connection, one position per frame.
    Single,
}

/// How a contest is run.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    world: World,
    /// Stores to run the server on
    #[arg(long, value_delimiter = ',', default_values = ["null", "sqlite", "postgres"])]
    store: Vec<Store>,
    /// How positions are packed
    #[arg(long, value_delimiter = ',', default_values = ["batched", "single"])]
    packed: Vec<Packed>,
    /// Positions per second, batched
    #[arg(long, default_value_t = 20_000.0)]
    rate: f64,
    /// Positions per second, one per frame
    #[arg(long, default_value_t = 5_000.0)]
    single_rate: f64,
    /// Seconds of a run
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Runs of each system: there and back, so many times
    #[arg(long, default_value_t = 2)]
    pairs: usize,
    /// Leave the floor out
    #[arg(long)]
    no_floor: bool,
    #[command(flatten)]
    rivals: Rivals,
}

impl Options {
    fn field(&self) -> Field {
        Field { stores: self.store.clone(), with_floor: !self.no_floor, rivals: self.rivals.clone() }
    }

    fn pace(&self, rate: f64) -> Pace {
        Pace { rate, positions: (rate * self.seconds as f64) as u64, pairs: self.pairs }
    }

    fn run(&self, name: &str, world: &World) -> Result<()> {
        for packed in &self.packed {
            let (packing, how, rate) = match packed {
                Packed::Batched => {
                    let connections = 50.min(world.vehicles);
                    (Packing::Fleet { connections, fixes: 32 }, "50 connections, 32 per frame", self.rate)
                }
                Packed::Own => {
                    (Packing::Own { fixes: 32 }, "a connection per vehicle, 32 per frame", self.rate)
                }
                Packed::Single => {
                    (Packing::Own { fixes: 1 }, "a connection per vehicle, 1 per frame", self.single_rate)
                }
            };
            contest(&titled(name, world, how), world, packing, &self.field(), self.pace(rate))?;
        }
        Ok(())
    }
}

fn titled(name: &str, world: &World, how: &str) -> String {
    let World { vehicles, fences, vertices, mix, .. } = world;
    format!("{name}: {vehicles} vehicles, {fences} fences ({mix:?}, {vertices} vertices), {how}")
}

/// W1: on the road.
pub(crate) fn w1(options: &Options) -> Result<()> {
    options.run("W1", &options.world)
}

/// W2: in and out with each fix. As many vehicles as fences.
pub(crate) fn w2(options: &Options) -> Result<()> {
    let count = options.world.fences;
    let world = World { vehicles: count, vertices: 64, motion: Motion::Jump, ..options.world.clone() };
    options.run("W2", &world)
}

/// W3: the same vertices, in many fences and in few.
pub(crate) fn w3(options: &Options) -> Result<()> {
    let times = f64::from(options.world.fences) / 10_000.0;
    for (fences, vertices) in [(100_000.0, 100), (1_000.0, 1_000), (100.0, 10_000)] {
        let fences = (fences * times).max(1.0) as u32;
        let world = World { fences, vertices, mix: Mix::Poly, ..options.world.clone() };
        options.run("W3", &world)?;
    }
    Ok(())
}

/// W4: a request per position, among more and more fences.
pub(crate) fn w4(options: &Options) -> Result<()> {
    for fences in [1, 100, 1_000, 10_000] {
        if fences > options.world.fences {
            break;
        }
        let world = World { fences, vehicles: options.world.vehicles.min(1_000), ..options.world.clone() };
        let pace = options.pace(options.single_rate);
        contest(
            &titled("W4", &world, "a request per position"),
            &world,
            Packing::Http,
            &options.field(),
            pace,
        )?;
    }
    Ok(())
}

/// The gate alone, on small worlds: what a change must not break before anything is measured.
pub(crate) fn gate() -> Result<()> {
    let field =
        Field { stores: vec![Store::Null, Store::Sqlite], with_floor: true, rivals: Rivals::default() };
    let small =
        World { seed: 7, vehicles: 60, fences: 400, vertices: 60, mix: Mix::Poly, motion: Motion::Jump };
    let real = World { fences: 2_000, mix: Mix::Real, motion: Motion::Roam, ..small.clone() };
    let pace = Pace { rate: 2_000.0, positions: 3_000, pairs: 1 };
    let fleet = Packing::Fleet { connections: 5, fixes: 32 };
    for (world, packing, how) in [
        (&small, fleet, "batched"),
        (&small, Packing::Own { fixes: 1 }, "one per frame"),
        (&real, Packing::Own { fixes: 10 }, "ten per frame"),
        (&small, Packing::Http, "a request per position"),
    ] {
        contest(&titled("gate", world, how), world, packing, &field, pace)?;
    }
    Ok(())
}
