//! The audit: every change of master data, remembered in the transaction that makes it.
//!
//! Resources hold no secrets, so what is shown of them may be remembered.

use serde::Serialize;
use serde_json::json;
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::error::OpError;
use super::origin;
use crate::auth::{Action, Caller};
use crate::clock;
use crate::context::Context;
use crate::domain::account::Role;
use crate::domain::audit::{AuditAction, AuditEntry, AuditFilter, AuditResource, changed_members};
use crate::domain::paging::{Slice, SliceRequest};
use crate::store::audit;
use crate::store::sql::Tx;

/// The resource a change is about, and who makes it when.
pub(super) struct Subject<'a> {
    /// Who.
    pub(super) caller: &'a Caller,
    /// Whose data; none of the platform's own.
    pub(super) organization_id: Option<OrganizationId>,
    /// What.
    pub(super) resource: AuditResource,
    /// Which.
    pub(super) id: Uuid,
    /// When.
    pub(super) at: Timestamp,
}

impl Subject<'_> {
    /// Remembers that it was made.
    pub(super) async fn created(&self, tx: &mut Tx, after: &impl Serialize) -> Result<(), OpError> {
        self.add(tx, AuditEntry { after: Some(json!(after)), ..self.entry(AuditAction::Create) }).await
    }

    /// Remembers the members that changed.
    pub(super) async fn updated(
        &self,
        tx: &mut Tx,
        before: &impl Serialize,
        after: &impl Serialize,
    ) -> Result<(), OpError> {
        let (before, after) = changed_members(&json!(before), &json!(after));
        let entry = self.entry(AuditAction::Update);
        self.add(tx, AuditEntry { before: Some(before), after: Some(after), ..entry }).await
    }

    /// Remembers that it was deleted, and what it was.
    pub(super) async fn deleted(&self, tx: &mut Tx, before: &impl Serialize) -> Result<(), OpError> {
        self.add(tx, AuditEntry { before: Some(json!(before)), ..self.entry(AuditAction::Delete) }).await
    }

    /// Remembers that it got a new secret; never the secret.
    pub(super) async fn rotated(&self, tx: &mut Tx) -> Result<(), OpError> {
        self.add(tx, self.entry(AuditAction::RotateToken)).await
    }

    fn entry(&self, action: AuditAction) -> AuditEntry {
        AuditEntry {
            id: clock::new_id(),
            organization_id: self.organization_id,
            actor_id: self.caller.id,
            actor_role: self.caller.role().map_or("system", Role::as_str).to_owned(),
            action,
            resource: self.resource,
            resource_id: self.id,
            request_id: origin::request_id(),
            before: None,
            after: None,
            occurred_at: self.at,
        }
    }

    async fn add(&self, tx: &mut Tx, entry: AuditEntry) -> Result<(), OpError> {
        Ok(audit::insert(tx.on(), &entry).await?)
    }
}

/// Entries of an organization, newest first.
pub async fn list_audit(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    filter: &AuditFilter,
    request: &SliceRequest,
) -> Result<Slice<AuditEntry>, OpError> {
    let scope = caller.scope(&context.db, Action::ReadAudit, named).await?;
    let purpose = format!("audit {}", scope.organization_id());
    let before = match &request.after {
        None => None,
        Some(cursor) => {
            let payload = context.auth.sealer.open(&purpose, cursor).ok_or(OpError::Cursor)?;
            Some(Uuid::from_slice(&payload).map_err(|_| OpError::Cursor)?)
        }
    };
    let mut items = audit::list(&context.db, &scope, filter, before, request.limit + 1).await?;
    let has_next = items.len() as i64 > request.limit;
    items.truncate(usize::try_from(request.limit).unwrap_or(usize::MAX));
    let end_cursor = match items.last() {
        Some(last) => Some(context.auth.sealer.seal(&purpose, last.id.as_bytes())),
        None => request.after.clone(),
    };
    Ok(Slice { items, end_cursor, has_next })
}
