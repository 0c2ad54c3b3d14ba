//! Rings within rings, once it is known that none cross: holes outside, holes in holes, parts in parts.

use rstar::primitives::{GeomWithData, Rectangle};
use rstar::{AABB, RTree};

use super::super::edges::{EdgeIndex, Position};
use super::super::plane::Point;
use super::rings::{NamedRing, Outline};
use super::{MAX_PROBLEMS, ShapeProblem};

/// What is wrong with how rings and parts lie in each other.
pub(super) fn problems(rings: &[NamedRing], outlines: &[Outline]) -> Vec<ShapeProblem> {
    let parts: Vec<&[Outline]> =
        outlines.chunk_by(|a, b| (a.part, a.is_copy) == (b.part, b.is_copy)).collect();
    let mut problems = Vec::new();
    for part in parts.iter().filter(|part| !part[0].is_copy) {
        holes_outside(rings, part, &mut problems);
        let holes: Vec<_> =
            part[1..].iter().map(|hole| (hole, EdgeIndex::build(&[hole.points.clone()]))).collect();
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
    let outer = EdgeIndex::build(&[part[0].points.clone()]);
    for hole in part[1..].iter().filter(|hole| off_boundary(&hole.points, &outer) == Some(Position::Outside))
    {
        let detail = format!("the hole lies outside its outer ring {}", rings[part[0].ring].pointer(None));
        problems.push(ShapeProblem::new(rings[hole.ring].pointer(None), "holeOutside", detail));
    }
}

/// The problems of those outlines that lie within the area of another one.
fn nested<'a>(
    areas: &'a [(&'a Outline, EdgeIndex)],
    problem: impl Fn(&Outline) -> ShapeProblem + 'a,
) -> impl Iterator<Item = ShapeProblem> + 'a {
    let boxes = areas.iter().zip(0_usize..).map(|((_, area), number)| {
        let corner = |p: Point| [p.x, p.y];
        GeomWithData::new(Rectangle::from_corners(corner(area.low), corner(area.high)), number)
    });
    let tree = RTree::bulk_load(boxes.collect());
    areas.iter().zip(0_usize..).filter_map(move |((outline, _), number)| {
        let start = outline.points[0];
        let is_inside = tree
            .locate_in_envelope_intersecting(&AABB::from_point([start.x, start.y]))
            .filter(|entry| entry.data != number)
            .any(|entry| off_boundary(&outline.points, &areas[entry.data].1) == Some(Position::Inside));
        is_inside.then(|| problem(outline))
    })
}

/// Where the ring lies that crosses no edge of the area: its first vertex that is on no edge tells.
fn off_boundary(ring: &[Point], area: &EdgeIndex) -> Option<Position> {
    ring.iter().map(|&p| area.locate(p)).find(|position| *position != Position::Boundary)
}
