//! The source of a run's moments and sizes: one number, printed, that can be given to a later run.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// The seed of this run: `WAYPOST_TEST_SEED`, or a new one.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("WAYPOST_TEST_SEED").ok();
    let seed = given.map_or_else(
        || rand::rng().random_range(0..1_000_000_000),
        |text| text.parse().expect("WAYPOST_TEST_SEED is a number"),
    );
    println!("seed: WAYPOST_TEST_SEED={seed}");
    seed
}

/// The dice of one part of a run, so that no part affects another's.
pub(crate) fn dice(seed: u64, part: u64) -> StdRng {
    StdRng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ part)
}

/// A number from the environment, or the default.
pub(crate) fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}
