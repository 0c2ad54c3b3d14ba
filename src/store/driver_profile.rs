//! Organizations' profiles of drivers. Every statement except those that only count names the organization of its
//! scope: no other organization's profile is ever read or written.

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{DriverId, OrganizationId};

use super::sql::{On, Result, Stmt};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::driver::{Driver, Profile};

/// Creates the organization's profile of a driver, or a new one in place of a deleted one; an existing one stays.
pub async fn insert(on: On<'_>, scope: &OrgScope, id: DriverId, profile: &Profile, now: Time) -> Result<()> {
    let stmt = on.sql(
        "insert into driver_profile (driver_id, organization_id, updated_at, email, phone, employee_code, notes, \
         documents, cards, status, search_key, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $3) \
         on conflict (driver_id, organization_id) do update set email = excluded.email, phone = excluded.phone, \
         employee_code = excluded.employee_code, notes = excluded.notes, documents = excluded.documents, cards = excluded.cards, \
         status = excluded.status, search_key = excluded.search_key, created_at = excluded.created_at, \
         updated_at = excluded.updated_at, deleted_at = null where driver_profile.deleted_at is not null",
    );
    with_profile(stmt, scope, id, profile, now).run().await?;
    Ok(())
}

/// Writes the organization's profile of a driver.
pub async fn update(on: On<'_>, scope: &OrgScope, driver: &Driver) -> Result<()> {
    let stmt = on.sql(
        "update driver_profile set updated_at = $3, email = $4, phone = $5, employee_code = $6, notes = $7, \
         documents = $8, cards = $9, status = $10, search_key = $11 where driver_id = $1 and organization_id = $2",
    );
    with_profile(stmt, scope, driver.id, &driver.attributes.profile, Time(driver.updated_at)).run().await?;
    Ok(())
}

fn with_profile<'c>(
    stmt: Stmt<'c>,
    scope: &OrgScope,
    id: DriverId,
    profile: &Profile,
    now: Time,
) -> Stmt<'c> {
    stmt.bind(Uuid::from(id))
        .bind(Uuid::from(scope.organization_id()))
        .bind(now)
        .bind(profile.email.clone())
        .bind(profile.phone.clone())
        .bind(profile.employee_code.clone())
        .bind(profile.notes.clone())
        .bind(Json(&profile.documents))
        .bind(Json(&profile.cards))
        .bind(profile.status.as_str())
        .bind(profile.search_key())
}

/// Deletes the organization's profile of a driver, softly, or of all drivers.
pub async fn delete(on: On<'_>, scope: &OrgScope, of: Option<DriverId>, now: Time) -> Result<()> {
    let stmt = on
        .sql("update driver_profile set deleted_at = ")
        .push_bind(now)
        .push(", updated_at = ")
        .push_bind(now);
    let stmt = stmt.push(" where deleted_at is null and organization_id = ");
    let stmt = stmt.push_bind(Uuid::from(scope.organization_id()));
    match of {
        Some(id) => stmt.push(" and driver_id = ").push_bind(Uuid::from(id)),
        None => stmt,
    }
    .run()
    .await?;
    Ok(())
}

/// The other organizations with a profile of a driver, or of any driver of whom the organization has one: they are
/// informed of what was done to the driver. Reveals nothing of their profiles.
pub async fn others(
    on: On<'_>,
    scope: &OrgScope,
    of: Option<DriverId>,
) -> Result<Vec<(DriverId, OrganizationId)>> {
    let own = Uuid::from(scope.organization_id());
    let stmt = on.sql("select driver_id, organization_id from driver_profile where deleted_at is null");
    let stmt = stmt.push(" and organization_id <> ").push_bind(own).push(" and driver_id ");
    let stmt = match of {
        Some(id) => stmt.push("= ").push_bind(Uuid::from(id)),
        None => stmt
            .push("in (select driver_id from driver_profile where deleted_at is null and organization_id = ")
            .push_bind(own)
            .push(")"),
    };
    let rows: Vec<(Uuid, Uuid)> = stmt.push(" order by driver_id, organization_id").all().await?;
    Ok(rows.into_iter().map(|(id, organization)| (id.into(), OrganizationId(organization))).collect())
}
