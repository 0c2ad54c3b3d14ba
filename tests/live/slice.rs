//! The bundled evenings of Austin's buses through real sockets, compared with an independent result: every event
//! once, and no others, in the store and on a feed that is cut again and again.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Parser;
use flate2::read::GzDecoder;
use tempfile::TempDir;
use waypost_client::simulate::{self, Options, Summary};
use waypost_test_support::{PASSWORD, ROOT, TestStore, for_each_engine};

use crate::server::{Server, stored_positions};

for_each_engine!(
    both_evenings_whole_with_a_feed_that_is_cut,
    one_fix_to_a_frame,
    seven_fixes_to_a_frame,
    five_hundred_fixes_to_a_frame,
);

/// A file of the bundle.
pub(crate) fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("demo").join(name)
}

/// What replays traces by the exact rules and expects these events.
pub(crate) fn options(url: &str, traces: &Path, expected: &Path) -> Options {
    let (fences, circles) = (bundled("fences.geojson.gz"), bundled("circles.json"));
    let mut options =
        Options::try_parse_from(["simulate", "--rules", "exact", "--quiet", "--server", url]).unwrap();
    options.email = Some(ROOT.into());
    options.password = Some(PASSWORD.into());
    options.files = vec![traces.to_owned()];
    options.fences = vec![fences];
    options.circles = vec![circles];
    options.expect = Some(expected.to_owned());
    options
}

async fn replay(store: &TestStore, options: impl FnOnce(&str) -> Options) -> Summary {
    let server = Server::start_with(store, |settings| settings.log = "warn".into()).await;
    let summary = simulate::run(options(&server.url)).await.unwrap();
    server.stop().await;
    assert!(summary.passed(), "{summary}");
    summary
}

async fn both_evenings_whole_with_a_feed_that_is_cut(store: TestStore) {
    let summary = replay(&store, |url| {
        let mut options = options(url, &bundled("traces.csv.gz"), &bundled("events_expected.csv.gz"));
        (options.watch, options.cut, options.check_inside) = (true, Some(0.5), Some(5));
        options
    })
    .await;
    let replay = &summary.replay;
    let refused: u64 = replay.refused.values().sum();
    assert_eq!((replay.stored + replay.duplicates, refused), (66_064 + 12_244, 22), "{summary}");
    // A commit that a busy machine's disk made doubtful comes again, as duplicates.
    if replay.retries + replay.reconnects == 0 {
        assert_eq!(replay.stored, 66_064, "{summary}");
    }
    assert_eq!(stored_positions(&store).await, 66_064);
    assert_eq!(summary.events.unwrap().found, 72_858);
    assert_eq!(summary.watch.unwrap().received, 72_858);
    assert!(summary.inside.unwrap().agreed > 0);
}

async fn one_fix_to_a_frame(store: TestStore) {
    part_in_frames_of(&store, 1).await;
}

async fn seven_fixes_to_a_frame(store: TestStore) {
    part_in_frames_of(&store, 7).await;
}

async fn five_hundred_fixes_to_a_frame(store: TestStore) {
    part_in_frames_of(&store, 500).await;
}

async fn part_in_frames_of(store: &TestStore, items: u16) {
    let part = Part::every(20);
    let summary = replay(store, |url| {
        let mut options = options(url, &part.traces, &part.expected);
        options.items = items;
        options
    })
    .await;
    assert_eq!(summary.events.unwrap().found as i64, part.events);
    assert_eq!(stored_positions(store).await, part.distinct_fixes);
}

/// The traces and events of some of the buses.
pub(crate) struct Part {
    pub(crate) traces: PathBuf,
    pub(crate) expected: PathBuf,
    pub(crate) events: i64,
    /// Fixes that are neither repetitions nor at 0,0.
    pub(crate) distinct_fixes: i64,
    _directory: TempDir,
}

impl Part {
    /// One bus in `step`.
    pub(crate) fn every(step: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (traces, expected) = (content("traces.csv.gz"), content("events_expected.csv.gz"));
        let mut all: Vec<&str> = traces.lines().skip(1).map(vehicle).collect();
        all.dedup();
        let some: HashSet<&str> = all.into_iter().step_by(step).collect();
        let cut = |name: &str, text: &str| {
            let (head, rows) = text.split_once('\n').unwrap();
            let rows: Vec<&str> = rows.lines().filter(|row| some.contains(vehicle(row))).collect();
            let path = directory.path().join(name);
            std::fs::write(&path, format!("{head}\n{}\n", rows.join("\n"))).unwrap();
            let place = |row: &&str| row.rsplitn(2, ',').last().unwrap().to_owned();
            let distinct: HashSet<String> =
                rows.iter().map(place).filter(|row| !row.ends_with(",0.0,0.0")).collect();
            (path, rows.len() as i64, distinct.len() as i64)
        };
        let (traces, _, distinct_fixes) = cut("traces.csv", &traces);
        let (expected, events, _) = cut("events.csv", &expected);
        Self { traces, expected, events, distinct_fixes, _directory: directory }
    }
}

fn vehicle(row: &str) -> &str {
    row.split(',').next().unwrap()
}

fn content(name: &str) -> String {
    let mut text = String::new();
    GzDecoder::new(File::open(bundled(name)).unwrap()).read_to_string(&mut text).unwrap();
    text
}
