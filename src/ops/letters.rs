//! Letters caused by organizations and users, put into the outbox in the transaction that causes them.

use serde::Serialize;
use uuid::Uuid;

use super::change::Change;
use super::error::OpError;
use crate::auth::OrgScope;
use crate::auth::link::{self, Purpose};
use crate::clock;
use crate::context::Context;
use crate::domain::organization::Organization;
use crate::domain::system_user::SystemUser;
use crate::domain::user::User;
use crate::mail::masked;
use crate::store::activation;
use crate::store::outbox::{Notice, OutgoingMail};

/// Sends an organization its activation link and records the activation request.
pub(super) async fn activate(
    change: &mut Change<'_>,
    scope: &OrgScope,
    organization: &Organization,
) -> Result<(), OpError> {
    let (attributes, now) = (&organization.attributes, change.now());
    let expires_at = now.plus_seconds(link::SECONDS).into();
    activation::insert(
        change.on(),
        scope,
        clock::new_id(),
        &attributes.contact_email,
        now.into(),
        expires_at,
    )
    .await?;
    let mail = OutgoingMail {
        purpose: Purpose::ActivateOrganization,
        subject_id: organization.id.0,
        recipient: attributes.contact_email.clone(),
        greeting: String::new(),
        about: Some(attributes.name.clone()),
    };
    change.send(&mail).await
}

/// Sends a user the link for choosing a password. `about`: their organization's name.
pub(super) async fn invite(change: &mut Change<'_>, user: &User, about: Option<&str>) -> Result<(), OpError> {
    let mail = OutgoingMail {
        purpose: Purpose::Invite,
        subject_id: user.id,
        recipient: user.attributes.email.clone(),
        greeting: user.attributes.first_name.clone(),
        about: about.map(str::to_owned),
    };
    change.send(&mail).await
}

/// Sends the link that confirms a user's new address, and a notice to the current one. Links sent to another new
/// address before become invalid.
pub(super) async fn confirm_address(
    change: &mut Change<'_>,
    user: &User,
    address: &str,
) -> Result<(), OpError> {
    withdraw(change, &[Purpose::ConfirmAddress], user.id).await?;
    let mail = OutgoingMail {
        purpose: Purpose::ConfirmAddress,
        subject_id: user.id,
        recipient: address.to_owned(),
        greeting: user.attributes.first_name.clone(),
        about: None,
    };
    change.send(&mail).await?;
    let told = masked(address);
    let letter = (user.attributes.email.as_str(), user.attributes.first_name.as_str(), told.as_str());
    change.send_notice(Notice::AddressChanged, user.id, letter).await
}

/// Answers a sign-up with the address of an existing account like any other, so that the answer does not reveal which
/// addresses have one: nothing is created, and the owner of the address gets a notice. `shown`: the answer.
pub(super) async fn sign_up_again(
    context: &Context,
    address: &str,
    id: Uuid,
    shown: &impl Serialize,
) -> Result<(), OpError> {
    let mut change = Change::within(context, None, None).await?;
    change.send_notice(Notice::SignUpAgain, id, (address, "", "")).await?;
    let recorded = change.as_before();
    change.commit_created(recorded, shown).await?;
    Ok(())
}

/// Sends a system user the link that verifies its address.
pub(super) async fn verify_system_user(change: &mut Change<'_>, user: &SystemUser) -> Result<(), OpError> {
    let letter = OutgoingMail {
        purpose: Purpose::VerifySystemUser,
        subject_id: user.id,
        recipient: user.email.clone(),
        // No name: a stranger chose it, and the reader of the letter may be another person.
        greeting: String::new(),
        // Its reader was answered the id, if it is theirs.
        about: Some(user.id.to_string()),
    };
    change.send(&letter).await
}

/// Invalidates the activation links sent to an address the organization no longer has.
pub(super) async fn forget_activation(change: &mut Change<'_>, scope: &OrgScope) -> Result<(), OpError> {
    withdraw(change, &[Purpose::ActivateOrganization], scope.organization_id().0).await
}

/// Invalidates a user's links after their address changed or they were disabled.
pub(super) async fn forget_personal(change: &mut Change<'_>, user: Uuid) -> Result<(), OpError> {
    let purposes = [Purpose::Invite, Purpose::ResetPassword, Purpose::SignIn, Purpose::ConfirmAddress];
    withdraw(change, &purposes, user).await
}

/// Invalidates the links that verify a system user's address.
pub(super) async fn forget_verification(change: &mut Change<'_>, system_user: Uuid) -> Result<(), OpError> {
    withdraw(change, &[Purpose::VerifySystemUser], system_user).await
}

async fn withdraw(change: &mut Change<'_>, purposes: &[Purpose], subject: Uuid) -> Result<(), OpError> {
    let now = change.now();
    Ok(link::withdraw(change.tx(), purposes, subject, now).await?)
}
