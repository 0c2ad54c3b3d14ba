//! Versions of geofences as rows, and the fences that they make.

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{Fence, FenceVersion, Rules, ShapeSpec};

use super::time::Time;

/// A version of a geofence, with what the geofence is called.
#[derive(sqlx::FromRow)]
pub(super) struct FenceRow {
    id: Uuid,
    organization_id: Uuid,
    name: String,
    version: i64,
    effective_from: Option<Time>,
    changed_at: Time,
    active: bool,
    deleted: bool,
    shape: Json<ShapeSpec>,
    rules: Json<Rules>,
}

/// The fences of some versions, in the order of the rows, in which those of one fence stand together.
pub(super) fn fences(rows: Vec<FenceRow>) -> Vec<Fence> {
    let mut fences: Vec<Fence> = Vec::new();
    for row in rows {
        let version = row.version();
        match fences.last_mut() {
            Some(fence) if fence.id.0 == row.id => fence.versions.push(version),
            _ => fences.push(Fence {
                id: row.id.into(),
                organization_id: row.organization_id.into(),
                name: row.name,
                versions: vec![version],
            }),
        }
    }
    fences
}

impl FenceRow {
    fn version(&self) -> FenceVersion {
        FenceVersion {
            version: self.version,
            effective_from: self.effective_from.map(Into::into),
            changed_at: self.changed_at.into(),
            active: self.active,
            deleted: self.deleted,
            shape: self.shape.0.clone(),
            rules: self.rules.0,
        }
    }
}
