//! Geofences: what is kept of one and what may be said of one.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use waypost_actors::model::{Fence, FenceVersion, GeofenceId, OrganizationId, Rules, ShapeSpec, Timestamp};

use super::field::FieldError;
use super::fold::folded;
use super::members::{Members, Patch, flag, instant, matching, text};
use super::rules::read_rules;
use super::shape::read_shape;

/// What may be said of a geofence.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GeofenceIn {
    /// 1 to 120 characters.
    #[schema(min_length = 1, max_length = 120)]
    pub name: String,
    /// At most 1,000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 1000)]
    pub description: Option<String>,
    /// At most 60 characters, the organization's own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 60)]
    pub category: Option<String>,
    /// `#RRGGBB`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^#[0-9A-Fa-f]{6}$")]
    pub color: Option<String>,
    /// Whether it is in force.
    #[schema(required = false)]
    pub enabled: bool,
    /// The shape. A PUT replaces it whole.
    pub shape: ShapeSpec,
    /// The rules; at creation those left out come from the organization's defaults.
    #[schema(required = false)]
    pub rules: Rules,
}

/// What a body says of a geofence.
#[derive(Clone, Debug, PartialEq)]
pub struct GeofenceSaid {
    /// The lasting part.
    pub said: GeofenceIn,
    /// From when the version holds: absent = its creation or change, null = always.
    pub effective_from: Patch<Option<Timestamp>>,
}

/// A geofence.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Geofence {
    /// Which.
    pub id: GeofenceId,
    /// Whose.
    pub organization_id: OrganizationId,
    /// What was said of it.
    #[serde(flatten)]
    pub said: GeofenceIn,
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

impl Geofence {
    /// The present version as the live core knows it, made at `changed_at`; `is_deleted` ends the fence.
    #[must_use]
    pub fn fence(&self, changed_at: Timestamp, is_deleted: bool) -> Fence {
        Fence {
            id: self.id,
            organization_id: self.organization_id,
            name: self.said.name.clone(),
            versions: vec![FenceVersion {
                version: self.version,
                effective_from: self.effective_from,
                changed_at,
                active: self.said.enabled && !is_deleted,
                deleted: is_deleted,
                shape: self.said.shape.clone(),
                rules: self.said.rules,
            }],
        }
    }

    /// Whether what is said now makes a new version.
    #[must_use]
    pub fn is_changed_by(&self, new: &GeofenceSaid) -> bool {
        let effect = match new.effective_from {
            Patch::Keep => false,
            Patch::Set(from) => from != self.effective_from,
        };
        let (old, new) = (&self.said, &new.said);
        effect || old.shape != new.shape || old.rules != new.rules || old.enabled != new.enabled
    }
}

impl GeofenceSaid {
    /// Reads one whose members are all there (defaults or present values merged with a body), but
    /// for `effectiveFrom`, whose absence has a meaning.
    pub fn read(body: &Value) -> Result<Self, Vec<FieldError>> {
        let mut members = Members::of(body);
        let name = members.required("name", text(1..=120));
        let description = members.optional("description", text(1..=1000));
        let category = members.optional("category", text(1..=60));
        let color = members.optional("color", matching(is_color, "a colour such as #1A2B3C"));
        let enabled = members.required("enabled", flag);
        let effective_from = members.change("effectiveFrom", instant);
        let shape = match members.any("shape") {
            None | Some(Value::Null) => {
                members.problem("shape", "required", "is required");
                None
            }
            Some(shape) => read_shape(shape, "/shape").map_err(|problems| members.extend(problems)).ok(),
        };
        let rules = members.object("rules", read_rules).flatten();
        if body["rules"].is_null() {
            members.problem("rules", "required", "cannot be cleared; clear single rules");
        }
        members.finish(|| {
            let said = GeofenceIn {
                name: name?,
                description,
                category,
                color,
                enabled: enabled?,
                shape: shape?,
                rules: rules?,
            };
            Some(Self { said, effective_from })
        })
    }
}

impl GeofenceIn {
    /// What a search looks through.
    #[must_use]
    pub fn search_key(&self) -> String {
        let parts = [Some(self.name.as_str()), self.description.as_deref(), self.category.as_deref()];
        folded(&parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}

fn is_color(text: &str) -> bool {
    text.len() == 7 && text.starts_with('#') && text[1..].bytes().all(|b| b.is_ascii_hexdigit())
}
