//! Rings within rings, once it is known that none of them cross: holes outside, holes in holes, parts in parts.
//!
//! Whether one area lies in another is asked only where its box does, and then of all at once, in O(n log n).

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::slice;

use rstar::primitives::{GeomWithData, Rectangle};
use rstar::{AABB, Envelope, RTree, RTreeObject, SelectionFunction};

use super::super::edges::{EdgeIndex, Position};
use super::super::plane::{Orientation, Point, side};
use super::problem::{MAX_PROBLEMS, ShapeProblem};
use super::rings::{NamedRing, Outline};

/// The problems with how rings and parts lie within each other.
pub(super) fn problems(rings: &[NamedRing], outlines: &[Outline]) -> Vec<ShapeProblem> {
    let parts: Vec<&[Outline]> =
        outlines.chunk_by(|a, b| (a.part, a.is_copy) == (b.part, b.is_copy)).collect();
    let mut problems = Vec::new();
    for part in parts.iter().filter(|part| !part[0].is_copy) {
        holes_outside(rings, part, &mut problems);
        let holes: Vec<&[Outline]> = part[1..].iter().map(slice::from_ref).collect();
        problems.extend(nested(&holes, Inside::Right).map(|hole| {
            ShapeProblem::new(rings[hole.ring].pointer(None), "holesOverlap", "the hole lies in another hole")
        }));
    }
    problems.extend(nested(&parts, Inside::Left).map(|outer| {
        ShapeProblem::new(
            rings[outer.ring].pointer(None),
            "nestedPart",
            "the part lies in another part, in none of its holes",
        )
    }));
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

/// Where a ring that crosses no edge of the area lies: its first vertex that is on no edge decides.
fn off_boundary(ring: &[Point], area: &EdgeIndex) -> Option<Position> {
    ring.iter().map(|&p| area.locate(p)).find(|position| *position != Position::Boundary)
}

/// Where the rings of an area have what it encloses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Left,
    Right,
}

/// The outer rings of the areas that lie within another one. An area is rings, the outer one first.
fn nested<'a>(areas: &[&'a [Outline]], inside: Inside) -> impl Iterator<Item = &'a Outline> {
    let are_in_boxes = in_boxes(areas);
    let are_within =
        if are_in_boxes.contains(&true) { within(areas, &are_in_boxes, inside) } else { are_in_boxes };
    let outer: Vec<&Outline> = areas.iter().map(|rings| &rings[0]).collect();
    outer.into_iter().zip(are_within).filter_map(|(outer, is_within)| is_within.then_some(outer))
}

/// The box of an area and its number.
type Entry = GeomWithData<Rectangle<[f64; 2]>, usize>;

/// Whether the box of each area lies in that of another one.
fn in_boxes(areas: &[&[Outline]]) -> Vec<bool> {
    let boxes: Vec<AABB<[f64; 2]>> = areas.iter().map(|rings| box_of(&rings[0].points)).collect();
    let entries = boxes.iter().zip(0..).map(|(area, number)| Entry::new(Rectangle::from(*area), number));
    let tree = RTree::bulk_load(entries.collect());
    let is_in_another = |(number, area): (usize, &AABB<[f64; 2]>)| {
        tree.locate_with_selection_function(Around(*area)).any(|entry| entry.data != number)
    };
    boxes.iter().enumerate().map(is_in_another).collect()
}

fn box_of(ring: &[Point]) -> AABB<[f64; 2]> {
    ring.iter().fold(AABB::new_empty(), |all, p| all.merged(&AABB::from_point([p.x, p.y])))
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

/// An edge that is not level, walked from south to north. It has its lower end and not its upper one.
struct Edge {
    low: Point,
    high: Point,
    area: usize,
    /// Whether what its area encloses is to the east of it.
    encloses_east: bool,
    /// Tells edges apart that lie on one another.
    number: usize,
}

impl Edge {
    /// The order from west to east of edges that have a height in common and do not cross.
    fn west_to_east(&self, other: &Self) -> Ordering {
        if self.low.y > other.low.y {
            return other.west_to_east(self).reverse();
        }
        let turn = match side(self.low, self.high, other.low) {
            Orientation::Collinear => side(self.low, self.high, other.high),
            turn => turn,
        };
        match turn {
            Orientation::CounterClockwise => Ordering::Greater,
            Orientation::Clockwise => Ordering::Less,
            Orientation::Collinear => Ordering::Equal,
        }
    }
}

impl Ord for Edge {
    /// From west to east. Where two areas share an edge, the western one's comes first.
    fn cmp(&self, other: &Self) -> Ordering {
        let beside = self.west_to_east(other);
        beside.then(self.encloses_east.cmp(&other.encloses_east)).then(self.number.cmp(&other.number))
    }
}

impl PartialOrd for Edge {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Edge {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Edge {}

/// Whether each of the areas that are asked for lies within another one: a sweep from south to north over all edges.
///
/// What lies to the west of an area's lowest corner decides. If that edge encloses the corner, the area is within the edge's own;
/// else it is within what the other one is within, whose lowest corner is further south, or as far and further west.
fn within(areas: &[&[Outline]], asked: &[bool], inside: Inside) -> Vec<bool> {
    let edges = edges_of(areas, inside);
    let mut rising: Vec<&Edge> = edges.iter().collect();
    rising.sort_by(|a, b| a.low.y.total_cmp(&b.low.y));
    let mut ending = rising.clone();
    ending.sort_by(|a, b| a.high.y.total_cmp(&b.high.y));
    let mut ending = ending.into_iter().peekable();
    let lowest: Vec<Point> = areas.iter().map(|rings| lowest_corner(&rings[0].points)).collect();
    let mut met: BTreeSet<&Edge> = BTreeSet::new();
    let mut are_within = vec![false; areas.len()];
    for begun in rising.chunk_by(|a, b| a.low.y == b.low.y) {
        while let Some(ended) = ending.next_if(|edge| edge.high.y <= begun[0].low.y) {
            met.remove(ended);
        }
        met.extend(begun.iter().copied());
        let is_corner =
            |edge: &&Edge| asked[edge.area] && edge.encloses_east && edge.low == lowest[edge.area];
        let mut corners: Vec<&Edge> = begun.iter().copied().filter(is_corner).collect();
        corners.sort();
        for corner in corners {
            let beside = met.range::<Edge, _>(..corner).next_back();
            if let Some(beside) = beside.filter(|beside| beside.area != corner.area) {
                are_within[corner.area] = beside.encloses_east || are_within[beside.area];
            }
        }
    }
    are_within
}

fn edges_of(areas: &[&[Outline]], inside: Inside) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (area, rings) in areas.iter().enumerate() {
        for points in rings.iter().map(|ring| &ring.points) {
            for (&a, &b) in points.iter().zip(points.iter().cycle().skip(1)).filter(|(a, b)| a.y != b.y) {
                let rises = b.y > a.y;
                let (low, high) = if rises { (a, b) } else { (b, a) };
                let encloses_east = rises == (inside == Inside::Right);
                edges.push(Edge { low, high, area, encloses_east, number: edges.len() });
            }
        }
    }
    edges
}

/// The southernmost point, of several the westernmost.
fn lowest_corner(ring: &[Point]) -> Point {
    let lower = |a: Point, b: Point| if (b.y, b.x) < (a.y, a.x) { b } else { a };
    ring.iter().copied().reduce(lower).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::validate;
    use crate::model::{MultiPolygon, Place, Polygon, Ring, ShapeSpec};

    fn ring(corners: &[(f64, f64)]) -> Ring {
        corners.iter().map(|(x, y)| Place::new(*y, *x)).collect()
    }

    fn square(west: f64, south: f64, side: f64) -> Ring {
        ring(&[(west, south), (west + side, south), (west + side, south + side), (west, south + side)])
    }

    fn part(vertices: Ring) -> Polygon {
        Polygon { vertices, holes: Vec::new() }
    }

    /// A frame around (0, 0) that is open to the east, its arms from one distance to another: boxes hold those of smaller ones.
    fn open_frame(inner: f64, outer: f64) -> Polygon {
        part(ring(&[
            (-outer, -outer),
            (10.0, -outer),
            (10.0, -inner),
            (-inner, -inner),
            (-inner, inner),
            (10.0, inner),
            (10.0, outer),
            (-outer, outer),
        ]))
    }

    /// The parts that lie in another one.
    fn nested(polygons: Vec<Polygon>) -> Vec<String> {
        let refused = validate(&ShapeSpec::MultiPolygon(MultiPolygon { polygons }));
        let problems = refused.err().unwrap_or_default().into_iter();
        problems.map(|problem| format!("{} {}", problem.code, problem.pointer)).collect()
    }

    #[test]
    fn thousands_of_parts_with_boxes_in_boxes_are_told_from_nested_ones() {
        // 29,600 vertices. Every second frame shares its outer edges with the next one.
        let step = 9.0 / 3_700.0;
        let at = |number: i32| f64::from(number) * step;
        let frame = |number: i32| {
            let end = if number % 2 == 0 { at(number + 1) } else { at(number) + step / 2.0 };
            open_frame(at(number), end)
        };
        let mut all: Vec<Polygon> = (1..=3_700).map(frame).collect();
        assert_eq!(nested(all.clone()), [""; 0]);
        // Of two more, one lies in an arm and one between the arms.
        all.push(part(square(5.0, 1.2 * step, step / 10.0)));
        all.push(part(square(5.0, 0.0, step / 10.0)));
        assert_eq!(nested(all), ["nestedPart /polygons/3700/vertices"]);
    }

    #[test]
    fn what_lies_in_a_hole_is_in_what_its_polygon_is_in() {
        let lake = |west: f64| Polygon {
            vertices: square(west, west, 10.0 - 2.0 * west),
            holes: vec![square(west + 1.0, west + 1.0, 8.0 - 2.0 * west)],
        };
        // Each fills the hole of the one before to its shore.
        let filled = vec![lake(0.0), lake(1.0), lake(2.0), part(square(3.0, 3.0, 4.0))];
        assert_eq!(nested(filled.clone()), [""; 0]);
        // Islands, one of them on the shore, and one in the land.
        let islands = vec![
            part(square(4.0, 4.0, 1.0)),
            lake(0.0),
            part(ring(&[(1.0, 4.0), (2.0, 3.0), (2.0, 5.0)])),
            part(square(0.25, 4.0, 0.5)),
        ];
        assert_eq!(nested(islands), ["nestedPart /polygons/3/vertices"]);
        let mut on_land = filled;
        on_land.insert(0, part(square(-5.0, -5.0, 30.0)));
        let within = ["1", "2", "3", "4"].map(|number| format!("nestedPart /polygons/{number}/vertices"));
        assert_eq!(nested(on_land), within);
    }
}
