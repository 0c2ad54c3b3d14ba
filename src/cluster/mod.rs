//! Several servers as one (docs/decisions/0027): whose a request is, and how it is handed on to the server that has that organization.
//!
//! A node that hands on judges nothing: the owner asks who it is, limits, compresses and answers, as if the request had come to it.

pub mod assignment;
mod claim;
mod devices;
mod exchange;
mod feeds;
pub mod first_message;
mod for_nodes;
pub mod from_node;
mod head;
mod pool;
pub mod relay;
pub mod router;
pub mod shards;
mod tunnel;
pub mod whose;
