//! How far the events of organizations were published to their own brokers.

use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::change_log;
use super::sql::{Db, Result, Tx};
use super::time::Time;
use crate::auth::scope::OrgScope;

/// The number of the log from which on events are still to be published at a place: the end of the log for a new one, which
/// is told what happens from now on.
pub async fn begin(db: &Db, organization: OrganizationId, place: &str, now: Timestamp) -> Result<i64> {
    let mut tx = db.begin().await?;
    let end = change_log::next_number(tx.on(), db.shard()).await?;
    let insert = "insert into mqtt_cursor (organization_id, place, next_sequence, updated_at) values ($1, $2, $3, $4) \
        on conflict (organization_id, place) do nothing";
    tx.on().sql(insert).bind(organization.0).bind(place).bind(end).bind(Time(now)).run().await?;
    let select = "select next_sequence from mqtt_cursor where organization_id = $1 and place = $2";
    let next = tx.on().sql(select).bind(organization.0).bind(place).scalar().await?;
    tx.commit().await?;
    Ok(next)
}

/// Saves that everything before a number is published at a place.
pub async fn save(
    db: &Db,
    organization: OrganizationId,
    place: &str,
    next: i64,
    now: Timestamp,
) -> Result<()> {
    let update = "update mqtt_cursor set next_sequence = $3, updated_at = $4 \
        where organization_id = $1 and place = $2 and next_sequence < $3";
    let stmt = db.write().sql(update).bind(organization.0).bind(place).bind(next);
    stmt.bind(Time(now)).run().await?;
    Ok(())
}

/// Forgets an organization's places.
pub async fn delete_of_organization(tx: &mut Tx, scope: &OrgScope) -> Result<()> {
    let organization = Uuid::from(scope.organization_id());
    tx.on().sql("delete from mqtt_cursor where organization_id = $1").bind(organization).run().await?;
    Ok(())
}
