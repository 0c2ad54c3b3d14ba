//! What happens is published to an organization's own broker (MQTT 3.1.1): the newest position of each vehicle, retained, and
//! events in the order of the log.
//!
//! One task per broker, on the thread of webhooks. Events go by a cursor that moves with the broker's acknowledgements and is
//! stored, so that none is missing after either side was away; of positions, which are state, a slow broker gets the newest.
//! Knows no SQL, no route and no use case; how a position is shown it is given (docs/mqtt-out.md).

mod discovery;
mod meters;
mod parts;
mod positions;
mod publisher;
mod session;
mod target;
mod unacknowledged;
mod window;

pub use meters::Meters;
pub use parts::{FleetNow, Ports, ReadFleet, ReadNames, ShowPosition};
pub use publisher::Publisher;
pub use target::Parts;
