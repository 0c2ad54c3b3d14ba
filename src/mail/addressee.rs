//! Whether there is a reason to write to an address that somebody asked for, and about whom.

use waypost_actors::model::Timestamp;

use crate::auth::link::Purpose;
use crate::domain::account::AccountStatus;
use crate::domain::system_user::SystemUserStatus;
use crate::store::one_time_token;
use crate::store::outbox::OutgoingMail;
use crate::store::sql::{SqlError, Tx};
use crate::store::{account, organization, system_user};

/// Between two letters of a kind about the same subject, at least, in seconds.
const APART_SECONDS: f64 = 60.0;
/// Letters of a kind about the same subject within a day, at most.
const A_DAY: i64 = 5;

/// The letter to an address, if there is a reason for one and the last was not just now.
pub(super) async fn find(
    tx: &mut Tx,
    purpose: Purpose,
    address: &str,
    now: Timestamp,
) -> Result<Option<OutgoingMail>, SqlError> {
    let Some(mail) = reason(tx, purpose, address).await? else { return Ok(None) };
    let day = now.plus_seconds(-86_400.0);
    let (made, last) = one_time_token::made_since(tx.on(), purpose, mail.subject_id, day.into()).await?;
    let is_soon = last.is_some_and(|last| now.seconds_since(last.0) < APART_SECONDS);
    Ok((made < A_DAY && !is_soon).then_some(mail))
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
                .and_then(|user| letter(user.id, user.email, String::new(), None))
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
        Purpose::Setup | Purpose::SignIn => None,
    })
}
