//! The pure engine against the reference answer of an independent script: real buses in real fences.
//! The same data goes through sockets and stores in `tests/live`.
//!
//! On a whole data set (see `data`), with its figures:
//! `WAYPOST_TEST_DATA=folder cargo test --test reference -- --ignored --nocapture`.

mod alerts;
mod data;
mod moves;
mod real;
mod replay;
mod visits;

use std::collections::{BTreeMap, HashSet};

use waypost_actors::model::{Rules, VehicleLimits};
use waypost_actors::tracking::{AlertRule, Freshness};

use crate::data::{Data, bundled, from_folder};
use crate::replay::{NO_LIMITS, Replay, replay};
use crate::visits::{Figures, figures};

/// The defaults a vehicle is given.
const DEFAULT_LIMITS: VehicleLimits =
    VehicleLimits { max_speed_kmh: Some(250.0), max_accuracy_meters: Some(200.0), overspeed_kmh: None };

fn assert_as_expected(data: &Data, replay: &Replay) {
    let found = replay.lines();
    let difference = found.iter().zip(&data.expected).find(|(found, expected)| found != expected);
    assert_eq!((difference, found.len()), (None, data.expected.len()));
    let ids: HashSet<_> = replay.events().map(|event| event.id).collect();
    assert_eq!(ids.len(), found.len(), "every event has an id of its own");
}

/// With exact rules as the data has it; with default rules without the jitter.
fn both(data: &Data) -> [Figures; 2] {
    let exact = replay(data, Rules::EXACT, NO_LIMITS);
    assert_as_expected(data, &exact);
    [figures(&exact), figures(&replay(data, Rules::default(), DEFAULT_LIMITS))]
}

fn assert_jitter_is_gone([exact, default]: &[Figures; 2]) {
    assert_eq!(exact.uncovered, 0, "{exact}");
    // Single fixes of a standing vehicle are not believed.
    assert!(default.uncovered * 10_000 <= default.inside, "{default}");
    assert!(default.jitter * 20 <= exact.jitter, "{exact}\n{default}");
}

#[test]
fn every_reference_event_and_none_more() {
    let data = bundled();
    let exact = replay(&data, Rules::EXACT, NO_LIMITS);
    assert_eq!(data.refused, BTreeMap::from([("nullIsland", 22)]));
    let rows = || exact.effects.iter().flat_map(|(_, effects)| &effects.rows);
    let duplicates: u64 = exact.effects.iter().map(|(_, effects)| effects.duplicates).sum();
    assert_eq!((rows().count(), duplicates), (66_064, 12_244));
    assert!(rows().all(|row| row.freshness == Freshness::Fresh && row.quarantine.is_none()));
    assert_eq!(data.expected.len(), 72_858);
    assert_as_expected(&data, &exact);
}

#[test]
fn default_rules_take_the_jitter_out_and_lose_next_to_no_fix_inside() {
    let figures = both(&bundled());
    assert!(figures[0].jitter > 100 && figures[0].inside > 100_000, "{}", figures[0]);
    assert_jitter_is_gone(&figures);
}

/// Whatever is held back while vehicles stand, real visits are found, at the same instants: all but one in 100,000, of
/// those that rest on a single fix of a vehicle that stood before and after it, and reported 0 km/h.
///
/// How many there are, and how many of them are lost.
fn assert_real_visits_are_found(data: &Data) -> (usize, usize) {
    let real = real::real(&replay(data, Rules::EXACT, NO_LIMITS));
    let found = |infer_passages, hold_while_standing| {
        let rules = Rules { infer_passages, hold_while_standing, ..Rules::default() };
        real::all(&replay(data, rules, NO_LIMITS))
    };
    let held = found(false, true);
    let lost: Vec<_> = real.iter().filter(|visit| !held.contains(*visit)).collect();
    let count = lost.len();
    assert!(lost.len() * 100_000 <= real.len(), "{} of {}: {lost:#?}", lost.len(), real.len());
    // A chord beside a visit makes one longer visit of both, with the rule as without it.
    let (held, believed) = (found(true, true), found(true, false));
    let lost: Vec<_> =
        real.iter().filter(|visit| believed.contains(*visit) && !held.contains(*visit)).collect();
    assert!(lost.len() * 100_000 <= real.len(), "{} of {}: {lost:#?}", lost.len(), real.len());
    (real.len(), count)
}

#[test]
fn every_real_visit_is_found_while_noise_is_held_back() {
    let (real, lost) = assert_real_visits_are_found(&bundled());
    assert!(real > 20_000 && lost == 0, "{lost} of {real}");
}

#[test]
#[ignore = "needs a whole data set in the folder WAYPOST_TEST_DATA"]
fn a_whole_data_set() {
    let data = from_folder();
    println!(
        "{} fixes, {} fences, {} reference events: the same",
        data.fixes.len(),
        data.fences.len(),
        data.expected.len()
    );
    let found = both(&data);
    println!("exact:   {}\ndefault: {}", found[0], found[1]);
    assert_jitter_is_gone(&found);
    let believed = Rules { hold_while_standing: false, ..Rules::default() };
    println!("without holding back: {}", figures(&replay(&data, believed, DEFAULT_LIMITS)));
    let (real, lost) = assert_real_visits_are_found(&data);
    println!("{real} real visits, {lost} of them lost while noise is held back");
}

/// By default the only alerts of a fleet without fuel are of silence: no limit of speed is set, and no limit of stays. What
/// limits make of it is printed beside.
#[test]
#[ignore = "needs a whole data set in the folder WAYPOST_TEST_DATA"]
fn alert_rates() {
    let data = from_folder();
    let by_default = alerts::silences(&data);
    println!("{}", by_default.line("by default"));
    for kmh in [80.0, 105.0] {
        let limits = VehicleLimits { overspeed_kmh: Some(kmh), ..DEFAULT_LIMITS };
        let over = alerts::of_timeline(&data, AlertRule::Overspeed, Rules::default(), limits);
        println!("{}", over.line(&format!("over {kmh} km/h")));
    }
    let rules = Rules { dwell_after_seconds: Some(8.0 * 3_600.0), ..Rules::default() };
    let long = alerts::of_timeline(&data, AlertRule::Dwell, rules, DEFAULT_LIMITS);
    println!("{}", long.line("stays of eight hours in any fence"));
    assert!(by_default.per_hour() <= 6.0, "a dispatcher is flooded");
}

/// Writes the stops of the recorded buses, for `tools/compare_stops.py`: vehicle, from and to in milliseconds since 1970.
#[test]
#[ignore = "needs the name of the file to write, WAYPOST_TEST_STOPS"]
fn stops_of_recorded_buses() {
    let path = std::env::var("WAYPOST_TEST_STOPS").expect("the file to write");
    let data = if std::env::var_os("WAYPOST_TEST_DATA").is_some() { from_folder() } else { bundled() };
    let replayed = replay(&data, Rules::default(), DEFAULT_LIMITS);
    std::fs::write(path, replayed.stops(&data)).expect("written");
}
