//! What is promised of every state, and what has to be reached so that a search is worth anything.

use stateright::Property;

use super::state::{Core, State, Transaction};
use super::{Mistake, Ownership};

/// A commit never carries an older epoch than one before it.
pub const EPOCHS_IN_ORDER: &str = "the epochs of a shard's commits never fall";
/// No two cores ever commit under one epoch.
pub const ONE_CORE: &str = "an epoch belongs to one core";
/// Acknowledged is stored, once, by who knew all before it.
pub const NOTHING_LOST: &str = "nothing acknowledged is lost or repeated";
/// The row of a writer only ever goes up.
pub const EPOCH_RISES: &str = "the epoch of a shard never falls";
/// From every state there is a way back to one owner for each shard, without another fault.
pub const COMES_TO_REST: &str = "every shard has its owner again soon after the faults";
/// Nothing is answered from memory that another node has overtaken. Only where a session was ended from outside, so that
/// its locks were free at once, may an answer be old, and by no more than a lease.
pub const NO_ANSWER_FROM_THE_PAST: &str = "no answer from the past";

/// Ticks within which every shard has its owner again: the database finds a session idle, the owner sees it at its next beat,
/// and two more beats for nodes that come back and are given their part.
const REST_WITHIN: u8 = 3;

/// All that is promised, and what the limits let happen.
pub(super) fn properties() -> Vec<Property<Ownership>> {
    vec![
        Property::always(EPOCHS_IN_ORDER, |_, state: &State| !state.broken.order_of_epochs),
        Property::always(ONE_CORE, |_, state: &State| has_one_core_each(state)),
        Property::always(NOTHING_LOST, |_, state: &State| {
            !state.broken.memory && state.shards.iter().all(|shard| shard.acknowledged <= shard.rows)
        }),
        Property::always(EPOCH_RISES, |_, state: &State| !state.broken.epoch),
        Property::always(COMES_TO_REST, |model: &Ownership, state: &State| {
            model.rests_after(state).is_some_and(|ticks| ticks <= model.limits.idle_ticks + REST_WITHIN)
        }),
        Property::always(NO_ANSWER_FROM_THE_PAST, |model: &Ownership, state: &State| {
            model.old_answers(state).all(|(node, _)| model.is_excused(state, node))
        }),
    ]
}

/// What a search with every kind of fault has to come past; otherwise it has not looked where it matters.
pub(super) fn landmarks() -> Vec<Property<Ownership>> {
    vec![
        Property::sometimes("a core is taken over", |_, state: &State| {
            state.nodes.iter().flat_map(|node| node.cores).any(|core| core == Core::Ended)
        }),
        Property::sometimes("a shard is given back", |_, state: &State| {
            state.nodes.iter().flat_map(|node| node.cores).any(|core| matches!(core, Core::Stopping { .. }))
        }),
        Property::sometimes(
            "a paused node is within a transaction that its successor waits for",
            |_, state: &State| {
                state.nodes.iter().enumerate().any(|(index, node)| match node.transaction {
                    Transaction::Begun { shard, .. } => {
                        let holder = state.shards[usize::from(shard)].holder;
                        node.is_paused && holder.is_some_and(|holder| usize::from(holder) != index)
                    }
                    _ => false,
                })
            },
        ),
        Property::sometimes("a commit is in doubt and stored", |_, state: &State| {
            state.nodes.iter().any(|node| match node.transaction {
                Transaction::InDoubt { shard } => {
                    let stored = state.shards[usize::from(shard)];
                    let core = node.cores[usize::from(shard)];
                    core.committer().is_some_and(|(epoch, seen)| epoch == stored.epoch && seen < stored.rows)
                }
                _ => false,
            })
        }),
        Property::sometimes("all is acknowledged", |model: &Ownership, state: &State| {
            state.shards[..model.limits.shards].iter().all(|shard| shard.acknowledged == model.limits.fixes)
        }),
        Property::sometimes("an answer is old and within its bound", |model: &Ownership, state: &State| {
            model.old_answers(state).any(|(node, _)| model.is_excused(state, node))
        }),
    ]
}

fn has_one_core_each(state: &State) -> bool {
    (0..state.shards.len()).all(|shard| {
        let epochs = |index: usize| state.nodes[index].cores[shard].epoch();
        let pairs = (0..state.nodes.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
        pairs.into_iter().all(|(one, other)| epochs(one).is_none() || epochs(one) != epochs(other))
    })
}

impl Ownership {
    /// The nodes and shards of which a question would now be answered without a fix that a tracker knows to be stored.
    fn old_answers<'a>(&'a self, state: &'a State) -> impl Iterator<Item = (usize, usize)> + 'a {
        let all =
            (0..self.limits.nodes).flat_map(|node| (0..self.limits.shards).map(move |shard| (node, shard)));
        all.filter(|&(index, shard)| {
            let node = &state.nodes[index];
            let knows = match node.cores[shard] {
                Core::Serving { seen, .. } => seen,
                Core::Stopping { seen, .. } if self.makes(Mistake::UnlocksFirst) => seen,
                _ => return false,
            };
            let answers = !node.is_paused && node.has_joined && node.lease < self.limits.lease_ticks;
            answers && knows < state.shards[shard].acknowledged
        })
    }

    /// Its session was ended from outside, less than a lease after the beat that it rests on.
    fn is_excused(&self, state: &State, node: usize) -> bool {
        state.nodes[node].was_severed && state.nodes[node].begun < self.limits.lease_ticks
    }
}
