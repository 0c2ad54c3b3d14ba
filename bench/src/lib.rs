//! `waypost-bench`: each workload of docs/performance.md is one command that prints a table.
//!
//! Owns the measurements and nothing of the product. A figure is printed only after the reported events were equal,
//! one for one, to those of an oracle that shares no code with the server. Every run is bounded, talks to loopback
//! (or to the address of another system that the caller names) and stops by itself.

mod compute;
mod contest;
mod disk;
mod floor;
mod load;
mod run;
mod systems;
mod table;
mod wire;
mod workloads;
mod world;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;

use floor::{FanOutOptions, FloorOptions};
use systems::server::ServerOptions;
use workloads::{contests, edits, fan_out, growth, idle, inputs, latency, restart, soak, storage};

/// The server's, which `server` runs.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Measurements of Waypost beside the floor and other systems.
#[derive(Debug, Parser)]
#[command(name = "waypost-bench", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Only the equality gate, on a small world: batched and one by one, null store and embedded database.
    Gate,
    /// Vehicles on the road among many fences: batched, and one position per frame.
    W1(contests::Options),
    /// Every position enters or leaves a fence.
    W2(contests::Options),
    /// Many fences; large fences.
    W3(contests::Options),
    /// A request per position.
    W4(contests::Options),
    /// Latency at several loads, beside a bare echo.
    W5(latency::Options),
    /// Positions of a hundred vehicles to many dispatchers, beside a bare fan-out.
    W6(fan_out::Options),
    /// Memory and CPU of vehicles and sockets that do nothing.
    W7(idle::Options),
    /// From a kill to the first correct event.
    W8(restart::Options),
    /// Fence edits while positions come.
    W9(edits::Options),
    /// A moderate load for a long time.
    W10(soak::Options),
    /// Lists, acknowledgements and a start with a year of history.
    W11(growth::Options),
    /// Bytes stored and logged, and CPU, of a fix, an event and a stay; a start; a vehicle's past.
    W12(storage::Options),
    /// Teltonika devices and phones over HTTP, beside our own socket and beside each other.
    Inputs(inputs::Options),
    /// A server under test; for this program itself.
    #[command(hide = true)]
    Server(ServerOptions),
    /// The raw socket loop; for this program itself.
    #[command(hide = true)]
    Floor(FloorOptions),
    /// The bare fan-out; for this program itself.
    #[command(hide = true)]
    FanOut(FanOutOptions),
    /// The echo; for this program itself.
    #[command(hide = true)]
    Echo,
}

/// Runs the command that the program was called with.
#[must_use]
pub fn run() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Gate => contests::gate(),
        Command::W1(options) => contests::w1(&options),
        Command::W2(options) => contests::w2(&options),
        Command::W3(options) => contests::w3(&options),
        Command::W4(options) => contests::w4(&options),
        Command::W5(options) => latency::w5(&options),
        Command::W6(options) => fan_out::w6(&options),
        Command::W7(options) => idle::w7(&options),
        Command::W8(options) => restart::w8(&options),
        Command::W9(options) => edits::w9(&options),
        Command::W10(options) => soak::w10(&options),
        Command::W11(options) => growth::w11(&options),
        Command::W12(options) => storage::w12(&options),
        Command::Inputs(options) => inputs::inputs(&options),
        Command::Server(options) => actix_rt::System::new().block_on(systems::server::serve(options)),
        Command::Floor(options) => floor::floor(options),
        Command::FanOut(options) => floor::fan_out(options),
        Command::Echo => floor::echo(),
    };
    ended(done)
}

/// Computes positions as the program's options say.
#[must_use]
pub fn compute() -> ExitCode {
    ended(compute::compute(&compute::Options::parse()))
}

fn ended(done: anyhow::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
