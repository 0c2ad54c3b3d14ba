//! Why a shape is refused, and the limits of one.

/// Most vertices of a shape, all rings together.
pub const MAX_VERTICES: usize = 30_000;
/// The radius of a circle in metres.
pub const RADIUS_METERS: std::ops::RangeInclusive<f64> = 10.0..=100_000.0;
/// Most problems reported of one shape.
pub(super) const MAX_PROBLEMS: usize = 100;

/// Why a shape is refused, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeProblem {
    /// RFC 6901 pointer within the shape, such as `/vertices/17` or `/polygons/2/holes/0/3`.
    pub pointer: String,
    /// One of `notFinite`, `outOfRange`, `tooManyVertices`, `tooFewPoints`, `edgeTooLong`,
    /// `ringAroundPole`, `ringTooWide`, `selfIntersection`, `holeOutside`, `holesOverlap`,
    /// `partsOverlap`, `nestedPart`.
    pub code: &'static str,
    /// For people.
    pub detail: String,
}

impl ShapeProblem {
    pub(super) fn new(pointer: impl Into<String>, code: &'static str, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), code, detail: detail.into() }
    }
}
