//! Rows of an organization's own by their ids: row locks, so that other transactions that want to change a held row wait
//! until this one has ended; and whether rows are there.

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

/// Which of these rows of a table are there, of an organization's own and not deleted.
pub(super) async fn existing_own(
    on: On<'_>,
    table: &'static str,
    scope: &OrgScope,
    ids: &[Uuid],
) -> Result<Vec<Uuid>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let stmt = on.sql("select id from ").push(table).push(" where deleted_at is null and organization_id = ");
    let stmt = stmt.push_bind(Uuid::from(scope.organization_id())).push(" and id in (");
    let rows: Vec<(Uuid,)> = stmt.push_each(ids, |stmt, id| stmt.push_bind(*id)).push(")").all().await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}
