//! What publishing counts for operators: sums over all brokers. Knows no names of metrics; telemetry does.

use waypost_actors::meters::{Count, UpDownCounter};

/// The figures.
#[derive(Debug, Default)]
pub struct Meters {
    /// Positions handed to brokers.
    pub positions: Count,
    /// Events that brokers acknowledged.
    pub events: Count,
    /// Brokers that are published to.
    pub brokers: UpDownCounter,
    /// Those of them that are connected.
    pub connected: UpDownCounter,
}
