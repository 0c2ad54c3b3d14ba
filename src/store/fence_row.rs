//! Versions of geofences as rows, and the fences made from them.

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{Fence, FenceVersion, Rules, ShapeSpec};

use super::time::Time;

/// Versions of geofences (`v` of `g`), with what a [`FenceRow`] needs.
pub(super) const SELECT_VERSIONS: &str = "select g.id, g.organization_id, g.name, v.version, v.effective_from, v.changed_at, \
    v.active, v.deleted, v.shape, v.rules from geofence g join geofence_version v on v.geofence_id = g.id";

/// A version of a geofence, with the geofence's name.
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

/// The fences of some versions; the rows of one fence must be adjacent.
pub(super) fn fences(rows: Vec<FenceRow>) -> Vec<Fence> {
    let mut fences: Vec<Fence> = Vec::new();
    for row in rows {
        let (id, organization_id, name, version) = row.version();
        match fences.last_mut() {
            Some(fence) if fence.id.0 == id => fence.versions.push(version),
            _ => fences.push(Fence {
                id: id.into(),
                organization_id: organization_id.into(),
                name,
                versions: vec![version],
            }),
        }
    }
    fences
}

impl FenceRow {
    /// The fence's id, its organization, its name, and the version.
    fn version(self) -> (Uuid, Uuid, String, FenceVersion) {
        let version = FenceVersion {
            version: self.version,
            effective_from: self.effective_from.map(Into::into),
            changed_at: self.changed_at.into(),
            active: self.active,
            deleted: self.deleted,
            shape: self.shape.0,
            rules: self.rules.0,
        };
        (self.id, self.organization_id, self.name, version)
    }
}
