//! `waypost completions` and `waypost man`: what a package installs beside the program, made from the command line itself.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::{Shell, generate};

/// What `completions` takes.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell.
    shell: Shell,
}

/// What `man` takes.
#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// A directory for the pages, one for each command; without one, that of the program itself is printed.
    directory: Option<PathBuf>,
}

pub(super) fn completions(args: &Completions, mut command: Command) -> anyhow::Result<()> {
    let mut script = Vec::new();
    generate(args.shell, &mut command, "waypost", &mut script);
    Ok(io::stdout().write_all(&script)?)
}

pub(super) fn man(args: Manual, command: Command) -> anyhow::Result<()> {
    match args.directory {
        Some(directory) => Ok(clap_mangen::generate_to(command, directory)?),
        None => Ok(clap_mangen::Man::new(command).render(&mut io::stdout())?),
    }
}
