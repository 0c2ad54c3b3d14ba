//! The edges of rings in horizontal stripes: a point meets only the edges of its own stripe.
//!
//! The idea is that of tidwall/tg (docs/POLYGON_INDEXING.md, "ystripes"); a lookup costs about
//! the same for ten and for ten thousand vertices. Edges are listed by number, four bytes each.

use super::plane::{Orientation, Point, side};
use super::runs::{Runs, Span};

/// How a point lies relative to the rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// Between the rings, on none.
    Inside,
    /// On an edge or a vertex.
    Boundary,
    /// Neither.
    Outside,
}

/// Rings with the even-odd rule between them.
pub(super) struct EdgeIndex {
    /// Every ring, its first point repeated at its end, one after the other.
    points: Vec<Point>,
    /// The south-west and north-east corner of all points.
    pub(super) low: Point,
    pub(super) high: Point,
    stripes_per_degree: f64,
    /// Stripe `i` lists `numbers[starts[i]..starts[i + 1]]`.
    starts: Vec<u32>,
    /// An edge's number is that of its first point.
    numbers: Vec<u32>,
    /// Numbers that are no edge: where one ring ends and the next one begins.
    seams: Vec<u32>,
    runs: Runs,
}

impl EdgeIndex {
    /// Most listings per edge: ragged outlines with long edges get fewer, thicker stripes.
    const MAX_LISTINGS: usize = 4;
    /// Edges per stripe of an outline whose edges are all short.
    const EDGES_PER_STRIPE: usize = 2;

    /// Indexes rings of at least one point; the first point is not repeated.
    pub(super) fn build(rings: &[Vec<Point>]) -> Self {
        let mut points = Vec::with_capacity(rings.iter().map(|ring| ring.len() + 1).sum());
        let mut edges = Vec::with_capacity(points.capacity());
        let mut seams = Vec::with_capacity(rings.len());
        for ring in rings {
            let first = points.len() as u32;
            edges.extend(first..first + ring.len() as u32);
            points.extend_from_slice(ring);
            points.extend(ring.first());
            seams.push(points.len() as u32 - 1);
        }
        let runs = Runs::pack(points.windows(2).zip(0..).map(|(pair, number)| {
            // No edge joins the two points of a seam, so its box is that of the first one.
            let end = if seams.binary_search(&number).is_ok() { pair[0] } else { pair[1] };
            Span::of(pair[0], end)
        }));
        let (low, high) = corners(&points);
        let (starts, numbers) = (Vec::new(), Vec::new());
        let mut index = Self { points, low, high, stripes_per_degree: 0.0, starts, numbers, seams, runs };
        let mut stripes = (edges.len() / Self::EDGES_PER_STRIPE).max(1);
        loop {
            index.stripes_per_degree = stripes as f64 / (high.y - low.y).max(f64::MIN_POSITIVE);
            index.starts = vec![0; stripes + 1];
            let listings: usize = edges.iter().map(|&edge| index.stripes_of(edge).count()).sum();
            if stripes == 1 || listings <= Self::MAX_LISTINGS * edges.len() {
                break;
            }
            stripes /= 2;
        }
        index.fill(&edges);
        index
    }

    /// A counting sort of the edges into their stripes.
    fn fill(&mut self, edges: &[u32]) {
        for &edge in edges {
            for stripe in self.stripes_of(edge) {
                self.starts[stripe + 1] += 1;
            }
        }
        for stripe in 1..self.starts.len() {
            self.starts[stripe] += self.starts[stripe - 1];
        }
        let mut next = self.starts.clone();
        self.numbers = vec![0; self.starts.last().map_or(0, |end| *end as usize)];
        for &edge in edges {
            for stripe in self.stripes_of(edge) {
                self.numbers[next[stripe] as usize] = edge;
                next[stripe] += 1;
            }
        }
    }

    fn stripes_of(&self, edge: u32) -> std::ops::RangeInclusive<usize> {
        let (a, b) = self.edge(edge);
        self.stripe(a.y.min(b.y))..=self.stripe(a.y.max(b.y))
    }

    /// Rounding keeps the order of `y`, so an edge is listed wherever one of its points is sought.
    fn stripe(&self, y: f64) -> usize {
        // The cast saturates: a value below the south end becomes 0.
        (((y - self.low.y) * self.stripes_per_degree) as usize).min(self.starts.len() - 2)
    }

    fn edge(&self, number: u32) -> (Point, Point) {
        let first = number as usize;
        (self.points[first], self.points[first + 1])
    }

    /// Every edge once.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Point, Point)> {
        let pairs = self.points.windows(2).zip(0..);
        pairs
            .filter(|(_, number)| self.seams.binary_search(number).is_err())
            .map(|(pair, _)| (pair[0], pair[1]))
    }

    /// Calls `each` once for every edge that comes into an area, and for some that only come near it.
    pub(super) fn for_each_near(&self, area: &Span, mut each: impl FnMut(Point, Point)) {
        self.runs.for_each_run(area, &mut |numbers| {
            for number in numbers.start..numbers.end.min(self.points.len() - 1) {
                let (a, b) = (self.points[number], self.points[number + 1]);
                let apart = (a.x > area.high.x && b.x > area.high.x)
                    || (a.x < area.low.x && b.x < area.low.x)
                    || (a.y > area.high.y && b.y > area.high.y)
                    || (a.y < area.low.y && b.y < area.low.y);
                if !apart && self.seams.binary_search(&(number as u32)).is_err() {
                    each(a, b);
                }
            }
        });
    }

    /// How a point lies relative to the rings: exact, without a tolerance.
    pub(super) fn locate(&self, p: Point) -> Position {
        if p.y < self.low.y || p.y > self.high.y || p.x < self.low.x || p.x > self.high.x {
            return Position::Outside;
        }
        let stripe = self.stripe(p.y);
        let mut inside = false;
        for &number in &self.numbers[self.starts[stripe] as usize..self.starts[stripe + 1] as usize] {
            let (a, b) = self.edge(number);
            match ray(a, b, p) {
                Ray::Misses => {}
                Ray::Crosses => inside = !inside,
                Ray::StartsOnEdge => return Position::Boundary,
            }
        }
        if inside { Position::Inside } else { Position::Outside }
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.points.capacity() * size_of::<Point>()
            + (self.starts.capacity() + self.numbers.capacity() + self.seams.capacity()) * size_of::<u32>()
            + self.runs.heap_bytes()
    }
}

/// How the ray from a point to the east relates to an edge.
enum Ray {
    Misses,
    Crosses,
    StartsOnEdge,
}

/// An edge owns its lower end and not its upper one, so that a ray through a vertex counts once.
fn ray(a: Point, b: Point, p: Point) -> Ray {
    if (a.y > p.y && b.y > p.y) || (a.y < p.y && b.y < p.y) || (a.x < p.x && b.x < p.x) {
        return Ray::Misses;
    }
    let passes = (a.y > p.y) != (b.y > p.y);
    if a.x > p.x && b.x > p.x {
        return if passes { Ray::Crosses } else { Ray::Misses };
    }
    // The point is in the edge's box: on its line means on the edge.
    match side(a, b, p) {
        Orientation::Collinear => Ray::StartsOnEdge,
        turn if passes && (turn == Orientation::CounterClockwise) == (b.y > a.y) => Ray::Crosses,
        _ => Ray::Misses,
    }
}

fn corners(points: &[Point]) -> (Point, Point) {
    let none =
        (Point { x: f64::INFINITY, y: f64::INFINITY }, Point { x: f64::NEG_INFINITY, y: f64::NEG_INFINITY });
    points.iter().fold(none, |(low, high), p| {
        (Point { x: low.x.min(p.x), y: low.y.min(p.y) }, Point { x: high.x.max(p.x), y: high.y.max(p.y) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comb_of_long_edges_stays_small() {
        // Every edge spans the whole height: with one stripe per two edges, listings would be quadratic.
        let comb: Vec<Point> = (0..10_000)
            .map(|i| Point { x: f64::from(i) * 0.001, y: if i % 2 == 0 { 0.0 } else { 1.0 } })
            .chain([Point { x: 10.0, y: -1.0 }, Point { x: 0.0, y: -1.0 }])
            .collect();
        let index = EdgeIndex::build(std::slice::from_ref(&comb));
        assert!(index.numbers.len() <= EdgeIndex::MAX_LISTINGS * comb.len());
        assert_eq!(index.locate(Point { x: 0.0005, y: 0.5 }), Position::Boundary);
        assert_eq!(index.locate(Point { x: 0.0005, y: 0.4 }), Position::Inside);
        assert_eq!(index.locate(Point { x: 0.0005, y: 0.6 }), Position::Outside);
    }
}
