//! Whether a vehicle is heard of, and after how much silence it is not.

use super::time::Timestamp;

words!(
    /// Whether a vehicle reports at present.
    #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
    Connection {
        /// It is.
        Online = "online",
        /// Not for `staleAfterSeconds`.
        Stale = "stale",
        /// Not for `offlineAfterSeconds`, or never.
        Offline = "offline",
    }
);

/// How much silence makes the vehicles of an organization stale, and then offline. The longer one is not shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Seconds until stale.
    pub stale_after_seconds: i64,
    /// Seconds until offline.
    pub offline_after_seconds: i64,
}

impl Silence {
    /// What a vehicle is that has been silent for `silent` seconds.
    #[must_use]
    pub fn makes(&self, silent: f64) -> Connection {
        if silent >= self.offline_after_seconds as f64 {
            Connection::Offline
        } else if silent >= self.stale_after_seconds as f64 {
            Connection::Stale
        } else {
            Connection::Online
        }
    }

    /// When a vehicle that is silent since `since` is to be looked at next; `None`: there is nothing more to come.
    pub(crate) fn next(&self, now: Connection, since: Timestamp) -> Option<Timestamp> {
        match now {
            Connection::Online => Some(since.plus_seconds(self.stale_after_seconds as f64)),
            Connection::Stale => Some(since.plus_seconds(self.offline_after_seconds as f64)),
            Connection::Offline => None,
        }
    }

    /// How long it takes to become this.
    pub(crate) const fn seconds_to(&self, state: Connection) -> i64 {
        match state {
            Connection::Online => 0,
            Connection::Stale => self.stale_after_seconds,
            Connection::Offline => self.offline_after_seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_makes_stale_then_offline() {
        let silence = Silence { stale_after_seconds: 300, offline_after_seconds: 3_600 };
        for (silent, state) in [
            (-5.0, Connection::Online),
            (299.9, Connection::Online),
            (300.0, Connection::Stale),
            (3_599.9, Connection::Stale),
            (3_600.0, Connection::Offline),
        ] {
            assert_eq!(silence.makes(silent), state, "after {silent} s");
        }
    }
}
