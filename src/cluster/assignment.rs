//! Which node is to own which shard: the same answer on every node that sees the same nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use sha2::{Digest, Sha256};

use crate::store::shard::{SHARDS, Shard};

/// The node that each shard is to be on: of those that have room, the one with the highest hash of both (rendezvous hashing).
/// No node has more than its share, rounded up; a node that comes or goes moves few shards of others.
#[must_use]
pub fn assign(nodes: &BTreeSet<SocketAddr>) -> BTreeMap<Shard, SocketAddr> {
    let Some(most) = usize::from(SHARDS).checked_div(nodes.len()) else { return BTreeMap::new() };
    let most = most + usize::from(usize::from(SHARDS) % nodes.len() > 0);
    let mut room: BTreeMap<SocketAddr, usize> = nodes.iter().map(|node| (*node, most)).collect();
    let mut assigned = BTreeMap::new();
    for shard in Shard::all() {
        let with_room = room.iter_mut().filter(|(_, left)| **left > 0);
        if let Some((node, left)) = with_room.max_by_key(|(node, _)| weight(**node, shard)) {
            *left -= 1;
            assigned.insert(shard, *node);
        }
    }
    assigned
}

fn weight(node: SocketAddr, shard: Shard) -> [u8; 32] {
    Sha256::digest(format!("{node} {}", shard.number())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(ports: &[u16]) -> BTreeSet<SocketAddr> {
        ports.iter().map(|port| SocketAddr::from(([10, 0, 0, 1], *port))).collect()
    }

    #[test]
    fn every_shard_has_a_node_and_no_node_more_than_its_share() {
        assert!(assign(&nodes(&[])).is_empty());
        for many in 1..=20_u16 {
            let assigned = assign(&nodes(&(1..=many).collect::<Vec<_>>()));
            assert_eq!(assigned.len(), 16);
            let most = 16_usize.div_ceil(many.into());
            for node in assigned.values() {
                assert!(assigned.values().filter(|other| *other == node).count() <= most, "{many} nodes");
            }
        }
    }

    #[test]
    fn a_node_that_leaves_moves_few_shards_of_others() {
        let before = assign(&nodes(&[1, 2, 3, 4]));
        let after = assign(&nodes(&[1, 2, 3]));
        let gone = SocketAddr::from(([10, 0, 0, 1], 4));
        let moved = before.iter().filter(|(shard, node)| **node != gone && after[*shard] != **node).count();
        assert!(moved <= 4, "{moved} of 12");
    }
}
