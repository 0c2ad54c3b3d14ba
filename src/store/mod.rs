//! The only SQL and the only Redis. Every query of tenant data takes a scope.
//!
//! Knows nothing of HTTP, use cases or actors; implements what `waypost_actors::ports` asks for.

pub mod account;
pub mod audit;
pub mod cache;
pub mod event_row;
pub mod geofence;
pub mod geofence_event;
pub mod idempotency;
pub mod lock;
pub mod one_time_token;
pub mod open;
pub mod organization;
pub mod outbox;
mod page;
pub mod partitions;
pub mod position_history;
mod position_row;
pub mod redis_limit;
pub mod rows;
pub mod session;
pub mod signing_key;
pub mod sql;
pub mod system_user;
pub mod time;
pub mod track;
pub mod tracker;
pub mod vehicle;
