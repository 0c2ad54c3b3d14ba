//! The activation of an organization by mail, and the requests for it.

use super::error::OpError;
use super::{life, organizations};
use crate::auth::link::{self, Purpose, Redeemed};
use crate::auth::{self, Action, Caller};
use crate::context::Context;
use crate::domain::activation::ActivationRequest;
use crate::domain::organization::{Organization, OrganizationStep};
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::store::activation;
pub use crate::store::activation::{Filter, SORT_KEYS};
use crate::store::outbox;

/// What came of a link that was opened.
pub struct Verified {
    /// The organization as it is now.
    pub organization: Organization,
    /// Whether the link did its work before.
    pub already_verified: bool,
}

/// Opens the link of a mail: verifies the organization's address, and activates one that waits for that.
pub async fn verify_email(context: &Context, token: &str) -> Result<Verified, OpError> {
    let now = context.clock.now();
    let scope = auth::linked_organization(&context.db, token, now).await?;
    let mut tx = context.db.begin().await?;
    let current = organizations::held(&mut tx, &scope).await?;
    if let Redeemed::Before(_) = link::redeem(&mut tx, token, Purpose::ActivateOrganization, now).await? {
        return Ok(Verified { organization: current, already_verified: true });
    }
    let organization = life::advance(&mut tx, &scope, &current, OrganizationStep::VerifyEmail, now).await?;
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
