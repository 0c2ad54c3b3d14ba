//! Forgotten passwords and unverified addresses.
//!
//! Signing in itself belongs to `auth`; the letters around it are requested here.

use super::error::OpError;
use crate::auth::link::Purpose;
use crate::context::Context;
use crate::store::outbox;

/// Requests a new password for the account and the system user with an address. Never reveals whether there is one.
pub async fn forgot_password(context: &Context, email: &str) -> Result<(), OpError> {
    ask(context, &[Purpose::ResetPassword, Purpose::ResetSystemPassword], email).await
}

/// Requests another letter to verify a system user's address. Never reveals whether there is one.
pub async fn resend_verification(context: &Context, email: &str) -> Result<(), OpError> {
    ask(context, &[Purpose::VerifySystemUser], email).await
}

async fn ask(context: &Context, letters: &[Purpose], email: &str) -> Result<(), OpError> {
    for letter in letters {
        outbox::ask(&context.db, *letter, email, context.clock.now().into()).await?;
    }
    context.mail.wake();
    Ok(())
}
