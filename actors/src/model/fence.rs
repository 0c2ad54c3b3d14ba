//! A geofence as its owner drew it: shapes, rules and versions, before any preparation.

use serde::{Deserialize, Serialize};

use super::fix::Place;
use super::ids::{GeofenceId, OrganizationId};
use super::time::Timestamp;

/// A closed line: the first point is not repeated at the end.
pub type Ring = Vec<Place>;

/// All points within a geodesic distance (WGS 84) of a centre.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Circle {
    /// The centre.
    pub center: Place,
    /// The radius in metres, 10 to 100,000.
    #[cfg_attr(feature = "schema", schema(minimum = 10, maximum = 100000))]
    pub radius_meters: f64,
}

/// An outer ring less its holes. Edges are straight in longitude and latitude, the shorter way round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Polygon {
    /// The outer ring, at least three distinct points.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<Place>))]
    pub vertices: Ring,
    /// Rings cut out; the holes' own rings belong to the polygon.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schema(value_type = Vec<Vec<Place>>))]
    pub holes: Vec<Ring>,
}

/// Several polygons that are one fence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MultiPolygon {
    /// The parts.
    pub polygons: Vec<Polygon>,
}

/// The shape of a geofence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ShapeSpec {
    /// A geodesic circle.
    Circle(Circle),
    /// One polygon, possibly with holes.
    Polygon(Polygon),
    /// Several polygons.
    MultiPolygon(MultiPolygon),
}

/// How a fence turns fixes into entries and exits. `None` = off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Rules {
    /// A vehicle has left when it is farther outside than this, or than its fix's accuracy
    /// (at most 200 m), whichever is more. 0 = exact, and accuracy is ignored. Metres.
    #[cfg_attr(feature = "schema", schema(minimum = 0, maximum = 10000))]
    pub exit_margin_meters: f64,
    /// An entry counts after this many seconds inside.
    #[cfg_attr(feature = "schema", schema(minimum = 0, maximum = 86400))]
    pub min_inside_seconds: f64,
    /// An exit counts after this many seconds outside.
    #[cfg_attr(feature = "schema", schema(minimum = 0, maximum = 86400))]
    pub min_outside_seconds: f64,
    /// Whether a segment through the fence with both its fixes outside makes an entry and an exit.
    pub infer_passages: bool,
    /// Whether a vehicle that stands neither enters nor leaves: its single fixes are not believed against
    /// the place where it stands.
    pub hold_while_standing: bool,
    /// Over a longer silence than this, nothing is interpolated or inferred. Seconds.
    #[cfg_attr(feature = "schema", schema(minimum = 0, maximum = 31536000))]
    pub max_gap_seconds: f64,
    /// One dwell record per visit after this many seconds inside.
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 31536000))]
    pub dwell_after_seconds: Option<f64>,
    /// Speed allowed inside, km/h.
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 400))]
    pub speed_limit_kmh: Option<f64>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            exit_margin_meters: 20.0,
            min_inside_seconds: 0.0,
            min_outside_seconds: 0.0,
            infer_passages: true,
            hold_while_standing: true,
            max_gap_seconds: 600.0,
            dwell_after_seconds: None,
            speed_limit_kmh: None,
        }
    }
}

impl Rules {
    /// The plain rule: inside is inside, outside is outside, nothing inferred or held back.
    pub const EXACT: Self = Self {
        exit_margin_meters: 0.0,
        min_inside_seconds: 0.0,
        min_outside_seconds: 0.0,
        infer_passages: false,
        hold_while_standing: false,
        max_gap_seconds: 600.0,
        dwell_after_seconds: None,
        speed_limit_kmh: None,
    };
}

/// One version of a fence: what was in force from an instant on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FenceVersion {
    /// 1 for the first, then one more with each change of shape, rules, state or effect.
    pub version: i64,
    /// In force for fixes recorded from this instant on; `None` = always.
    pub effective_from: Option<Timestamp>,
    /// The server's clock when this version was made.
    pub changed_at: Timestamp,
    /// `false` while the fence is disabled, and for ever once it is deleted.
    pub active: bool,
    /// Whether this version is the fence's end.
    pub deleted: bool,
    /// The shape.
    pub shape: ShapeSpec,
    /// The rules.
    pub rules: Rules,
}

/// A fence with all of its versions, oldest first; never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Fence {
    /// The fence.
    pub id: GeofenceId,
    /// The organization it belongs to.
    pub organization_id: OrganizationId,
    /// Its name today.
    pub name: String,
    /// Every version, oldest first.
    pub versions: Vec<FenceVersion>,
}
