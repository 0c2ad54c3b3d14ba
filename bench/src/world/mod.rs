//! A made-up world with a known truth: fences, vehicles on their way, and who is inside what.
//!
//! The same seed gives the same world in every process, so that a server, the floor and the loader agree
//! without a file. Knows no server and no protocol. The recipe: docs/performance.md.

mod drive;
mod fences;
mod truth;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

pub(crate) use drive::{Drive, Fix};
pub(crate) use fences::{Outline, make_fences, rounded};
pub(crate) use truth::{Transition, Truth};

/// The region: degrees.
pub(crate) const SOUTH: f64 = 40.0;
pub(crate) const WEST: f64 = 5.0;
pub(crate) const WIDTH: f64 = 10.0;

/// What a world is made of.
#[derive(Clone, Debug, Args, PartialEq, Serialize, Deserialize)]
pub(crate) struct World {
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Vehicles
    #[arg(long, default_value_t = 10_000)]
    pub(crate) vehicles: u32,
    /// Fences
    #[arg(long, default_value_t = 10_000)]
    pub(crate) fences: u32,
    /// Vertices of each fence, with `--mix poly`
    #[arg(long, default_value_t = 100)]
    pub(crate) vertices: u32,
    /// What fences look like
    #[arg(long, value_enum, default_value_t = Mix::Poly)]
    pub(crate) mix: Mix,
    /// How vehicles move
    #[arg(long, value_enum, default_value_t = Motion::Roam)]
    pub(crate) motion: Motion,
}

/// What fences look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum Mix {
    /// Smooth rings of `--vertices`, spread evenly.
    Poly,
    /// 60 % rings of 10 to 100 vertices, 30 % circles, 9 % of 1,000, 1 % of 10,000 with a hole, around 200 centres.
    Real,
    /// One fence around the whole region.
    One,
}

/// How vehicles move: one fix each second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum Motion {
    /// At 15 m/s on a random walk of headings.
    Roam,
    /// Into the middle of a fence and out again, with each fix.
    Jump,
}
