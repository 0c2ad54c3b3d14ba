//! The audit: every change of master data, as `change` recorded it in the change's transaction.

use waypost_actors::model::OrganizationId;

use super::error::OpError;
use super::listing::Listing;
use crate::auth::{AccountScope, Action, Caller};
use crate::context::Context;
use crate::domain::audit::{AuditEntry, AuditFilter};
use crate::domain::paging::{Slice, SliceRequest};
use crate::store::audit;

/// Entries of an organization, newest first.
pub async fn list_audit(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    filter: &AuditFilter,
    request: &SliceRequest,
) -> Result<Slice<AuditEntry>, OpError> {
    // Entries that belong to no organization are for callers who may change operators.
    let scope = if caller.may(Action::WriteOperators).is_ok() {
        caller.accounts(&context.db, Action::ReadAudit, named).await?
    } else {
        AccountScope::Organization(caller.scope(&context.db, Action::ReadAudit, named).await?)
    };
    let whose = match &scope {
        AccountScope::Organization(scope) => scope.organization_id().to_string(),
        _ => "platform".to_owned(),
    };
    let listing = Listing::new(context, format!("audit {whose}"), request);
    let items = audit::list(&context.db, &scope, filter, listing.after()?, listing.limit()).await?;
    listing.slice(items, |last| last.id)
}
