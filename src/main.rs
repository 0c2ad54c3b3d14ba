//! The `waypost` program.

use std::process::ExitCode;

use clap::Parser;
use waypost::cli::{self, Cli};

fn main() -> ExitCode {
    let cli = Cli::parse();
    actix_web::rt::System::new().block_on(cli::run(cli))
}
