//! Row locks: other transactions that want to change a held row wait until this one has ended.

use uuid::Uuid;

use super::sql::{On, Result, Stmt};
use crate::auth::scope::OrgScope;

/// Locks a row of a table for this transaction. `narrowed` restricts it to a given owner; a row of another owner is
/// not locked.
pub(super) async fn hold<'c>(
    on: On<'c>,
    table: &'static str,
    id: impl Into<Uuid>,
    narrowed: impl FnOnce(Stmt<'c>) -> Stmt<'c>,
) -> Result<()> {
    let stmt = on.sql("update ").push(table).push(" set updated_at = updated_at where id = ");
    narrowed(stmt.push_bind(id.into())).run().await?;
    Ok(())
}

/// [`hold`] for a row of an organization's own.
pub(super) async fn hold_own(
    on: On<'_>,
    table: &'static str,
    scope: &OrgScope,
    id: impl Into<Uuid>,
) -> Result<()> {
    let organization = Uuid::from(scope.organization_id());
    hold(on, table, id, |stmt| stmt.push(" and organization_id = ").push_bind(organization)).await
}
