//! What whoever looks at a server from outside stands on: a client of /v1, CPU time and memory by process, quantiles.
//!
//! For `waypost simulate` and the benchmarks. Must know nothing of the server's insides.

mod api;
mod cpu;
mod memory;
mod quantiles;

pub use api::Api;
pub use cpu::CpuMeter;
pub use memory::{most_resident_bytes, resident_bytes};
pub use quantiles::Quantiles;
