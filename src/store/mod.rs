//! The only SQL and the only Redis. Every query of tenant data takes a scope.
//!
//! Knows nothing of HTTP, use cases or actors; implements what `waypost_actors::ports` asks for.

pub mod account;
pub mod activation;
pub mod assignment;
pub mod audit;
pub mod cache;
mod checkpoint;
pub mod driver;
mod drove;
pub mod event_row;
mod fence_row;
mod filters;
pub mod founder;
pub mod geofence;
pub mod geofence_event;
pub mod idempotency;
pub mod lock;
pub mod one_time_token;
pub mod open;
pub mod organization;
pub mod out_of_service;
pub mod outbox;
mod page;
pub mod partitions;
pub mod position_history;
mod position_row;
pub mod probe;
mod records;
pub mod redis_limit;
pub mod refused_fix;
pub mod rows;
mod seeds;
pub mod session;
pub mod signing_key;
mod slice;
pub mod sql;
mod state_row;
pub mod system_user;
pub mod time;
pub mod track;
pub mod tracker;
pub mod user;
pub mod vehicle;
pub mod visit;
mod visit_row;
