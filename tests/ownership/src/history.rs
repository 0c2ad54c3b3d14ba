//! Whether what was written down of shards, by their nodes or by the database, is allowed by the rules of the model.
//!
//! Nodes log after the fact, and one that pauses logs late: a commit may be logged long after its successor's. So lines of
//! different nodes are never compared by their time. What orders commits is their number, which the database gives while the
//! row of the shard's writer is locked; what orders the lines of one node is the node.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::str::FromStr;

/// What a node logged of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When it was logged, by the node's clock. Milliseconds.
    pub at: u64,
    /// The name of the node.
    pub node: String,
    /// The shard.
    pub shard: u16,
    /// What happened.
    pub event: Event,
}

/// What happened to a shard on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The node has raised the epoch to this.
    Took {
        /// The new epoch.
        epoch: i64,
    },
    /// Its session failed, its lease passed, or it found another epoch; its core has ended.
    Lost,
    /// Its core has stopped, and it frees the lock.
    GaveBack,
    /// A commit was answered.
    Committed {
        /// The epoch that it was committed under.
        epoch: i64,
        /// Its number.
        number: i64,
    },
}

/// A rule that the lines break.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// The lines of a node are not in their order, so nothing can be said of it.
    #[error("node {node} logged {at} after {before}")]
    OutOfOrder {
        /// The node.
        node: String,
        /// The later line's time.
        at: u64,
        /// The earlier line's time.
        before: u64,
    },
    /// Two nodes have the same epoch, or one has it twice: nobody could tell their commits apart.
    #[error("shard {shard}: epoch {epoch} was taken by {first} and by {second}")]
    TakenTwice {
        /// The shard.
        shard: u16,
        /// The epoch.
        epoch: i64,
        /// Who took it first in the list.
        first: String,
        /// Who took it again.
        second: String,
    },
    /// A node took a shard under an older epoch than it had had before.
    #[error("shard {shard}: the epoch fell from {before} to {epoch} on {node}")]
    EpochFell {
        /// The shard.
        shard: u16,
        /// The node.
        node: String,
        /// The epoch it had.
        before: i64,
        /// The epoch it took.
        epoch: i64,
    },
    /// A node committed under an epoch that it did not have then, or no more.
    #[error("shard {shard}: {node} committed {number} under epoch {epoch}, which it did not have")]
    NotTheOwner {
        /// The shard.
        shard: u16,
        /// The node.
        node: String,
        /// The epoch of the commit.
        epoch: i64,
        /// The number of the commit.
        number: i64,
    },
    /// A node gave back what it did not have.
    #[error("shard {shard}: {node} gave back what it did not have")]
    GaveBackNothing {
        /// The shard.
        shard: u16,
        /// The node.
        node: String,
    },
    /// A number was given to two commits.
    #[error("shard {shard}: {number} was committed twice")]
    NumberTwice {
        /// The shard.
        shard: u16,
        /// The number.
        number: i64,
    },
    /// An owner's numbers did not rise.
    #[error("shard {shard}: {node} committed {number} after {before}")]
    NumberFell {
        /// The shard.
        shard: u16,
        /// The node.
        node: String,
        /// The number before.
        before: i64,
        /// The number after it.
        number: i64,
    },
    /// By their numbers, a commit of an older epoch follows one of a newer: two owners committed by turns.
    #[error("shard {shard}: {number} of epoch {epoch} follows one of epoch {before}")]
    EpochsByTurns {
        /// The shard.
        shard: u16,
        /// The commit of the older epoch.
        number: i64,
        /// Its epoch.
        epoch: i64,
        /// The newer epoch before it.
        before: i64,
    },
}

/// What a node has had of a shard so far.
#[derive(Default)]
struct Ownership {
    /// The newest epoch it took.
    newest: Option<i64>,
    /// The epoch it has now.
    epoch: Option<i64>,
    /// The number of its newest commit under that epoch.
    number: Option<i64>,
}

#[derive(Default)]
struct Reading<'l> {
    clocks: HashMap<&'l str, u64>,
    ownerships: HashMap<(&'l str, u16), Ownership>,
    takers: HashMap<(u16, i64), &'l str>,
    /// The epoch of each commit by shard and number.
    commits: BTreeMap<(u16, i64), i64>,
    twice: HashSet<(u16, i64)>,
    wrong: Vec<Wrong>,
}

/// Every rule that the lines break; none if they may have happened. The lines of a node are in its order, those of different
/// nodes in any.
#[must_use]
pub fn wrongs(lines: &[Line]) -> Vec<Wrong> {
    let mut reading = Reading::default();
    for line in lines {
        reading.clock(line);
        match line.event {
            Event::Took { epoch } => reading.took(line, epoch),
            Event::Lost => reading.ownerships.entry((&line.node, line.shard)).or_default().epoch = None,
            Event::GaveBack => reading.gave_back(line),
            Event::Committed { epoch, number } => reading.committed(line, epoch, number),
        }
    }
    reading.turns();
    reading.wrong
}

impl<'l> Reading<'l> {
    fn clock(&mut self, line: &'l Line) {
        let before = self.clocks.insert(&line.node, line.at).unwrap_or(0);
        if line.at < before {
            self.wrong.push(Wrong::OutOfOrder { node: line.node.clone(), at: line.at, before });
        }
    }

    fn took(&mut self, line: &'l Line, epoch: i64) {
        let (node, shard) = (line.node.clone(), line.shard);
        if let Some(first) = self.takers.insert((shard, epoch), &line.node) {
            let first = first.to_owned();
            self.wrong.push(Wrong::TakenTwice { shard, epoch, first, second: node.clone() });
        }
        let has = self.ownerships.entry((&line.node, shard)).or_default();
        if let Some(before) = has.newest.filter(|before| *before > epoch) {
            self.wrong.push(Wrong::EpochFell { shard, node, before, epoch });
        }
        // A node that was killed has logged no end of what it had.
        *has = Ownership { newest: has.newest.max(Some(epoch)), epoch: Some(epoch), number: None };
    }

    fn gave_back(&mut self, line: &'l Line) {
        let has = self.ownerships.entry((&line.node, line.shard)).or_default();
        if has.epoch.take().is_none() {
            self.wrong.push(Wrong::GaveBackNothing { shard: line.shard, node: line.node.clone() });
        }
    }

    fn committed(&mut self, line: &'l Line, epoch: i64, number: i64) {
        let (node, shard) = (line.node.clone(), line.shard);
        let has = self.ownerships.entry((&line.node, shard)).or_default();
        if has.epoch != Some(epoch) {
            self.wrong.push(Wrong::NotTheOwner { shard, node, epoch, number });
        } else if let Some(before) = has.number.replace(number).filter(|before| *before >= number) {
            self.wrong.push(Wrong::NumberFell { shard, node, before, number });
        }
        if self.commits.insert((shard, number), epoch).is_some() && self.twice.insert((shard, number)) {
            self.wrong.push(Wrong::NumberTwice { shard, number });
        }
    }

    fn turns(&mut self) {
        let mut newest: HashMap<u16, i64> = HashMap::new();
        for (&(shard, number), &epoch) in &self.commits {
            let before = newest.entry(shard).or_insert(epoch);
            if epoch < *before {
                self.wrong.push(Wrong::EpochsByTurns { shard, number, epoch, before: *before });
            }
            *before = epoch.max(*before);
        }
    }
}

/// What is no line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no line of a history: {0}")]
pub struct NoLine(String);

/// `<milliseconds> <node> <shard> took <epoch>`, `… lost`, `… gave back`, `… committed <epoch> <number>`.
impl FromStr for Line {
    type Err = NoLine;

    fn from_str(text: &str) -> Result<Self, NoLine> {
        let words: Vec<&str> = text.split_whitespace().collect();
        line_of(&words).ok_or_else(|| NoLine(text.to_owned()))
    }
}

fn line_of(words: &[&str]) -> Option<Line> {
    let [at, node, shard, event @ ..] = words else { return None };
    let event = match event {
        ["took", epoch] => Event::Took { epoch: epoch.parse().ok()? },
        ["lost"] => Event::Lost,
        ["gave", "back"] => Event::GaveBack,
        ["committed", epoch, number] => {
            Event::Committed { epoch: epoch.parse().ok()?, number: number.parse().ok()? }
        }
        _ => return None,
    };
    Some(Line { at: at.parse().ok()?, node: (*node).to_owned(), shard: shard.parse().ok()?, event })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &str) -> Vec<String> {
        let lines: Vec<Line> = lines.lines().map(|line| line.parse().unwrap()).collect();
        wrongs(&lines).iter().map(ToString::to_string).collect()
    }

    fn only(lines: &str) -> String {
        let mut told = told(lines);
        assert_eq!(told.len(), 1, "{told:?}");
        told.remove(0)
    }

    #[test]
    fn one_owner_after_the_other_is_allowed() {
        let lines = "0 a 3 took 1\n1 a 3 committed 1 10\n2 a 3 committed 1 12\n3 a 3 gave back\n\
            4 b 3 took 2\n5 b 3 committed 2 13\n6 b 3 lost\n7 a 3 took 5\n8 a 3 committed 5 14";
        assert_eq!(told(lines), [""; 0]);
    }

    #[test]
    fn shards_have_nothing_to_do_with_each_other() {
        let lines =
            "0 a 1 took 5\n1 a 1 committed 5 10\n2 b 2 took 5\n3 b 2 committed 5 10\n4 b 2 committed 5 11";
        assert_eq!(told(lines), [""; 0]);
    }

    #[test]
    fn a_node_that_paused_logs_its_last_commit_after_its_successors_first() {
        let lines =
            "0 a 3 took 1\n3000 b 3 took 2\n3001 b 3 committed 2 11\n9000 a 3 committed 1 10\n9001 a 3 lost";
        assert_eq!(told(lines), [""; 0]);
    }

    #[test]
    fn a_node_that_was_killed_takes_again() {
        assert_eq!(told("0 a 3 took 1\n1 a 3 committed 1 10\n9 a 3 took 2\n10 a 3 committed 2 11"), [""; 0]);
    }

    #[test]
    fn two_owners_by_turns_are_told() {
        let lines =
            "0 a 3 took 1\n1 a 3 committed 1 10\n2 b 3 took 2\n3 b 3 committed 2 11\n4 a 3 committed 1 12";
        assert_eq!(only(lines), "shard 3: 12 of epoch 1 follows one of epoch 2");
    }

    #[test]
    fn an_epoch_of_two_nodes_is_told() {
        assert_eq!(only("0 a 3 took 1\n5 b 3 took 1"), "shard 3: epoch 1 was taken by a and by b");
    }

    #[test]
    fn an_epoch_that_falls_is_told() {
        assert_eq!(
            only("0 a 3 took 2\n1 a 3 lost\n2 a 3 took 1"),
            "shard 3: the epoch fell from 2 to 1 on a"
        );
    }

    #[test]
    fn a_commit_of_who_is_not_the_owner_is_told() {
        let not = "shard 3: a committed 10 under epoch 1, which it did not have";
        for lines in [
            "1 a 3 committed 1 10",
            "0 a 3 took 2\n1 a 3 committed 1 10",
            "0 a 3 took 1\n1 a 3 lost\n2 a 3 committed 1 10",
            "0 a 3 took 1\n1 a 3 gave back\n2 a 3 committed 1 10",
            "0 b 3 took 1\n1 a 3 committed 1 10",
            "0 a 4 took 1\n1 a 3 committed 1 10",
        ] {
            assert_eq!(only(lines), not, "{lines}");
        }
    }

    #[test]
    fn numbers_that_repeat_or_fall_are_told() {
        let twice = "0 a 3 took 1\n1 a 3 committed 1 10\n2 b 3 took 2\n3 b 3 committed 2 10";
        assert_eq!(only(twice), "shard 3: 10 was committed twice");
        let falls = "0 a 3 took 1\n1 a 3 committed 1 10\n2 a 3 committed 1 9";
        assert_eq!(only(falls), "shard 3: a committed 9 after 10");
    }

    #[test]
    fn what_was_not_had_is_not_given_back() {
        assert_eq!(only("0 a 3 gave back"), "shard 3: a gave back what it did not have");
        assert_eq!(
            only("0 a 3 took 1\n1 a 3 lost\n2 a 3 gave back"),
            "shard 3: a gave back what it did not have"
        );
    }

    #[test]
    fn lines_out_of_order_are_told() {
        assert_eq!(only("5 a 3 took 1\n4 a 3 lost"), "node a logged 4 after 5");
    }

    #[test]
    fn only_lines_are_read() {
        for text in
            ["", "5 a 3", "5 a 3 took", "x a 3 lost", "5 a 3 gave", "5 a 3 committed 1", "5 a 3 lost 1"]
        {
            assert_eq!(text.parse::<Line>(), Err(NoLine(text.to_owned())));
        }
    }
}
