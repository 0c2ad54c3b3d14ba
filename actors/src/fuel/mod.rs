//! Fuel: from sensor readings to litres, refuels, drains and honest consumption.
//!
//! Owns the sensor's configuration, the smoothing, the detector, the arithmetic of consumption and the thinning of
//! charts. Pure, and knows `model` only: no clock, no I/O, no actor, no geometry; its callers say how far the
//! vehicle moved. The rules and the reason for each number: docs/fuel.md.

mod candidate;
mod cell;
mod consumption;
mod detect;
mod downsample;
mod edges;
mod event;
mod gauge;
mod level;
mod log;
mod reading;
mod record;
mod sensor;
mod smoothing;
mod state;
mod stay;
mod tank;
mod track;
mod wander;

pub use crate::model::{CalibrationPoint, Sensor, SensorKind};
pub use consumption::{Consumption, Measured, Meter, Source};
pub use detect::{fill, step};
pub use downsample::{ChartPoint, Downsampler};
pub use event::{FuelEvent, FuelEventKind, FuelMotion};
pub use gauge::{FuelNow, Gauge, Gauged};
pub use level::{Interpreted, Quality, interpret};
pub use log::{FuelRow, FuelUnit, instant_of, log_id};
pub use reading::Reading;
pub use record::FuelRecord;
pub use sensor::Problem;
pub use smoothing::{Robust, robust};
pub use state::FuelState;
pub use stay::StayFuel;
pub use tank::Tank;
