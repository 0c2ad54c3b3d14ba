//! Audit entries for sign-ins and for the links of letters.

use serde_json::json;
use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::holder::Holder;
use crate::clock;
use crate::domain::audit::{AuditAction, AuditEntry, AuditResource};
use crate::store::session::HolderId;

/// The client of a request.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its address as text: IPv6 by its /64.
    pub address: String,
    /// Its request id, as in the log.
    pub request_id: Option<String>,
}

impl Peer {
    /// The console and the demo.
    #[must_use]
    pub fn console() -> Self {
        Self { address: "console".to_owned(), request_id: None }
    }
}

/// An audit entry for an actor who is not signed in: the reader of a letter, or someone trying a password.
pub(super) fn entry(
    action: AuditAction,
    holder: &Holder,
    request_id: Option<String>,
    now: Timestamp,
) -> AuditEntry {
    let (resource, resource_id) = match holder.id() {
        HolderId::Account(id) => (AuditResource::User, id),
        HolderId::System(id) => (AuditResource::SystemUser, id),
    };
    AuditEntry {
        id: clock::new_id(),
        organization_id: holder.organization_id(),
        actor_id: Uuid::nil(),
        actor_role: "anonymous".to_owned(),
        action,
        resource,
        resource_id,
        request_id,
        before: None,
        after: None,
        occurred_at: now,
    }
}

/// An audit entry for a session, or for the attempt to open one, with the client's address.
pub(super) fn session_entry(action: AuditAction, holder: &Holder, peer: &Peer, now: Timestamp) -> AuditEntry {
    let entry = entry(action, holder, peer.request_id.clone(), now);
    let after = Some(json!({ "clientAddress": peer.address }));
    match action {
        AuditAction::SignIn | AuditAction::SignOut => {
            let (actor_id, actor_role) = (entry.resource_id, holder.role().to_owned());
            AuditEntry { actor_id, actor_role, after, ..entry }
        }
        _ => AuditEntry { after, ..entry },
    }
}
