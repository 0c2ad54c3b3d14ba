//! Boxes around runs of consecutive edges, and around runs of those boxes: what lies in a small box of a large
//! outline is found without looking at most of the outline, and each edge once.
//!
//! The idea is that of tidwall/tg (docs/POLYGON_INDEXING.md, "natural"): neighbours on an outline are
//! neighbours on the map, so its own order is a packed tree. Two bytes per vertex.

use super::plane::Point;

/// A closed box.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) low: Point,
    pub(super) high: Point,
}

impl Span {
    const NOTHING: Self = Self {
        low: Point { x: f64::INFINITY, y: f64::INFINITY },
        high: Point { x: f64::NEG_INFINITY, y: f64::NEG_INFINITY },
    };

    /// The box of two points.
    pub(super) fn of(a: Point, b: Point) -> Self {
        Self {
            low: Point { x: a.x.min(b.x), y: a.y.min(b.y) },
            high: Point { x: a.x.max(b.x), y: a.y.max(b.y) },
        }
    }

    fn with(self, other: Self) -> Self {
        Self {
            low: Point { x: self.low.x.min(other.low.x), y: self.low.y.min(other.low.y) },
            high: Point { x: self.high.x.max(other.high.x), y: self.high.y.max(other.high.y) },
        }
    }

    fn meets(&self, other: &Self) -> bool {
        self.low.x <= other.high.x
            && other.low.x <= self.high.x
            && self.low.y <= other.high.y
            && other.low.y <= self.high.y
    }
}

/// The boxes of the runs of a list of boxes, from the first runs to the few last ones.
pub(super) struct Runs {
    levels: Vec<Vec<Span>>,
}

impl Runs {
    const LENGTH: usize = 16;

    /// Packs edges in the order of their outline, given by their boxes.
    pub(super) fn pack(edges: impl Iterator<Item = Span>) -> Self {
        let edges: Vec<Span> = edges.collect();
        let mut levels = vec![Self::level(&edges)];
        while levels[levels.len() - 1].len() > Self::LENGTH {
            levels.push(Self::level(&levels[levels.len() - 1]));
        }
        Self { levels }
    }

    fn level(below: &[Span]) -> Vec<Span> {
        let run = |run: &[Span]| run.iter().fold(Span::NOTHING, |all, one| all.with(*one));
        below.chunks(Self::LENGTH).map(run).collect()
    }

    /// Calls `each` with the numbers of the edges of every run whose box meets the area; the last run
    /// may be shorter than its numbers.
    pub(super) fn for_each_run(&self, area: &Span, each: &mut impl FnMut(std::ops::Range<usize>)) {
        let top = self.levels.len() - 1;
        self.descend(top, 0..self.levels[top].len(), area, each);
    }

    fn descend(
        &self,
        level: usize,
        boxes: std::ops::Range<usize>,
        area: &Span,
        each: &mut impl FnMut(std::ops::Range<usize>),
    ) {
        for number in boxes {
            if self.levels[level][number].meets(area) {
                let below = number * Self::LENGTH..(number + 1) * Self::LENGTH;
                match level.checked_sub(1) {
                    None => each(below),
                    Some(next) => {
                        self.descend(next, below.start..below.end.min(self.levels[next].len()), area, each)
                    }
                }
            }
        }
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.levels.iter().map(|level| level.capacity() * size_of::<Span>()).sum::<usize>()
            + self.levels.capacity() * size_of::<Vec<Span>>()
    }
}
