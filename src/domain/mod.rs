//! What the interface speaks of, as parsed values and rules. Pure: no I/O, no clock, no HTTP.

pub mod account;
pub mod audit;
pub mod event;
pub mod field;
pub mod fold;
pub mod geofence;
pub mod link;
pub mod members;
pub mod merge;
pub mod nearest;
pub mod organization;
pub mod organization_settings;
pub mod paging;
pub mod position;
pub mod rules;
pub mod shape;
pub mod system_user;
pub mod tracker;
pub mod vehicle;
pub(crate) mod words;
