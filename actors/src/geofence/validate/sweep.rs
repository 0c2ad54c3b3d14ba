//! Where edges meet: a sweep from west to east over all edges at once.
//!
//! M. I. Shamos and D. Hoey, Geometric intersection problems, 1976: as long as nothing has
//! crossed, edges that are about to meet are neighbours. The order is exact, so touching edges
//! do not disturb it. At the first forbidden meeting the sweep ends.

use std::cmp::Ordering;

use super::super::plane::{Orientation, Point, side, sweep_order};
use super::problem::ShapeProblem;
use super::rings::{NamedRing, Outline};

/// A point where an edge is met, in its interior, by a vertex of another.
#[derive(Clone, Copy)]
pub(super) struct Touch {
    pub(super) at: Point,
    /// The outline and the number of the edge that is met.
    pub(super) outline: usize,
    pub(super) edge: usize,
}

/// Two rings that meet as they must not.
pub(super) struct Clash {
    /// Ring and vertex (both as named) of the one and of the other.
    first: (usize, usize),
    second: (usize, usize),
    code: &'static str,
    how: &'static str,
}

impl Clash {
    /// Edges or vertices (numbers as named) of two outlines that clash.
    pub(super) fn between(a: (&Outline, usize), b: (&Outline, usize), how: &'static str) -> Self {
        let code = match (a.0, b.0) {
            (a, b) if a.part != b.part => "partsOverlap",
            (a, b) if a.ring == b.ring => "selfIntersection",
            (a, b) if a.is_hole && b.is_hole => "holesOverlap",
            _ => "holeOutside",
        };
        let (a, b) = ((a.0.ring, a.1), (b.0.ring, b.1));
        Self { first: a.min(b), second: a.max(b), code, how }
    }

    /// The problem, at the later of the two vertices.
    pub(super) fn problem(&self, rings: &[NamedRing]) -> ShapeProblem {
        let pointer = |(ring, vertex): (usize, usize)| rings[ring].pointer(Some(vertex));
        let detail = format!("{} {}", self.how, pointer(self.first));
        ShapeProblem::new(pointer(self.second), self.code, detail)
    }
}

/// An edge, walked from west to east.
struct Segment {
    left: Point,
    right: Point,
    outline: usize,
    edge: usize,
}

/// Where vertices lie on edges of which they are no end.
pub(super) fn touches(outlines: &[Outline]) -> Result<Vec<Touch>, Clash> {
    let segments = segments_of(outlines);
    // Ends come before beginnings at the same point.
    let mut stops: Vec<(Point, bool, u32)> = Vec::with_capacity(2 * segments.len());
    for (segment, number) in segments.iter().zip(0..) {
        stops.push((segment.left, true, number));
        stops.push((segment.right, false, number));
    }
    stops.sort_by(|a, b| sweep_order(&a.0, &b.0).then(a.1.cmp(&b.1)));
    let mut sweep = Sweep { outlines, segments: &segments, order: Vec::new(), touches: Vec::new() };
    for (_, begins, number) in stops {
        if begins {
            sweep.begin(number)?;
        } else {
            sweep.end(number)?;
        }
    }
    Ok(sweep.touches)
}

fn segments_of(outlines: &[Outline]) -> Vec<Segment> {
    let mut segments = Vec::new();
    for (outline, Outline { points, .. }) in outlines.iter().enumerate() {
        for (edge, &a) in points.iter().enumerate() {
            let b = points[(edge + 1) % points.len()];
            let (left, right) = if sweep_order(&a, &b).is_lt() { (a, b) } else { (b, a) };
            segments.push(Segment { left, right, outline, edge });
        }
    }
    segments
}

struct Sweep<'a> {
    outlines: &'a [Outline],
    segments: &'a [Segment],
    /// The segments that the sweep line meets, from south to north.
    order: Vec<u32>,
    touches: Vec<Touch>,
}

impl Sweep<'_> {
    fn begin(&mut self, number: u32) -> Result<(), Clash> {
        let at = self.position(number);
        self.order.insert(at, number);
        if at > 0 {
            self.meet(self.order[at - 1], number)?;
        }
        match self.order.get(at + 1) {
            Some(&above) => self.meet(number, above),
            None => Ok(()),
        }
    }

    fn end(&mut self, number: u32) -> Result<(), Clash> {
        let from = self.position(number);
        let is_it = |other: &u32| *other == number;
        // Edges that lie on one another are equal in the order: the one sought is among the next.
        let ahead = self.order[from..].iter().position(is_it).map(|i| from + i);
        let Some(at) = ahead.or_else(|| self.order.iter().position(is_it)) else { return Ok(()) };
        self.order.remove(at);
        match (at.checked_sub(1).map(|below| self.order[below]), self.order.get(at)) {
            (Some(below), Some(&above)) => self.meet(below, above),
            _ => Ok(()),
        }
    }

    fn position(&self, number: u32) -> usize {
        let segment = &self.segments[number as usize];
        self.order.partition_point(|other| south_to_north(&self.segments[*other as usize], segment).is_lt())
    }

    /// Looks at two neighbours.
    fn meet(&mut self, one: u32, other: u32) -> Result<(), Clash> {
        let (s, t) = (&self.segments[one as usize], &self.segments[other as usize]);
        let [a, b] = [s, t].map(|segment| &self.outlines[segment.outline]);
        let clash =
            |how| Err(Clash::between((a, a.vertex_of_edge(s.edge)), (b, b.vertex_of_edge(t.edge)), how));
        match meeting(s, t) {
            Meeting::Cross => return clash("the edge from here crosses the edge from"),
            Meeting::Overlap if a.part == b.part => {
                return clash("the edge from here runs along the edge from");
            }
            Meeting::Overlap | Meeting::Touch => {}
            Meeting::Apart => return Ok(()),
        }
        for (edge, by) in [(s, t), (t, s)] {
            let (outline, edge_number) = (edge.outline, edge.edge);
            for at in [by.left, by.right] {
                if is_within(edge, at) {
                    self.touches.push(Touch { at, outline, edge: edge_number });
                }
            }
        }
        Ok(())
    }
}

/// The order of two segments that one sweep line meets and that do not cross.
fn south_to_north(s: &Segment, t: &Segment) -> Ordering {
    let beginning =
        if sweep_order(&s.left, &t.left).is_le() { height(s, t.left).reverse() } else { height(t, s.left) };
    beginning.then_with(|| {
        if sweep_order(&s.right, &t.right).is_le() {
            height(t, s.right)
        } else {
            height(s, t.right).reverse()
        }
    })
}

/// Whether a point is north (greater) or south (less) of a segment's line.
fn height(segment: &Segment, p: Point) -> Ordering {
    match side(segment.left, segment.right, p) {
        Orientation::CounterClockwise => Ordering::Greater,
        Orientation::Clockwise => Ordering::Less,
        Orientation::Collinear => Ordering::Equal,
    }
}

enum Meeting {
    /// Nothing in common, or an end of both.
    Apart,
    /// One point, an end of one.
    Touch,
    /// One point, an end of neither.
    Cross,
    /// More than a point.
    Overlap,
}

fn meeting(s: &Segment, t: &Segment) -> Meeting {
    let of_t = (height(s, t.left), height(s, t.right));
    if of_t == (Ordering::Equal, Ordering::Equal) {
        let west = if sweep_order(&s.left, &t.left).is_lt() { t.left } else { s.left };
        let east = if sweep_order(&s.right, &t.right).is_lt() { s.right } else { t.right };
        return if sweep_order(&west, &east).is_lt() { Meeting::Overlap } else { Meeting::Apart };
    }
    let of_s = (height(t, s.left), height(t, s.right));
    if of_t.0 == of_t.1 || of_s.0 == of_s.1 {
        Meeting::Apart
    } else if [of_t.0, of_t.1, of_s.0, of_s.1].contains(&Ordering::Equal) {
        Meeting::Touch
    } else {
        Meeting::Cross
    }
}

/// Whether a point is on a segment and is none of its ends.
fn is_within(segment: &Segment, p: Point) -> bool {
    sweep_order(&segment.left, &p).is_lt()
        && sweep_order(&p, &segment.right).is_lt()
        && height(segment, p).is_eq()
}
