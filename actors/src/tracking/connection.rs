//! Records of a vehicle's connection. They follow the server's clock and not the vehicle's timeline, so they are outside the
//! law of late data: never found again, never revised.

use super::identity::connection_id;
use super::record::{ConnectionDetail, Detail, Record};
use crate::model::{Connection, EventStatus, OrganizationId, Origin, Place, Timestamp, VehicleId};

/// A change of a vehicle's connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConnectionChange {
    /// The vehicle.
    pub vehicle_id: VehicleId,
    /// The organization the vehicle belongs to.
    pub organization_id: OrganizationId,
    /// What it is from now on.
    pub state: Connection,
    /// When it was heard before the silence that this is about, by the server's clock: what the id hangs on.
    pub silent_since: Timestamp,
    /// When it was heard last, by the server's clock.
    pub heard_at: Timestamp,
    /// When it came to be so, by the server's clock.
    pub occurred_at: Timestamp,
    /// Where it was last.
    pub location: Option<Place>,
    /// Whether it was on its way then.
    pub was_moving: bool,
}

impl ConnectionChange {
    /// Its record, unnumbered, without the vehicle's name. `now`: the server's clock.
    #[must_use]
    pub fn record(&self, now: Timestamp) -> Record {
        let was_moving = self.was_moving && self.state != Connection::Online;
        let detail = ConnectionDetail { state: self.state, heard_at: self.heard_at, was_moving };
        Record {
            id: connection_id(self.vehicle_id, self.state, self.silent_since),
            sequence: 0,
            status: EventStatus::Active,
            revision: 1,
            organization_id: self.organization_id,
            vehicle_id: self.vehicle_id,
            vehicle_name: String::new(),
            driver_id: None,
            occurred_at: self.occurred_at,
            ended_at: None,
            location: self.location,
            detected_at: now,
            origin: Origin::Live,
            confirmed_at: self.occurred_at,
            detail: Detail::Connection(detail),
        }
    }
}
