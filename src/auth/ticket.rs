//! One-time tickets: how a browser, which cannot set headers on a socket, opens the live feed.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use waypost_actors::model::Timestamp;

use super::caller::Caller;
use super::secret::{self, Hash};

/// How long a ticket is good, in seconds.
pub const LIFETIME_SECONDS: i64 = 30;
/// Tickets outstanding at most; beyond, the oldest goes.
const MOST: usize = 10_000;

/// The tickets outstanding. They live in memory: a restart closes every socket anyway.
#[derive(Default)]
pub struct Tickets(Mutex<HashMap<Hash, (Caller, Timestamp)>>);

impl Tickets {
    /// A ticket for somebody, good until the instant returned with it.
    pub fn issue(&self, caller: Caller, now: Timestamp) -> (String, Timestamp) {
        let ticket = secret::new("wpk_");
        let ends_at = now.plus_seconds(LIFETIME_SECONDS as f64);
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.retain(|_, (_, ends_at)| *ends_at > now);
        if tickets.len() >= MOST {
            let oldest =
                tickets.iter().min_by_key(|(_, (_, ends_at))| *ends_at).map(|(hash, _)| hash.clone());
            oldest.map(|hash| tickets.remove(&hash));
        }
        tickets.insert(secret::hash(&ticket), (caller, ends_at));
        (ticket, ends_at)
    }

    /// Whose ticket this is. A ticket works once.
    #[must_use]
    pub fn redeem(&self, ticket: &str, now: Timestamp) -> Option<Caller> {
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (caller, ends_at) = tickets.remove(&secret::hash(ticket))?;
        (ends_at > now).then_some(caller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_works_once_and_for_thirty_seconds() {
        let (tickets, now) = (Tickets::default(), Timestamp::from_micros(0));
        let caller = Caller::console();
        let (ticket, _) = tickets.issue(caller.clone(), now);
        assert_eq!(tickets.redeem(&ticket, now.plus_seconds(29.9)), Some(caller.clone()));
        assert_eq!(tickets.redeem(&ticket, now), None);
        let (ticket, _) = tickets.issue(caller, now);
        assert_eq!(tickets.redeem(&ticket, now.plus_seconds(30.0)), None);
        assert_eq!(tickets.redeem("wpk_unknown", now), None);
    }

    #[test]
    fn outstanding_tickets_are_bounded() {
        let (tickets, now) = (Tickets::default(), Timestamp::from_micros(0));
        for _ in 0..=MOST {
            tickets.issue(Caller::console(), now);
        }
        assert_eq!(tickets.0.lock().unwrap().len(), MOST);
    }
}
