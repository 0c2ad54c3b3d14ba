//! Polygons on a grid against an oracle that computes in integers.

use proptest::prelude::*;
use waypost_actors::model::ShapeSpec;

use crate::{Dice, at, moved, moved_place, multi, polygon, prepared, ring};

type Cell = (i64, i64);

/// Rings in half degrees: an outer one between an upper and a lower chain, a hole between two more.
#[derive(Clone, Debug)]
struct Slab {
    outer: Vec<Cell>,
    hole: Vec<Cell>,
}

fn slab() -> impl Strategy<Value = Slab> {
    let column = (-6_i64..6, 5_i64..12, 1_i64..4);
    (prop::collection::vec(column, 4..8), any::<bool>(), any::<bool>()).prop_map(
        |(columns, upright, reversed)| {
            let chain = |from: usize, to: usize, y: &dyn Fn(&(i64, i64, i64)) -> i64| {
                (from..to).map(|i| (2 * i as i64, y(&columns[i]))).collect::<Vec<_>>()
            };
            let between =
                |from, to, low: &dyn Fn(&(i64, i64, i64)) -> i64, high: &dyn Fn(&(i64, i64, i64)) -> i64| {
                    let mut ring = chain(from, to, low);
                    ring.extend(chain(from, to, high).into_iter().rev());
                    if reversed {
                        ring.reverse();
                    }
                    ring.into_iter().map(|(x, y)| if upright { (y, x) } else { (x, y) }).collect::<Vec<_>>()
                };
            let outer = between(0, columns.len(), &|c| c.0, &|c| c.0 + c.1);
            let hole = between(1, columns.len() - 1, &|c| c.0 + c.2, &|c| c.0 + c.1 - 1);
            Slab { outer, hole }
        },
    )
}

fn spec(slab: &Slab) -> ShapeSpec {
    let degrees = |cells: &[Cell]| {
        ring(&cells.iter().map(|&(x, y)| (x as f64 / 2.0, y as f64 / 2.0)).collect::<Vec<_>>())
    };
    polygon(degrees(&slab.outer), vec![degrees(&slab.hole)])
}

fn area_of(a: Cell, b: Cell, p: Cell) -> i64 {
    (b.0 - a.0) * (p.1 - a.1) - (b.1 - a.1) * (p.0 - a.0)
}

/// Inside, on the ring, or outside as 1, 0, -1.
fn locate(ring: &[Cell], p: Cell) -> i64 {
    let mut place = -1;
    for (&a, &b) in ring.iter().zip(ring.iter().cycle().skip(1)) {
        let turn = area_of(a, b, p);
        let beside = (p.0 - a.0) * (p.0 - b.0) <= 0 && (p.1 - a.1) * (p.1 - b.1) <= 0;
        if turn == 0 && beside {
            return 0;
        }
        if (a.1 > p.1) != (b.1 > p.1) && (turn > 0) == (b.1 > a.1) {
            place = -place;
        }
    }
    place
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn covers_what_the_integers_say(slab in slab()) {
        let shape = prepared(&spec(&slab));
        for x in -14..28 {
            for y in -14..28 {
                let inside = locate(&slab.outer, (x, y)) >= 0 && locate(&slab.hole, (x, y)) <= 0;
                prop_assert_eq!(shape.covers(at(x as f64 / 2.0, y as f64 / 2.0)), inside, "{} {}", x, y);
            }
        }
    }

    #[test]
    fn moving_everything_east_changes_nothing(
        slab in slab(),
        quarters in -720_i32..720,
        from in (-14_i32..28, -14_i32..28),
        to in (-14_i32..28, -14_i32..28),
    ) {
        let degrees = f64::from(quarters) / 4.0;
        let spec = spec(&slab);
        let (here, there) = (prepared(&spec), prepared(&moved(&spec, degrees)));
        let place = |p: (i32, i32)| at(f64::from(p.0) / 2.0, f64::from(p.1) / 2.0);
        let (a, b) = (place(from), place(to));
        let (c, d) = (moved_place(a, degrees), moved_place(b, degrees));
        prop_assert_eq!(here.covers(a), there.covers(c));
        prop_assert_eq!(here.is_farther_outside_than(b, 5_000.0), there.is_farther_outside_than(d, 5_000.0));
        prop_assert!((here.area_square_meters() / there.area_square_meters() - 1.0).abs() < 1e-9);
        let (one, other) = (here.crossings(a, b), there.crossings(c, d));
        // Along an edge rounding may see slivers; clear of one, the crossings are the same.
        let clear = |shares: &[f64]| shares.iter().copied()
            .filter(|s| shares.iter().filter(|t| (*s - **t).abs() < 1e-6).count() == 1).collect::<Vec<_>>();
        let (one, other) = (clear(&one), clear(&other));
        if spans_no_edge(&slab, from, to) {
            prop_assert_eq!(one.len(), other.len(), "{:?} {:?}", one, other);
            prop_assert!(one.iter().zip(&other).all(|(s, t)| (s - t).abs() < 1e-9));
        }
    }
}

/// Whether the way meets no vertex, so that it runs along no edge either.
fn spans_no_edge(slab: &Slab, from: (i32, i32), to: (i32, i32)) -> bool {
    let cell = |p: (i32, i32)| (i64::from(p.0), i64::from(p.1));
    let (a, b) = (cell(from), cell(to));
    a != b && slab.outer.iter().chain(&slab.hole).all(|&v| area_of(a, b, v) != 0)
}

/// Steps in a degree of the large outlines.
const STEPS: f64 = 64.0;

/// Outlines of thousands of vertices, ragged or smooth: three slabs in a row, the second sharing its
/// ends with the others, each with a hole. `WAYPOST_TEST_OUTLINES=n` draws n of them instead of 12.
#[test]
fn large_outlines_cover_what_the_integers_say() {
    let rounds =
        std::env::var("WAYPOST_TEST_OUTLINES").ok().and_then(|count| count.parse().ok()).unwrap_or(12);
    for round in 0..rounds {
        let mut dice = Dice(round);
        let (upright, ragged) = (round % 2 == 1, round % 3 > 0);
        let parts: Vec<Slab> = large_slabs(&mut dice, ragged, upright);
        let degrees = |cells: &[Cell]| {
            ring(&cells.iter().map(|&(x, y)| (x as f64 / STEPS, y as f64 / STEPS)).collect::<Vec<_>>())
        };
        let shape = prepared(&multi(
            parts.iter().map(|part| (degrees(&part.outer), vec![degrees(&part.hole)])).collect(),
        ));
        let vertices: Vec<Cell> =
            parts.iter().flat_map(|part| part.outer.iter().chain(&part.hole)).copied().collect();
        let check = |p: Cell| {
            let inside = parts.iter().any(|s| locate(&s.outer, p) >= 0 && locate(&s.hole, p) <= 0);
            let place = at(p.0 as f64 / STEPS, p.1 as f64 / STEPS);
            assert_eq!(shape.covers(place), inside, "{round} {p:?}");
        };
        for _ in 0..1_500 {
            // On a vertex or beside it, and anywhere.
            let near = vertices[dice.below(vertices.len())];
            check((near.0 + dice.below(5) as i64 - 2, near.1 + dice.below(5) as i64 - 2));
            let (a, b) = (vertices[dice.below(vertices.len())], vertices[dice.below(vertices.len())]);
            check((a.0, b.1));
        }
    }
}

fn large_slabs(dice: &mut Dice, ragged: bool, upright: bool) -> Vec<Slab> {
    const COLUMNS: usize = 700;
    let rough = if ragged { 300 } else { 3 };
    // (low, low of the hole, high of the hole, high) of each column; slabs share their end columns.
    let columns: Vec<[i64; 4]> = (0..3 * COLUMNS + 1)
        .map(|i| {
            let wave = ((i as f64 / 90.0).sin() * 400.0) as i64;
            let step = |dice: &mut Dice| 1 + dice.below(rough) as i64;
            let hole_low = wave + step(dice);
            let hole_high = hole_low + step(dice);
            [wave - step(dice), hole_low, hole_high, hole_high + step(dice)]
        })
        .collect();
    let slab = |number: usize| {
        let (first, last) = (number * COLUMNS, (number + 1) * COLUMNS);
        let chain = |from: usize, to: usize, which: usize| {
            let point = |i: usize| (2 * i as i64, columns[i][which]);
            (from..=to).map(point).map(|(x, y)| if upright { (y, x) } else { (x, y) }).collect::<Vec<Cell>>()
        };
        let ring = |from: usize, to: usize, low: usize, high: usize| {
            let mut ring = chain(from, to, low);
            ring.extend(chain(from, to, high).into_iter().rev());
            ring
        };
        Slab { outer: ring(first, last, 0, 3), hole: ring(first + 1, last - 1, 1, 2) }
    };
    (0..3).map(slab).collect()
}
