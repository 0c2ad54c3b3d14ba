//! What may happen next, in the words of the protocol.

use super::state::{MAX_SHARDS, Node, Shard, State};
use super::{Ownership, state};

/// A step: of time, of a node, or of what goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The time of a beat passes.
    Tick,
    /// The node beats: reads who is alive, which counts its lease anew.
    Beat(usize),
    /// The node finds its session failed or its lease passed: all its cores end.
    Lose(usize),
    /// The node opens a lock session, once the database has ended the one before.
    Join(usize),
    /// The node tries the lock of a shard that is its own and that nobody has.
    Lock(usize, usize),
    /// The node raises the epoch of a shard.
    Raise(usize, usize),
    /// The node reads the seeds of a shard, and serves it.
    ReadSeeds(usize, usize),
    /// The node begins a transaction of a shard: the epoch is its own, and the row is locked.
    Begin(usize, usize),
    /// The node commits.
    Commit(usize),
    /// The node hears that it has committed, and tells the tracker.
    Hear(usize),
    /// The node looks whether a transaction was committed of which it heard no more.
    Resolve(usize),
    /// The node knows the fix that the tracker sends again, and acknowledges it.
    Acknowledge(usize, usize),
    /// The node begins a transaction and finds another epoch: its core ends.
    FindTakenOver(usize, usize),
    /// The node stops serving a shard that belongs to another node.
    GiveBack(usize, usize),
    /// The node frees a shard's lock, its core having stopped.
    Unlock(usize, usize),
    /// The node pauses.
    Pause(usize),
    /// The node pauses while the answer of its beat is on its way.
    PauseInBeat(usize),
    /// The node goes on where it was.
    Wake(usize),
    /// The node's lock session is ended from outside.
    EndSession(usize),
    /// The node's lock session swallows everything from now on.
    Cut(usize),
    /// The connection of the node's transaction breaks.
    BreakTransaction(usize),
    /// The database fails over.
    FailOver,
    /// The database fails over, and the node stays connected to the old primary.
    LeaveBehind(usize),
}

impl Action {
    /// Every action, possible or not.
    pub(super) fn all(nodes: usize, shards: usize) -> impl Iterator<Item = Self> {
        let of_node = [
            Self::Beat,
            Self::Lose,
            Self::Join,
            Self::Commit,
            Self::Hear,
            Self::Resolve,
            Self::Pause,
            Self::PauseInBeat,
            Self::Wake,
            Self::EndSession,
            Self::Cut,
            Self::BreakTransaction,
            Self::LeaveBehind,
        ];
        let of_shard = [
            Self::Lock,
            Self::Raise,
            Self::ReadSeeds,
            Self::Begin,
            Self::Acknowledge,
            Self::FindTakenOver,
            Self::GiveBack,
            Self::Unlock,
        ];
        let by_node = move |node| {
            let by_shard = move |shard| of_shard.into_iter().map(move |action| action(node, shard));
            of_node.into_iter().map(move |action| action(node)).chain((0..shards).flat_map(by_shard))
        };
        [Self::Tick, Self::FailOver].into_iter().chain((0..nodes).flat_map(by_node))
    }
}

impl Ownership {
    /// All nodes have just joined; nobody owns anything.
    pub(super) fn start(&self) -> State {
        let mut absent = Node::joined(self.limits.lease_ticks);
        absent.has_joined = false;
        let shard = Shard { holder: None, epoch: 0, rows: 0, committed_epoch: 0, acknowledged: 0 };
        let mut state = State {
            nodes: [absent; state::MAX_NODES],
            sessions: [None; state::MAX_NODES],
            shards: [shard; MAX_SHARDS],
            pauses_left: self.limits.pauses,
            lost_connections_left: self.limits.lost_connections,
            failovers_left: self.limits.failovers,
            broken: state::Broken::default(),
        };
        for node in 0..self.limits.nodes {
            state.nodes[node] = Node::joined(self.limits.lease_ticks);
            state.sessions[node] = Some(0);
        }
        state
    }

    /// Does it; `None` where it cannot happen.
    pub(super) fn act(&self, state: &mut State, action: Action) -> Option<()> {
        match action {
            Action::Tick => self.tick(state),
            Action::Beat(node) => self.beat(state, node),
            Action::Lose(node) => self.lose(state, node),
            Action::Join(node) => self.join(state, node),
            Action::Lock(node, shard) => self.lock(state, node, shard),
            Action::Raise(node, shard) => self.raise(state, node, shard),
            Action::ReadSeeds(node, shard) => self.read_seeds(state, node, shard),
            Action::Begin(node, shard) => self.begin(state, node, shard),
            Action::Commit(node) => self.commit(state, node),
            Action::Hear(node) => self.hear(state, node),
            Action::Resolve(node) => self.resolve(state, node),
            Action::Acknowledge(node, shard) => self.acknowledge(state, node, shard),
            Action::FindTakenOver(node, shard) => self.find_taken_over(state, node, shard),
            Action::GiveBack(node, shard) => self.give_back(state, node, shard),
            Action::Unlock(node, shard) => self.unlock(state, node, shard),
            Action::Pause(node) => self.pause(state, node),
            Action::PauseInBeat(node) => self.pause_in_beat(state, node),
            Action::Wake(node) => self.wake(state, node),
            Action::EndSession(node) => self.sever(state, node),
            Action::Cut(node) => self.cut(state, node),
            Action::BreakTransaction(node) => self.break_transaction(state, node),
            Action::FailOver => self.fail_over(state),
            Action::LeaveBehind(node) => self.leave_behind(state, node),
        }
    }
}
