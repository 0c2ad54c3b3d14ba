//! Who may sign up.

use super::error::OpError;
use crate::auth::{Action, Caller};
use crate::config::SignUp;
use crate::context::Context;

/// Refuses whoever may neither sign up nor do this for others. Only callers who are not signed in sign up, and system users without an
/// organization for one; both only while sign-up is open.
pub fn permit(context: &Context, caller: Option<&Caller>, action: Action) -> Result<(), OpError> {
    let founds = |caller: &Caller| {
        action == Action::CreateOrganization && caller.role().is_none() && caller.organization_id.is_none()
    };
    match caller {
        Some(caller) if !founds(caller) => Ok(caller.may(action)?),
        _ if context.settings.sign_up == SignUp::Open => Ok(()),
        _ => Err(OpError::SignUpClosed),
    }
}
