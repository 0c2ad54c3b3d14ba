//! A change of master data as one reader sees it.

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::{Change, ChangeKind, ChangedResource, OrganizationId, Timestamp};

/// A change of master data, and what was changed as it is now.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShownChange {
    /// Its place in the log, in which events are numbered too.
    pub sequence: i64,
    /// Whose; null for the platform's own accounts.
    pub organization_id: Option<OrganizationId>,
    /// The kind of what was changed.
    pub resource: ChangedResource,
    /// Which.
    pub resource_id: Uuid,
    /// How.
    pub kind: ChangeKind,
    /// When.
    pub changed_at: Timestamp,
    /// What was changed, as GET gives it now, without `live`: of several changes of one thing, each tells the newest.
    /// Null for what is deleted.
    #[schema(value_type = Option<Object>)]
    pub data: Option<Box<RawValue>>,
}

impl ShownChange {
    /// A change with what the reader sees of the thing.
    #[must_use]
    pub fn new(change: Change, data: Option<Box<RawValue>>) -> Self {
        let Change { sequence, organization_id, resource, resource_id, kind, changed_at } = change;
        Self { sequence, organization_id, resource, resource_id, kind, changed_at, data }
    }
}
