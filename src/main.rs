//! The `waypost` program.

mod cli;

use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;

use cli::Cli;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    actix_web::rt::System::new().block_on(cli::run(cli))
}
