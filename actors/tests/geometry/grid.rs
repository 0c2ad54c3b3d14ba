//! Polygons on a grid against an oracle that computes in integers.

use proptest::prelude::*;
use waypost_actors::model::ShapeSpec;

use crate::{at, moved, moved_place, polygon, prepared, ring};

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
