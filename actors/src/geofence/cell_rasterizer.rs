//! How a fence relates to the cells of a block: which are wholly inside, which its edge may meet.
//!
//! "Inside" is exact: every place of such a cell is in every shape the fence has had. No place of a cell that is
//! not named is in any of them.

use std::sync::Arc;

use super::boxes::GeoBox;
use super::cells::{Block, Mask, Segment, cells, joined};
use super::circle::CircleShape;
use super::polygon::PolygonShape;
use super::shape::Form;
use super::shape::Shape;
use super::timeline::FenceTimeline;

/// Cells of a block.
#[derive(Clone, Copy, Default)]
pub(super) struct Masks {
    pub(super) inside: Mask,
    pub(super) maybe: Mask,
}

impl Masks {
    const NOWHERE: Self = Self { inside: 0, maybe: 0 };
}

/// A fence, reduced to what matters within one block.
pub(super) struct CellRasterizer<'a> {
    fence: &'a Arc<FenceTimeline>,
    /// The width of its smallest cells, in bits.
    cell_bits: u32,
    /// Its shapes that are partly or wholly in the block.
    pieces: Vec<Piece<'a>>,
    /// Whether it has other shapes.
    has_more: bool,
}

/// A shape, reduced to what matters within one block.
enum Piece<'a> {
    /// The whole block is in the shape.
    Whole,
    /// With the edges that come into the block.
    Polygon(&'a PolygonShape, Vec<Segment>),
    Circle(&'a CircleShape, &'a [GeoBox]),
    /// Only known to be within these boxes, which come into the block.
    Boxed(Vec<GeoBox>),
}

/// A fence drawn into the cells of one block.
pub(super) struct RasterizedCells<'s, 'a> {
    rasterizer: &'s CellRasterizer<'a>,
    pieces: Vec<RasterizedPiece>,
    /// How the fence relates to the cells that need no closer look.
    pub(super) masks: Masks,
    /// Cells that need a closer look.
    pub(super) to_subdivide: Mask,
}

struct RasterizedPiece {
    masks: Masks,
    /// The cells that each edge of a polygon touches, or each box.
    edges: Vec<Mask>,
}

impl<'a> CellRasterizer<'a> {
    /// A fence that has had more shapes than this is known by their boxes alone: otherwise each edit of a fence
    /// would cost more than the one before.
    const MOST_SHAPES: usize = 8;

    /// A fence within the whole world.
    pub(super) fn of(fence: &'a Arc<FenceTimeline>) -> Self {
        let shapes = fence.shapes(Self::MOST_SHAPES + 1);
        let pieces = if shapes.len() > Self::MOST_SHAPES {
            vec![Piece::Boxed(fence.boxes().to_vec())]
        } else {
            shapes.into_iter().map(Piece::of).collect()
        };
        Self { fence, cell_bits: cell_bits(fence), pieces, has_more: false }
    }

    /// Draws the fence into the cells of the block for which this was made.
    pub(super) fn rasterize(&self, block: &Block) -> RasterizedCells<'_, 'a> {
        let pieces: Vec<RasterizedPiece> = self.pieces.iter().map(|piece| piece.rasterize(block)).collect();
        let in_all = pieces.iter().fold(Mask::MAX, |all, piece| all & piece.masks.inside);
        let inside = if self.has_more { 0 } else { in_all };
        let somewhere = pieces.iter().fold(0, |any, piece| any | piece.masks.inside | piece.masks.maybe);
        let edge = somewhere & !inside;
        let to_subdivide = if block.cell_bits() > self.cell_bits { edge } else { 0 };
        RasterizedCells {
            rasterizer: self,
            pieces,
            masks: Masks { inside, maybe: edge & !to_subdivide },
            to_subdivide,
        }
    }
}

impl<'a> RasterizedCells<'_, 'a> {
    pub(super) const fn fence(&self) -> &'a Arc<FenceTimeline> {
        self.rasterizer.fence
    }

    /// The fence reduced to what matters within one cell.
    pub(super) fn within(&self, cell: u32) -> CellRasterizer<'a> {
        let pieces = self.rasterizer.pieces.iter().zip(&self.pieces);
        let pieces: Vec<Piece<'a>> = pieces.filter_map(|(piece, drawn)| piece.within(drawn, cell)).collect();
        let has_more = self.rasterizer.has_more || pieces.len() < self.pieces.len();
        CellRasterizer { pieces, has_more, ..*self.rasterizer }
    }
}

impl<'a> Piece<'a> {
    fn of(shape: &'a Shape) -> Self {
        match shape.form() {
            Form::Circle(circle) => Self::Circle(circle, shape.box_list()),
            Form::Polygon(polygon) => {
                let edges = polygon.edges().flat_map(|(a, b)| Segment::between(a, b).turned());
                Self::Polygon(polygon, edges.collect())
            }
        }
    }

    fn rasterize(&self, block: &Block) -> RasterizedPiece {
        let plain = |masks| RasterizedPiece { masks, edges: Vec::new() };
        match self {
            Self::Whole => plain(Masks { inside: Mask::MAX, maybe: 0 }),
            Self::Polygon(polygon, edges) => {
                let edges: Vec<Mask> = edges.iter().map(|edge| block.touched(edge)).collect();
                let maybe = edges.iter().fold(0, |all, edge| all | edge);
                RasterizedPiece { masks: Masks { inside: filled(polygon, block, !maybe), maybe }, edges }
            }
            Self::Circle(circle, boxes) => plain(around(circle, block, block.touched_by(boxes))),
            Self::Boxed(boxes) => {
                let edges = block.touched_by_each(boxes);
                let maybe = edges.iter().fold(0, |all, area| all | area);
                RasterizedPiece { masks: Masks { maybe, ..Masks::NOWHERE }, edges }
            }
        }
    }

    fn within(&self, drawn: &RasterizedPiece, cell: u32) -> Option<Self> {
        let holds = |mask: Mask| mask & (1 << cell) != 0;
        if holds(drawn.masks.inside) {
            return Some(Self::Whole);
        }
        holds(drawn.masks.maybe).then(|| match self {
            Self::Whole => Self::Whole,
            Self::Polygon(polygon, edges) => {
                let near = edges.iter().zip(&drawn.edges).filter(|(_, mask)| holds(**mask));
                Self::Polygon(polygon, near.map(|(edge, _)| *edge).collect())
            }
            Self::Circle(circle, boxes) => Self::Circle(circle, boxes),
            Self::Boxed(boxes) => {
                let near = boxes.iter().zip(&drawn.edges).filter(|(_, mask)| holds(**mask));
                Self::Boxed(near.map(|(area, _)| *area).collect())
            }
        })
    }
}

/// The width of a fence's smallest cells, in bits. More cells would leave fewer places that need a closer look at
/// the fence, but take more memory.
pub(super) fn cell_bits(fence: &FenceTimeline) -> u32 {
    /// The most cells along the longer side of its largest box.
    const MOST_CELLS: f64 = 32.0;
    Block::bits_for(fence.boxes().iter(), MOST_CELLS)
}

/// The inside cells among those that no edge touches: adjacent ones are all inside or all outside.
fn filled(polygon: &PolygonShape, block: &Block, mut free: Mask) -> Mask {
    let mut inside = 0;
    while free != 0 {
        let cell = free.trailing_zeros();
        let alike = joined(cell, free);
        if polygon.covers(block.area(cell).middle()) {
            inside |= alike;
        }
        free &= !alike;
    }
    inside
}

/// How a circle relates to some cells, judged by each cell's middle and the farthest a place in it can be from
/// there.
fn around(circle: &CircleShape, block: &Block, near: Mask) -> Masks {
    let mut masks = Masks::NOWHERE;
    for cell in cells(near) {
        let area = block.area(cell).south_of_the_pole();
        let middle = area.middle();
        let reach = area.reach_meters();
        if circle.holds_all_within(middle, reach) {
            masks.inside |= 1 << cell;
        } else if !circle.is_farther_outside_than(middle, reach) {
            masks.maybe |= 1 << cell;
        }
    }
    masks
}
