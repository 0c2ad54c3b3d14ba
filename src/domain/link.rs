//! Links that work once.

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
    }
);
