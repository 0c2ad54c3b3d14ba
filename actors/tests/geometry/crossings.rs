//! Where a way crosses a boundary.

use waypost_actors::geofence::{Shape, interpolate};
use waypost_actors::model::Place;

use crate::{Dice, at, multi, polygon, prepared, rectangle, ring};

fn assert_alternates(shape: &Shape, from: Place, to: Place) {
    let crossings = shape.crossings(from, to);
    assert!(crossings.windows(2).all(|pair| pair[0] < pair[1]), "{crossings:?}");
    assert!(crossings.iter().all(|share| (0.0..=1.0).contains(share)), "{crossings:?}");
    let mut stops = vec![0.0];
    stops.extend(&crossings);
    stops.push(1.0);
    let mut inside = shape.covers(from);
    for pair in stops.windows(2) {
        if pair[1] - pair[0] > 1e-9 {
            let middle = interpolate(from, to, (pair[0] + pair[1]) / 2.0);
            assert_eq!(shape.covers(middle), inside, "{from:?} {to:?} {crossings:?} {pair:?}");
        }
        inside = !inside;
    }
    assert_eq!(!inside, shape.covers(to), "{from:?} {to:?} {crossings:?}");
    for &share in &crossings {
        let place = interpolate(from, to, share);
        assert!(!shape.is_farther_outside_than(place, 0.001), "{share} is off the boundary");
    }
}

#[test]
fn membership_turns_over_at_each_crossing() {
    let mut dice = Dice(5);
    let comb: Vec<(f64, f64)> = (0..40)
        .map(|i| (178.0 + f64::from(i) * 0.1, if i % 2 == 0 { 10.0 } else { 12.0 + 0.01 * f64::from(i) }))
        .chain([(182.0, 9.0), (178.0, 9.0)])
        .map(|(x, y)| if x >= 180.0 { (x - 360.0, y) } else { (x, y) })
        .collect();
    let comb = prepared(&polygon(ring(&comb), vec![]));
    let islands = prepared(&multi(vec![
        (rectangle(-1.0, -1.0, 1.0, 1.0), vec![rectangle(-0.5, -0.5, 0.5, 0.5)]),
        (rectangle(-0.25, -0.25, 0.25, 0.25), vec![]),
        (rectangle(1.0, 0.0, 2.0, 0.5), vec![]),
    ]));
    let mut most = 0;
    for _ in 0..1500 {
        let mut comb_end = || at(dice.between(-360.0 + 177.5, -360.0 + 182.5), dice.between(8.5, 13.0));
        let (from, to) = (comb_end(), comb_end());
        let unturned = |p: Place| if p.longitude < -180.0 { at(p.longitude + 360.0, p.latitude) } else { p };
        assert_alternates(&comb, unturned(from), unturned(to));
        most = most.max(comb.crossings(unturned(from), unturned(to)).len());
        let mut island_end = || at(dice.between(-1.5, 2.5), dice.between(-1.5, 1.5));
        assert_alternates(&islands, island_end(), island_end());
    }
    assert!(most > 20, "a way through the comb's teeth crosses many times, not {most}");
}

#[test]
fn touching_is_no_crossing() {
    let square =
        prepared(&polygon(rectangle(0.0, 0.0, 4.0, 4.0), vec![ring(&[(1.0, 1.0), (2.0, 3.0), (3.0, 1.0)])]));
    for (from, to, want) in [
        // past a corner outside, and past the hole's tip inside
        ((-1.0, 1.0), (1.0, -1.0), vec![]),
        ((0.5, 3.0), (3.5, 3.0), vec![]),
        // along an edge from end to end of it, and on it only
        ((-1.0, 0.0), (5.0, 0.0), vec![1.0 / 6.0, 5.0 / 6.0]),
        ((1.0, 0.0), (3.0, 0.0), vec![]),
        // through two corners
        ((-1.0, -1.0), (5.0, 5.0), vec![1.0 / 6.0, 1.0 / 3.0, 5.0 / 9.0, 5.0 / 6.0]),
        // a place on the boundary is inside
        ((0.0, 2.0), (-1.0, 2.0), vec![0.0]),
        ((-1.0, 2.0), (0.0, 2.0), vec![1.0]),
        ((0.0, 2.0), (0.5, 2.0), vec![]),
        ((-1.0, 0.5), (5.0, 0.5), vec![1.0 / 6.0, 5.0 / 6.0]),
        ((2.0, 2.0), (2.0, 2.0), vec![]),
    ] {
        let got = square.crossings(at(from.0, from.1), at(to.0, to.1));
        assert_eq!(got.len(), want.len(), "{from:?} {to:?} {got:?}");
        assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-12), "{from:?} {to:?} {got:?}");
    }
}

#[test]
fn a_seam_between_parts_is_no_boundary() {
    let halves = prepared(&multi(vec![
        (rectangle(0.0, 0.0, 1.0, 1.0), vec![]),
        (rectangle(1.0, 0.0, 2.0, 1.0), vec![]),
    ]));
    assert_eq!(halves.crossings(at(0.5, 0.5), at(1.5, 0.5)), [] as [f64; 0]);
    assert_eq!(halves.crossings(at(-1.0, 0.5), at(3.0, 0.5)), [0.25, 0.75]);
}

/// Whether two segments cross, each from one side of the other to its other side; `None` if they touch.
fn across(p: (i64, i64), q: (i64, i64), a: (i64, i64), b: (i64, i64)) -> Option<bool> {
    let turn = |a: (i64, i64), b: (i64, i64), c: (i64, i64)| {
        ((b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0)).signum()
    };
    let (of_a, of_b, of_p, of_q) = (turn(p, q, a), turn(p, q, b), turn(a, b, p), turn(a, b, q));
    let touches = [of_a, of_b, of_p, of_q].contains(&0);
    if touches { None } else { Some(of_a != of_b && of_p != of_q) }
}

#[test]
fn large_outlines_are_crossed_as_often_as_the_integers_say() {
    let mut dice = Dice(29);
    let mut most = 0;
    for (round, rough) in [2, 40, 400].into_iter().enumerate() {
        // A ragged band of 3,000 vertices, in 1024ths of a degree, and its two rows of vertices.
        let wave = |i: i64| ((i as f64 / 200.0).sin() * 300.0) as i64;
        let south: Vec<_> = (0..1500).map(|i| (3 * i, wave(i) - dice.below(rough) as i64)).collect();
        let north: Vec<_> = (0..1500).map(|i| (3 * i, wave(i) + 1 + dice.below(rough) as i64)).collect();
        let outline: Vec<(i64, i64)> = south.into_iter().chain(north.into_iter().rev()).collect();
        let degrees = |p: (i64, i64)| (p.0 as f64 / 1024.0, p.1 as f64 / 1024.0);
        let shape =
            prepared(&polygon(ring(&outline.iter().map(|p| degrees(*p)).collect::<Vec<_>>()), vec![]));
        for i in 0..1_000 {
            let reach = [12.0, 100.0, 5_000.0][i % 3];
            let start = outline[dice.below(outline.len())];
            let mut near = || {
                let mut off = || dice.between(-reach, reach) as i64;
                (start.0 + off(), start.1 + off())
            };
            let (from, to) = (near(), near());
            let edges = outline.iter().zip(outline.iter().cycle().skip(1));
            let counted: Option<usize> = edges.map(|(a, b)| across(from, to, *a, *b).map(usize::from)).sum();
            let place = |p: (i64, i64)| at(degrees(p).0, degrees(p).1);
            let found = shape.crossings(place(from), place(to));
            assert_alternates(&shape, place(from), place(to));
            if let Some(counted) = counted {
                assert_eq!(found.len(), counted, "{round} {from:?} {to:?} {found:?}");
            }
            most = most.max(found.len());
        }
    }
    assert!(most > 50, "{most}");
}
