//! The audit: every change of master data, as `change` recorded it in the change's transaction.

use super::error::OpError;
use super::listing::Listing;
use super::scoped::Scoped;
use crate::auth::{AccountScope, Action};
use crate::context::Context;
use crate::domain::audit::{AuditEntry, AuditFilter};
use crate::domain::paging::{Slice, SliceRequest};
use crate::store::audit;

/// Entries of an organization, newest first.
pub async fn list_audit(
    context: &Context,
    by: &Scoped,
    filter: &AuditFilter,
    request: &SliceRequest,
) -> Result<Slice<AuditEntry>, OpError> {
    // Entries that belong to no organization are for callers who may change operators.
    let scope = if by.caller.may(Action::WriteOperators).is_ok() {
        by.caller.accounts(&context.db, Action::ReadAudit, by.organization).await?
    } else {
        AccountScope::Organization(by.scope(context, Action::ReadAudit).await?)
    };
    let whose = match &scope {
        AccountScope::Organization(scope) => scope.organization_id().to_string(),
        _ => "platform".to_owned(),
    };
    let listing = Listing::new(context, format!("audit {whose}"), request);
    let items = audit::list(&context.db, &scope, filter, listing.after()?, listing.limit()).await?;
    listing.slice(items, |last| last.id)
}
