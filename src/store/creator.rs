//! System users that signed up on their own, and the organization each created.

use sqlx::types::Json;
use uuid::Uuid;

use super::sql::{On, Result, Tx};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::system_user::Scopes;

/// Records which organization a system user created; `false` if it belongs to one, or created one before that is not
/// deleted.
pub async fn found(on: On<'_>, scope: &OrgScope, system_user: Uuid, now: Time) -> Result<bool> {
    let noted = on
        .sql(
            "update system_user set founded_organization_id = $2, updated_at = $3 where id = $1 \
             and organization_id is null and deleted_at is null and (founded_organization_id is null \
             or exists (select 1 from organization o where o.id = system_user.founded_organization_id \
             and o.status = 'deleted'))",
        )
        .bind(system_user)
        .bind(Uuid::from(scope.organization_id()))
        .bind(now)
        .run()
        .await?;
    Ok(noted > 0)
}

/// The address of the system user that created an organization and is to be bound to it.
pub async fn address(on: On<'_>, organization: Uuid) -> Result<Option<String>> {
    let found: Option<(String,)> = on
        .sql(
            "select email from system_user where founded_organization_id = $1 and organization_id is null \
             and deleted_at is null",
        )
        .bind(organization)
        .optional()
        .await?;
    Ok(found.map(|(email,)| email))
}

/// Keeps the system user that created an organization from being bound to it.
pub async fn leave_out(on: On<'_>, scope: &OrgScope, now: Time) -> Result<()> {
    on.sql(
        "update system_user set founded_organization_id = null, updated_at = $2 \
         where founded_organization_id = $1 and organization_id is null",
    )
    .bind(Uuid::from(scope.organization_id()))
    .bind(now)
    .run()
    .await?;
    Ok(())
}

/// Binds the system user that created an organization to it, with all scopes. Gives it, and the scopes it had before; `None` if there
/// is none to bind.
pub async fn bind(tx: &mut Tx, scope: &OrgScope, now: Time) -> Result<Option<(Uuid, Scopes)>> {
    let organization = Uuid::from(scope.organization_id());
    let found: Option<(Uuid, Json<Scopes>)> = tx
        .on()
        .sql(
            "select id, scopes from system_user where founded_organization_id = $1 and organization_id is null \
             and deleted_at is null",
        )
        .bind(organization)
        .optional()
        .await?;
    let Some((id, Json(before))) = found else { return Ok(None) };
    let bound = tx
        .on()
        .sql(
            "update system_user set organization_id = $1, scopes = $2, updated_at = $3 \
             where id = $4 and organization_id is null and deleted_at is null",
        )
        .bind(organization)
        .bind(Json(Scopes::all()))
        .bind(now)
        .bind(id)
        .run()
        .await?;
    Ok((bound > 0).then_some((id, before)))
}
