//! What `waypost simulate` takes.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Parser, ValueEnum};

/// Play traces or made-up vehicles into a running server, and check what comes of it.
///
/// Creates an organization of its own with vehicles, trackers and fences, opens one socket per tracker,
/// and stops by itself. Exits with 1 when a check fails or a fix stays unacknowledged.
#[derive(Clone, Debug, Parser)]
#[command(name = "simulate")]
pub struct Options {
    /// Traces: CSV (columns recorded_at, lat, lon and more by name), GPX or NMEA 0183, plain or gzip.
    pub files: Vec<PathBuf>,
    /// The server.
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    pub server: String,
    /// E-mail address of a platform operator.
    #[arg(long, env = "WAYPOST_ADMIN_EMAIL")]
    pub email: Option<String>,
    /// Password of that operator.
    #[arg(long, env = "WAYPOST_ADMIN_PASSWORD", hide_env_values = true)]
    pub password: Option<String>,
    /// Name of the organization to create [default: "Simulation" and the time].
    #[arg(long)]
    pub organization: Option<String>,
    /// Fences: a GeoJSON file of polygons, plain or gzip. `properties.id` becomes the name.
    #[arg(long)]
    pub fences: Vec<PathBuf>,
    /// Fences: a JSON list of circles {id, lat, lon, radius_m}, plain or gzip.
    #[arg(long)]
    pub circles: Vec<PathBuf>,
    /// Which rules the fences, which are in force for all times, and the vehicles get.
    #[arg(long, value_enum, default_value_t = RuleSet::Default)]
    pub rules: RuleSet,
    /// Make up so many vehicles instead of reading traces; they tour the area of the fences.
    #[arg(long, conflicts_with = "files")]
    pub vehicles: Option<u32>,
    /// Fixes of each made-up vehicle, one every ten seconds at 15 m/s.
    #[arg(long, default_value_t = 360)]
    pub fixes_per_vehicle: u32,
    /// Seed of everything random: made-up tours, cuts and pauses.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Send so many fixes per second in all, on a schedule fixed in advance.
    #[arg(long, conflicts_with = "speed", value_parser = amount)]
    pub rate: Option<f64>,
    /// Replay so many times faster than recorded (long silences are cut), or `max`: as fast as acks come.
    #[arg(long, default_value = "max")]
    pub speed: Speed,
    /// In which order each vehicle sends its fixes.
    #[arg(long, value_enum, default_value_t = Order::Recorded)]
    pub order: Order,
    /// Send this share of the fixes a second time, at a random later moment.
    #[arg(long, default_value_t = 0.0, value_parser = share, value_name = "SHARE")]
    pub repeat: f64,
    /// Stamp each fix with the moment it is sent instead of when it was recorded.
    #[arg(long)]
    pub now: bool,
    /// Edit a fence so many times per second meanwhile, and check that each event is explained by the version
    /// it names; needs `--rules exact`.
    #[arg(long, value_name = "PER_SECOND", requires = "rules", value_parser = amount)]
    pub edits: Option<f64>,
    /// Meanwhile send so many late fixes of the first vehicle by POST /v1/positions.
    #[arg(long, value_name = "FIXES")]
    pub backlog: Option<u32>,
    /// Fixes in a frame.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=500))]
    pub items: u16,
    /// With `--speed max`: at most so many sockets open at a time.
    #[arg(long, default_value_t = 10_000)]
    pub connections: u32,
    /// Keep trying to come back for so many seconds after a connection is lost or falls silent.
    #[arg(long, default_value_t = 60)]
    pub reconnect_for: u64,
    /// Declare a boot id on each connection, so that the server tells what it has already.
    #[arg(long)]
    pub hello: bool,
    /// Report the CPU time of these processes and their descendants.
    #[arg(long, value_delimiter = ',', value_name = "PID")]
    pub cpu_of: Vec<u32>,
    /// Compare the stored events with this list (CSV: vehicle,fence,kind,recorded_at,lat,lon).
    #[arg(long, value_name = "EVENTS")]
    pub expect: Option<PathBuf>,
    /// Write the stored events in the form `--expect` reads, with a digest of all their values.
    #[arg(long, value_name = "EVENTS")]
    pub save: Option<PathBuf>,
    /// Listen on the live feed meanwhile and check that each event arrives exactly once.
    #[arg(long)]
    pub watch: bool,
    /// Cut that connection at random, every so many seconds on average, and resume by its cursor.
    #[arg(long, requires = "watch", value_name = "SECONDS", value_parser = amount)]
    pub cut: Option<f64>,
    /// Pause so many times and compare who is inside each fence with the expected events.
    #[arg(long, requires = "expect", num_args = 0..=1, default_missing_value = "5", value_name = "PAUSES")]
    pub check_inside: Option<u32>,
    /// Read everything, say what would be sent, and stop.
    #[arg(long)]
    pub dry_run: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    pub json: bool,
    /// Show no progress.
    #[arg(long)]
    pub quiet: bool,
}

/// In which order a vehicle sends what it recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// As in the file.
    Recorded,
    /// The newest first, as trackers do that empty their memory from the top.
    NewestFirst,
    /// At random.
    Shuffled,
}

/// Which rules fences and vehicles get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RuleSet {
    /// Inside is inside: no margin, nothing inferred; no fix is implausible.
    Exact,
    /// What the server gives them.
    Default,
}

/// How fast recorded time passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// As fast as the acks allow.
    Max,
    /// A multiple of the recorded speed.
    Times(f64),
}

impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "max" {
            return Ok(Self::Max);
        }
        match text.trim_end_matches('x').parse::<f64>() {
            Ok(times) if times.is_finite() && times > 0.0 => Ok(Self::Times(times)),
            _ => Err("a number above 0, such as 10, or max".to_owned()),
        }
    }
}

/// When frames are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As many in flight as the server's credit allows.
    Credit,
    /// This many fixes per second in all.
    Rate(f64),
    /// A multiple of the recorded speed.
    Times(f64),
}

impl Options {
    /// When frames are sent.
    #[must_use]
    pub fn pace(&self) -> Pace {
        match (self.rate, self.speed) {
            (Some(rate), _) => Pace::Rate(rate),
            (None, Speed::Max) => Pace::Credit,
            (None, Speed::Times(times)) => Pace::Times(times),
        }
    }
}

/// How many a second, or how many seconds.
fn amount(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok().filter(|amount| (0.001..=1e9).contains(amount));
    amount.ok_or_else(|| "a number from 0.001 to 1000000000".to_owned())
}

/// A share between 0 and 1.
fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a number from 0 to 1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_read_as_documented() {
        let parse = |line: &str| Options::try_parse_from(line.split_whitespace());
        let options = parse("simulate a.csv --speed 10x --expect e.csv.gz --check-inside").unwrap();
        assert_eq!((options.pace(), options.check_inside), (Pace::Times(10.0), Some(5)));
        assert_eq!(parse("simulate a.csv --rate 2000").unwrap().pace(), Pace::Rate(2000.0));
        assert_eq!(parse("simulate a.csv").unwrap().pace(), Pace::Credit);
        for wrong in [
            "simulate --items 501 a",
            "simulate --speed 0 a",
            "simulate --cut 3 a",
            "simulate a --vehicles 3",
            "simulate a --repeat 1.5",
            "simulate a --rate 0",
            "simulate a --rules exact --edits -1",
            "simulate a --watch --cut 0",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
