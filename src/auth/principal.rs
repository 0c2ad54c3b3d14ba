//! A client's view of itself.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::OrganizationId;

use super::holder::Holder;
use crate::domain::account::Role;
use crate::domain::system_user::Scope;
use crate::domain::system_user::Scopes;

/// Who is signed in: a person or a system user, told apart by `role`.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Principal {
    /// A person.
    Person(PersonPrincipal),
    /// A system user.
    System(SystemPrincipal),
}

/// A person who is signed in.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonPrincipal {
    /// The account.
    pub id: Uuid,
    /// Its address.
    pub email: String,
    /// Given name.
    pub first_name: String,
    /// Family name.
    pub last_name: String,
    /// What it may do.
    pub role: Role,
    /// How its dates and numbers are written, a BCP 47 language tag; the organization's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// IANA time zone; the organization's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// Its organization; platform operators have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<OrganizationId>,
    /// Its organization's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization_name: Option<String>,
}

/// The role of a system user: its scopes say what it may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum SystemRole {
    /// A program.
    System,
}

/// A system user that is signed in.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SystemPrincipal {
    /// The system user.
    pub id: Uuid,
    /// Its address.
    pub email: String,
    /// Its name.
    pub name: String,
    /// What tells it from a person.
    pub role: SystemRole,
    /// What it may do.
    #[schema(value_type = Vec<Scope>)]
    pub scopes: Scopes,
    /// Its organization; one that signed up by itself has none before it made one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<OrganizationId>,
    /// Its organization's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization_name: Option<String>,
}

impl From<Holder> for Principal {
    fn from(holder: Holder) -> Self {
        let organization_id = holder.organization_id();
        match holder {
            Holder::Account(account) => Self::Person(PersonPrincipal {
                id: account.id,
                organization_id,
                email: account.email,
                first_name: account.first_name,
                last_name: account.last_name,
                role: account.role,
                locale: account.locale,
                timezone: account.timezone,
                organization_name: account.organization_name,
            }),
            Holder::System(user) => Self::System(SystemPrincipal {
                id: user.id,
                organization_id,
                email: user.email,
                name: user.name,
                role: SystemRole::System,
                scopes: user.scopes.0,
                organization_name: user.organization_name,
            }),
        }
    }
}
