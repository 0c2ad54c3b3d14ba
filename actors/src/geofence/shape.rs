//! A shape ready for questions, whatever its kind.

use super::area::circle_square_meters;
use super::boxes::GeoBox;
use super::circle::CircleShape;
use super::normalise::normalise;
use super::place::interpolate;
use super::polygon::PolygonShape;
use crate::model::{Place, ShapeSpec};

/// A prepared shape: a closed set of places. Immutable; share it behind an `Arc`.
pub struct Shape {
    form: Form,
    boxes: Vec<GeoBox>,
    square_meters: f64,
}

pub(super) enum Form {
    Circle(CircleShape),
    Polygon(Box<PolygonShape>),
}

impl Shape {
    /// Two cuts of a way that are closer than this share of it count as one.
    const SAME_SHARE: f64 = 1e-12;

    /// Prepares a shape, which must be one that [`validate()`](super::validate()) accepts.
    #[must_use]
    pub fn prepare(spec: &ShapeSpec) -> Self {
        match normalise(spec.clone()) {
            ShapeSpec::Circle(circle) => {
                let form = CircleShape::prepare(&circle);
                let boxes = form.boxes();
                Self { form: Form::Circle(form), boxes, square_meters: circle_square_meters(&circle) }
            }
            ShapeSpec::Polygon(polygon) => Self::of_parts(&[polygon]),
            ShapeSpec::MultiPolygon(multi) => Self::of_parts(&multi.polygons),
        }
    }

    fn of_parts(parts: &[crate::model::Polygon]) -> Self {
        let form = Box::new(PolygonShape::prepare(parts));
        let (boxes, square_meters) = (form.boxes(), form.square_meters());
        Self { form: Form::Polygon(form), boxes, square_meters }
    }

    /// Whether the place is in the shape. The set is closed: boundaries and the holes' own rings
    /// are inside. Exact for polygons, geodesic for circles.
    #[must_use]
    pub fn covers(&self, place: Place) -> bool {
        match &self.form {
            Form::Circle(circle) => circle.covers(place),
            Form::Polygon(polygon) => polygon.covers(place),
        }
    }

    /// Whether a place outside the shape is farther than `meters` (0 or more) from its boundary;
    /// `false` for a place inside.
    #[must_use]
    pub fn is_farther_outside_than(&self, place: Place, meters: f64) -> bool {
        match &self.form {
            Form::Circle(circle) => circle.is_farther_outside_than(place, meters),
            Form::Polygon(polygon) => polygon.is_farther_outside_than(place, meters),
        }
    }

    /// Where the way that is straight in longitude and latitude, the shorter way round, crosses
    /// the boundary: ascending, distinct shares (0 to 1) of the way.
    ///
    /// A crossing is where membership changes, so it alternates: from [`covers`](Self::covers) of
    /// `from` at the start, each share turns it over, until it is that of `to`. Touching the
    /// boundary from either side, and a seam between two parts, is no crossing; a place on the
    /// boundary is inside, so leaving from it crosses at 0 and arriving on it crosses at 1.
    #[must_use]
    pub fn crossings(&self, from: Place, to: Place) -> Vec<f64> {
        let mut cuts = Vec::new();
        let plain = match &self.form {
            Form::Circle(circle) => {
                circle.cuts(from, to, &mut cuts);
                false
            }
            Form::Polygon(polygon) => polygon.cuts(from, to, &mut cuts),
        };
        if cuts.is_empty() {
            return cuts;
        }
        if plain && Self::are_apart(&mut cuts) {
            return cuts;
        }
        cuts.extend([0.0, 1.0]);
        cuts.sort_by(f64::total_cmp);
        cuts.dedup_by(|later, earlier| *later - *earlier < Self::SAME_SHARE);
        self.changes(from, to, cuts)
    }

    /// Sorts cuts. Returns whether all of them are distinct, and none at an end.
    fn are_apart(cuts: &mut [f64]) -> bool {
        cuts.sort_by(f64::total_cmp);
        let ends = [cuts[0], 1.0 - cuts[cuts.len() - 1]];
        let gaps = cuts.windows(2).map(|pair| pair[1] - pair[0]);
        gaps.chain(ends).all(|gap| gap >= Self::SAME_SHARE)
    }

    /// Keeps the cuts (0 first) at which membership changes, judged by the middles between them.
    fn changes(&self, from: Place, to: Place, mut cuts: Vec<f64>) -> Vec<f64> {
        let mut middles =
            cuts.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect::<Vec<_>>().into_iter();
        let mut inside = self.covers(from);
        cuts.retain(|_| {
            let after = match middles.next() {
                Some(middle) => self.covers(interpolate(from, to, middle)),
                None => self.covers(to),
            };
            std::mem::replace(&mut inside, after) != after
        });
        cuts
    }

    /// The box or boxes that hold the shape: one, or two across the antimeridian. A circle over a pole, and parts
    /// all around the globe, have one full belt. Those of circles are up to 1.5 % larger than necessary.
    pub fn boxes(&self) -> impl Iterator<Item = GeoBox> {
        self.boxes.iter().copied()
    }

    /// Whether the other was prepared from an equal shape.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (&self.form, &other.form) {
            (Form::Circle(one), Form::Circle(other)) => one == other,
            (Form::Polygon(one), Form::Polygon(other)) => one.edges().eq(other.edges()),
            _ => false,
        }
    }

    pub(super) fn box_list(&self) -> &[GeoBox] {
        &self.boxes
    }

    pub(super) const fn form(&self) -> &Form {
        &self.form
    }

    /// The area on WGS 84 in square metres.
    #[must_use]
    pub fn area_square_meters(&self) -> f64 {
        self.square_meters
    }

    /// Bytes this shape takes, its own size included.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let form = match &self.form {
            Form::Circle(_) => 0,
            Form::Polygon(polygon) => size_of::<PolygonShape>() + polygon.heap_bytes(),
        };
        size_of::<Self>() + self.boxes.capacity() * size_of::<GeoBox>() + form
    }
}

impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.form {
            Form::Circle(_) => "circle",
            Form::Polygon(_) => "polygon",
        };
        write!(f, "Shape({kind} in {:?})", self.boxes)
    }
}
