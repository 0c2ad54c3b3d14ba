//! Whose orders to send something at once are under way, so that no organization takes the places of all others.

use std::cell::RefCell;

use waypost_actors::model::OrganizationId;

/// Orders of an organization that may be under way.
const MOST_OF_ONE: usize = 2;

/// The organizations of the orders that are under way, one for each order. Whoever carries orders out bounds how many there are.
#[derive(Default)]
pub(super) struct Orders {
    of: RefCell<Vec<OrganizationId>>,
}

/// An order's place, until dropped.
pub(super) struct Place<'a> {
    orders: &'a Orders,
    of: OrganizationId,
}

impl Orders {
    /// Takes a place for an order of an organization; `None` if it has no more.
    pub(super) fn begin(&self, of: OrganizationId) -> Option<Place<'_>> {
        let mut all = self.of.borrow_mut();
        let is_free = all.iter().filter(|one| **one == of).count() < MOST_OF_ONE;
        is_free.then(|| {
            all.push(of);
            Place { orders: self, of }
        })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut all = self.orders.of.borrow_mut();
        if let Some(at) = all.iter().position(|one| *one == self.of) {
            all.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_organization_has_two_places_and_takes_nobody_elses() {
        let [one, other] = [1, 2].map(|number| OrganizationId(Uuid::from_u128(number)));
        let orders = Orders::default();
        let first = orders.begin(one);
        let second = orders.begin(one);
        assert!(first.is_some() && second.is_some() && orders.begin(one).is_none());
        let others = orders.begin(other);
        assert!(others.is_some());
        drop(first);
        let again = orders.begin(one);
        assert!(again.is_some() && orders.begin(one).is_none());
    }
}
