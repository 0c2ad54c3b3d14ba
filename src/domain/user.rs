//! Users: people who sign in, as they are seen and changed by others.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::account::{AccountStatus, Role};
use super::body::body;
use super::fold::folded;
use super::locale::{language_tag, timezone};
use super::members::{any_text, email, id};

body!(
    /// The attributes of a user that a client sets.
    #[derive(Eq)]
    pub struct UserIn {
        /// What they sign in with; unique on the whole platform, whatever its case.
        email "email": required String, by(email, format = Email, max_length = 254);
        /// Given name, 1 to 80 characters.
        first_name "firstName": required String, text(1..=80);
        /// Family name, 1 to 80 characters.
        last_name "lastName": required String, text(1..=80);
        /// Where to call them, 3 to 40 characters.
        phone "phone": optional String, text(3..=40);
        /// What they may do. `superAdmin` and `admin` belong to no organization, the others to one.
        role "role": required Role, word;
        /// BCP 47 language tag, by which pages write dates and numbers; the organization's when absent.
        locale "locale": optional String, by(language_tag);
        /// IANA time zone in which pages and letters tell times; the organization's when absent.
        timezone "timezone": optional String, by(timezone);
    }
    READ_ONLY: &["id", "organizationId", "pendingEmail", "createdAt", "updatedAt"];
    DERIVED: &["lastLoginAt"];
);

body!(
    /// A new user.
    pub struct CreateUser {
        /// Their attributes.
        ..user: UserIn;
        /// Operators name the organization of whom they make; without one they make an operator.
        organization_id "organizationId": optional OrganizationId, by(id);
    }
);

body!(
    /// A change of a user.
    pub struct UpdateUser {
        /// `disabled`, `active` or `invited`.
        status "status": given AccountStatus, word;
        /// Their attributes.
        ..user: UserIn;
        /// One's own password, to change one's own address.
        current_password "currentPassword": optional String, by(any_text, format = Password, max_length = 1024);
    }
    READ_ONLY: UserIn::READ_ONLY;
    DERIVED: UserIn::DERIVED;
);

/// A user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// Which.
    pub id: Uuid,
    /// Their organization; platform operators have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<OrganizationId>,
    /// Their attributes.
    #[serde(flatten)]
    pub attributes: UserIn,
    /// Whether they can sign in. An administrator sets `disabled`, and from there `active` or, for one
    /// who never accepted the invitation, `invited`. `locked` ends by itself, or by setting `active`.
    pub status: AccountStatus,
    /// The address they are to have, until the link that was sent there is opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_email: Option<String>,
    /// When they signed in last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_login_at: Option<Timestamp>,
    /// When they were made.
    pub created_at: Timestamp,
    /// When they last changed.
    pub updated_at: Timestamp,
}

/// What a change of status requires, besides the status it starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// Nothing.
    Nothing,
    /// They have chosen a password before.
    Password,
    /// They have never chosen a password.
    NoPassword,
}

/// THE table of status changes an administrator may make. Accepting an invitation and being locked after too many
/// failed sign-ins are not among them.
const USER_CHANGES: &[(AccountStatus, AccountStatus, Needs)] = {
    use AccountStatus::{Active, Disabled, Invited, Locked};
    &[
        (Invited, Disabled, Needs::Nothing),
        (Active, Disabled, Needs::Nothing),
        (Locked, Disabled, Needs::Nothing),
        (Locked, Active, Needs::Nothing),
        (Disabled, Active, Needs::Password),
        (Disabled, Invited, Needs::NoPassword),
    ]
};

/// Whether an administrator may take a user from one state to another.
#[must_use]
pub fn may_become(from: AccountStatus, to: AccountStatus, has_password: bool) -> bool {
    from == to
        || USER_CHANGES.iter().any(|(known, next, needs)| {
            let is_fit = match needs {
                Needs::Nothing => true,
                Needs::Password => has_password,
                Needs::NoPassword => !has_password,
            };
            (*known, *next) == (from, to) && is_fit
        })
}

impl UserIn {
    /// The text that is searched.
    #[must_use]
    pub fn search_key(&self) -> String {
        folded(&format!("{} {} {}", self.first_name, self.last_name, self.email))
    }

    /// Whether a change touches only what users may change of themselves.
    #[must_use]
    pub fn is_own_business(&self, changed: &Self) -> bool {
        self.role == changed.role && self.email == changed.email
    }
}

impl User {
    /// The user without members that change by themselves; the ETag is computed from this.
    #[must_use]
    pub fn etag_basis(&self) -> Self {
        let status = if self.status == AccountStatus::Locked { AccountStatus::Active } else { self.status };
        Self { last_login_at: None, status, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_administrator_may_make_of_a_state() {
        use AccountStatus::{Active, Disabled, Invited, Locked};
        for has_password in [true, false] {
            for from in [Invited, Active, Locked, Disabled] {
                assert!(may_become(from, from, has_password) && may_become(from, Disabled, has_password));
            }
            assert!(!may_become(Invited, Active, has_password), "only the invited accept");
            assert!(!may_become(Active, Invited, has_password) && !may_become(Active, Locked, has_password));
            assert_eq!(may_become(Disabled, Active, has_password), has_password);
            assert_eq!(may_become(Disabled, Invited, has_password), !has_password);
        }
        assert!(may_become(Locked, Active, true));
    }
}
