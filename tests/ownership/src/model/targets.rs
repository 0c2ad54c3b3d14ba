//! Which node a shard belongs to: rendezvous hashing over the nodes alive, with a bound. Every node computes the same.

use super::state::{MAX_NODES, MAX_SHARDS};

/// The target of each shard for each set of nodes alive, as bits.
pub(super) type Targets = [[Option<u8>; MAX_SHARDS]; 1 << MAX_NODES];

/// Stands for the hash of node and shard: of all that it could be, the two that differ most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranking {
    /// Each shard is heaviest at the node of its own number and lightest at the other shard's: a shard moves only when its own node goes
    /// or comes. States that differ by a renumbering of nodes and shards alone are searched once.
    OwnNode,
    /// Both shards rank the nodes alike, and one has to give way: it moves from one living node to another when a third goes or comes.
    Alike,
}

impl Ranking {
    fn weight(self, node: usize, shard: usize) -> usize {
        let weights: [[usize; MAX_SHARDS]; MAX_NODES] = match self {
            Self::OwnNode => [[2, 0], [0, 2], [1, 1]],
            Self::Alike => [[2, 2], [1, 1], [0, 0]],
        };
        weights[node][shard]
    }
}

/// All targets, for so many shards.
pub(super) fn targets(ranking: Ranking, shards: usize) -> Targets {
    let mut targets = [[None; MAX_SHARDS]; 1 << MAX_NODES];
    for (live, of) in targets.iter_mut().enumerate().skip(1) {
        let nodes: Vec<usize> = (0..MAX_NODES).filter(|node| live & (1 << node) != 0).collect();
        let bound = shards.div_ceil(nodes.len());
        let mut held = [0; MAX_NODES];
        for (shard, target) in of.iter_mut().enumerate().take(shards) {
            let free = nodes.iter().filter(|node| held[**node] < bound);
            let heaviest = free.max_by_key(|node| ranking.weight(**node, shard));
            if let Some(node) = heaviest {
                held[*node] += 1;
                *target = Some(*node as u8);
            }
        }
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::super::renumbering::renumberings;
    use super::*;

    #[test]
    fn no_node_has_more_than_its_part_and_only_the_living_have_any() {
        for targets in [Ranking::OwnNode, Ranking::Alike].map(|ranking| targets(ranking, 2)) {
            for (live, of) in targets.iter().enumerate().skip(1) {
                let of: Vec<usize> = of.iter().map(|node| usize::from(node.unwrap())).collect();
                assert!(of.iter().all(|node| live & (1 << node) != 0), "{live:b}: {of:?}");
                assert_eq!(of[0] == of[1], live.count_ones() == 1, "{live:b}: {of:?}");
            }
        }
    }

    #[test]
    fn a_shard_changes_its_node_when_one_comes_back() {
        for targets in [Ranking::OwnNode, Ranking::Alike].map(|ranking| targets(ranking, 2)) {
            let moves = |with: usize, without: usize| {
                (0..2).any(|shard| targets[with][shard] != targets[without][shard])
            };
            assert!((0..3).all(|node| {
                moves(0b111 & !(1 << node), 0b111) || !targets[0b111].contains(&Some(node as u8))
            }));
            assert!((0..3).any(|node| moves(0b111 & !(1 << node), 0b111)));
        }
    }

    #[test]
    fn a_shard_moves_between_living_nodes_where_both_rank_them_alike() {
        let moves = |ranking, node: usize| {
            let targets = targets(ranking, 2);
            let (all, without) = (targets[0b111], targets[0b111 & !(1 << node)]);
            (0..2).any(|shard| all[shard] != Some(node as u8) && all[shard] != without[shard])
        };
        assert!(moves(Ranking::Alike, 0));
        assert!(!(0..3).any(|node| moves(Ranking::OwnNode, node)));
    }

    #[test]
    fn numbers_can_be_changed_where_each_shard_has_its_own_node() {
        assert_eq!(renumberings(&targets(Ranking::OwnNode, 2), 3, 2).len(), 1);
        assert_eq!(renumberings(&targets(Ranking::Alike, 2), 3, 2).len(), 0);
    }
}
