//! Unconfirmed sign-ups: their addresses may be taken by others at any time, their slugs once the link has expired.

use uuid::Uuid;

use super::sql::{On, Result};
use super::time::Time;
use crate::domain::account::email_key;
use crate::domain::link::Purpose;

/// The organization of a sign-up that holds an address for its first orgAdmin; or a slug, if its link has expired and
/// no letter is on its way. `made_before`: a later sign-up may still get its letter. An organization made by an
/// operator is not a sign-up.
pub async fn organization(
    on: On<'_>,
    email: &str,
    slug: &str,
    made_before: Time,
    now: Time,
) -> Result<Option<Uuid>> {
    let found: Option<(Uuid,)> = on
        .sql(
            "select o.id from organization o where o.status = 'pendingActivation' \
             and exists (select 1 from audit u where u.organization_id = o.id \
             and u.resource = 'organization' and u.action = 'create' and u.actor_role in ('anonymous', 'system')) \
             and (exists (select 1 from account a where a.organization_id = o.id and a.email_key = $1) \
             or o.slug = $2 and o.created_at < $3 \
             and not exists (select 1 from one_time_token t where t.purpose = $5 and t.subject_id = o.id \
             and t.used_at is null and t.superseded_at is null and t.expires_at > $4) \
             and not exists (select 1 from mail_outbox m where m.letter = $5 and m.subject_id = o.id \
             and m.given_up_at is null)) order by o.created_at limit 1",
        )
        .bind(email_key(email))
        .bind(slug)
        .bind(made_before)
        .bind(now)
        .bind(Purpose::ActivateOrganization.as_str())
        .optional()
        .await?;
    Ok(found.map(|(id,)| id))
}

/// The address of a sign-up of a system user that a later one displaced; `None` if it is no such sign-up. One that somebody deleted
/// has no link any more by which it could be asked for.
pub async fn displaced_address(on: On<'_>, system_user: Uuid) -> Result<Option<String>> {
    let found: Option<(String,)> = on
        .sql(
            "select email from system_user where id = $1 and deleted_at is not null \
             and status = 'pendingVerification' and organization_id is null",
        )
        .bind(system_user)
        .optional()
        .await?;
    Ok(found.map(|(email,)| email))
}

/// Takes back that a sign-up of a system user was displaced; a taken address is a conflict.
pub async fn restore_system_user(on: On<'_>, system_user: Uuid, now: Time) -> Result<()> {
    on.sql("update system_user set deleted_at = null, updated_at = $2 where id = $1")
        .bind(system_user)
        .bind(now)
        .run()
        .await?;
    Ok(())
}

/// Deletes the system user that signed up by itself with an address and never verified it; returns its id.
pub async fn delete_system_user(on: On<'_>, email: &str, now: Time) -> Result<Option<Uuid>> {
    let gone: Option<(Uuid,)> = on
        .sql(
            "update system_user set deleted_at = $2, updated_at = $2 where email_key = $1 \
             and deleted_at is null and status = 'pendingVerification' and organization_id is null returning id",
        )
        .bind(email_key(email))
        .bind(now)
        .optional()
        .await?;
    Ok(gone.map(|(id,)| id))
}
