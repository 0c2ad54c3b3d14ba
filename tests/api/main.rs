//! The interface, by what its users do: the real server in this process, one data directory per test.

#![expect(clippy::unwrap_used, reason = "tests")]

mod auth;
mod contract;
mod description;
mod geofence_events;
mod geofences;
mod harness;
mod inside;
mod matrix;
mod organizations;
mod protocol;
mod tracker_socket;
mod trackers;
mod vehicles;
