//! Precision and recall of refuels and drains on labelled logs of a level sensor.
//!
//! `cargo run -p waypost-actors --example fuel_benchmark -- FUEL.csv.gz EXPECTED.csv [--tank-liters 50]`
//!
//! `FUEL.csv` or `.csv.gz` has the columns `vehicle, recorded_at` and `fuel_pct` or `fuel_liters`; `speed_kmh`,
//! `rpm`, `lat` and `lon` are used where they are. `EXPECTED.csv` has `vehicle, seen_at, level_before_pct,
//! level_after_pct` (or `…_liters`); a level that falls is a drain. An event is the expected one if it is
//! of that kind and `seen_at` is within its times, widened by `--tolerance-seconds` (120).

mod input;
mod score;

use std::process::ExitCode;

use input::Arguments;
use score::Score;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let logs = input::logs(&arguments)?;
    let mut expected = input::expected(&arguments)?;
    let mut score = Score::default();
    for (vehicle, readings) in &logs {
        println!("{vehicle}: {} readings, tank of {} l", readings.len(), arguments.tank_liters);
        let found = score::detect(readings, arguments.tank_liters);
        score.add(&found, &expected.remove(vehicle).unwrap_or_default(), &arguments);
    }
    for (vehicle, missed) in &expected {
        println!("{vehicle}: no reading");
        score.add(&[], missed, &arguments);
    }
    score.print();
    Ok(())
}
