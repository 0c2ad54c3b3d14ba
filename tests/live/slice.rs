//! The bundled evenings of Austin's buses through real sockets, against an independent answer: every
//! event once, none more, in the store and on a feed that is cut again and again.

use std::path::{Path, PathBuf};

use clap::Parser;
use waypost::cli::simulate::{self, Options, Summary};
use waypost_test_support::{TestStore, for_each_engine};

use crate::server::{PASSWORD, ROOT, Server, stored_positions};

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
    let mut options = Options::try_parse_from(["simulate", "--rules", "exact", "--quiet", "--server", url]).unwrap();
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
    eprintln!("{summary}");
    let refused: u64 = summary.replay.refused.values().sum();
    assert_eq!((summary.replay.stored, summary.replay.duplicates, refused), (66_064, 12_244, 22));
    assert_eq!(stored_positions(&store).await, 66_064);
    assert_eq!(summary.events.unwrap().found, 72_858);
    assert_eq!(summary.watch.unwrap().received, 72_858);
    assert!(summary.inside.unwrap().agreed > 0);
}
async fn one_fix_to_a_frame(_: TestStore) {}
async fn seven_fixes_to_a_frame(_: TestStore) {}
async fn five_hundred_fixes_to_a_frame(_: TestStore) {}
