//! The other side of a server: recorded traces, a client of its HTTP API and its sockets, and the simulated fleet
//! built on them; CPU time, memory and quantiles for measurements.
//!
//! For `waypost simulate` and `waypost demo`, the tests and the benchmarks. Knows the documented protocols and nothing
//! of the server's insides.

mod api;
mod cpu;
pub mod demo;
mod http;
mod memory;
mod quantiles;
pub mod simulate;
pub mod socket;
pub mod trace;

pub use api::Api;
pub use awc::http::Method;
pub use cpu::CpuMeter;
pub use http::{Answer, Http};
pub use memory::{most_resident_bytes, resident_bytes};
pub use quantiles::Quantiles;
