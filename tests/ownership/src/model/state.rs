//! A state of the model: what the database holds, what each node believes, and which promises were broken on the way.
//!
//! Instants are ticks since something happened, cut off where more makes no difference; epochs are kept as their order alone.
//! So the states are finite, though time is not.

/// Nodes at most.
pub const MAX_NODES: usize = 3;
/// Shards at most.
pub const MAX_SHARDS: usize = 2;

/// Everything at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State {
    /// What each process knows and does.
    pub nodes: [Node; MAX_NODES],
    /// The nodes' lock sessions as the database has them: ticks since the last statement ended; `None` if there is none.
    pub sessions: [Option<u8>; MAX_NODES],
    /// What the database stores and locks, and what trackers were told.
    pub shards: [Shard; MAX_SHARDS],
    /// Pauses that may still come.
    pub pauses_left: u8,
    /// Lost connections that may still come.
    pub lost_connections_left: u8,
    /// Failovers of the database that may still come.
    pub failovers_left: u8,
    /// Promises that a step has broken.
    pub broken: Broken,
}

/// A process of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    /// It takes no step.
    pub is_paused: bool,
    /// It believes that its lock session lives.
    pub has_joined: bool,
    /// Its lock session's connection swallows everything, in both directions.
    pub is_cut: bool,
    /// A failover left it at the old primary, which still answers what it is asked and is confirmed nothing. Only a beat that
    /// does not write tells the difference from `is_cut`, so only there is it noted.
    pub is_left_behind: bool,
    /// Nobody waited for the session to be idle: it was ended from outside. Of the model alone; no node knows it.
    pub was_severed: bool,
    /// A beat's answer that a paused node has not read yet.
    pub unread: Option<Beat>,
    /// Ticks since the instant from which the node counts `owned_until`; as many as a lease lasts: it has passed.
    pub lease: u8,
    /// Ticks since the last beat that was heard truly began. Of the model alone.
    pub begun: u8,
    /// The shards that belong to it by the nodes that its last beat saw alive, as bits: all that it does with them. `None` before
    /// the first beat of a session.
    pub part: Option<u8>,
    /// The transaction of its writer.
    pub transaction: Transaction,
    /// What it has of each shard.
    pub cores: [Core; MAX_SHARDS],
}

/// The answer of a beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Beat {
    /// Ticks since it began.
    pub begun: u8,
    /// The shards that belong to the node by the nodes alive then, as bits.
    pub part: u8,
}

/// The live core of a shard on a node, from the lock to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Core {
    /// None.
    Absent,
    /// The node has the lock, and has not raised the epoch yet.
    Locked,
    /// The seeds were read before the epoch was raised, which is a mistake.
    Seeded {
        /// Rows it knows.
        seen: u8,
    },
    /// The epoch is raised; the seeds are not read yet.
    Raised {
        /// Its epoch.
        epoch: u8,
    },
    /// It judges, commits and answers.
    Serving {
        /// Its epoch.
        epoch: u8,
        /// Rows it knows.
        seen: u8,
    },
    /// It commits what it has, to be given back.
    Stopping {
        /// Its epoch.
        epoch: u8,
        /// Rows it knows.
        seen: u8,
    },
    /// It was taken over and has ended; whether the node still has the lock, the node does not know.
    Ended,
}

/// A node's transaction: the row of its shard's writer is locked from its beginning to the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transaction {
    /// None.
    Absent,
    /// The row is locked and the epoch was looked at.
    Begun {
        /// Of this shard.
        shard: u8,
        /// Ticks that it has been idle.
        idle: u8,
    },
    /// It is committed, and the answer is on its way.
    Committed {
        /// Of this shard.
        shard: u8,
    },
    /// Its connection is gone: the node cannot know whether it was committed.
    InDoubt {
        /// Of this shard.
        shard: u8,
    },
}

/// A shard in the database, and what its tracker knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard {
    /// Whose session has the advisory lock.
    pub holder: Option<u8>,
    /// The epoch in the row of its writer.
    pub epoch: u8,
    /// Rows that are committed, and so the next number. The tracker's fix `i` is row `i`.
    pub rows: u8,
    /// The epoch of the newest row.
    pub committed_epoch: u8,
    /// Fixes whose acknowledgement the tracker has heard: it sends the next one until that is acknowledged too.
    pub acknowledged: u8,
}

/// Promises that a step has broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Broken {
    /// A row of an older epoch was committed after one of a newer.
    pub order_of_epochs: bool,
    /// A row was committed by who did not know all rows before it: it repeats one of them, or loses what followed from it.
    pub memory: bool,
    /// The epoch of a shard fell.
    pub epoch: bool,
}

impl Core {
    /// The epoch under which it commits.
    #[must_use]
    pub const fn epoch(self) -> Option<u8> {
        match self {
            Self::Raised { epoch } | Self::Serving { epoch, .. } | Self::Stopping { epoch, .. } => {
                Some(epoch)
            }
            Self::Absent | Self::Locked | Self::Seeded { .. } | Self::Ended => None,
        }
    }

    /// Its epoch and the rows it knows, if it commits.
    #[must_use]
    pub const fn committer(self) -> Option<(u8, u8)> {
        match self {
            Self::Serving { epoch, seen } | Self::Stopping { epoch, seen } => Some((epoch, seen)),
            _ => None,
        }
    }

    fn set_epoch(&mut self, new: u8) {
        if let Self::Raised { epoch } | Self::Serving { epoch, .. } | Self::Stopping { epoch, .. } = self {
            *epoch = new;
        }
    }

    /// Lets it know so many rows.
    pub(super) fn know(&mut self, rows: u8) {
        if let Self::Serving { seen, .. } | Self::Stopping { seen, .. } = self {
            *seen = rows;
        }
    }
}

impl Node {
    /// One that has a session and has not beaten yet.
    pub(super) const fn joined(lease_ticks: u8) -> Self {
        Self {
            is_paused: false,
            has_joined: true,
            is_cut: false,
            is_left_behind: false,
            was_severed: false,
            unread: None,
            lease: lease_ticks,
            begun: lease_ticks,
            part: None,
            transaction: Transaction::Absent,
            cores: [Core::Absent; MAX_SHARDS],
        }
    }

    /// Whether a shard belongs to it, by its last beat; `None` before that.
    #[must_use]
    pub fn belongs(&self, shard: usize) -> Option<bool> {
        self.part.map(|part| part & (1 << shard) != 0)
    }

    /// Its lock session answers as far as it knows.
    #[must_use]
    pub const fn speaks(&self) -> bool {
        !self.is_paused && self.has_joined && !self.is_cut
    }
}

impl State {
    /// Whether a transaction has the row of a shard's writer locked.
    #[must_use]
    pub fn is_row_locked(&self, shard: usize) -> bool {
        let locks = |node: &Node| matches!(node.transaction, Transaction::Begun { shard: of, .. } if usize::from(of) == shard);
        self.nodes.iter().any(locks)
    }

    /// The nodes with a session, as bits: what a beat reads.
    #[must_use]
    pub fn live(&self) -> u8 {
        (0..MAX_NODES).filter(|node| self.sessions[*node].is_some()).fold(0, |bits, node| bits | 1 << node)
    }

    /// Ends a node's lock session at the database, which frees its locks.
    pub(super) fn end_session(&mut self, node: usize) {
        self.sessions[node] = None;
        for shard in &mut self.shards {
            if shard.holder == Some(node as u8) {
                shard.holder = None;
            }
        }
    }

    /// Replaces the epochs of each shard by their ranks: what they are does not matter, which is newer does.
    pub(super) fn rank_epochs(&mut self) {
        for index in 0..MAX_SHARDS {
            let mut known = [0; MAX_NODES + 2];
            known[0] = self.shards[index].epoch;
            known[1] = self.shards[index].committed_epoch;
            for (node, known) in self.nodes.iter().zip(&mut known[2..]) {
                *known = node.cores[index].epoch().unwrap_or(self.shards[index].epoch);
            }
            known.sort_unstable();
            let rank = |epoch: u8| {
                known.windows(2).filter(|pair| pair[0] != pair[1] && pair[1] <= epoch).count() as u8
            };
            self.shards[index].epoch = rank(self.shards[index].epoch);
            self.shards[index].committed_epoch = rank(self.shards[index].committed_epoch);
            for node in &mut self.nodes {
                if let Some(epoch) = node.cores[index].epoch() {
                    node.cores[index].set_epoch(rank(epoch));
                }
            }
        }
    }
}
