//! Proof that somebody may touch some data. Only `auth` makes one; every query of tenant data asks for one.
//!
//! Imports nothing of ours but ids, so that the store may name these types.

use uuid::Uuid;
use waypost_actors::model::OrganizationId;

/// May touch the data of one organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrgScope(OrganizationId);

/// May touch what belongs to the platform: organizations themselves, accounts, keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operator(());

/// May touch some accounts of people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountScope {
    /// The users of one organization.
    Organization(OrgScope),
    /// The platform's operators.
    Operators(Operator),
    /// The caller's own account alone.
    Oneself(Uuid),
}

/// May touch some system users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemUserScope {
    /// Those of one organization.
    Organization(OrgScope),
    /// All of them, those of no organization too.
    Platform(Operator),
    /// The caller alone.
    Oneself(Uuid),
}

impl OrgScope {
    pub(super) const fn new(organization: OrganizationId) -> Self {
        Self(organization)
    }

    /// Whose data.
    #[must_use]
    pub const fn organization_id(&self) -> OrganizationId {
        self.0
    }
}

impl Operator {
    pub(super) const fn new() -> Self {
        Self(())
    }
}
