//! Where rings touch: whether what they enclose stays apart around the point.
//!
//! Around a point that a ring passes, the ring leaves a sector for the interior on its left and
//! cuts out the sector on its right. What the rings of one polygon cut out must not overlap, and
//! what is left of one polygon must not overlap what is left of another.

use std::cmp::Ordering;

use super::super::plane::{Orientation, Point, side, sweep_order};
use super::rings::Outline;
use super::sweep::{Clash, Touch};

/// A ring on its way through a point.
#[derive(Clone, Copy)]
struct Visit {
    at: Point,
    before: Point,
    after: Point,
    outline: usize,
    /// The vertex, or the first vertex of the edge, as named.
    vertex: usize,
}

/// All directions met when turning counter-clockwise from one point to another, both left out.
#[derive(Clone, Copy)]
struct Sector {
    from: Point,
    to: Point,
    visit: Visit,
}

/// Checks every point that more than one vertex or edge passes.
pub(super) fn check(outlines: &[Outline], touches: Vec<Touch>) -> Result<(), Clash> {
    let mut visits = Vec::new();
    for (number, outline) in outlines.iter().enumerate() {
        let n = outline.points.len();
        visits.extend((0..n).map(|i| Visit {
            at: outline.points[i],
            before: outline.points[(i + n - 1) % n],
            after: outline.points[(i + 1) % n],
            outline: number,
            vertex: outline.vertex(i),
        }));
    }
    visits.extend(touches.into_iter().map(|touch| {
        let outline = &outlines[touch.outline];
        Visit {
            at: touch.at,
            before: outline.points[touch.edge],
            after: outline.points[(touch.edge + 1) % outline.points.len()],
            outline: touch.outline,
            vertex: outline.vertex_of_edge(touch.edge),
        }
    }));
    visits.sort_by(|a, b| {
        sweep_order(&a.at, &b.at).then(a.outline.cmp(&b.outline)).then(a.vertex.cmp(&b.vertex))
    });
    // The sweep reports an edge each time its neighbours change.
    visits.dedup_by_key(|visit| (visit.at, visit.outline, visit.vertex));
    visits
        .chunk_by(|a, b| a.at == b.at)
        .filter(|around| around.len() > 1)
        .try_for_each(|around| point(outlines, around))
}

/// `around`: all visits of one point, sorted by outline.
fn point(outlines: &[Outline], around: &[Visit]) -> Result<(), Clash> {
    if let Some(pair) = around.windows(2).find(|pair| pair[0].outline == pair[1].outline) {
        return Err(clash(outlines, &pair[0], &pair[1], "the ring touches itself here, as it passes"));
    }
    let polygon = |visit: &Visit| (outlines[visit.outline].part, outlines[visit.outline].is_copy);
    let mut left = Vec::with_capacity(around.len());
    for rings in around.chunk_by(|a, b| polygon(a) == polygon(b)) {
        let mut cut_out: Vec<_> =
            rings.iter().map(|visit| Sector { from: visit.before, to: visit.after, visit: *visit }).collect();
        keep_apart(outlines, &mut cut_out, "the rings overlap where this one touches")?;
        for (i, sector) in cut_out.iter().enumerate() {
            let next = cut_out[(i + 1) % cut_out.len()];
            if turn_order(sector.visit.at, sector.to, next.from).is_ne() {
                left.push(Sector { from: sector.to, to: next.from, visit: sector.visit });
            }
        }
    }
    keep_apart(outlines, &mut left, "the parts overlap where this one touches")
}

/// Sorts sectors around their point and fails if two of them overlap.
fn keep_apart(outlines: &[Outline], sectors: &mut [Sector], how: &'static str) -> Result<(), Clash> {
    sectors.sort_by(|a, b| turn_order(a.visit.at, a.from, b.from));
    if sectors.len() < 2 {
        return Ok(());
    }
    for (i, sector) in sectors.iter().enumerate() {
        let next = &sectors[(i + 1) % sectors.len()];
        if begins_within(sector, next.from) {
            return Err(clash(outlines, &sector.visit, &next.visit, how));
        }
    }
    Ok(())
}

fn clash(outlines: &[Outline], a: &Visit, b: &Visit, how: &'static str) -> Clash {
    Clash::between((&outlines[a.outline], a.vertex), (&outlines[b.outline], b.vertex), how)
}

/// Whether a sector that begins in the direction of `p` overlaps the given one.
fn begins_within(sector: &Sector, p: Point) -> bool {
    let center = sector.visit.at;
    let is_after_from = |q: Point| turn_order(center, sector.from, q).is_lt();
    match (turn_order(center, sector.from, p), is_after_from(sector.to)) {
        (Ordering::Equal, _) => true,
        (Ordering::Less, false) => true,
        (Ordering::Greater, true) => false,
        _ => turn_order(center, p, sector.to).is_lt(),
    }
}

/// The order of directions from a center, counter-clockwise from due east. Exact.
fn turn_order(center: Point, a: Point, b: Point) -> Ordering {
    let is_lower_half = |p: Point| p.y < center.y || (p.y == center.y && p.x < center.x);
    is_lower_half(a).cmp(&is_lower_half(b)).then_with(|| match side(center, a, b) {
        Orientation::CounterClockwise => Ordering::Less,
        Orientation::Clockwise => Ordering::Greater,
        Orientation::Collinear => Ordering::Equal,
    })
}
