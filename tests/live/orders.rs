//! The bundled buses in any order of sending, with the same result as in order: every event, with all its members.

use std::path::Path;

use tempfile::TempDir;
use waypost_client::simulate::{self, Options, Order, RuleSet, Summary};
use waypost_test_support::{TestStore, for_each_engine};

use crate::server::{Server, stored_positions};
use crate::slice::{Part, options};

for_each_engine!(
    shuffled_and_repeated_by_exact_rules_it_ends_as_the_reference_says,
    newest_first_by_exact_rules_it_ends_as_the_reference_says,
    by_the_default_rules_no_order_changes_what_an_event_says,
);

async fn play(server: &Server, part: &Part, set: impl FnOnce(&mut Options)) -> Summary {
    let mut options = options(&server.url, &part.traces, &part.expected);
    (options.watch, options.items) = (true, 40);
    set(&mut options);
    let summary = simulate::run(options).await.unwrap();
    assert!(summary.passed(), "{summary}");
    summary
}

async fn shuffled_and_repeated_by_exact_rules_it_ends_as_the_reference_says(store: TestStore) {
    let part = Part::every(20);
    let server = Server::start_with(&store, |settings| settings.log = "warn".into()).await;
    let summary = play(&server, &part, |options| {
        (options.order, options.repeat, options.cut) = (Order::Shuffled, 0.3, Some(1.0));
    })
    .await;
    assert_eq!(summary.events.unwrap().found as i64, part.events);
    assert_eq!(stored_positions(&store).await, part.distinct_fixes);
    server.stop().await;
}

async fn newest_first_by_exact_rules_it_ends_as_the_reference_says(store: TestStore) {
    let part = Part::every(20);
    let server = Server::start_with(&store, |settings| settings.log = "warn".into()).await;
    let summary = play(&server, &part, |options| options.order = Order::NewestFirst).await;
    assert_eq!(summary.events.unwrap().found as i64, part.events);
    server.stop().await;
}

async fn by_the_default_rules_no_order_changes_what_an_event_says(store: TestStore) {
    let part = Part::every(25);
    let directory = TempDir::new().unwrap();
    let saved = directory.path().join("events.csv");
    let server = Server::start_with(&store, |settings| settings.log = "warn".into()).await;
    play(&server, &part, |options| {
        (options.rules, options.expect, options.save) = (RuleSet::Default, None, Some(saved.clone()));
    })
    .await;
    assert!(events(&saved) > 100, "too few events to say anything");
    for order in [Order::NewestFirst, Order::Shuffled] {
        play(&server, &part, |options| {
            (options.rules, options.expect) = (RuleSet::Default, Some(saved.clone()));
            (options.order, options.repeat) = (order, 0.2);
        })
        .await;
    }
    server.stop().await;
}

fn events(saved: &Path) -> usize {
    std::fs::read_to_string(saved).unwrap().lines().count() - 1
}
