//! Rings within rings, once it is known that none of them cross: holes outside, holes in holes, parts in parts.

use std::slice;

use rstar::primitives::{GeomWithData, Rectangle};
use rstar::{AABB, Envelope, RTree, RTreeObject, SelectionFunction};

use super::super::edges::{EdgeIndex, Position};
use super::super::plane::Point;
use super::problem::{MAX_PROBLEMS, ShapeProblem};
use super::rings::{NamedRing, Outline};

/// The problems with how rings and parts lie within each other.
pub(super) fn problems(rings: &[NamedRing], outlines: &[Outline]) -> Vec<ShapeProblem> {
    let parts: Vec<&[Outline]> =
        outlines.chunk_by(|a, b| (a.part, a.is_copy) == (b.part, b.is_copy)).collect();
    let mut problems = Vec::new();
    for part in parts.iter().filter(|part| !part[0].is_copy) {
        holes_outside(rings, part, &mut problems);
        let holes: Vec<_> =
            part[1..].iter().map(|hole| (hole, EdgeIndex::build(slice::from_ref(&hole.points)))).collect();
        nested(&holes, |hole| {
            ShapeProblem::new(rings[hole.ring].pointer(None), "holesOverlap", "the hole lies in another hole")
        })
        .for_each(|problem| problems.push(problem));
    }
    let indexed: Vec<_> = parts
        .iter()
        .map(|part| {
            let points: Vec<_> = part.iter().map(|ring| ring.points.clone()).collect();
            (&part[0], EdgeIndex::build(&points))
        })
        .collect();
    nested(&indexed, |outer| {
        ShapeProblem::new(
            rings[outer.ring].pointer(None),
            "nestedPart",
            "the part lies in another part, in none of its holes",
        )
    })
    .for_each(|problem| problems.push(problem));
    problems.truncate(MAX_PROBLEMS);
    problems
}

fn holes_outside(rings: &[NamedRing], part: &[Outline], problems: &mut Vec<ShapeProblem>) {
    if part.len() < 2 {
        return;
    }
    let outer = EdgeIndex::build(slice::from_ref(&part[0].points));
    for hole in part[1..].iter().filter(|hole| off_boundary(&hole.points, &outer) == Some(Position::Outside))
    {
        let detail = format!("the hole lies outside its outer ring {}", rings[part[0].ring].pointer(None));
        problems.push(ShapeProblem::new(rings[hole.ring].pointer(None), "holeOutside", detail));
    }
}

/// A ring or part, and what it encloses.
type Area<'a> = (&'a Outline, EdgeIndex);
/// The box of an area and its number.
type Entry = GeomWithData<Rectangle<[f64; 2]>, usize>;

/// The problems of outlines that lie within the area of another one.
fn nested<'a>(
    areas: &'a [Area<'a>],
    problem: impl Fn(&Outline) -> ShapeProblem + 'a,
) -> impl Iterator<Item = ShapeProblem> + 'a {
    let corner = |p: Point| [p.x, p.y];
    let box_of = move |area: &Area<'_>| AABB::from_corners(corner(area.1.low), corner(area.1.high));
    let entries = areas.iter().map(|area| Rectangle::from(box_of(area))).zip(0..);
    let tree = RTree::bulk_load(entries.map(|(area, number)| Entry::new(area, number)).collect());
    areas.iter().zip(0_usize..).filter_map(move |(area, number)| {
        let is_inside = tree
            .locate_with_selection_function(Around(box_of(area)))
            .filter(|entry| entry.data != number)
            .any(|entry| off_boundary(&area.0.points, &areas[entry.data].1) == Some(Position::Inside));
        is_inside.then(|| problem(area.0))
    })
}

/// Selects the boxes that hold the whole of this one.
struct Around(AABB<[f64; 2]>);

impl SelectionFunction<Entry> for Around {
    fn should_unpack_parent(&self, envelope: &AABB<[f64; 2]>) -> bool {
        envelope.contains_envelope(&self.0)
    }

    fn should_unpack_leaf(&self, leaf: &Entry) -> bool {
        leaf.envelope().contains_envelope(&self.0)
    }
}

/// Where a ring that crosses no edge of the area lies: its first vertex that is on no edge decides.
fn off_boundary(ring: &[Point], area: &EdgeIndex) -> Option<Position> {
    ring.iter().map(|&p| area.locate(p)).find(|position| *position != Position::Boundary)
}
