//! Where in the order of numbers an organization's records since an instant begin, for lists by number.
//!
//! A row says of a number that no record of a lower one occurred later than an instant. Lower numbers are given to nothing new (a
//! revision gets one above all others, and nothing else changes when a record occurred), so what is said stays true, whatever comes
//! late, is put right, taken back or deleted. Rows may lag behind the records: then a list reads a little more.

use waypost_actors::model::{OrganizationId, Timestamp};

use super::sql::{Db, Result};
use super::time::Time;

/// Records between two rows.
const EVERY: usize = 1_000;

/// The number before which no record of an organization occurred at an instant or later. `None`: nothing is said of it yet, and whoever
/// begins with its first number may go through all of its past.
pub async fn first_since(db: &Db, organization: OrganizationId, from: Timestamp) -> Result<Option<i64>> {
    let select = "select sequence from time_index where organization_id = $1 and latest_at < $2 \
        order by latest_at desc, sequence desc limit 1";
    let stmt = db.lists().sql(select).bind(organization.0).bind(Time(from));
    if let Some((sequence,)) = stmt.optional::<(i64,)>().await? {
        return Ok(Some(sequence));
    }
    // Before the first row there are a thousand records.
    let is_begun = "select exists (select 1 from time_index where organization_id = $1)";
    let is_begun: bool = db.lists().sql(is_begun).bind(organization.0).scalar().await?;
    Ok(is_begun.then_some(0))
}

/// Extends an organization's rows to its newest records, and deletes those below which there is no record any more.
pub async fn renew(db: &Db, organization: OrganizationId) -> Result<()> {
    while extend(db, organization).await? {}
    forget(db, organization).await
}

/// Adds an organization's next row; returns whether there may be more to add.
async fn extend(db: &Db, organization: OrganizationId) -> Result<bool> {
    let newest = "select latest_at, sequence from time_index where organization_id = $1 \
        order by latest_at desc, sequence desc limit 1";
    let newest: Option<(Time, i64)> = db.read().sql(newest).bind(organization.0).optional().await?;
    let (latest, begin) = newest.unwrap_or((Time(Timestamp::FIRST), 0));
    let select = "select sequence, occurred_at from records where organization_id = $1 and shard = 0 and sequence >= $2 \
        order by sequence limit $3";
    let stmt = db.read().sql(select).bind(organization.0).bind(begin).bind(EVERY as i64 + 1);
    let records: Vec<(i64, Time)> = stmt.all().await?;
    let Some((next, _)) = records.get(EVERY) else { return Ok(false) };
    let latest = records[..EVERY].iter().map(|(_, occurred_at)| *occurred_at).fold(latest, Time::max);
    let insert = "insert into time_index (organization_id, latest_at, sequence) values ($1, $2, $3) on conflict do nothing";
    db.write().sql(insert).bind(organization.0).bind(latest).bind(*next).run().await?;
    Ok(true)
}

async fn forget(db: &Db, organization: OrganizationId) -> Result<()> {
    let delete = "delete from time_index where organization_id = $1 and sequence <= coalesce((select min(e.sequence) \
        from records e where e.organization_id = $1 and e.shard = 0), $2)";
    db.write().sql(delete).bind(organization.0).bind(i64::MAX).run().await?;
    Ok(())
}
