//! Waypost: a real-time fleet tracking server. The library behind the binary and its tests.

pub mod app;
pub mod auth;
pub mod clock;
pub mod config;
pub mod context;
pub mod domain;
pub mod http;
pub mod ops;
pub mod store;
pub mod telemetry;
