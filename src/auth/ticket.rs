//! One-time tickets, with which a browser opens the live feed, because it cannot set headers on a socket.

use std::collections::HashMap;

use parking_lot::Mutex;
use waypost_actors::model::Timestamp;

use super::caller::Caller;
use super::error::AuthError;
use super::secret::{self, Hash};

/// How long a ticket is valid, in seconds.
pub const LIFETIME_SECONDS: i64 = 30;
/// Most outstanding tickets of one caller; a further one replaces the caller's oldest.
const OF_ONE: usize = 20;
/// Most outstanding tickets; beyond that, none is issued.
const MOST: usize = 50_000;

/// The outstanding tickets. They are only kept in memory, because a restart closes every socket anyway.
#[derive(Default)]
pub struct Tickets(Mutex<HashMap<Hash, (Caller, Timestamp)>>);

impl Tickets {
    /// Issues a ticket for a caller, valid until the instant returned with it. Never costs another caller a ticket.
    pub fn issue(&self, caller: Caller, now: Timestamp) -> Result<(String, Timestamp), AuthError> {
        let ticket = secret::new("wpw_");
        let ends_at = now.plus_seconds(LIFETIME_SECONDS as f64);
        let mut tickets = self.0.lock();
        tickets.retain(|_, (_, ends_at)| *ends_at > now);
        let own = tickets.iter().filter(|(_, (of, _))| of.id == caller.id);
        let mut own: Vec<(Timestamp, Hash)> =
            own.map(|(hash, (_, ends_at))| (*ends_at, hash.clone())).collect();
        if own.len() >= OF_ONE {
            own.sort_unstable_by_key(|(ends_at, _)| *ends_at);
            tickets.remove(&own[0].1);
        }
        if tickets.len() >= MOST {
            return Err(AuthError::Busy);
        }
        tickets.insert(secret::hash(&ticket), (caller, ends_at));
        Ok((ticket, ends_at))
    }

    /// The caller a ticket was issued for. A ticket works once.
    #[must_use]
    pub fn redeem(&self, ticket: &str, now: Timestamp) -> Option<Caller> {
        let mut tickets = self.0.lock();
        let (caller, ends_at) = tickets.remove(&secret::hash(ticket))?;
        (ends_at > now).then_some(caller)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_ticket_works_once_and_for_thirty_seconds() {
        let (tickets, now) = (Tickets::default(), Timestamp::from_micros(0));
        let caller = Caller::console();
        let (ticket, _) = tickets.issue(caller.clone(), now).unwrap();
        assert_eq!(tickets.redeem(&ticket, now.plus_seconds(29.9)), Some(caller.clone()));
        assert_eq!(tickets.redeem(&ticket, now), None);
        let (ticket, _) = tickets.issue(caller, now).unwrap();
        assert_eq!(tickets.redeem(&ticket, now.plus_seconds(30.0)), None);
        assert_eq!(tickets.redeem("wpw_unknown", now), None);
    }

    #[test]
    fn whoever_takes_many_loses_only_their_own_oldest() {
        let (tickets, now) = (Tickets::default(), Timestamp::from_micros(0));
        let somebody = |number| Caller { id: Uuid::from_u128(number), ..Caller::console() };
        let issue = |number, micros| tickets.issue(somebody(number), Timestamp::from_micros(micros));
        let (other, _) = issue(1, 0).unwrap();
        let own: Vec<String> = (1..=OF_ONE as i64 + 1).map(|micros| issue(2, micros).unwrap().0).collect();
        assert_eq!(tickets.redeem(&own[0], now), None);
        assert_eq!(tickets.redeem(&own[1], now), Some(somebody(2)));
        assert_eq!(tickets.redeem(&other, now), Some(somebody(1)));
    }

    #[test]
    fn when_there_are_too_many_no_new_one_is_issued() {
        let (tickets, now) = (Tickets::default(), Timestamp::from_micros(0));
        let held =
            |number| (Caller { id: Uuid::from_u128(number), ..Caller::console() }, now.plus_seconds(1.0));
        let many = (0..MOST).map(|number| (secret::hash(&number.to_string()), held(number as u128)));
        *tickets.0.lock() = many.collect();
        assert!(matches!(tickets.issue(Caller::console(), now), Err(AuthError::Busy)));
        assert!(tickets.redeem("0", now).is_some() && tickets.issue(Caller::console(), now).is_ok());
    }
}
