//! Rows that the store never takes, and answers of the store that cannot be true.

use std::time::Duration;

use futures_util::future::join_all;
use waypost_actors::live::{Health, LiveConfig, LiveError};
use waypost_actors::meters::{Invariant, NumberingStep};
use waypost_actors::model::Fix;
use waypost_actors::ports::Counts;
use waypost_actors::report::ReportOutcome;
use waypost_actors::watch::{Audience, Interest, News};

use crate::client::deliver;
use crate::store::Fault::{self, Doubt, Hang, Miscount, Misnumber, Refuse};
use crate::watching::news;
use crate::world::{INSIDE, OUTSIDE, World, crossings, eventually, fix, quick, vehicle, within};

const VEHICLES: u128 = 16;

fn stored(many: u64) -> Counts {
    Counts { stored: many, duplicates: 0 }
}

/// Other vehicles and connections notice nothing.
#[actix_rt::test]
async fn a_poison_row_costs_its_fix_alone() {
    let world = World::with(VEHICLES + 1, quick()).await;
    let fixes = crossings(10);
    // Two of its ten fixes, one of them the last.
    let poison = vec![fixes[3], fixes[9]];
    world.store.poison(Some(poison.clone()));
    world.store.hold();
    let mut first = world.live.reporter();
    let held = first.report(vehicle(VEHICLES + 1), vec![fix(0.0, OUTSIDE)]).await.unwrap();
    eventually("a commit began", || world.store.commits() == 1).await;
    let mut pending = Vec::new();
    for number in 1..=VEHICLES {
        let own: Vec<Fix> = if number == 7 { fixes.clone() } else { vec![fix(0.0, INSIDE)] };
        pending.push(within(world.live.reporter().report(vehicle(number), own)).await.unwrap());
    }
    world.store.release();
    within(held.outcome()).await.unwrap();
    let outcome = join_all(pending.into_iter().map(|pending| within(pending.outcome()))).await;
    for (number, outcome) in (1..).zip(outcome) {
        let outcome = outcome.unwrap();
        if number == 7 {
            assert_eq!(outcome.counts, stored(8));
            assert_eq!(outcome.refused.iter().map(|(place, _)| *place).collect::<Vec<_>>(), [3, 9]);
        } else {
            assert_eq!(outcome, ReportOutcome { counts: stored(1), ..ReportOutcome::default() });
        }
    }
    assert_eq!(world.store.quarantined(), poison.iter().map(|fix| (vehicle(7), *fix)).collect::<Vec<_>>());
    let meters = world.live.meters();
    assert_eq!((meters.failed_commits.get(), meters.refused_by_store.get()), (0, 2));
    assert!(world.live.is_available());
    // The one batch of all came in halves, of which those without a poison row were committed whole.
    assert!(world.store.came().iter().any(|came| came.writes == VEHICLES as usize / 2));
    world.end().await;
}

/// What the vehicle judged by a state that never came to be is judged again, by the one that is stored.
#[actix_rt::test]
async fn what_stands_behind_a_refused_write_comes_again() {
    let world = World::with(1, quick()).await;
    let fixes = crossings(9);
    world.store.poison(Some(vec![fixes[4]]));
    world.store.hold();
    let mut reporter = world.live.reporter();
    let mut pending = Vec::new();
    for three in fixes.chunks(3) {
        pending.push(within(reporter.report(vehicle(1), three.to_vec())).await.unwrap());
    }
    world.store.release();
    let mut ends = Vec::new();
    for pending in pending {
        ends.push(within(pending.outcome()).await);
    }
    assert_eq!(ends[0], Ok(ReportOutcome { counts: stored(3), ..ReportOutcome::default() }));
    let second = ends[1].as_ref().unwrap();
    assert_eq!((second.counts, second.refused.len()), (stored(2), 1));
    assert_eq!(ends[2], Err(LiveError::Unavailable), "it was judged from a state that is not stored");
    let third = within(reporter.report(vehicle(1), fixes[6..].to_vec())).await.unwrap();
    assert_eq!(within(third.outcome()).await.unwrap().counts, stored(3));
    assert_eq!(world.store.fix_count(), 8);
    world.end().await;
}

/// What waits for numbers gets them before the transaction, and keeps them if that is refused.
#[actix_rt::test]
async fn what_was_numbered_before_a_refused_write_counts() {
    let world = World::with(2, quick()).await;
    eventually("changes were looked for", || world.store.numberings() == 1).await;
    let fixes = crossings(9);
    world.store.poison(Some(vec![fixes[0]]));
    world.store.hold();
    let held = world.live.reporter().report(vehicle(2), vec![fix(0.0, OUTSIDE)]).await.unwrap();
    eventually("a commit began", || world.store.commits() == 1).await;
    let mut reporter = world.live.reporter();
    let refused = within(reporter.report(vehicle(1), vec![fixes[0]])).await.unwrap();
    world.store.change(3);
    world.live.number_changes();
    world.store.release();
    within(held.outcome()).await.unwrap();
    assert_eq!(within(refused.outcome()).await.unwrap().refused.len(), 1);
    let next = within(reporter.report(vehicle(1), fixes[1..].to_vec())).await.unwrap();
    assert_eq!(within(next.outcome()).await.unwrap().counts, stored(8));
    assert_eq!(world.store.numberings(), 2);
    assert!(!world.store.events().is_empty() && world.live.is_available());
    world.end().await;
}

/// It was told before the transaction, and is not among what is read back after it.
#[actix_rt::test]
async fn what_was_numbered_before_a_commit_that_failed_is_told_once() {
    let world = World::with(2, quick()).await;
    eventually("changes were looked for", || world.store.numberings() == 1).await;
    let mut watch = world.live.watch(Interest::of_log(Audience::Everyone)).await.unwrap();
    world.store.plan(&[Fault::None, Refuse]);
    world.store.hold();
    let held = world.live.reporter().report(vehicle(2), vec![fix(0.0, OUTSIDE)]).await.unwrap();
    eventually("a commit began", || world.store.commits() == 1).await;
    let failed = within(world.live.reporter().report(vehicle(1), vec![fix(0.0, OUTSIDE)])).await.unwrap();
    world.store.change(3);
    world.live.number_changes();
    world.store.release();
    within(held.outcome()).await.unwrap();
    assert_eq!(within(failed.committed()).await, Err(LiveError::Unavailable));
    eventually("the store is back", || world.live.is_available()).await;
    let mut told = Vec::new();
    while let Some(next) = news(&mut watch) {
        match next {
            News::Commit(update, _) => told.extend(update.changes.iter().map(|change| change.sequence)),
            News::Provisional(_) => {}
            News::Lost => panic!("nobody is slow here"),
        }
    }
    let numbers = world.store.books().changes.clone();
    assert_eq!((told.len(), told), (3, numbers));
    world.end().await;
}

#[actix_rt::test]
async fn drivers_that_the_store_refuses_to_put_right_hold_up_nothing() {
    let world = World::with(1, quick()).await;
    eventually("changes were looked for", || world.store.numberings() == 1).await;
    world.store.refuse_drivers();
    world.live.number_changes();
    eventually("it is refused", || world.store.numberings() == 2).await;
    let pending = within(world.live.reporter().report(vehicle(1), vec![fix(0.0, OUTSIDE)])).await.unwrap();
    assert_eq!(within(pending.outcome()).await.unwrap().counts, stored(1));
    assert_eq!(world.live.meters().failed_commits.get(), 0);
    world.live.number_changes();
    eventually("it is tried again", || world.store.numberings() == 3).await;
    assert_eq!(world.live.meters().numbering_failures(NumberingStep::Drivers), 1);
    world.end().await;
}

/// Whether it numbered anything, without an answer, is read back before anything else gets a number.
#[actix_rt::test]
async fn a_numbering_that_fails_holds_up_nothing_and_is_tried_again() {
    let world = World::with(1, quick()).await;
    eventually("changes were looked for", || world.store.numberings() == 1).await;
    let meters = world.live.meters();
    let mut reporter = world.live.reporter();
    for (fault, fix, failures) in [(Refuse, fix(0.0, INSIDE), 1), (Doubt, fix(1.0, OUTSIDE), 2)] {
        world.store.plan_numberings(&[fault]);
        world.store.change(3);
        world.live.number_changes();
        eventually("it fails", || meters.numbering_failures(NumberingStep::Changes) == failures).await;
        let pending = within(reporter.report(vehicle(1), vec![fix])).await.unwrap();
        assert_eq!(within(pending.outcome()).await.unwrap().counts, stored(1));
        eventually("it is tried again", || world.store.books().waiting_changes == 0).await;
    }
    assert_eq!(meters.failed_commits.get(), 0);
    assert!(world.live.is_available());
    assert_eq!(meters.violations(Invariant::EventNumbers), 0);
    world.end().await;
}

/// One wait is all that a commit has for what is numbered beside it.
#[actix_rt::test]
async fn a_numbering_that_hangs_holds_up_a_commit_once() {
    // Longer than a test waits: only a full batch is committed sooner, with all that is due.
    let (batch_window, commit_timeout) = (Duration::from_secs(600), Duration::from_secs(1));
    let world =
        World::with(5, LiveConfig { batch_window, commit_timeout, max_batch_rows: 4, ..quick() }).await;
    eventually("changes were looked for", || world.store.numberings() == 1).await;
    let mut reporter = world.live.reporter();
    let first = within(reporter.report(vehicle(1), vec![fix(0.0, OUTSIDE)])).await.unwrap();
    assert_eq!(within(first.outcome()).await.unwrap().counts, stored(1));
    world.store.plan_numberings(&[Hang]);
    world.store.change(3);
    world.live.number_changes();
    for full_batch in [[2, 3], [4, 5]] {
        let mut pending = Vec::new();
        for number in full_batch {
            let own = vec![fix(0.0, OUTSIDE)];
            pending.push(within(reporter.report(vehicle(number), own)).await.unwrap());
        }
        for pending in pending {
            assert_eq!(within(pending.outcome()).await.unwrap().counts, stored(1));
        }
    }
    let numberings: Vec<usize> = world.store.came().iter().map(|came| came.numberings).collect();
    assert_eq!(numberings, [1, 1, 2], "the step behind the one that hangs is for the next commit");
    let meters = world.live.meters();
    assert_eq!((meters.numbering_failures(NumberingStep::Changes), meters.failed_commits.get()), (1, 0));
    world.end().await;
}

#[actix_rt::test]
async fn poison_among_many_reports_loses_and_doubles_nothing_else() {
    let world = World::with(4, LiveConfig { max_batch_rows: 12, ..quick() }).await;
    let fixes = crossings(60);
    let poison = vec![fixes[11], fixes[12], fixes[40]];
    world.store.poison(Some(poison.clone()));
    let clean: Vec<Fix> = fixes.iter().filter(|fix| !poison.contains(fix)).copied().collect();
    let mut reporter = world.live.reporter();
    let poisoned = async {
        let mut refused = 0;
        for three in fixes.chunks(3) {
            let pending = within(reporter.report(vehicle(1), three.to_vec())).await.unwrap();
            refused += within(pending.outcome()).await.unwrap().refused.len();
        }
        refused
    };
    let others = join_all((2..=4).map(|n| deliver(&world.live, &world.store, vehicle(n), &clean, 4)));
    let (refused, _) = futures_util::future::join(poisoned, others).await;
    assert_eq!(refused, 3);
    assert!(world.store.holds(vehicle(1), &clean));
    assert_eq!(world.store.fix_count(), 4 * clean.len());
    world.end().await;
}

/// As many as lie within one damaged row.
#[actix_rt::test]
async fn however_many_fixes_of_one_vehicle_are_refused_the_store_is_not_away() {
    let world = World::with(1, quick()).await;
    let fixes = crossings(100);
    world.store.poison(Some(fixes.clone()));
    let pending = within(world.live.reporter().report(vehicle(1), fixes.clone())).await.unwrap();
    assert_eq!(within(pending.outcome()).await.unwrap().refused.len(), 100);
    assert_eq!((world.store.quarantined().len(), world.live.meters().failed_commits.get()), (100, 0));
    world.end().await;
}

#[actix_rt::test]
async fn a_store_that_refuses_everything_is_away() {
    let world = World::with(100, quick()).await;
    world.store.poison(None);
    let reports = (1..=100).map(|number| {
        let mut reporter = world.live.reporter();
        async move {
            match within(reporter.report(vehicle(number), vec![fix(0.0, INSIDE)])).await {
                Ok(pending) => within(pending.outcome()).await,
                Err(error) => Err(error),
            }
        }
    });
    let ends = join_all(reports).await;
    let kept = ends.iter().filter(|end| **end == Err(LiveError::Unavailable)).count();
    assert!(kept >= 36, "64 were enough to see that it is not them: {kept}");
    world.store.poison(Some(vec![]));
    eventually("the store is back", || world.live.is_available()).await;
    let mut reporter = world.live.reporter();
    let pending = within(reporter.report(vehicle(100), vec![fix(0.0, INSIDE)])).await.unwrap();
    assert_eq!(within(pending.outcome()).await.unwrap().counts, stored(1));
    world.end().await;
}

#[actix_rt::test]
async fn a_commit_that_does_not_account_for_a_fix_is_read_back() {
    let world = World::with(1, quick()).await;
    world.store.plan(&[Miscount]);
    let mut reporter = world.live.reporter();
    let pending = within(reporter.report(vehicle(1), crossings(2))).await.unwrap();
    assert_eq!(within(pending.outcome()).await, Err(LiveError::Unavailable));
    eventually("the store is read back", || world.live.is_available()).await;
    let again = within(reporter.report(vehicle(1), crossings(3))).await.unwrap();
    assert_eq!(within(again.committed()).await, Ok(Counts { stored: 1, duplicates: 2 }));
    assert_eq!(world.live.meters().violations(Invariant::Accounts), 1);
    assert_eq!(world.live.health(), Health::Well);
    within(world.live.stop()).await;
    world.store.audit();
}

#[actix_rt::test]
async fn wrong_numbers_stop_the_writer_for_good() {
    let world = World::with(1, quick()).await;
    world.store.plan(&[Misnumber]);
    let mut reporter = world.live.reporter();
    let pending = within(reporter.report(vehicle(1), crossings(2))).await.unwrap();
    assert_eq!(within(pending.outcome()).await, Err(LiveError::Unavailable));
    assert!(within(world.live.broken()).await.contains("numbered"));
    assert_eq!(world.live.meters().violations(Invariant::EventNumbers), 1);
    let refused = within(reporter.report(vehicle(1), crossings(3))).await;
    assert_eq!(refused.unwrap_err(), LiveError::Stopped);
    within(world.live.stop()).await;
}
