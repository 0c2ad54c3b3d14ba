//! The caller of an operation, and the organization it acts in.

use waypost_actors::model::OrganizationId;

use crate::auth::{Action, AuthError, Caller, OrgScope};
use crate::context::Context;

/// A caller and the organization it names: operators name the one to act in, others at most their own.
#[derive(Clone, Debug)]
pub struct Scoped {
    /// The caller.
    pub caller: Caller,
    /// The organization that the request names.
    pub organization: Option<OrganizationId>,
}

impl Scoped {
    /// The scope in which the caller may do something.
    pub async fn scope(&self, context: &Context, action: Action) -> Result<OrgScope, AuthError> {
        self.caller.scope(&context.db, action, self.organization).await
    }
}
