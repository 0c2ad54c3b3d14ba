//! What lets a browser's `EventSource` connect again by itself: it repeats its address, whose ticket is used up, and says the id that
//! it heard last, which carries a pass. Knows no HTTP.

use uuid::Uuid;

use super::caller::{Caller, Credential};
use super::error::AuthError;
use super::service::Auth;
use crate::store::session::HolderId;

impl Auth {
    /// A pass for whoever holds the ticket that this caller opened a stream with: printable ASCII without a dot. Neither is worth
    /// anything without the other.
    #[must_use]
    pub fn stream_pass(&self, ticket: &str, caller: &Caller) -> String {
        let (kind, holder) = match (caller.credential, caller.holder_id()) {
            (Credential::Session(_), HolderId::Account(id)) => (0, id),
            (Credential::Session(_), HolderId::System(id)) => (1, id),
            (Credential::Key(_), HolderId::Account(id) | HolderId::System(id)) => (2, id),
        };
        let mut payload = vec![kind];
        payload.extend_from_slice(holder.as_bytes());
        payload.extend_from_slice(caller.credential.id().as_bytes());
        self.cursor_signer.sign(&purpose(ticket), &payload)
    }

    /// Whom a pass with its ticket names, with current rights; fails once the session or the key does not hold any more.
    pub async fn resume_stream(&self, ticket: &str, pass: &str) -> Result<Caller, AuthError> {
        let payload = self.cursor_signer.open(&purpose(ticket), pass).ok_or(AuthError::InvalidToken)?;
        let (kind, ids) = payload.split_first().ok_or(AuthError::InvalidToken)?;
        let (holder, credential) = ids.split_at_checked(16).ok_or(AuthError::InvalidToken)?;
        let id = |bytes| Uuid::from_slice(bytes).map_err(|_| AuthError::InvalidToken);
        let (holder, credential) = (id(holder)?, id(credential)?);
        let (holder, credential) = match kind {
            0 => (HolderId::Account(holder), Credential::Session(credential)),
            1 => (HolderId::System(holder), Credential::Session(credential)),
            _ => (HolderId::System(holder), Credential::Key(credential)),
        };
        let caller = self.signed_in(holder, credential).await?;
        self.api_keys.note_use(&caller, self.clock.now());
        Ok(caller)
    }
}

fn purpose(ticket: &str) -> String {
    format!("stream:{ticket}")
}
