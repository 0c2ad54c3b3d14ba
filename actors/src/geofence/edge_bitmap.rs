//! A coarse picture of an outline that saves most queries from looking at edges: its box in cells, each of which is
//! inside, outside, or met by an edge.
//!
//! Nothing in it is exact: a cell that is met means "look at the edges", and a cell that an edge comes within
//! rounding of counts as met. So the result with the picture is always the result without it.

use super::edges::{EdgeIndex, Position};
use super::plane::Point;
use super::runs::Span;

/// Far more than the rounding of any coordinate here, far less than a cell. Degrees.
const ROUNDING_DEGREES: f64 = 1e-11;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// Every point is inside, none on an edge.
    Inside,
    /// Every point is outside.
    Outside,
    /// An edge comes near.
    Met,
}

/// As many cells along one side as along the other, however long the sides are in degrees.
pub(super) struct EdgeBitmap {
    low: Point,
    high: Point,
    /// Cells per degree.
    scale: Point,
    /// Cells along each side.
    side: usize,
    /// Row by row from the south, each from the west.
    cells: Vec<Cell>,
}

impl EdgeBitmap {
    /// One byte per vertex, for outlines within these bounds; beyond them, more cells would cost more than the
    /// edges.
    const SIDES: std::ops::RangeInclusive<f64> = 4.0..=128.0;

    /// Draws rings (the first point not repeated) whose edges are indexed already.
    pub(super) fn draw(rings: &[Vec<Point>], edges: &EdgeIndex) -> Self {
        let vertices: usize = rings.iter().map(Vec::len).sum();
        let side = (vertices as f64).sqrt().clamp(*Self::SIDES.start(), *Self::SIDES.end()) as usize;
        let (low, high) = (edges.low, edges.high);
        let scale = |low: f64, high: f64| side as f64 / (high - low).max(ROUNDING_DEGREES);
        let scale = Point { x: scale(low.x, high.x), y: scale(low.y, high.y) };
        let mut bitmap = Self { low, high, scale, side, cells: Vec::new() };
        let mut cells = vec![Cell::Outside; side * side];
        for ring in rings {
            for (&a, &b) in ring.iter().zip(ring.iter().cycle().skip(1)) {
                bitmap.along(a, b, |range| {
                    cells[range].fill(Cell::Met);
                    true
                });
            }
        }
        bitmap.cells = cells;
        bitmap.fill(edges);
        bitmap
    }

    /// A cell that no edge meets is like its neighbour to the west, or like its own middle.
    fn fill(&mut self, edges: &EdgeIndex) {
        for index in 0..self.cells.len() {
            if self.cells[index] == Cell::Met {
                continue;
            }
            let (row, column) = (index / self.side, index % self.side);
            let west = if column > 0 { self.cells[index - 1] } else { Cell::Met };
            self.cells[index] = if west == Cell::Met { self.middle(row, column, edges) } else { west };
        }
    }

    fn middle(&self, row: usize, column: usize, edges: &EdgeIndex) -> Cell {
        let middle = Point {
            x: self.low.x + (column as f64 + 0.5) / self.scale.x,
            y: self.low.y + (row as f64 + 0.5) / self.scale.y,
        };
        match edges.locate(middle) {
            _ if (self.row(middle.y), self.column(middle.x)) != (row, column) => Cell::Met,
            Position::Inside => Cell::Inside,
            Position::Outside => Cell::Outside,
            Position::Boundary => Cell::Met,
        }
    }

    /// The cell of a point.
    pub(super) fn at(&self, p: Point) -> Cell {
        if p.y < self.low.y || p.y > self.high.y || p.x < self.low.x || p.x > self.high.x {
            return Cell::Outside;
        }
        self.cells[self.row(p.y) * self.side + self.column(p.x)]
    }

    /// Whether the way between two points may meet an edge.
    pub(super) fn may_meet(&self, a: Point, b: Point) -> bool {
        !self.along(a, b, |range| !self.cells[range].contains(&Cell::Met))
    }

    /// Whether an edge may come into the area.
    pub(super) fn may_enter(&self, area: &Span) -> bool {
        let Span { low, high } = *area;
        let (first, last) = (self.column(low.x - ROUNDING_DEGREES), self.column(high.x + ROUNDING_DEGREES));
        let rows = self.row(low.y - ROUNDING_DEGREES)..=self.row(high.y + ROUNDING_DEGREES);
        rows.map(|row| row * self.side)
            .any(|start| self.cells[start + first..=start + last].contains(&Cell::Met))
    }

    /// Calls `each` with the cells of each row that the way comes within rounding of, until it returns `false`.
    /// Returns whether it never did.
    fn along(
        &self,
        a: Point,
        b: Point,
        mut each: impl FnMut(std::ops::RangeInclusive<usize>) -> bool,
    ) -> bool {
        let (south, north) = if a.y <= b.y { (a, b) } else { (b, a) };
        let (first, last) = (self.row(south.y - ROUNDING_DEGREES), self.row(north.y + ROUNDING_DEGREES));
        (first..=last).all(|row| {
            let (mut west, mut east) = (a.x.min(b.x), a.x.max(b.x));
            if first < last {
                let border = |row: usize, off: f64| self.low.y + row as f64 / self.scale.y + off;
                let ends = [
                    if row == first { south.x } else { x_at(south, north, border(row, -ROUNDING_DEGREES)) },
                    if row == last { north.x } else { x_at(south, north, border(row + 1, ROUNDING_DEGREES)) },
                ];
                (west, east) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            }
            let start = row * self.side;
            each(start + self.column(west - ROUNDING_DEGREES)..=start + self.column(east + ROUNDING_DEGREES))
        })
    }

    fn row(&self, y: f64) -> usize {
        cell(y - self.low.y, self.scale.y, self.side)
    }

    fn column(&self, x: f64) -> usize {
        cell(x - self.low.x, self.scale.x, self.side)
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.cells.capacity() * size_of::<Cell>()
    }
}

/// Anything beyond the box falls into the outermost cells. Rounding keeps the order of coordinates.
fn cell(offset: f64, scale: f64, side: usize) -> usize {
    // The cast saturates: a value below zero becomes 0.
    ((offset * scale) as usize).min(side - 1)
}

/// Where the way is at a latitude, or at its nearer end.
fn x_at(south: Point, north: Point, y: f64) -> f64 {
    let share = ((y - south.y) / (north.y - south.y)).clamp(0.0, 1.0);
    if share < 1.0 { south.x + share * (north.x - south.x) } else { north.x }
}
