//! Whose a card is in an organization, and for whom it assigns vehicles: while its driver is active there and held by it. The
//! track writer makes the assignments (`track/cards.rs`).

use uuid::Uuid;
use waypost_actors::model::DriverId;

use super::rows::{Column, Insert};
use super::sql::{Result, Stmt, Tx};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::clock;
use crate::domain::driver_card::card_key;

/// Of which drivers.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    /// One of them.
    Driver(DriverId),
    /// All of the organization.
    Organization,
}

impl Of {
    fn narrow<'c>(self, stmt: Stmt<'c>, scope: &OrgScope) -> Stmt<'c> {
        match self {
            Self::Driver(driver) => stmt.push("c.driver_id = ").push_bind(Uuid::from(driver)),
            Self::Organization => {
                stmt.push("c.organization_id = ").push_bind(Uuid::from(scope.organization_id()))
            }
        }
    }
}

/// The condition that a card `c` of a driver assigns.
const ASSIGNS: &str = "exists (select 1 from driver_profile p join driver d on d.id = p.driver_id \
    join driver_card k on k.driver_id = p.driver_id and k.organization_id = p.organization_id \
    where p.driver_id = c.driver_id and p.organization_id = c.organization_id and k.card_key = c.card_key \
    and p.deleted_at is null and p.status = 'active' and d.deleted_at is null \
    and d.lock_organization_id = p.organization_id)";

/// Sets the cards that a driver has in the organization; one that is another's is a conflict.
pub async fn put(tx: &mut Tx, scope: &OrgScope, driver: DriverId, cards: &[String]) -> Result<()> {
    let organization = Uuid::from(scope.organization_id());
    let keys: Vec<String> = cards.iter().map(|card| card_key(card)).collect();
    let delete = "delete from driver_card where organization_id = $1 and driver_id = $2";
    tx.on().sql(delete).bind(organization).bind(Uuid::from(driver)).run().await?;
    let rows = Insert {
        into: "insert into driver_card (organization_id, card_key, driver_id)",
        columns: vec![
            Column::Uuid(keys.iter().map(|_| organization).collect()),
            Column::Text(keys.iter().map(String::as_str).collect()),
            Column::Uuid(keys.iter().map(|_| driver.into()).collect()),
        ],
        after: "",
    };
    rows.run(tx).await?;
    Ok(())
}

/// Deletes the cards of a driver, or of all, in the organization.
pub async fn delete(tx: &mut Tx, scope: &OrgScope, of: Of) -> Result<()> {
    let stmt = tx.on().sql("delete from driver_card as c where c.organization_id = ");
    let stmt = stmt.push_bind(Uuid::from(scope.organization_id())).push(" and ");
    of.narrow(stmt, scope).run().await?;
    Ok(())
}

/// Brings up to date from when to when cards assign, after a change of a profile or of the lock. What that does to the
/// assignments is left to the track writer.
pub async fn settle(tx: &mut Tx, scope: &OrgScope, of: Of, now: Time) -> Result<()> {
    let stmt = tx.on().sql("update card_holding as c set unsettled_from = coalesce(c.unsettled_from, ");
    let stmt = stmt.push_bind(now).push("), held_until = case when c.held_from > ").push_bind(now);
    let stmt = stmt.push(" then c.held_from else ").push_bind(now);
    let stmt = stmt.push(" end where c.held_until is null and not ").push(ASSIGNS).push(" and ");
    of.narrow(stmt, scope).run().await?;
    let stmt = tx
        .on()
        .sql("select c.organization_id, c.card_key, c.driver_id from driver_card c where ")
        .push(ASSIGNS);
    let stmt = stmt.push(
        " and not exists (select 1 from card_holding h where h.organization_id = c.organization_id \
         and h.card_key = c.card_key and h.driver_id = c.driver_id and h.held_until is null) and ",
    );
    let new: Vec<(Uuid, String, Uuid)> = of.narrow(stmt, scope).all().await?;
    let rows = Insert {
        into: "insert into card_holding (id, organization_id, card_key, driver_id, held_from, unsettled_from)",
        columns: vec![
            Column::Uuid(new.iter().map(|_| clock::new_id()).collect()),
            Column::Uuid(new.iter().map(|(organization, _, _)| *organization).collect()),
            Column::Text(new.iter().map(|(_, key, _)| key.as_str()).collect()),
            Column::Uuid(new.iter().map(|(_, _, driver)| *driver).collect()),
            Column::Time(new.iter().map(|_| now).collect()),
            Column::Time(new.iter().map(|_| now).collect()),
        ],
        after: "",
    };
    rows.run(tx).await?;
    Ok(())
}
