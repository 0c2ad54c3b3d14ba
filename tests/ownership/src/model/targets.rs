//! Which node a shard belongs to: rendezvous hashing over the nodes alive, with a bound. Every node computes the same.

use super::state::{MAX_NODES, MAX_SHARDS};

/// The target of each shard for each set of nodes alive, as bits.
pub(super) type Targets = [[Option<u8>; MAX_SHARDS]; 1 << MAX_NODES];

/// All targets, for so many shards.
pub(super) fn targets(shards: usize) -> Targets {
    let mut targets = [[None; MAX_SHARDS]; 1 << MAX_NODES];
    for (live, of) in targets.iter_mut().enumerate().skip(1) {
        let nodes: Vec<usize> = (0..MAX_NODES).filter(|node| live & (1 << node) != 0).collect();
        let bound = shards.div_ceil(nodes.len());
        let mut held = [0; MAX_NODES];
        for (shard, target) in of.iter_mut().enumerate().take(shards) {
            let free = nodes.iter().filter(|node| held[**node] < bound);
            let heaviest = free.max_by_key(|node| weight(**node, shard));
            if let Some(node) = heaviest {
                held[*node] += 1;
                *target = Some(*node as u8);
            }
        }
    }
    targets
}

/// SplitMix64 of node and shard.
fn weight(node: usize, shard: usize) -> u64 {
    let mut mixed = ((node as u64) << 32 | shard as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_node_has_more_than_its_part_and_only_the_living_have_any() {
        let targets = targets(2);
        for (live, of) in targets.iter().enumerate().skip(1) {
            let of: Vec<usize> = of.iter().map(|node| usize::from(node.unwrap())).collect();
            assert!(of.iter().all(|node| live & (1 << node) != 0), "{live:b}: {of:?}");
            assert_eq!(of[0] == of[1], live.count_ones() == 1, "{live:b}: {of:?}");
        }
    }

    #[test]
    fn a_shard_changes_its_node_when_one_comes_back() {
        let targets = targets(2);
        let moves =
            |with: usize, without: usize| (0..2).any(|shard| targets[with][shard] != targets[without][shard]);
        assert!((0..3).all(|node| moves(0b111 & !(1 << node), 0b111) || !targets[0b111].contains(&Some(node as u8))));
        assert!((0..3).any(|node| moves(0b111 & !(1 << node), 0b111)));
    }
}
