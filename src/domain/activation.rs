//! Requests to activate an organization by mail, as superAdmins see them.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::words::words;

words!(
    /// Where a request for activation stands.
    ActivationStatus {
        /// Its link waits to be opened.
        Pending = "pending",
        /// Its link was opened.
        Verified = "verified",
        /// Its link was not opened in time.
        Expired = "expired",
        /// The organization's address was changed, and another one asked.
        Superseded = "superseded",
        /// An operator activated the organization in the meantime.
        ManuallyActivated = "manuallyActivated",
    }
);

/// A request for activation by mail. The token of its link is shown to nobody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivationRequest {
    /// Which.
    pub id: Uuid,
    /// The organization that waits.
    pub organization_id: OrganizationId,
    /// Its name.
    pub organization_name: String,
    /// Where the link was sent.
    pub email: String,
    /// Where the request stands.
    pub status: ActivationStatus,
    /// When the link was asked for first.
    pub requested_at: Timestamp,
    /// When it was sent last; absent while the first letter waits to be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_sent_at: Option<Timestamp>,
    /// How often it was sent.
    pub sent_count: i64,
    /// Until when the newest link is good.
    pub expires_at: Timestamp,
    /// When the request was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}
