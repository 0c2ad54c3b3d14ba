//! Waypost: a real-time fleet tracking server. The library behind the binary and its tests.

pub mod auth;
pub mod clock;
pub mod config;
pub mod domain;
pub mod http;
pub mod store;
pub mod telemetry;
