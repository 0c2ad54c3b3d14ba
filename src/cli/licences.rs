//! `waypost licences`: what ships in the program and in its page, and the texts of its licences.

use std::io::Read;

use clap::Args;
use flate2::read::GzDecoder;

use super::output::print_all;

/// Written by `tools/licences.py`, which also checks that it is current.
const LIST: &str = include_str!("licences.txt");
/// As [`LIST`]; UTF-8, packed.
const TEXTS: &[u8] = include_bytes!("licence_texts.gz");

/// What to print.
#[derive(Args, Debug)]
pub(crate) struct LicencesArgs {
    /// Print the texts of the licences as well.
    #[arg(long)]
    texts: bool,
}

pub(super) fn print(args: &LicencesArgs) -> anyhow::Result<()> {
    println!("waypost {} is licensed under MIT OR Apache-2.0. It contains:\n", env!("CARGO_PKG_VERSION"));
    print_all(LIST.trim_end())?;
    if args.texts {
        print_all(&format!("\n{}", unpacked()?.trim_end()))?;
    }
    Ok(())
}

fn unpacked() -> std::io::Result<String> {
    let mut texts = String::new();
    GzDecoder::new(TEXTS).read_to_string(&mut texts)?;
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_are_those_of_the_program_and_of_the_page() {
        let texts = unpacked().unwrap();
        for expected in ["actix-web ", "maplibre-gl ", "Permission is hereby granted"] {
            assert!(texts.contains(expected), "{expected}");
        }
    }
}
