//! Long-lived keys of system users: what they may do, and until when.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::body::body;
use super::field::FieldError;
use super::members::{Members, Read, instant};
use super::system_user::{Scope, Scopes, scopes};

/// Most keys of one system user, expired ones included.
pub const MAX_KEYS: usize = 10;

body!(
    /// A new key.
    pub struct CreateApiKey {
        /// What it is for, 1 to 120 characters.
        name "name": required String, text(1..=120);
        /// What it may do: at least one of its system user's scopes.
        scopes "scopes": required Scopes, by(some_scopes, value_type = Vec<Scope>, min_items = 1);
        /// From then on it is refused; absent or null: never.
        expires_at "expiresAt": optional Timestamp, by(instant);
    }
);

/// A long-lived key of a system user, without its token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKey {
    /// Which.
    pub id: Uuid,
    /// Whose.
    pub system_user_id: Uuid,
    /// The system user's organization.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<OrganizationId>,
    /// What it is for.
    pub name: String,
    /// What it may do. A scope that is taken from its system user is taken from it too, for good.
    #[schema(value_type = Vec<Scope>)]
    pub scopes: Scopes,
    /// From then on it is refused; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was last accepted, to within a minute; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl ApiKey {
    /// What `If-Match` guards.
    #[must_use]
    pub fn tagged(&self) -> Self {
        Self { last_used_at: None, ..self.clone() }
    }
}

impl CreateApiKey {
    /// Notes what is wrong with a new key, whoever's it is.
    pub fn check(members: &mut Members<'_>, now: Timestamp) {
        let ends_at = members.value("expiresAt").and_then(|value| instant(value).ok());
        if ends_at.is_some_and(|ends_at| ends_at <= now) {
            members.problem("expiresAt", "range", "must be in the future; without it the key never expires");
        }
    }

    /// Refuses scopes that the key's system user does not have.
    pub fn within(&self, of_user: &Scopes) -> Result<(), Vec<FieldError>> {
        let beyond = self.scopes.without(of_user);
        if beyond.is_empty() {
            return Ok(());
        }
        let detail = format!("must be scopes of its system user, which does not have {}", beyond.join(", "));
        Err(vec![FieldError::new("/scopes", "notAllowed", detail)])
    }
}

fn some_scopes(value: &Value) -> Read<Scopes> {
    match scopes(value)? {
        none if none == Scopes::default() => Err(("length", "a list of at least one scope".to_owned())),
        some => Ok(some),
    }
}
