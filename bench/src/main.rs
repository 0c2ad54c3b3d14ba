//! `waypost-bench`, as `waypost-bench help` says.

use std::process::ExitCode;

fn main() -> ExitCode {
    waypost_bench::run()
}
