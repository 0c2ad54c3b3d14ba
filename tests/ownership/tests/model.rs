//! The protocol keeps its promises in every state that is searched, and each mistake that it could be built with breaks one.
//!
//! Three nodes with more kinds of fault at once are too many states for every run: those tests are ignored. All three kinds with
//! two shards are 150 million states and more: a search for the program of this package (docs/cluster.md says what it found).

use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model};
use waypost_ownership::model::promises::{
    COMES_TO_REST, EPOCH_RISES, EPOCHS_IN_ORDER, NO_ANSWER_FROM_THE_PAST, NOTHING_LOST, ONE_CORE,
};
use waypost_ownership::model::{Action, Limits, Mistake, Ownership, Ranking};

/// One shard: what is shared between shards is not asked for.
const ONE_SHARD: Limits = Limits { shards: 1, ..Limits::CALM };

/// Searches everything, and fails at a promise that is broken or at what should have been come past and was not.
fn assert_kept(limits: Limits) {
    let began = Instant::now();
    let checker = Ownership::new(limits).checker().threads(2).spawn_dfs().join();
    let (states, ticks) = (checker.unique_state_count(), checker.model().longest_recovery());
    println!(
        "{limits:?}: {states} states in {:.1?}; at rest {ticks} ticks after the faults",
        began.elapsed()
    );
    checker.assert_properties();
}

/// The shortest way to a state that breaks a promise. A search goes on for some states when it has found one, and tells the last:
/// so it is searched again for shorter ways, until there is none.
fn shortest_to(promise: &'static str, limits: Limits, mistakes: &[Mistake]) -> Option<Vec<Action>> {
    let mut shortest: Option<Vec<Action>> = None;
    loop {
        let checker = Ownership::with(limits, mistakes).checker();
        let checker = checker.finish_when(HasDiscoveries::AnyOf([promise].into()));
        let checker = match &shortest {
            // Depths are counted in states, and the last is left out.
            Some(way) => checker.target_max_depth(way.len() + 1),
            None => checker,
        };
        let checker = checker.spawn_bfs().join();
        let Some(found) = checker.discovery(promise) else { break };
        shortest = Some(found.into_actions());
    }
    println!("{mistakes:?}: {promise}: {shortest:?}");
    shortest
}

/// A mistake breaks a promise, which without it is kept within the same limits.
fn assert_found(promise: &'static str, limits: Limits, mistake: Mistake) {
    assert!(shortest_to(promise, limits, &[mistake]).is_some(), "{mistake:?} was not found");
    assert_eq!(shortest_to(promise, limits, &[]), None);
}

#[test]
fn two_shards_without_a_fault() {
    assert_kept(Limits::CALM);
}

#[test]
fn two_shards_and_a_pause() {
    assert_kept(Limits { pauses: 1, fixes: 1, ..Limits::CALM });
}

#[test]
fn two_shards_and_a_failover() {
    assert_kept(Limits { failovers: 1, fixes: 1, ..Limits::CALM });
}

#[test]
fn two_shards_that_rank_the_nodes_alike() {
    let limits = Limits { fixes: 1, ranking: Ranking::Alike, ..Limits::CALM };
    assert_kept(Limits { pauses: 1, ..limits });
    assert_kept(Limits { failovers: 1, ..limits });
}

#[test]
fn one_shard_and_two_pauses() {
    assert_kept(Limits { pauses: 2, ..ONE_SHARD });
}

#[test]
fn one_shard_with_a_pause_and_a_lost_connection() {
    assert_kept(Limits { pauses: 1, lost_connections: 1, ..ONE_SHARD });
}

#[test]
fn two_nodes_with_all_faults() {
    assert_kept(Limits { nodes: 2, pauses: 1, lost_connections: 1, failovers: 1, ..ONE_SHARD });
}

#[test]
#[ignore = "some million states with a failover"]
fn two_shards_with_each_two_kinds_of_fault() {
    let limits = Limits { pauses: 1, lost_connections: 1, failovers: 1, fixes: 1, ..Limits::CALM };
    for ranking in [Ranking::OwnNode, Ranking::Alike] {
        let limits = Limits { ranking, ..limits };
        for left_out in [
            Limits { failovers: 0, ..limits },
            Limits { lost_connections: 0, ..limits },
            Limits { pauses: 0, ..limits },
        ] {
            assert_kept(left_out);
        }
    }
}

#[test]
#[ignore = "four million states"]
fn one_shard_with_all_faults() {
    assert_kept(Limits { pauses: 1, lost_connections: 1, failovers: 1, fixes: 1, ..ONE_SHARD });
}

#[test]
fn a_commit_without_the_epoch_comes_after_its_successors() {
    let limits = Limits { nodes: 2, pauses: 1, ..ONE_SHARD };
    assert_found(EPOCHS_IN_ORDER, limits, Mistake::CommitsWithoutTheEpoch);
    assert_found(NOTHING_LOST, limits, Mistake::CommitsWithoutTheEpoch);
}

#[test]
fn an_epoch_that_is_kept_lets_two_commit() {
    let limits = Limits { nodes: 2, pauses: 1, ..ONE_SHARD };
    assert_found(ONE_CORE, limits, Mistake::KeepsTheEpoch);
    assert_found(NOTHING_LOST, limits, Mistake::KeepsTheEpoch);
}

#[test]
fn seeds_read_before_the_epoch_is_raised_lack_what_is_committed_in_between() {
    assert_found(NOTHING_LOST, Limits { nodes: 2, pauses: 1, ..ONE_SHARD }, Mistake::ReadsSeedsFirst);
}

#[test]
fn seeds_read_after_the_shard_was_lost_tell_what_its_owner_has_not_heard() {
    let limits = Limits { nodes: 2, pauses: 1, ..ONE_SHARD };
    assert_found(NO_ANSWER_FROM_THE_PAST, limits, Mistake::TrustsLateSeeds);
}

#[test]
fn an_epoch_raised_over_another_connection_takes_the_shard_from_who_has_the_lock() {
    let limits = Limits { nodes: 2, lost_connections: 1, ..ONE_SHARD };
    assert_found(NO_ANSWER_FROM_THE_PAST, limits, Mistake::RaisesOverAnotherConnection);
}

#[test]
fn a_lock_kept_by_who_was_taken_over_keeps_the_shard_from_everybody() {
    let limits = Limits { nodes: 2, lost_connections: 1, ..ONE_SHARD };
    let kept = [Mistake::RaisesOverAnotherConnection, Mistake::KeepsTheLockWhenTakenOver];
    assert!(shortest_to(COMES_TO_REST, limits, &kept).is_some());
    assert_eq!(shortest_to(COMES_TO_REST, limits, &kept[..1]), None);
}

#[test]
fn a_lock_given_back_before_the_core_has_stopped_lets_it_answer_from_the_past() {
    let limits = Limits { pauses: 1, ..ONE_SHARD };
    assert_found(NO_ANSWER_FROM_THE_PAST, limits, Mistake::UnlocksFirst);
}

#[test]
fn a_lease_counted_from_the_end_of_the_beat_outlives_the_session() {
    let limits = Limits { nodes: 2, pauses: 1, ..ONE_SHARD };
    assert_found(NO_ANSWER_FROM_THE_PAST, limits, Mistake::CountsFromTheEnd);
}

#[test]
fn a_clock_that_stands_still_in_a_pause_lets_the_past_be_answered() {
    let limits = Limits { nodes: 2, pauses: 1, ..ONE_SHARD };
    assert_found(NO_ANSWER_FROM_THE_PAST, limits, Mistake::ClockThatSleeps);
}

#[test]
fn a_beat_that_only_reads_believes_an_old_primary() {
    let limits = Limits { nodes: 2, failovers: 1, ..ONE_SHARD };
    assert_found(NO_ANSWER_FROM_THE_PAST, limits, Mistake::BeatsWithoutWriting);
}

#[test]
fn a_commit_without_the_standby_is_lost_and_its_epoch_is_given_again() {
    let limits = Limits { nodes: 2, failovers: 1, ..ONE_SHARD };
    for promise in [EPOCH_RISES, NOTHING_LOST, ONE_CORE] {
        assert_found(promise, limits, Mistake::CommitsWithoutTheStandby);
    }
}

#[test]
fn a_lease_longer_than_the_databases_patience_lets_the_past_be_answered() {
    let limits = Limits { nodes: 2, pauses: 1, lease_ticks: 4, ..ONE_SHARD };
    assert!(shortest_to(NO_ANSWER_FROM_THE_PAST, Limits { idle_ticks: 3, ..limits }, &[]).is_some());
    assert_eq!(shortest_to(NO_ANSWER_FROM_THE_PAST, Limits { idle_ticks: 5, ..limits }, &[]), None);
}
