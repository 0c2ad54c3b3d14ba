//! The live core of Waypost: turns fixes into which vehicle is inside which geofence.
//!
//! `model` is the vocabulary, `geofence` the geometry, `tracking` the engine, `fuel` the tank: all pure.
//! `ports` is what the outside must offer, `actor` the shell of actors around the engine,
//! and [`live`] the one handle the server holds. Nothing here knows of HTTP or SQL.

#[macro_use]
pub mod words;

mod actor;
pub mod clock;
pub mod config;
pub mod error;
pub mod fuel;
pub mod geofence;
pub mod health;
mod histogram;
pub mod live;
pub mod meters;
pub mod model;
pub mod ports;
pub mod prepare;
mod provisional;
pub mod report;
pub mod tracking;
pub mod view;
pub mod watch;
