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

/// The key that tells accounts apart by address: the address in lower case.
#[must_use]
pub fn email_key(email: &str) -> String {
    email.trim().to_lowercase()
}

/// The shortest password one can choose.
pub const PASSWORD_MIN_CHARS: usize = 12;
/// The longest password that is hashed.
pub const PASSWORD_MAX_CHARS: usize = 128;

/// How much of a password must be hard to guess. Judging 16 characters takes 15 ms at worst, less than hashing; 128
/// characters that each may stand for others would take seconds.
const JUDGED_CHARS: usize = 16;

/// The reason a new password is refused, if it is.
#[must_use]
pub fn password_fault(password: &str) -> Option<String> {
    if !has_length(password) {
        return Some(format!("must be {PASSWORD_MIN_CHARS} to {PASSWORD_MAX_CHARS} characters long"));
    }
    // Fewer than a million guesses: common passwords, repetitions, keyboard rows.
    let head: String = password.chars().take(JUDGED_CHARS).collect();
    let is_guessed = zxcvbn::zxcvbn(&head, &[]).score() < zxcvbn::Score::Two;
    is_guessed.then(|| "must be harder to guess: several words that do not belong together, say".to_owned())
}

fn has_length(password: &str) -> bool {
    (PASSWORD_MIN_CHARS..=PASSWORD_MAX_CHARS).contains(&password.chars().count())
}

/// Reads a new password from a body, untrimmed: it may begin with a space.
pub fn new_password(value: &serde_json::Value) -> super::members::Read<String> {
    let text = value.as_str().ok_or_else(|| ("type", "a text".to_owned()))?;
    match password_fault(text) {
        None => Ok(text.to_owned()),
        Some(fault) => {
            let code = if has_length(text) { "guessable" } else { "length" };
            Err((code, fault.trim_start_matches("must be ").to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_that_everybody_tries_are_refused() {
        for guessed in
            ["aaaaaaaaaaaa", "123456789012", "password1234", "qwertyuiop12", "abcabcabcabc", &"a1".repeat(60)]
        {
            let fault = password_fault(guessed).unwrap_or_else(|| panic!("{guessed} is taken"));
            assert!(fault.contains("harder to guess"), "{guessed}: {fault}");
        }
        assert!(password_fault("elevenchars").is_some_and(|fault| fault.contains("12 to 128")));
        for good in ["correct horse battery", "long enough password", "Xk7#mQ2pLv9z", "пароль 🚌 и автобус"]
        {
            assert_eq!(password_fault(good), None, "{good}");
        }
    }
}
