//! Waypost: a real-time fleet tracking server. The library behind the `waypost` program.

pub mod app;
pub mod auth;
pub mod clock;
pub mod cluster;
pub mod config;
pub mod connections;
pub mod context;
pub mod domain;
pub mod feed;
pub mod http;
pub mod ingest;
pub mod large_bodies;
pub mod locks;
pub mod mail;
pub mod meters;
pub mod mqtt_out;
pub mod ops;
pub mod rate_limit;
pub mod readiness;
pub mod report_log;
pub mod sessions;
pub mod socket;
pub mod store;
pub mod telemetry;
pub mod throttle;
pub mod webhooks;
