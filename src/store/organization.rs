//! Organizations.

use uuid::Uuid;
use waypost_actors::model::OrganizationId;

use super::sql::{On, Result};
use crate::auth::Operator;

/// Whether an organization is there, active or not.
pub async fn exists(on: On<'_>, _: Operator, id: OrganizationId) -> Result<bool> {
    on.sql("select exists (select 1 from organization where id = $1 and status <> 'deleted')")
        .bind(Uuid::from(id))
        .scalar()
        .await
}
