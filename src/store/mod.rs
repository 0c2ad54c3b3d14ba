//! The only SQL and the only Redis. Every query of tenant data takes a scope.
//!
//! Knows nothing of HTTP, use cases or actors; implements what `waypost_actors::ports` asks for.

pub mod event_row;
pub mod open;
mod position_row;
pub mod rows;
pub mod sql;
pub mod time;
pub mod track;
