//! People who sign in: platform operators and the users of organizations.

use super::words::words;

words!(
    /// What a person may do; `auth::permission` says what that is.
    Role {
        /// Owns the platform.
        SuperAdmin = "superAdmin",
        /// Operates the platform.
        Admin = "admin",
        /// Runs one organization.
        OrgAdmin = "orgAdmin",
        /// Works with one organization's vehicles and geofences.
        Dispatcher = "dispatcher",
        /// Looks at one organization's data.
        Viewer = "viewer",
    }
);

words!(
    /// Whether an account can be used.
    AccountStatus {
        /// Has not accepted the invitation yet.
        Invited = "invited",
        /// Can sign in.
        Active = "active",
        /// Was switched off.
        Disabled = "disabled",
        /// Was locked.
        Locked = "locked",
    }
);

impl Role {
    /// Whether this is a platform operator, who belongs to no organization.
    #[must_use]
    pub const fn is_operator(self) -> bool {
        matches!(self, Self::SuperAdmin | Self::Admin)
    }
}

/// An address as accounts are told apart by it: without case.
#[must_use]
pub fn email_key(email: &str) -> String {
    email.trim().to_lowercase()
}

/// The shortest password one can choose.
pub const PASSWORD_MIN_CHARS: usize = 12;
/// The longest password that is hashed.
pub const PASSWORD_MAX_CHARS: usize = 128;

/// What is wrong with a new password, if anything.
#[must_use]
pub fn password_fault(password: &str) -> Option<String> {
    let chars = password.chars().count();
    let fits = (PASSWORD_MIN_CHARS..=PASSWORD_MAX_CHARS).contains(&chars);
    (!fits).then(|| format!("must be {PASSWORD_MIN_CHARS} to {PASSWORD_MAX_CHARS} characters long"))
}

/// A new password, as a member of a body. Taken as it is: it may begin with a space.
pub fn new_password(value: &serde_json::Value) -> super::members::Read<String> {
    let text = value.as_str().ok_or_else(|| ("type", "a text".to_owned()))?;
    match password_fault(text) {
        None => Ok(text.to_owned()),
        Some(fault) => Err(("length", fault.trim_start_matches("must be ").to_owned())),
    }
}
