//! The audit: every change of master data, remembered in the transaction that makes it.
//!
//! Resources hold no secrets, so what is shown of them may be remembered.

use serde::Serialize;
use serde_json::json;
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::error::OpError;
use super::listing::Listing;
use super::request_context;
use crate::auth::{AccountScope, Action, Caller};
use crate::clock;
use crate::context::Context;
use crate::domain::account::Role;
use crate::domain::audit::{AuditAction, AuditEntry, AuditFilter, AuditResource, changed_members};
use crate::domain::paging::{Slice, SliceRequest};
use crate::store::audit;
use crate::store::sql::Tx;

/// The resource a change is about, and who makes it when.
pub(super) struct Subject<'a> {
    /// Who; nobody for a sign-up or the link of a letter.
    pub(super) caller: Option<&'a Caller>,
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
        self.done(tx, AuditAction::Update, before, after).await
    }

    /// Remembers that it was deleted, and what it was.
    pub(super) async fn deleted(&self, tx: &mut Tx, before: &impl Serialize) -> Result<(), OpError> {
        self.add(tx, AuditEntry { before: Some(json!(before)), ..self.entry(AuditAction::Delete) }).await
    }

    /// Remembers something that was done to it, in which members changed.
    pub(super) async fn done(
        &self,
        tx: &mut Tx,
        action: AuditAction,
        before: &impl Serialize,
        after: &impl Serialize,
    ) -> Result<(), OpError> {
        let (before, after) = changed_members(&json!(before), &json!(after));
        self.add(tx, AuditEntry { before: Some(before), after: Some(after), ..self.entry(action) }).await
    }

    /// Remembers something that was done to it without a member to show, such as a new secret.
    pub(super) async fn noted(&self, tx: &mut Tx, action: AuditAction) -> Result<(), OpError> {
        self.add(tx, self.entry(action)).await
    }

    /// Remembers for another organization, which has its part in the resource, what was done to it; neither who did it, nor
    /// for which organization, nor by which request.
    pub(super) async fn elsewhere(
        &self,
        tx: &mut Tx,
        organization: OrganizationId,
        action: AuditAction,
        before: &impl Serialize,
        after: &impl Serialize,
    ) -> Result<(), OpError> {
        let (before, after) = changed_members(&json!(before), &json!(after));
        let entry = AuditEntry {
            organization_id: Some(organization),
            actor_id: Uuid::nil(),
            actor_role: "otherOrganization".to_owned(),
            request_id: None,
            before: Some(before),
            after: Some(after),
            ..self.entry(action)
        };
        self.add(tx, entry).await
    }

    fn entry(&self, action: AuditAction) -> AuditEntry {
        AuditEntry {
            id: clock::new_id(),
            organization_id: self.organization_id,
            actor_id: self.caller.map_or(Uuid::nil(), |caller| caller.id),
            actor_role: self.caller.map_or("anonymous", actor_role).to_owned(),
            action,
            resource: self.resource,
            resource_id: self.id,
            request_id: request_context::request_id(),
            before: None,
            after: None,
            occurred_at: self.at,
        }
    }

    async fn add(&self, tx: &mut Tx, entry: AuditEntry) -> Result<(), OpError> {
        Ok(audit::insert(tx.on(), &entry).await?)
    }
}

fn actor_role(caller: &Caller) -> &'static str {
    caller.role().map_or("system", Role::as_str)
}

/// Entries of an organization, newest first.
pub async fn list_audit(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    filter: &AuditFilter,
    request: &SliceRequest,
) -> Result<Slice<AuditEntry>, OpError> {
    // What is nobody's organization's is for those who may change operators.
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
