//! Proof of the right to touch certain data. Only `auth` creates one, and every query of tenant data requires one.
//!
//! Imports nothing of ours but ids, so that the store can name these types.

use uuid::Uuid;
use waypost_actors::model::OrganizationId;

/// The right to touch the data of one organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrgScope(OrganizationId);

/// The right to touch what belongs to the platform: organizations themselves, accounts, keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operator(());

/// The right to touch some accounts of people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountScope {
    /// The users of one organization.
    Organization(OrgScope),
    /// The platform's operators.
    Operators(Operator),
    /// The caller's own account alone.
    Oneself(Uuid),
}

/// The right to touch some system users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemUserScope {
    /// Those of one organization.
    Organization(OrgScope),
    /// All of them, including those without an organization.
    Platform(Operator),
    /// The caller alone.
    Oneself(Uuid),
}

impl OrgScope {
    pub(super) const fn new(organization: OrganizationId) -> Self {
        Self(organization)
    }

    /// The organization whose data this scope gives access to.
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
