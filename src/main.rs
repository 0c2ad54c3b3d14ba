//! The `waypost` program.

mod cli;

use std::process::ExitCode;

use clap::Parser;

use cli::Cli;

fn main() -> ExitCode {
    let cli = Cli::parse();
    actix_web::rt::System::new().block_on(cli::run(cli))
}
