//! The sweep against checks by brute force in integers.

use proptest::prelude::*;
use waypost_actors::geofence::validate;
use waypost_actors::model::Ring;

use crate::{at, multi, polygon};

type Cell = (i64, i64);

fn cells(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Cell>> {
    prop::collection::vec((0_i64..6, 0_i64..6), count).prop_map(|mut cells| {
        cells.dedup();
        while cells.len() > 1 && cells.first() == cells.last() {
            cells.pop();
        }
        cells
    })
}

fn triangle() -> impl Strategy<Value = Vec<Cell>> {
    prop::collection::vec((0_i64..6, 0_i64..6), 3).prop_filter_map("flat", |cells| {
        let turn = turn(cells[0], cells[1], cells[2]);
        match turn.signum() {
            0 => None,
            1 => Some(cells),
            _ => Some(cells.into_iter().rev().collect()),
        }
    })
}

fn degrees(cells: &[Cell]) -> Ring {
    cells.iter().map(|&(x, y)| at(x as f64 + 177.0, y as f64)).map(|p| crate::moved_place(p, 0.0)).collect()
}

fn turn(a: Cell, b: Cell, p: Cell) -> i64 {
    (b.0 - a.0) * (p.1 - a.1) - (b.1 - a.1) * (p.0 - a.0)
}

fn is_on(a: Cell, b: Cell, p: Cell) -> bool {
    turn(a, b, p) == 0 && (p.0 - a.0) * (p.0 - b.0) <= 0 && (p.1 - a.1) * (p.1 - b.1) <= 0
}

fn meet((a, b): (Cell, Cell), (c, d): (Cell, Cell)) -> bool {
    let crosses = turn(a, b, c).signum() * turn(a, b, d).signum() < 0
        && turn(c, d, a).signum() * turn(c, d, b).signum() < 0;
    crosses || is_on(a, b, c) || is_on(a, b, d) || is_on(c, d, a) || is_on(c, d, b)
}

/// Neighbouring edges share their vertex and nothing else; others share nothing.
fn is_simple(ring: &[Cell]) -> bool {
    let n = ring.len();
    let edge = |i: usize| (ring[i % n], ring[(i + 1) % n]);
    n >= 3
        && (0..n).all(|i| {
            let ((a, b), (_, c)) = (edge(i), edge(i + 1));
            let folds_back = is_on(a, b, c) || is_on(b, c, a);
            !folds_back && (i + 2..n).filter(|j| (j + 1) % n != i).all(|j| !meet(edge(i), edge(j)))
        })
}

fn edges(ring: &[Cell]) -> impl Iterator<Item = (Cell, Cell)> {
    ring.iter().copied().zip(ring.iter().copied().cycle().skip(1))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn a_ring_is_accepted_if_it_is_simple(ring in cells(3..9)) {
        let accepted = validate(&polygon(degrees(&ring), vec![])).is_ok();
        prop_assert_eq!(accepted, is_simple(&ring));
    }

    #[test]
    fn triangles_are_accepted_as_parts_if_a_line_parts_them(a in triangle(), b in triangle()) {
        let parts = |one: &[Cell], other: &[Cell]| edges(one).any(|(p, q)| other.iter().all(|&v| turn(p, q, v) <= 0));
        let apart = parts(&a, &b) || parts(&b, &a);
        let accepted = validate(&multi(vec![(degrees(&a), vec![]), (degrees(&b), vec![])])).is_ok();
        prop_assert_eq!(accepted, apart);
    }

    #[test]
    fn a_triangle_is_accepted_as_a_hole_if_it_lies_in_the_other(outer in triangle(), hole in triangle()) {
        let inside = hole.iter().all(|&v| edges(&outer).all(|(p, q)| turn(p, q, v) >= 0));
        let runs_along =
            edges(&outer).any(|(p, q)| edges(&hole).any(|(a, b)| turn(p, q, a) == 0 && turn(p, q, b) == 0));
        let accepted = validate(&polygon(degrees(&outer), vec![degrees(&hole)])).is_ok();
        prop_assert_eq!(accepted, inside && !runs_along);
    }
}
