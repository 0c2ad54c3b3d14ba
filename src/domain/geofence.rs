//! Geofences: what is stored of them and what clients may set.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use waypost_actors::model::{Fence, FenceVersion, GeofenceId, OrganizationId, Rules, ShapeSpec, Timestamp};

use super::body::body;
use super::field::FieldError;
use super::fold::folded;
use super::members::{Patch, Read, flag, id, instant, matching};
use super::rules::read_rules;
use super::shape::read_shape;

body!(
    /// The attributes of a geofence that a client sets.
    pub struct GeofenceIn {
        /// 1 to 120 characters.
        name "name": required String, text(1..=120);
        /// At most 1,000 characters.
        description "description": optional String, text(1..=1000);
        /// At most 60 characters, the organization's own word.
        category "category": optional String, text(1..=60);
        /// `#RRGGBB`.
        color "color": optional String, by(color, pattern = "^#[0-9A-Fa-f]{6}$");
        /// Whether it is in force.
        enabled "enabled": required bool, by(flag), or true;
        /// The shape. A PUT replaces it whole.
        shape "shape": required ShapeSpec, deep(shape);
        /// The rules; at creation those left out come from the organization's defaults.
        rules "rules": required Rules, part(read_rules, required = false);
    }
);

body!(
    /// What a body says of a geofence.
    pub struct UpdateGeofence {
        /// From when the version holds: absent = its creation or change, null = always.
        effective_from "effectiveFrom": patch Timestamp, by(instant);
        /// The lasting part.
        ..attributes: GeofenceIn;
    }
    WHOLE: &["shape"];
    READ_ONLY: &["id", "organizationId", "createdAt", "updatedAt"];
    DERIVED: &["bbox", "areaSquareMeters", "insideCount", "pastCorrection", "version"];
);

body!(
    /// A new geofence.
    pub struct CreateGeofence {
        /// Whose; operators name it.
        organization_id "organizationId": optional OrganizationId, by(id);
        /// From when it is in force: absent = now, null = always, for imported history and replays.
        effective_from "effectiveFrom": patch Timestamp, by(instant);
        /// Its attributes.
        ..geofence: GeofenceIn;
    }
    WHOLE: UpdateGeofence::WHOLE;
);

/// A geofence.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Geofence {
    /// Which.
    pub id: GeofenceId,
    /// Whose.
    pub organization_id: OrganizationId,
    /// Its attributes.
    #[serde(flatten)]
    pub attributes: GeofenceIn,
    /// The present version holds for fixes recorded from this instant on; null = always. Absent in a
    /// POST: its creation. Absent in a PUT that changes the fence: the change.
    pub effective_from: Option<Timestamp>,
    /// West, south, east, north in degrees (RFC 7946); west > east across the antimeridian.
    pub bbox: [f64; 4],
    /// On WGS 84.
    pub area_square_meters: f64,
    /// One more with each change of shape, rules, `enabled` or `effectiveFrom`.
    pub version: i64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The past that a geofence dated back still changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PastCorrection {
    /// Vehicles of the organization whose past since the geofence's `effectiveFrom` is being judged anew; null while it is
    /// looked up which of them came near.
    pub vehicle_count: Option<i64>,
    /// The earliest instant that is still to be judged anew; null while nothing is known to be.
    pub from: Option<Timestamp>,
}

impl Geofence {
    /// The current version in the live core's form, made at `changed_at`; `is_deleted` ends the fence.
    #[must_use]
    pub fn fence(&self, changed_at: Timestamp, is_deleted: bool) -> Fence {
        Fence {
            id: self.id,
            organization_id: self.organization_id,
            name: self.attributes.name.clone(),
            versions: vec![FenceVersion {
                version: self.version,
                effective_from: self.effective_from,
                changed_at,
                active: self.attributes.enabled && !is_deleted,
                deleted: is_deleted,
                shape: self.attributes.shape.clone(),
                rules: self.attributes.rules,
            }],
        }
    }

    /// Whether changing to `new` makes a new version.
    #[must_use]
    pub fn is_changed_by(&self, new: &UpdateGeofence) -> bool {
        let effect = match new.effective_from {
            Patch::Keep => false,
            Patch::Set(from) => from != self.effective_from,
        };
        let (old, new) = (&self.attributes, &new.attributes);
        effect || old.shape != new.shape || old.rules != new.rules || old.enabled != new.enabled
    }
}

impl From<CreateGeofence> for UpdateGeofence {
    fn from(CreateGeofence { effective_from, geofence, .. }: CreateGeofence) -> Self {
        Self { effective_from, attributes: geofence }
    }
}

impl GeofenceIn {
    /// The text that is searched.
    #[must_use]
    pub fn search_key(&self) -> String {
        let parts = [Some(self.name.as_str()), self.description.as_deref(), self.category.as_deref()];
        folded(&parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}

pub(super) fn shape(value: &Value) -> Result<ShapeSpec, Vec<FieldError>> {
    match value {
        Value::Null => Err(vec![FieldError::new("/shape", "required", "is required")]),
        shape => read_shape(shape, "/shape"),
    }
}

fn color(value: &Value) -> Read<String> {
    let fits = |text: &str| {
        text.len() == 7 && text.starts_with('#') && text[1..].bytes().all(|b| b.is_ascii_hexdigit())
    };
    matching(fits, "a colour such as #1A2B3C")(value)
}
