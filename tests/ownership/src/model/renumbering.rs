//! Renumberings of nodes and shards under which each shard keeps its target: states that are the same but for one of them have the
//! same future but for it.

use super::state::{Beat, Core, MAX_NODES, MAX_SHARDS, Node, State, Transaction};
use super::targets::Targets;

/// New numbers of nodes and shards, by the old.
#[derive(Clone, Copy, Debug)]
pub(super) struct Renumbering {
    nodes: [u8; MAX_NODES],
    shards: [u8; MAX_SHARDS],
}

/// All that there are, but for the one that leaves every number as it is.
pub(super) fn renumberings(targets: &Targets, nodes: usize, shards: usize) -> Vec<Renumbering> {
    let node_orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let all = node_orders
        .into_iter()
        .flat_map(|nodes| [[0, 1], [1, 0]].map(|shards| Renumbering { nodes, shards }));
    let leaves_others = |new: &Renumbering| {
        (nodes..MAX_NODES).all(|node| usize::from(new.nodes[node]) == node)
            && (shards..MAX_SHARDS).all(|shard| usize::from(new.shards[shard]) == shard)
    };
    all.skip(1).filter(leaves_others).filter(|new| new.keeps(targets)).collect()
}

impl Renumbering {
    fn keeps(&self, targets: &Targets) -> bool {
        targets.iter().enumerate().all(|(live, of)| {
            let live = renumbered_bits(live as u8, &self.nodes);
            let new = targets[usize::from(live)];
            (0..MAX_SHARDS)
                .all(|shard| new[usize::from(self.shards[shard])] == of[shard].map(|node| self.node(node)))
        })
    }

    fn node(&self, node: u8) -> u8 {
        self.nodes[usize::from(node)]
    }

    fn shard(&self, shard: u8) -> u8 {
        self.shards[usize::from(shard)]
    }

    /// The same state in the new numbers.
    pub(super) fn of(&self, state: &State) -> State {
        let mut new = *state;
        for (node, at) in self.nodes.into_iter().map(usize::from).enumerate() {
            new.nodes[at] = self.of_node(&state.nodes[node]);
            new.sessions[at] = state.sessions[node];
        }
        for (shard, at) in self.shards.into_iter().map(usize::from).enumerate() {
            new.shards[at] = state.shards[shard];
            new.shards[at].holder = state.shards[shard].holder.map(|holder| self.node(holder));
        }
        new
    }

    fn of_node(&self, node: &Node) -> Node {
        let mut cores = [Core::Absent; MAX_SHARDS];
        for (shard, at) in self.shards.into_iter().map(usize::from).enumerate() {
            cores[at] = node.cores[shard];
        }
        let part = |part| renumbered_bits(part, &self.shards);
        let transaction = match node.transaction {
            Transaction::Absent => Transaction::Absent,
            Transaction::Begun { shard, idle } => Transaction::Begun { shard: self.shard(shard), idle },
            Transaction::Committed { shard } => Transaction::Committed { shard: self.shard(shard) },
            Transaction::InDoubt { shard } => Transaction::InDoubt { shard: self.shard(shard) },
        };
        let unread = node.unread.map(|beat| Beat { part: part(beat.part), ..beat });
        Node { cores, transaction, unread, part: node.part.map(part), ..*node }
    }
}

fn renumbered_bits(bits: u8, new: &[u8]) -> u8 {
    new.iter().enumerate().filter(|(old, _)| bits & (1 << old) != 0).fold(0, |bits, (_, new)| bits | 1 << new)
}
