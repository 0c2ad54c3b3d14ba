//! One-time tickets, with which a browser opens the live feed, because it cannot set headers on a socket.

use std::collections::HashMap;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use parking_lot::Mutex;
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::caller::Caller;
use super::error::AuthError;
use super::secret::{self, Hash};

/// How long a ticket is valid, in seconds.
pub const LIFETIME_SECONDS: i64 = 30;
/// Most outstanding tickets of one caller; a further one replaces the caller's oldest.
const OF_ONE: usize = 20;
/// Most outstanding tickets of the callers of one organization; a further one replaces the organization's oldest.
const OF_AN_ORGANIZATION: usize = 1_000;
/// Most outstanding tickets; beyond that, none is issued.
const MOST: usize = 50_000;
/// How a ticket begins.
const PREFIX: &str = "wpw_";
/// Characters behind that which name the caller's organization.
const ORGANIZATION_CHARS: usize = 22;

/// The outstanding tickets. They are only kept in memory, because a restart closes every socket anyway.
#[derive(Default)]
pub struct Tickets(Mutex<HashMap<Hash, (Caller, Timestamp)>>);

impl Tickets {
    /// Issues a ticket for a caller who watches an organization, valid until the instant returned with it. Never costs another
    /// organization a ticket.
    pub fn issue(
        &self,
        caller: Caller,
        organization: Option<OrganizationId>,
        now: Timestamp,
    ) -> Result<(String, Timestamp), AuthError> {
        let ticket = secret::new(&prefix(organization));
        let ends_at = now.plus_seconds(LIFETIME_SECONDS as f64);
        let mut tickets = self.0.lock();
        tickets.retain(|_, (_, ends_at)| *ends_at > now);
        make_room(&mut tickets, OF_ONE, |of| of.id == caller.id);
        if caller.organization_id.is_some() {
            make_room(&mut tickets, OF_AN_ORGANIZATION, |of| of.organization_id == caller.organization_id);
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

/// Drops an owner's oldest ticket if they have as many as they may.
fn make_room(
    tickets: &mut HashMap<Hash, (Caller, Timestamp)>,
    most: usize,
    is_owners: impl Fn(&Caller) -> bool,
) {
    let owned = tickets.iter().filter(|(_, (of, _))| is_owners(of));
    let owned: Vec<(Timestamp, &Hash)> = owned.map(|(hash, (_, ends_at))| (*ends_at, hash)).collect();
    if owned.len() < most {
        return;
    }
    if let Some(oldest) = owned.into_iter().min().map(|(_, hash)| hash.clone()) {
        tickets.remove(&oldest);
    }
}

/// A ticket says whose it is, because it is only good at the server that issued it: the one that has the organization.
fn prefix(organization: Option<OrganizationId>) -> String {
    let id = organization.map_or(Uuid::nil(), Uuid::from);
    format!("{PREFIX}{}", BASE64.encode(id.as_bytes()))
}

/// The organization that a ticket names; `None` for an operator's, and for what is no ticket.
#[must_use]
pub fn ticket_organization(ticket: &str) -> Option<OrganizationId> {
    let named = ticket.strip_prefix(PREFIX)?.get(..ORGANIZATION_CHARS)?;
    let id = Uuid::from_slice(&BASE64.decode(named).ok()?).ok()?;
    (!id.is_nil()).then_some(OrganizationId(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_names_its_organization() {
        let (tickets, now) = (Tickets::default(), Timestamp::from_micros(0));
        let organization_id = Some(OrganizationId(Uuid::from_u128(7)));
        let (ticket, _) = tickets.issue(Caller::console(), organization_id, now).unwrap();
        assert_eq!(ticket_organization(&ticket), organization_id);
        let (operators, _) = tickets.issue(Caller::console(), None, now).unwrap();
        for other in [operators.as_str(), "wpw_", "wpw_unknown", "", &ticket[1..]] {
            assert_eq!(ticket_organization(other), None, "{other}");
        }
    }

    #[test]
    fn a_ticket_works_once_and_for_thirty_seconds() {
        let (tickets, now) = (Tickets::default(), Timestamp::from_micros(0));
        let caller = Caller::console();
        let (ticket, _) = tickets.issue(caller.clone(), None, now).unwrap();
        assert_eq!(tickets.redeem(&ticket, now.plus_seconds(29.9)), Some(caller.clone()));
        assert_eq!(tickets.redeem(&ticket, now), None);
        let (ticket, _) = tickets.issue(caller, None, now).unwrap();
        assert_eq!(tickets.redeem(&ticket, now.plus_seconds(30.0)), None);
        assert_eq!(tickets.redeem("wpw_unknown", now), None);
    }

    #[test]
    fn whoever_takes_many_loses_only_their_own_oldest() {
        let (tickets, now) = (Tickets::default(), Timestamp::from_micros(0));
        let somebody = |number| Caller { id: Uuid::from_u128(number), ..Caller::console() };
        let issue = |number, micros| tickets.issue(somebody(number), None, Timestamp::from_micros(micros));
        let (other, _) = issue(1, 0).unwrap();
        let own: Vec<String> = (1..=OF_ONE as i64 + 1).map(|micros| issue(2, micros).unwrap().0).collect();
        assert_eq!(tickets.redeem(&own[0], now), None);
        assert_eq!(tickets.redeem(&own[1], now), Some(somebody(2)));
        assert_eq!(tickets.redeem(&other, now), Some(somebody(1)));
    }

    #[test]
    fn an_organization_of_many_callers_takes_no_others_tickets() {
        let (tickets, now) = (Tickets::default(), Timestamp::from_micros(0));
        let of = |organization: u128, number| Caller {
            id: Uuid::from_u128(number),
            organization_id: Some(OrganizationId(Uuid::from_u128(organization))),
            ..Caller::console()
        };
        let issue = |caller, micros| {
            tickets.issue(caller, None, Timestamp::from_micros(micros)).map(|issued| issued.0)
        };
        let other = issue(of(1, 0), 0).unwrap();
        let operators = issue(Caller::console(), 0).unwrap();
        let instants = 1..=OF_AN_ORGANIZATION as i64 + 1;
        let own = (1..).zip(instants).map(|(number, micros)| issue(of(2, number), micros).unwrap());
        let own: Vec<String> = own.collect();
        assert_eq!(tickets.redeem(&own[0], now), None, "the oldest of the same organization went");
        assert!(own[1..].iter().all(|ticket| tickets.redeem(ticket, now).is_some()));
        assert_eq!(tickets.redeem(&other, now), Some(of(1, 0)));
        assert!(tickets.redeem(&operators, now).is_some());
    }

    #[test]
    fn when_there_are_too_many_no_new_one_is_issued() {
        let (tickets, now) = (Tickets::default(), Timestamp::from_micros(0));
        let held =
            |number| (Caller { id: Uuid::from_u128(number), ..Caller::console() }, now.plus_seconds(1.0));
        let many = (0..MOST).map(|number| (secret::hash(&number.to_string()), held(number as u128)));
        *tickets.0.lock() = many.collect();
        assert!(matches!(tickets.issue(Caller::console(), None, now), Err(AuthError::Busy)));
        assert!(tickets.redeem("0", now).is_some() && tickets.issue(Caller::console(), None, now).is_ok());
    }
}
