//! The activation of an organization by mail, and the requests for it.

use uuid::Uuid;

use super::change::Change;
use super::error::OpError;
use super::organization_lifecycle;
use super::own_organization::held;
use crate::auth::link::{self, Purpose, Redeemed};
use crate::auth::{self, Action, Caller};
use crate::context::Context;
use crate::domain::activation::ActivationRequest;
use crate::domain::organization::{Organization, OrganizationStep};
use crate::domain::paging::{Page, PageRequest, Sort};
pub use crate::store::activation::{Filter, SORT_KEYS};
use crate::store::outbox;
use crate::store::{activation, creator};

/// The result of opening an activation link.
pub struct Verified {
    /// The organization after that.
    pub organization: Organization,
    /// Whether the link was used before.
    pub already_verified: bool,
}

/// The address of the system user that created an organization and would be bound to it.
pub async fn creator(context: &Context, organization: Uuid) -> Result<Option<String>, OpError> {
    Ok(creator::address(context.db.read(), organization).await?)
}

/// Opens the link of a letter: verifies the organization's address, and activates an organization that waits for
/// that. The system user that created it, if any, is bound to it if it is let in.
pub async fn verify_email(
    context: &Context,
    token: &str,
    lets_founder_in: bool,
) -> Result<Verified, OpError> {
    let now = context.clock.now();
    let scope = auth::linked_organization(&context.db, token, now).await?;
    let mut change = Change::within(context, None, Some(scope)).await?.at(now);
    let current = held(change.tx(), &scope).await?;
    let redeemed = link::redeem(change.tx(), token, Purpose::ActivateOrganization, now).await?;
    if let Redeemed::Before(_) = redeemed {
        return Ok(Verified { organization: current, already_verified: true });
    }
    let verify = OrganizationStep::VerifyEmail { lets_founder_in };
    let organization = organization_lifecycle::advance(&mut change, &scope, &current, verify).await?;
    let recorded = change.updated(&current, &organization).await?;
    let organization = change.commit(recorded, organization).await?;
    Ok(Verified { organization, already_verified: false })
}

/// Requests another activation link. Takes the same work whether an organization waits for one or not, because the
/// post looks that up later.
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
