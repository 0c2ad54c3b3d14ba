//! Who asks for an operation, and in which organization.

use waypost_actors::model::OrganizationId;

use super::error::OpError;
use crate::auth::{Action, AuthError, Caller, OrgScope};
use crate::context::Context;
use crate::domain::body::{Body, Params};

/// A caller and the organization that it names: operators name the one to act in, others at most their own.
#[derive(Clone, Debug)]
pub struct Scoped {
    /// Who.
    pub caller: Caller,
    /// In which, as the request names it.
    pub organization: Option<OrganizationId>,
}

impl Scoped {
    /// Of a body that names the organization.
    pub fn named_by<B: Body>(caller: Caller, body: &Params<B>) -> Result<Self, OpError> {
        Ok(Self { caller, organization: body.organization()? })
    }

    /// The scope in which the caller may do something.
    pub async fn scope(&self, context: &Context, action: Action) -> Result<OrgScope, AuthError> {
        self.caller.scope(&context.db, action, self.organization).await
    }
}
