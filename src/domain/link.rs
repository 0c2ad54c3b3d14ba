//! Single-use links, and the letters that carry them.

use waypost_actors::words::UnknownWord;

use super::words::words;

words!(
    /// What a link is for.
    Purpose {
        /// Makes the first superAdmin.
        Setup = "setup",
        /// Signs its account in.
        SignIn = "signIn",
        /// Verifies the address of a system user.
        VerifySystemUser = "verifySystemUser",
        /// Activates an organization.
        ActivateOrganization = "activateOrganization",
        /// Lets an invited person choose a password.
        Invite = "invite",
        /// Lets a person choose a new password.
        ResetPassword = "resetPassword",
        /// Gives a system user a new password.
        ResetSystemPassword = "resetSystemPassword",
        /// Makes a person's new address theirs.
        ConfirmAddress = "confirmAddress",
    }
);

words!(
    /// What a letter without a link tells.
    Notice {
        /// That the address is its reader's account's no more.
        AddressChanged = "addressChanged",
        /// That somebody signs up with an address that has an account.
        SignUpAgain = "signUpAgain",
        /// That a webhook is sent nothing more.
        WebhookDisabled = "webhookDisabled",
    }
);

/// A letter of the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetterKind {
    /// With a link for this purpose.
    Link(Purpose),
    /// Without a link.
    Notice(Notice),
}

impl LetterKind {
    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Link(purpose) => purpose.as_str(),
            Self::Notice(notice) => notice.as_str(),
        }
    }
}

impl TryFrom<String> for LetterKind {
    type Error = UnknownWord;

    fn try_from(word: String) -> Result<Self, UnknownWord> {
        let notice = Notice::try_from(word.clone()).map(Self::Notice);
        notice.or_else(|_| Purpose::try_from(word).map(Self::Link))
    }
}
