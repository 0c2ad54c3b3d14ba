//! The protocol of ownership as a model: a database, nodes that may pause and lose connections, and trackers that send again.
//!
//! What it leaves out on purpose:
//!
//! - A statement is one step. The time between a statement and its answer matters in two places alone, the beat and the commit,
//!   where the node may pause in between.
//! - A question is judged when it is asked, not when its answer has arrived: an answer that was on its way when another node
//!   committed was right when the question came.
//! - A transaction has one shard. A node commits several together, but they share nothing except the connection.
//! - Nobody drains: it is a give-back as any other.
//!
//! States that differ only by the numbers of their nodes and shards are searched once, so in a way that a search prints a node may
//! change its number from one step to the next.

mod actions;
mod database;
mod faults;
mod ownership;
pub mod promises;
mod recovery;
mod renumbering;
mod state;
mod targets;

use stateright::{Model, Property};

pub use self::actions::Action;
use self::recovery::{Recovery, in_turn};
use self::renumbering::{Renumbering, renumberings};
pub use self::state::{Beat, Broken, Core, MAX_NODES, MAX_SHARDS, Node, Shard, State, Transaction};
pub use self::targets::Ranking;
use self::targets::{Targets, targets};

/// How much of everything there is: it bounds the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Nodes, [`MAX_NODES`] at most.
    pub nodes: usize,
    /// Shards, [`MAX_SHARDS`] at most.
    pub shards: usize,
    /// Fixes that the tracker of a shard sends, one after the other.
    pub fixes: u8,
    /// Times that a node pauses, for as long as it likes.
    pub pauses: u8,
    /// Connections that are ended from outside or swallow everything.
    pub lost_connections: u8,
    /// Times that the database fails over: all sessions end, and no commit is lost.
    pub failovers: u8,
    /// Ticks from the beginning of a beat to `owned_until`. A tick is a beat.
    pub lease_ticks: u8,
    /// Ticks after which the database ends an idle session, and an idle transaction.
    pub idle_ticks: u8,
    /// To which nodes shards belong.
    pub ranking: Ranking,
}

impl Limits {
    /// Three nodes and two shards without a fault: what every search begins with.
    pub const CALM: Self = Self {
        nodes: 3,
        shards: 2,
        fixes: 2,
        pauses: 0,
        lost_connections: 0,
        failovers: 0,
        lease_ticks: 2,
        idle_ticks: 3,
        ranking: Ranking::OwnNode,
    };
}

/// A mistake that the protocol could be built with. The search has to find each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// The transaction does not look at the epoch: a node that was taken over goes on committing.
    CommitsWithoutTheEpoch,
    /// The lock alone makes the owner, the epoch stays: whoever wakes cannot be told from its successor.
    KeepsTheEpoch,
    /// The seeds are read before the epoch is raised: what the predecessor commits in between is not among them.
    ReadsSeedsFirst,
    /// The epoch is not looked at again after the seeds were read: a node that lost the shard meanwhile knows rows of its successor
    /// that the successor itself has not heard of, and acknowledges them.
    TrustsLateSeeds,
    /// The epoch is raised over a connection of the pool, which lives on when the lock's session has ended: it takes the shard
    /// from who has the lock by now.
    RaisesOverAnotherConnection,
    /// The lock is given back before the core has stopped: it answers while its successor commits.
    UnlocksFirst,
    /// `owned_until` counts from the end of the beat: a node that pauses before it reads the answer believes in the past.
    CountsFromTheEnd,
    /// The clock of `owned_until` stands still while the node pauses, as Linux's CLOCK_MONOTONIC does while the machine is suspended.
    ClockThatSleeps,
    /// A beat only reads: a node that a failover has left behind at the old primary, cut off and still running, goes on believing.
    /// It has to write, so that the database answers only what its standby has confirmed.
    BeatsWithoutWriting,
    /// Commits are answered before the standby has them: a failover loses rows that were acknowledged, and an epoch that was raised,
    /// so that two nodes come to have the same.
    CommitsWithoutTheStandby,
    /// A core that was taken over ends and leaves the lock alone, though its node may have it: nobody takes the shard again.
    KeepsTheLockWhenTakenOver,
}

/// The model.
#[derive(Debug)]
pub struct Ownership {
    /// How much of everything there is.
    pub limits: Limits,
    mistakes: Vec<Mistake>,
    targets: Targets,
    actions: Vec<Action>,
    in_turn: Vec<Action>,
    recovery: Recovery,
    renumberings: Vec<Renumbering>,
}

impl Ownership {
    /// The protocol as it is meant to be.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self::with(limits, &[])
    }

    /// The protocol with mistakes.
    ///
    /// # Panics
    /// If there are more nodes or shards than a state has room for.
    #[must_use]
    pub fn with(limits: Limits, mistakes: &[Mistake]) -> Self {
        assert!((1..=MAX_NODES).contains(&limits.nodes) && (1..=MAX_SHARDS).contains(&limits.shards));
        let Limits { nodes, shards, ranking, .. } = limits;
        let targets = targets(ranking, shards);
        Self {
            limits,
            mistakes: mistakes.to_vec(),
            renumberings: renumberings(&targets, nodes, shards),
            targets,
            actions: Action::all(nodes, shards).collect(),
            in_turn: in_turn(nodes, shards),
            recovery: Recovery::default(),
        }
    }

    fn makes(&self, mistake: Mistake) -> bool {
        self.mistakes.contains(&mistake)
    }

    /// The shards that belong to a node, as bits, by the nodes that are alive.
    fn part(&self, live: u8, node: usize) -> u8 {
        let targets = self.targets[usize::from(live)].iter().enumerate();
        targets
            .filter(|(_, target)| **target == Some(node as u8))
            .fold(0, |bits, (shard, _)| bits | 1 << shard)
    }

    /// The state after an action; `None` where it cannot happen.
    #[must_use]
    pub fn after(&self, state: &State, action: Action) -> Option<State> {
        let mut next = *state;
        self.act(&mut next, action)?;
        for (before, after) in state.shards.iter().zip(&next.shards) {
            next.broken.epoch |= after.epoch < before.epoch;
        }
        next.rank_epochs();
        Some(next)
    }

    /// The longest time, in ticks, in which what was searched came to rest when faults ended.
    #[must_use]
    pub fn longest_recovery(&self) -> u8 {
        self.recovery.longest()
    }
}

impl Model for Ownership {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![self.start()]
    }

    fn actions(&self, _: &State, actions: &mut Vec<Action>) {
        actions.clone_from(&self.actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let next = self.after(state, action).filter(|next| next != state)?;
        Some(self.renumberings.iter().map(|renumbering| renumbering.of(&next)).fold(next, State::min))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let Limits { pauses, lost_connections, failovers, .. } = self.limits;
        let mut properties = promises::properties();
        if self.mistakes.is_empty() && pauses > 0 && lost_connections + failovers > 0 {
            properties.extend(promises::landmarks());
        }
        properties
    }
}
