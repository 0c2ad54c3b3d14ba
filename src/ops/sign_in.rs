//! Passwords that were forgotten and addresses that wait for their letter.
//!
//! Signing in itself is `auth`'s; here is what it takes besides: letters.

use super::error::OpError;
use crate::auth::link::Purpose;
use crate::context::Context;
use crate::store::outbox;

/// Asks for a new password, of a person's account and of a system user. Never tells whether there is one.
pub async fn forgot_password(context: &Context, email: &str) -> Result<(), OpError> {
    ask(context, &[Purpose::ResetPassword, Purpose::ResetSystemPassword], email).await
}

/// Asks for another letter to verify a system user's address. Never tells whether there is one.
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
