//! Point in ring by horizontal stripes of copied edges: fast, and without any care for points on an edge.

use geo::Coord;

/// A ring's edges by stripe.
pub(super) struct Stripes {
    low: Coord,
    high: Coord,
    scale: f64,
    starts: Vec<u32>,
    edges: Vec<[f64; 4]>,
}

impl Stripes {
    /// Of a closed ring.
    pub(super) fn new(ring: &[Coord]) -> Self {
        let none = (Coord { x: f64::MAX, y: f64::MAX }, Coord { x: f64::MIN, y: f64::MIN });
        let (low, high) = ring.iter().fold(none, |(low, high), point| {
            let low = Coord { x: low.x.min(point.x), y: low.y.min(point.y) };
            (low, Coord { x: high.x.max(point.x), y: high.y.max(point.y) })
        });
        let count = (ring.len() / 2).clamp(1, 16_384);
        let scale = count as f64 / (high.y - low.y).max(f64::MIN_POSITIVE);
        let stripe = |y: f64| (((y - low.y) * scale) as usize).min(count - 1);
        let mut lists: Vec<Vec<[f64; 4]>> = vec![Vec::new(); count];
        for edge in ring.windows(2) {
            let (a, b) = (edge[0], edge[1]);
            for list in &mut lists[stripe(a.y.min(b.y))..=stripe(a.y.max(b.y))] {
                list.push([a.x, a.y, b.x, b.y]);
            }
        }
        let mut starts = vec![0];
        let mut edges = Vec::new();
        for list in lists {
            edges.extend(list);
            starts.push(edges.len() as u32);
        }
        Self { low, high, scale, starts, edges }
    }

    pub(super) const fn corners(&self) -> (Coord, Coord) {
        (self.low, self.high)
    }

    pub(super) fn holds(&self, x: f64, y: f64) -> bool {
        if x < self.low.x || x > self.high.x || y < self.low.y || y > self.high.y {
            return false;
        }
        let stripe = (((y - self.low.y) * self.scale) as usize).min(self.starts.len() - 2);
        let mut inside = false;
        for [ax, ay, bx, by] in &self.edges[self.starts[stripe] as usize..self.starts[stripe + 1] as usize] {
            if (*ay > y) != (*by > y) {
                let turn = (bx - ax) * (y - ay) - (x - ax) * (by - ay);
                inside ^= (turn > 0.0) == (by > ay);
            }
        }
        inside
    }
}
