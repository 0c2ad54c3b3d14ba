//! The activation of an organization by mail, and the requests for it.

use uuid::Uuid;

use super::error::OpError;
use super::own_organization::held;
use super::{organization_lifecycle, organizations};
use crate::auth::link::{self, Purpose, Redeemed};
use crate::auth::{self, Action, Caller};
use crate::context::Context;
use crate::domain::activation::ActivationRequest;
use crate::domain::organization::{Organization, OrganizationStep};
use crate::domain::paging::{Page, PageRequest, Sort};
pub use crate::store::activation::{Filter, SORT_KEYS};
use crate::store::outbox;
use crate::store::{activation, founder};

/// What came of a link that was opened.
pub struct Verified {
    /// The organization as it is now.
    pub organization: Organization,
    /// Whether the link did its work before.
    pub already_verified: bool,
}

/// The address of the system user that made an organization and would be bound to it.
pub async fn founder(context: &Context, organization: Uuid) -> Result<Option<String>, OpError> {
    Ok(founder::address(context.db.read(), organization).await?)
}

/// Opens the link of a mail: verifies the organization's address, and activates one that waits for that. A system user
/// that made it is bound to it, if it is let in.
pub async fn verify_email(
    context: &Context,
    token: &str,
    lets_founder_in: bool,
) -> Result<Verified, OpError> {
    let now = context.clock.now();
    let scope = auth::linked_organization(&context.db, token, now).await?;
    let mut tx = context.db.begin().await?;
    let current = held(&mut tx, &scope).await?;
    if let Redeemed::Before(_) = link::redeem(&mut tx, token, Purpose::ActivateOrganization, now).await? {
        return Ok(Verified { organization: current, already_verified: true });
    }
    if !lets_founder_in {
        founder::leave_out(tx.on(), &scope, now.into()).await?;
    }
    let organization =
        organization_lifecycle::advance(&mut tx, &scope, &current, OrganizationStep::VerifyEmail, now)
            .await?;
    organizations::subject(None, &organization, now).updated(&mut tx, &current, &organization).await?;
    tx.commit().await?;
    context.mail.wake();
    Ok(Verified { organization, already_verified: false })
}

/// Notes that somebody asks for the link once more. The same work whether an organization waits for one
/// or not: the post looks.
pub async fn resend(context: &Context, contact_email: &str) -> Result<(), OpError> {
    let now = context.clock.now().into();
    outbox::ask(&context.db, Purpose::ActivateOrganization, contact_email, now).await?;
    context.mail.wake();
    Ok(())
}

/// A page of the requests for activation.
pub async fn list_requests(
    context: &Context,
    caller: &Caller,
    filter: &Filter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<ActivationRequest>, OpError> {
    let operator = caller.operator(Action::ReadActivationRequests)?;
    let now = context.clock.now().into();
    Ok(activation::list(&context.db, operator, filter, sort, page, now).await?)
}
