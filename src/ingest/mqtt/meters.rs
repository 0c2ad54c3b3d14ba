//! What reading brokers counts for operators: sums over all brokers. Knows no names of metrics; telemetry does.

use waypost_actors::meters::{Count, UpDownCounter};

/// The figures.
#[derive(Debug, Default)]
pub struct Meters {
    /// Brokers that are read.
    pub brokers: UpDownCounter,
    /// Those of them that are connected.
    pub connected: UpDownCounter,
    /// Connections that came after another one.
    pub reconnects: Count,
    /// Messages that are stored or refused for good.
    pub messages: Count,
    /// Those of them of which something was refused for good.
    pub refused: Count,
}
