//! What readers get: committed state, and provisional positions ahead of it.

pub(crate) mod connections;
pub(crate) mod connectivity;
pub(crate) mod hub;
mod inside_index;
pub(crate) mod occupancy;
pub(crate) mod queries;
pub(crate) mod watchers;
mod wheel;
