//! `GET /v1/audit`: who changed what.

use actix_web::HttpRequest;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::answer::{self, Answer, SliceOf};
use super::query::{Query, id, instant, word};
use super::request::{Shared, SignedCaller};
use crate::domain::audit::{AuditAction, AuditEntry, AuditFilter, AuditResource};
use crate::ops::audit as ops;

/// List changes of master data, newest first: who, what, when, and the members that changed.
#[utoipa::path(get, path = "/v1/audit", tag = "audit",
    params(("resource" = Option<Vec<AuditResource>>, Query, description = "Only of these kinds"),
        ("resourceId" = Option<Uuid>, Query, description = "Only of this resource"),
        ("action" = Option<Vec<AuditAction>>, Query, description = "Only these actions"),
        ("actorId" = Option<Uuid>, Query, description = "Only by this account or system user"),
        ("from" = Option<Timestamp>, Query, description = "occurredAt from here, inclusive"),
        ("to" = Option<Timestamp>, Query, description = "occurredAt up to here, exclusive"),
        ("organizationId" = Option<OrganizationId>, Query, description = "Operators name the organization; a superAdmin who names none sees what is of none: operators, system users without an organization, and their sign-ins"),
        ("limit" = Option<i64>, Query), ("after" = Option<String>, Query, description = "A cursor")),
    responses((status = 200, body = SliceOf<AuditEntry>, description = "A slice of the audit")))]
pub async fn list_audit(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let filter = AuditFilter {
        resources: query.many("resource", word(AuditResource::WORDS)),
        resource_id: query.one("resourceId", id),
        actions: query.many("action", word(AuditAction::WORDS)),
        actor_id: query.one("actorId", id),
        from: query.one("from", instant),
        to: query.one("to", instant),
    };
    let slice = query.slice();
    let by = query.scoped(caller)?;
    let found = ops::list_audit(&context, &by, &filter, &slice).await?;
    Ok(answer::slice(&request, found))
}
