//! What a fix or a change is judged with.

use crate::geofence::FenceSet;
use crate::model::{Timestamp, Vehicle};

/// What a fix or a change is judged with.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The vehicle whose fix or change it is.
    pub vehicle: &'a Vehicle,
    /// The fences of the vehicle's organization.
    pub fences: &'a FenceSet,
    /// The server's clock: when the records are found.
    pub detected_at: Timestamp,
}
