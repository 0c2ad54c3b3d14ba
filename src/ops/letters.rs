//! The letters that organizations and users cause, put into the outbox by the transaction that causes
//! them. After its commit, wake the post.

use serde::Serialize;
use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::error::OpError;
use super::idempotency;
use crate::auth::OrgScope;
use crate::auth::link::{self, Purpose};
use crate::clock;
use crate::context::Context;
use crate::domain::organization::Organization;
use crate::domain::user::User;
use crate::mail::masked;
use crate::store::activation;
use crate::store::outbox::{self, Notice, OutgoingMail};
use crate::store::sql::Tx;

/// Sends an organization the link that activates it, and keeps a request of that.
pub(super) async fn activate(
    tx: &mut Tx,
    scope: &OrgScope,
    organization: &Organization,
    now: Timestamp,
) -> Result<(), OpError> {
    let said = &organization.said;
    let expires_at = now.plus_seconds(link::SECONDS).into();
    activation::insert(tx.on(), scope, clock::new_id(), &said.contact_email, now.into(), expires_at).await?;
    let mail = OutgoingMail {
        purpose: Purpose::ActivateOrganization,
        subject_id: organization.id.0,
        recipient: said.contact_email.clone(),
        greeting: String::new(),
        about: Some(said.name.clone()),
    };
    Ok(outbox::put(tx, &mail, now.into()).await?)
}

/// Sends somebody the link with which they choose their password. `about`: their organization's name.
pub(super) async fn invite(
    tx: &mut Tx,
    user: &User,
    about: Option<&str>,
    now: Timestamp,
) -> Result<(), OpError> {
    let mail = OutgoingMail {
        purpose: Purpose::Invite,
        subject_id: user.id,
        recipient: user.said.email.clone(),
        greeting: user.said.first_name.clone(),
        about: about.map(str::to_owned),
    };
    Ok(outbox::put(tx, &mail, now.into()).await?)
}

/// Sends the link that makes an address somebody's, and tells them at the one they have. Links sent to another address
/// before are good no more.
pub(super) async fn confirm_address(
    tx: &mut Tx,
    user: &User,
    address: &str,
    now: Timestamp,
) -> Result<(), OpError> {
    link::withdraw(tx, &[Purpose::ConfirmAddress], user.id, now).await?;
    let mail = OutgoingMail {
        purpose: Purpose::ConfirmAddress,
        subject_id: user.id,
        recipient: address.to_owned(),
        greeting: user.said.first_name.clone(),
        about: None,
    };
    outbox::put(tx, &mail, now.into()).await?;
    let told = masked(address);
    let letter = (user.said.email.as_str(), user.said.first_name.as_str(), told.as_str());
    Ok(outbox::put_notice(tx, Notice::AddressChanged, user.id, letter, now.into()).await?)
}

/// A sign-up with an address that has an account is answered as if that were new, so that nobody learns which addresses
/// have one: nothing is made, and the owner of the address is told. `shown`: what is answered.
pub(super) async fn sign_up_again(
    context: &Context,
    address: &str,
    id: Uuid,
    shown: &impl Serialize,
) -> Result<(), OpError> {
    let mut tx = context.db.begin().await?;
    outbox::put_notice(&mut tx, Notice::SignUpAgain, id, (address, "", ""), context.clock.now().into())
        .await?;
    idempotency::keep_made(&mut tx, shown).await?;
    tx.commit().await?;
    context.mail.wake();
    Ok(())
}

/// Ends the links that were sent to an address which is an organization's no more.
pub(super) async fn forget_activation(tx: &mut Tx, scope: &OrgScope, now: Timestamp) -> Result<(), OpError> {
    let subject = scope.organization_id().0;
    Ok(link::withdraw(tx, &[Purpose::ActivateOrganization], subject, now).await?)
}

/// Ends the links that were sent to an address which is a person's no more, or to one who is disabled.
pub(super) async fn forget_personal(tx: &mut Tx, user: Uuid, now: Timestamp) -> Result<(), OpError> {
    let purposes = [Purpose::Invite, Purpose::ResetPassword, Purpose::SignIn, Purpose::ConfirmAddress];
    Ok(link::withdraw(tx, &purposes, user, now).await?)
}

/// Ends the links that verify a system user's address.
pub(super) async fn forget_verification(
    tx: &mut Tx,
    system_user: Uuid,
    now: Timestamp,
) -> Result<(), OpError> {
    Ok(link::withdraw(tx, &[Purpose::VerifySystemUser], system_user, now).await?)
}
