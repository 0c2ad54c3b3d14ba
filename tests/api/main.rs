//! The interface, by what its users do: the real server in this process, one data directory per test.

#![expect(clippy::unwrap_used, reason = "tests")]

mod audit;
mod auth;
mod contract;
mod conventions;
mod description;
mod geofence_events;
mod geofence_import;
mod geofences;
mod harness;
mod inside;
mod limits;
mod matrix;
mod mistakes;
mod once;
mod organizations;
mod positions_history;
mod protocol;
mod tracker_socket;
mod trackers;
mod vehicles;
mod watch;
