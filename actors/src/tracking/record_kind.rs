//! The kinds of records.

use crate::fuel::FuelEventKind;
use crate::model::{Connection, EventKind};

words!(
    /// What happened.
    #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
    RecordKind {
        /// The vehicle came into a geofence.
        Entry = "entry",
        /// The vehicle went out of a geofence.
        Exit = "exit",
        /// The vehicle stayed in a geofence as long as its rule asks.
        Dwell = "dwell",
        /// Fuel came in.
        Refuel = "refuel",
        /// Fuel went out that the engine did not burn.
        Drain = "drain",
        /// The vehicle went faster than it may.
        Overspeed = "overspeed",
        /// The vehicle was on its way.
        Trip = "trip",
        /// The vehicle stood.
        Stop = "stop",
        /// The vehicle is heard of again.
        Online = "online",
        /// The vehicle was not heard of for `staleAfterSeconds`.
        Stale = "stale",
        /// The vehicle was not heard of for `offlineAfterSeconds`.
        Offline = "offline",
        /// Something that a dispatcher should look at.
        Alert = "alert",
    }
);

impl RecordKind {
    /// The kinds of geofence events.
    pub const GEOFENCE: [Self; 3] = [Self::Entry, Self::Exit, Self::Dwell];
    /// The kinds of fuel events.
    pub const FUEL: [Self; 2] = [Self::Refuel, Self::Drain];

    /// The kinds of changes of the connection.
    pub const CONNECTION: [Self; 3] = [Self::Online, Self::Stale, Self::Offline];

    /// Whether it is about fuel, which needs a permission of its own.
    #[must_use]
    pub const fn is_fuel(self) -> bool {
        matches!(self, Self::Refuel | Self::Drain)
    }
}

impl From<EventKind> for RecordKind {
    fn from(kind: EventKind) -> Self {
        match kind {
            EventKind::Entry => Self::Entry,
            EventKind::Exit => Self::Exit,
            EventKind::Dwell => Self::Dwell,
        }
    }
}

impl From<Connection> for RecordKind {
    fn from(state: Connection) -> Self {
        match state {
            Connection::Online => Self::Online,
            Connection::Stale => Self::Stale,
            Connection::Offline => Self::Offline,
        }
    }
}

impl From<FuelEventKind> for RecordKind {
    fn from(kind: FuelEventKind) -> Self {
        match kind {
            FuelEventKind::Refuel => Self::Refuel,
            FuelEventKind::Drain => Self::Drain,
        }
    }
}
