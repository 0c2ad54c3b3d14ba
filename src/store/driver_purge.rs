//! What was known of deleted drivers goes; that there was one stays, for the records and assignments that name it.

use uuid::Uuid;
use waypost_actors::model::DriverId;

use super::sql::{Result, Stmt, Tx};
use super::time::Time;
use crate::auth::scope::OrgScope;

/// Empties the organization's deleted profile of a driver, or of all drivers, deletes for whom their cards assigned, and takes the
/// name and all else from those of whom no organization has a profile any more. Their files and cards went with the profile.
pub async fn purge(tx: &mut Tx, scope: &OrgScope, of: Option<DriverId>, now: Time) -> Result<()> {
    let organization = Uuid::from(scope.organization_id());
    let stmt = tx.on().sql(
        "delete from card_holding where exists (select 1 from driver_profile p where p.deleted_at is not null \
         and p.driver_id = card_holding.driver_id and p.organization_id = card_holding.organization_id \
         and p.organization_id = ",
    );
    narrowed(stmt.push_bind(organization), of).push(")").run().await?;
    let stmt = tx.on().sql(
        "update driver_profile as p set email = null, phone = null, employee_code = null, notes = null, \
         documents = '[]', cards = '[]', status = 'inactive', search_key = '', updated_at = ",
    );
    let stmt = stmt.push_bind(now).push(" where p.deleted_at is not null and p.organization_id = ");
    narrowed(stmt.push_bind(organization), of).run().await?;
    let stmt = tx.on().sql(
        "update driver set first_name = 'Deleted', last_name = 'driver', search_key = '', date_of_birth = null, \
         license = null, license_country = null, license_key = null, license_expires_at = null, lock_reason = null, \
         updated_at = ",
    );
    let stmt = stmt
        .push_bind(now)
        .push(" where deleted_at is not null and id in (select p.driver_id from driver_profile p where p.organization_id = ");
    narrowed(stmt.push_bind(organization), of).push(")").run().await?;
    Ok(())
}

/// Restricts to the profiles `p` of a driver.
fn narrowed(stmt: Stmt<'_>, of: Option<DriverId>) -> Stmt<'_> {
    match of {
        Some(id) => stmt.push(" and p.driver_id = ").push_bind(Uuid::from(id)),
        None => stmt,
    }
}
