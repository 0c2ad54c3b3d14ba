//! Who keeps the server waiting, in the order in which they began to, and who of them is closed for want of room.
//!
//! Strangers are counted by their address and, by what they take of memory, together. A known client (it came with a
//! credential in force, and is between two requests) is not counted, and is closed only where no stranger is left.
//! A closed connection counts with its memory until its task has ended.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

/// An address, and how many of its strangers may wait.
pub(super) type Address = (IpAddr, Option<usize>);

/// Those that wait, each at a place of its own, later ones at higher places.
#[derive(Debug)]
pub(super) struct Waiting<P> {
    last: u64,
    strangers: BTreeMap<u64, Stranger<P>>,
    known: BTreeMap<u64, P>,
    of_address: HashMap<Address, BTreeSet<u64>>,
    /// Memory that the strangers take.
    bytes: usize,
    /// As much as they may take.
    most_bytes: usize,
    /// Strangers that were closed and have not ended yet, with the memory they take.
    ending: HashMap<u64, usize>,
    ending_bytes: usize,
}

#[derive(Debug)]
struct Stranger<P> {
    peer: P,
    address: Address,
    bytes: usize,
}

/// Who has to be closed, and why.
#[derive(Debug)]
pub(super) enum Closed<P> {
    /// As many of its address wait as may.
    OfAddress(P),
    /// As many strangers wait as there is memory for.
    OfAll(P),
}

impl<P> Waiting<P> {
    /// Nobody waits; strangers may take this much memory together.
    pub(super) fn new(most_bytes: usize) -> Self {
        let (strangers, known, of_address, ending) = Default::default();
        Self { last: 0, strangers, known, of_address, bytes: 0, most_bytes, ending, ending_bytes: 0 }
    }

    /// Adds somebody who is known, and returns the place.
    pub(super) fn add_known(&mut self, peer: P) -> u64 {
        self.last += 1;
        self.known.insert(self.last, peer);
        self.last
    }

    /// Adds a stranger that takes this much memory. Returns the place, and who is closed because of it.
    pub(super) fn add_stranger(&mut self, peer: P, address: Address, bytes: usize) -> (u64, Vec<Closed<P>>) {
        self.last += 1;
        self.strangers.insert(self.last, Stranger { peer, address, bytes });
        self.bytes += bytes;
        let of_address = self.of_address.entry(address).or_default();
        of_address.insert(self.last);
        let is_one_too_many = address.1.is_some_and(|most| of_address.len() > most);
        let oldest = is_one_too_many.then(|| of_address.first().copied()).flatten();
        let closed = oldest.and_then(|place| self.close(place)).map(Closed::OfAddress);
        (self.last, closed.into_iter().chain(self.beyond_memory()).collect())
    }

    /// Notes that a stranger takes this much more memory. Returns who is closed because of it.
    pub(super) fn grow(&mut self, place: u64, bytes: usize) -> Vec<Closed<P>> {
        if let Some(stranger) = self.strangers.get_mut(&place) {
            stranger.bytes += bytes;
            self.bytes += bytes;
        }
        self.beyond_memory()
    }

    /// Removes the connection at this place, closed or not.
    pub(super) fn remove(&mut self, place: u64) -> Option<P> {
        self.ending_bytes -= self.ending.remove(&place).unwrap_or(0);
        self.take(place).map(|(peer, _)| peer)
    }

    /// Memory of those that were closed and have not ended yet.
    pub(super) const fn ending_bytes(&self) -> usize {
        self.ending_bytes
    }

    /// Takes out the connection at this place, to be closed.
    fn close(&mut self, place: u64) -> Option<P> {
        let (peer, bytes) = self.take(place)?;
        self.ending_bytes += bytes;
        if bytes > 0 {
            self.ending.insert(place, bytes);
        }
        Some(peer)
    }

    fn take(&mut self, place: u64) -> Option<(P, usize)> {
        let Some(Stranger { peer, address, bytes }) = self.strangers.remove(&place) else {
            return self.known.remove(&place).map(|peer| (peer, 0));
        };
        self.bytes -= bytes;
        if let Some(of_address) = self.of_address.get_mut(&address) {
            of_address.remove(&place);
            if of_address.is_empty() {
                self.of_address.remove(&address);
            }
        }
        Some((peer, bytes))
    }

    /// Removes the unauthenticated peer that has waited longest, else the authenticated one.
    pub(super) fn make_room(&mut self) -> Option<P> {
        let longest = self.strangers.keys().next().or_else(|| self.known.keys().next()).copied()?;
        self.close(longest)
    }

    fn beyond_memory(&mut self) -> Vec<Closed<P>> {
        let mut closed = Vec::new();
        while self.bytes > self.most_bytes {
            closed.extend(self.make_room().map(Closed::OfAll));
        }
        closed
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(last: u8) -> Address {
        (Ipv4Addr::new(192, 0, 2, last).into(), Some(2))
    }

    fn closed(all: &[Closed<u8>]) -> Vec<u8> {
        all.iter().map(|(Closed::OfAddress(peer) | Closed::OfAll(peer))| *peer).collect()
    }

    #[test]
    fn beyond_the_memory_of_all_the_longest_waiting_stranger_of_any_address_is_closed() {
        let mut waiting = Waiting::new(30);
        waiting.add_known(100);
        let places: Vec<_> = (0..3).map(|one| waiting.add_stranger(one, address(one), 10)).collect();
        assert!(places.iter().all(|(_, all)| all.is_empty()), "there is memory for three");
        assert_eq!(closed(&waiting.add_stranger(3, address(3), 10).1), [0]);
        // What one of them sends is counted too; a connection that went on takes nothing any more.
        assert_eq!(waiting.remove(places[1].0), Some(1));
        assert_eq!(closed(&waiting.grow(places[2].0, 9)), [] as [u8; 0]);
        assert_eq!(closed(&waiting.grow(places[2].0, 2)), [2]);
        // Somebody known takes nothing, and is closed when there is nobody else.
        assert_eq!((waiting.make_room(), waiting.make_room()), (Some(3), Some(100)));
        assert!(waiting.make_room().is_none() && waiting.of_address.is_empty() && waiting.bytes == 0);
    }

    #[test]
    fn of_one_address_the_longest_waiting_is_closed() {
        let mut waiting = Waiting::new(1_000);
        let all: Vec<_> = (0..3).map(|one| waiting.add_stranger(one, address(1), 10).1).collect();
        assert_eq!(closed(&all[2]), [0]);
        assert!(all[..2].iter().all(Vec::is_empty) && waiting.add_stranger(3, address(2), 10).1.is_empty());
    }
}
