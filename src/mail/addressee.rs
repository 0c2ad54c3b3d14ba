//! Whether a letter requested by address has a reason to be sent, and whom it is about.

use waypost_actors::model::Timestamp;

use crate::auth::link::Purpose;
use crate::domain::account::AccountStatus;
use crate::domain::system_user::SystemUserStatus;
use crate::store::one_time_token;
use crate::store::outbox::OutgoingMail;
use crate::store::sql::{SqlError, Tx};
use crate::store::{account, organization, system_user};

/// Least time between two letters of a kind about the same subject, in seconds.
const APART_SECONDS: f64 = 60.0;

/// What to do with a letter that was requested by address.
pub(super) enum Decision {
    /// Write it.
    For(OutgoingMail),
    /// Write it then: the previous one is too recent.
    NotBefore(Timestamp),
    /// Drop it.
    NoReason,
}

/// Decides on a letter requested by address.
pub(super) async fn find(
    tx: &mut Tx,
    purpose: Purpose,
    address: &str,
    now: Timestamp,
) -> Result<Decision, SqlError> {
    let Some(mail) = reason(tx, purpose, address).await? else { return Ok(Decision::NoReason) };
    let last = one_time_token::last_made(tx.on(), purpose, mail.subject_id).await?;
    let next = last.map(|last| last.0.plus_seconds(APART_SECONDS)).filter(|next| *next > now);
    Ok(next.map_or(Decision::For(mail), Decision::NotBefore))
}

async fn reason(tx: &mut Tx, purpose: Purpose, address: &str) -> Result<Option<OutgoingMail>, SqlError> {
    let letter = |subject_id, recipient, greeting, about| {
        Some(OutgoingMail { purpose, subject_id, recipient, greeting, about })
    };
    Ok(match purpose {
        Purpose::VerifySystemUser | Purpose::ResetSystemPassword => {
            let wanted = match purpose {
                Purpose::VerifySystemUser => SystemUserStatus::PendingVerification,
                _ => SystemUserStatus::Active,
            };
            let found = system_user::find_by_email(tx.on(), address).await?;
            found
                .filter(|user| user.status == wanted)
                .and_then(|user| letter(user.id, user.email, String::new(), Some(user.id.to_string())))
        }
        Purpose::ActivateOrganization => {
            let found = organization::find_pending_by_contact(tx.on(), address).await?;
            found.and_then(|(id, name, contact)| letter(id, contact, String::new(), Some(name)))
        }
        Purpose::Invite | Purpose::ResetPassword => {
            let wanted = match purpose {
                Purpose::Invite => AccountStatus::Invited,
                _ => AccountStatus::Active,
            };
            let found = account::find_by_email(tx.on(), address).await?;
            found.filter(|account| account.status == wanted).and_then(|account| {
                letter(account.id, account.email, account.first_name, account.organization_name)
            })
        }
        Purpose::Setup | Purpose::SignIn | Purpose::ConfirmAddress => None,
    })
}
