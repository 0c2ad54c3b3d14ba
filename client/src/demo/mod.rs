//! The bundled demonstration: real buses and fences of Austin, and the plan that replays them for ever.
//!
//! Owns the data in the binary and when each fix is due. Knows no server, no socket and no clock: the caller
//! provides the start and does the sending.

mod bundle;
mod plan;

pub use bundle::{Bundle, BundleError, DemoVehicle, bundle};
pub use plan::{DEMO_SPEED_UP, Scheduled, plan};

/// A fix of the demo, in the words of the tracker socket.
pub use crate::trace::Point as FixItem;
