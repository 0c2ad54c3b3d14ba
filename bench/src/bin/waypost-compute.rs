//! `waypost-compute`: the computation of positions alone, for `.ci/instructions`. A program of its own, since without the server it is
//! optimized in a tenth of the time.

use std::process::ExitCode;

fn main() -> ExitCode {
    waypost_bench::compute()
}
