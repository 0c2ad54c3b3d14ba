//! Who owns a shard of a cluster: a model of the protocol, searched exhaustively, and the same rules for logs of real nodes.
//!
//! Knows the protocol alone, not the server that follows it.

pub mod history;
pub mod model;
