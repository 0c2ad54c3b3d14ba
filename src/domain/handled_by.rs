//! Who of an organization did something that all of it share.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

/// Who saw to something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct HandledBy {
    /// The user.
    pub id: Uuid,
    /// First and last name; absent for the platform's operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
