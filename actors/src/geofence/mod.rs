//! What a geofence covers: pure geometry on WGS 84.
//!
//! Owns the prepared shapes, their validation, the versions of a fence and the indexed set of an
//! organization's fences. Everything here is immutable once built. Must not know of vehicles,
//! events, clocks or actors.
//!
//! The rules that decide: sets are closed (a point on a boundary, on a hole's own ring too, is
//! inside); edges and ways between fixes are straight in longitude and latitude, the shorter way
//! round (RFC 7946); circles are geodesic.

mod area;
mod boxes;
mod cell_rasterizer;
mod cells;
mod circle;
mod cover;
mod edge_bitmap;
mod edges;
mod normalise;
mod paged_map;
mod place;
mod plane;
mod polygon;
mod runs;
mod set;
mod shape;
mod timeline;
mod validate;

pub use boxes::GeoBox;
pub use normalise::normalise;
pub(crate) use place::{canonical_degrees, eastward_degrees};
pub use place::{geodesic_meters, haversine_meters, interpolate, is_farther_than, leg_meters};
pub use set::{FenceSet, Near};
pub use shape::Shape;
pub use timeline::{FenceTimeline, PreparedVersion};
pub use validate::{MAX_VERTICES, RADIUS_METERS, ShapeProblem, validate};
