//! A fence through all of its versions, prepared.

use std::collections::HashSet;
use std::sync::Arc;

use super::boxes::GeoBox;
use super::shape::Shape;
use crate::model::{Fence, FenceVersion, GeofenceId, OrganizationId, Place, Rules, Timestamp};

/// One version of a fence, prepared.
#[derive(Clone, Debug)]
pub struct PreparedVersion {
    /// 1 for the first, then one more with each change.
    pub version: i64,
    /// In force for fixes recorded from this instant on; `None` = always.
    pub effective_from: Option<Timestamp>,
    /// The server's clock when this version was made.
    pub changed_at: Timestamp,
    /// `false` while the fence is disabled, and for ever once it is deleted.
    pub active: bool,
    /// Whether this version is the fence's end.
    pub deleted: bool,
    /// The rules.
    pub rules: Rules,
    /// The shape; versions that did not change it share it.
    pub shape: Arc<Shape>,
}

impl PreparedVersion {
    fn of(version: &FenceVersion, shape: Arc<Shape>) -> Self {
        Self {
            version: version.version,
            effective_from: version.effective_from,
            changed_at: version.changed_at,
            active: version.active,
            deleted: version.deleted,
            rules: version.rules,
            shape,
        }
    }
}

/// A fence with all of its versions, prepared. Never without a version.
#[derive(Clone, Debug)]
pub struct FenceTimeline {
    /// The fence.
    pub id: GeofenceId,
    /// The organization it belongs to.
    pub organization_id: OrganizationId,
    /// Its name today.
    pub name: String,
    versions: Vec<PreparedVersion>,
    boxes: Vec<GeoBox>,
}

impl FenceTimeline {
    /// Prepares every version of a fence (which has at least one, each of a valid shape).
    #[must_use]
    pub fn prepare(fence: &Fence) -> Self {
        let mut specs: Vec<&FenceVersion> = fence.versions.iter().collect();
        specs.sort_by_key(|version| version.version);
        let mut versions: Vec<PreparedVersion> = Vec::with_capacity(specs.len());
        for (i, spec) in specs.iter().enumerate() {
            let shape = match versions.last() {
                Some(before) if specs[i - 1].shape == spec.shape => Arc::clone(&before.shape),
                _ => Arc::new(Shape::prepare(&spec.shape)),
            };
            versions.push(PreparedVersion::of(spec, shape));
        }
        Self::assemble(fence, versions)
    }

    /// This timeline with the given versions added, each replacing one of the same number, and
    /// with the given name.
    #[must_use]
    pub fn with(&self, fence: &Fence) -> Self {
        let mut versions = Self::prepare(fence).versions;
        let newest = &self.newest().shape;
        for version in versions.iter_mut().filter(|version| version.shape.is_same(newest)) {
            version.shape = Arc::clone(newest);
        }
        versions.extend(self.versions.iter().cloned());
        // The sort is stable: of equal numbers the given one comes first and stays.
        versions.sort_by_key(|version| version.version);
        versions.dedup_by_key(|version| version.version);
        Self::assemble(fence, versions)
    }

    fn assemble(fence: &Fence, versions: Vec<PreparedVersion>) -> Self {
        let mut known = HashSet::new();
        let areas = versions.iter().flat_map(|version| version.shape.boxes());
        let boxes = areas.filter(|area| known.insert(area.bits())).collect();
        Self {
            id: fence.id,
            organization_id: fence.organization_id,
            name: fence.name.clone(),
            versions,
            boxes,
        }
    }

    /// Every version, oldest first.
    #[must_use]
    pub fn versions(&self) -> &[PreparedVersion] {
        &self.versions
    }

    /// The version of the highest number.
    #[must_use]
    pub fn newest(&self) -> &PreparedVersion {
        self.versions.last().expect("a fence has at least one version")
    }

    /// The version that judges a fix recorded at `at`: of those in force by then, the one of the
    /// highest number. It may be inactive. `None` before the first one took effect.
    #[must_use]
    pub fn in_force_at(&self, at: Timestamp) -> Option<&PreparedVersion> {
        self.versions.iter().rev().find(|version| version.effective_from.is_none_or(|from| from <= at))
    }

    /// The latest instant up to `until` from which a version is in force. `None` before the first,
    /// and when all are in force always.
    #[must_use]
    pub fn last_change_until(&self, until: Timestamp) -> Option<Timestamp> {
        self.versions.iter().filter_map(|version| version.effective_from).filter(|at| *at <= until).max()
    }

    /// Whether a box of any version meets the box of the way between two places, the shorter way round.
    #[must_use]
    pub fn is_near_way(&self, from: Place, to: Place) -> bool {
        let (first, second) = GeoBox::of_way(from, to);
        self.boxes.iter().any(|area| area.meets(&first) || second.is_some_and(|second| area.meets(&second)))
    }

    /// Whether a box of any version has a point in common with this one.
    #[must_use]
    pub fn meets(&self, area: &GeoBox) -> bool {
        self.boxes.iter().any(|of_version| of_version.meets(area))
    }

    /// Whether a box of any version may come as near to a place as this. Never `false` where one does.
    #[must_use]
    pub fn is_within(&self, place: Place, meters: f64) -> bool {
        self.boxes.iter().any(|area| area.is_within(place, meters))
    }

    /// The first shapes that versions had, each once, at most `most`.
    pub(super) fn shapes(&self, most: usize) -> Vec<&Shape> {
        let mut shapes: Vec<&Arc<Shape>> = Vec::new();
        for PreparedVersion { shape, .. } in &self.versions {
            if shapes.len() < most && !shapes.iter().any(|known| Arc::ptr_eq(known, shape)) {
                shapes.push(shape);
            }
        }
        shapes.into_iter().map(Arc::as_ref).collect()
    }

    /// The distinct boxes of all versions.
    pub(super) fn boxes(&self) -> &[GeoBox] {
        &self.boxes
    }

    /// Whether any active version infers passages.
    pub(super) fn infers_passages(&self) -> bool {
        self.versions.iter().any(|version| version.active && version.rules.infer_passages)
    }

    /// Whether any version limits the speed.
    pub(super) fn limits_speed(&self) -> bool {
        self.versions.iter().any(|version| version.rules.speed_limit_kmh.is_some())
    }

    /// The latest instant at which a version took or takes effect.
    pub(super) fn last_effective_from(&self) -> Option<Timestamp> {
        self.versions.iter().filter_map(|version| version.effective_from).max()
    }
}
