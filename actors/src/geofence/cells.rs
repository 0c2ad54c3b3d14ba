//! The world in square cells, each divided into eight by eight smaller ones, and which of them a place, a way or a
//! box touches.
//!
//! A place is in exactly one cell of each size. Ways and boxes also touch the cells that they come within rounding
//! of, so a way or box that touches no cell of a place cannot be at the place.

use std::slice::from_ref;

use super::boxes::GeoBox;
use super::place::canonical_degrees;
use super::plane::Point;
use crate::model::Place;

/// Bits of a coordinate in units. The smallest cells are one unit wide: 4 cm.
const BITS: u32 = 30;
/// Units in a degree. The square of cells reaches from the south pole to far beyond the north pole.
const UNITS_PER_DEGREE: f64 = (1_u32 << BITS) as f64 / 360.0;
/// Far more than the rounding of any coordinate here, far less than a cell: 2 µm.
const ROUNDING_UNITS: f64 = 1.0 / 16_384.0;
/// Cells along a block's side, as a power of two.
const SIDE_BITS: u32 = 3;
const SIDE: u32 = 1 << SIDE_BITS;

/// Cells of a block: the bit `8 row + column`, from the south and from the west.
pub(super) type Mask = u64;

/// The unit a place is in.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    x: u32,
    y: u32,
}

impl Spot {
    pub(super) fn of(place: Place) -> Self {
        // The meridian 180 is -180, and what is rounded up to it stays west of it.
        let at = in_units(Point { x: canonical_degrees(place.longitude), y: place.latitude });
        Self { x: (at.x as u32).min((1 << BITS) - 1), y: at.y as u32 }
    }
}

/// A straight piece of an edge, or between two places, in units.
#[derive(Clone, Copy)]
pub(super) struct Segment {
    south: Point,
    north: Point,
}

impl Segment {
    /// Between two points of the plane, in degrees.
    pub(super) fn between(a: Point, b: Point) -> Self {
        let (a, b) = (in_units(a), in_units(b));
        let (south, north) = if a.y <= b.y { (a, b) } else { (b, a) };
        Self { south, north }
    }

    /// This and the same a turn to the west and to the east, as far as they are in the world.
    pub(super) fn turned(self) -> impl Iterator<Item = Self> {
        let world = f64::from(1_u32 << BITS);
        let turn = move |turns: f64| {
            let moved = |p: Point| Point { x: p.x + turns * world, y: p.y };
            Self { south: moved(self.south), north: moved(self.north) }
        };
        [0.0, -1.0, 1.0].map(turn).into_iter().filter(move |segment| {
            let (west, east) = segment.west_east();
            east >= -ROUNDING_UNITS && west <= world + ROUNDING_UNITS
        })
    }

    fn west_east(&self) -> (f64, f64) {
        (self.south.x.min(self.north.x), self.south.x.max(self.north.x))
    }
}

/// Sixty-four cells.
#[derive(Clone, Copy)]
pub(super) struct Block {
    west: u32,
    south: u32,
    /// The width of its cells, in bits.
    bits: u32,
}

impl Block {
    /// The whole world.
    pub(super) const WORLD: Self = Self { west: 0, south: 0, bits: BITS - SIDE_BITS };

    /// The width, in bits, of the smallest cells of which no box has more than `most` along a side.
    pub(super) fn bits_for<'a>(boxes: impl Iterator<Item = &'a GeoBox>, most: f64) -> u32 {
        let side = |area: &GeoBox| (area.east - area.west).max(area.north - area.south);
        let cell = boxes.map(side).fold(0.0, f64::max) * UNITS_PER_DEGREE / most;
        let levels = (0..BITS / SIDE_BITS).map(|level| level * SIDE_BITS);
        levels.into_iter().find(|bits| f64::from(1_u32 << bits) >= cell).unwrap_or(Self::WORLD.bits)
    }

    /// How many bits wide its cells are.
    pub(super) const fn cell_bits(&self) -> u32 {
        self.bits
    }

    /// One of its cells as a block.
    pub(super) const fn within(&self, cell: u32) -> Self {
        Self {
            west: self.west + ((cell % SIDE) << self.bits),
            south: self.south + ((cell / SIDE) << self.bits),
            bits: self.bits - SIDE_BITS,
        }
    }

    /// The cell of a spot in it.
    pub(super) const fn cell(&self, spot: Spot) -> u32 {
        let (column, row) = ((spot.x >> self.bits) % SIDE, (spot.y >> self.bits) % SIDE);
        row * SIDE + column
    }

    /// The area of a cell, in degrees. Beyond the north pole there is nothing, but there are cells.
    pub(super) fn area(&self, cell: u32) -> GeoBox {
        let size = f64::from(1_u32 << self.bits);
        let degrees = |units: f64, from: f64| units / UNITS_PER_DEGREE - from;
        let west = f64::from(self.west) + f64::from(cell % SIDE) * size;
        let south = f64::from(self.south) + f64::from(cell / SIDE) * size;
        GeoBox {
            west: degrees(west, 180.0),
            south: degrees(south, 90.0),
            east: degrees(west + size, 180.0),
            north: degrees(south + size, 90.0),
        }
    }

    /// The cells that a segment touches, and perhaps some beside it.
    pub(super) fn touched(&self, segment: &Segment) -> Mask {
        let Some((rows, columns)) = self.span(segment) else { return 0 };
        let (near, south, north) = (self.near(), self.local(segment.south), self.local(segment.north));
        if rows.0 == rows.1 || columns.0 == columns.1 || north.y - south.y <= near {
            return rectangle(rows, columns);
        }
        let row = |row: u32| {
            let (low, high) = (f64::from(row) - near, f64::from(row + 1) + near);
            let ends = [x_at(south, north, low), x_at(south, north, high)];
            let columns = range(ends[0].min(ends[1]) - near, ends[0].max(ends[1]) + near);
            columns.map_or(0, |columns| rectangle((row, row), columns))
        };
        (rows.0..=rows.1).map(row).fold(0, |all, one| all | one)
    }

    /// The cells that boxes touch, also those beyond the antimeridian.
    pub(super) fn touched_by(&self, boxes: &[GeoBox]) -> Mask {
        let corner = |x: f64, y: f64| Point { x, y };
        let diagonal =
            |area: &GeoBox| Segment::between(corner(area.west, area.south), corner(area.east, area.north));
        let spans =
            boxes.iter().flat_map(|area| diagonal(area).turned()).filter_map(|segment| self.span(&segment));
        spans.fold(0, |all, (rows, columns)| all | rectangle(rows, columns))
    }

    /// The cells that each of some boxes touches.
    pub(super) fn touched_by_each(&self, boxes: &[GeoBox]) -> Vec<Mask> {
        boxes.iter().map(|area| self.touched_by(from_ref(area))).collect()
    }

    /// The rows and the columns of the box of a segment: the first and the last of each.
    fn span(&self, segment: &Segment) -> Option<((u32, u32), (u32, u32))> {
        let (near, south, north) = (self.near(), self.local(segment.south), self.local(segment.north));
        let (west, east) = (south.x.min(north.x), south.x.max(north.x));
        range(south.y - near, north.y + near).zip(range(west - near, east + near))
    }

    /// Coordinates in cells, from the block's corner.
    fn local(&self, p: Point) -> Point {
        let per_unit = f64::from(1_u32 << self.bits).recip();
        Point { x: (p.x - f64::from(self.west)) * per_unit, y: (p.y - f64::from(self.south)) * per_unit }
    }

    fn near(&self) -> f64 {
        ROUNDING_UNITS / f64::from(1_u32 << self.bits)
    }
}

/// The cells of a mask, by number.
pub(super) fn cells(mut mask: Mask) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let cell = (mask != 0).then(|| mask.trailing_zeros());
        mask &= mask.wrapping_sub(1);
        cell
    })
}

/// The free cells connected to one of them through free cells, side to side.
pub(super) fn joined(cell: u32, free: Mask) -> Mask {
    const WEST: Mask = 0x0101_0101_0101_0101;
    const EAST: Mask = WEST << (SIDE - 1);
    let mut all = 1 << cell;
    loop {
        let wider = all | all << SIDE | all >> SIDE | (all & !EAST) << 1 | (all & !WEST) >> 1;
        if wider & free == all {
            return all;
        }
        all = wider & free;
    }
}

fn in_units(degrees: Point) -> Point {
    Point { x: (degrees.x + 180.0) * UNITS_PER_DEGREE, y: (degrees.y + 90.0) * UNITS_PER_DEGREE }
}

/// The cells of a row or column between two coordinates.
fn range(low: f64, high: f64) -> Option<(u32, u32)> {
    let (first, last) = (low.max(0.0), high.min(f64::from(SIDE) - 0.5));
    // The cast rounds down, as the value is not negative.
    (first < f64::from(SIDE) && high >= 0.0).then_some((first as u32, last as u32))
}

const fn rectangle(rows: (u32, u32), columns: (u32, u32)) -> Mask {
    const ONE_ROW: Mask = 0xff;
    const ALL: Mask = Mask::MAX;
    let row = (ONE_ROW >> (SIDE - 1 - columns.1)) & (ONE_ROW << columns.0);
    let in_all_rows = row * 0x0101_0101_0101_0101;
    in_all_rows & (ALL << (rows.0 * SIDE)) & (ALL >> ((SIDE - 1 - rows.1) * SIDE))
}

/// Where the segment is at a height, or at its nearer end.
fn x_at(south: Point, north: Point, y: f64) -> f64 {
    let share = ((y - south.y) / (north.y - south.y)).clamp(0.0, 1.0);
    if share < 1.0 { south.x + share * (north.x - south.x) } else { north.x }
}
