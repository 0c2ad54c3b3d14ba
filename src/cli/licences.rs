//! `waypost licences`: what ships in the program and in its page.

use super::output::print_all;

/// Written by `tools/licences.py`, which also checks that it is current.
const LIST: &str = include_str!("licences.txt");

pub(super) fn print() -> anyhow::Result<()> {
    println!("waypost {} is licensed under MIT OR Apache-2.0. It contains:\n", env!("CARGO_PKG_VERSION"));
    print_all(LIST.trim_end())
}
