//! The index against every fence queried one by one: the results are the same, wherever the fences lie.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::TAU;
use std::sync::Arc;

use proptest::prelude::*;
use uuid::Uuid;
use waypost_actors::geofence::{FenceSet, FenceTimeline, PreparedVersion, Shape, validate};
use waypost_actors::model::{
    Fence, FenceVersion, GeofenceId, OrganizationId, Place, Ring, Rules, ShapeSpec, Timestamp,
};

use crate::{Dice, at, circle, moved, multi, polygon, rectangle};

/// Where fences and questions are: around a few centres, on the meridians and parallels that matter.
const CENTRES: [(f64, f64); 7] =
    [(11.0, 48.0), (179.99, -17.0), (-180.0, 0.0), (0.0, 0.0), (45.0, 45.0), (20.0, 89.9), (-70.0, -89.99)];

/// Degrees of a half side: from half a metre to a continent.
fn size(dice: &mut Dice) -> f64 {
    10_f64.powf(dice.between(-5.3, 1.4))
}

/// A place around a centre, at any distance.
fn somewhere(dice: &mut Dice) -> (f64, f64) {
    let (x, y) = CENTRES[dice.below(CENTRES.len())];
    let far = size(dice);
    (x + dice.between(-far, far), (y + dice.between(-far, far)).clamp(-90.0, 90.0))
}

/// A place on the map: its longitude in the world, at times written as 180.
fn place(x: f64, y: f64) -> Place {
    let wrapped = (x + 180.0).rem_euclid(360.0) - 180.0;
    at(if wrapped == -180.0 && y > 0.0 { 180.0 } else { wrapped }, y)
}

fn star(x: f64, y: f64, radius: f64, vertices: usize, dice: &mut Dice) -> Ring {
    let point = |i: usize, far: f64| {
        let angle = TAU * i as f64 / vertices as f64;
        place(x + radius * far * angle.cos(), y + radius * far * angle.sin())
    };
    (0..vertices).map(|i| point(i, dice.between(0.4, 1.0))).collect()
}

/// A valid shape.
fn shape(dice: &mut Dice) -> ShapeSpec {
    loop {
        let shape = shape_of(dice.below(6), dice);
        if validate(&shape).is_ok() {
            return shape;
        }
    }
}

/// A circle, a box, a box with a hole, a ragged ring, or two parts, of any size anywhere.
fn shape_of(kind: usize, dice: &mut Dice) -> ShapeSpec {
    let ((x, y), half) = (somewhere(dice), size(dice));
    // Rings end at the poles; circles do not.
    let on_map = |y: f64| y.clamp(half - 90.0, 90.0 - half);
    // Whole degrees: edges on the very borders of cells.
    let (x, y) = if dice.below(4) == 0 { (x.round(), y.round()) } else { (x, y) };
    let middle = on_map(y);
    let block = |half: f64| rectangle(-half, middle - half, half, middle + half);
    let part = |west: f64| rectangle(west * half, middle - half, (west + 0.5) * half, middle + half);
    match kind {
        0 | 1 => circle(place(x, y).longitude, y, (half * 111_000.0).clamp(10.0, 1e5)),
        2 => moved(&polygon(block(half), vec![]), x),
        3 => moved(&polygon(block(half), vec![block(half * 0.6)]), x),
        4 => polygon(star(x, middle, half, [5, 40, 400][dice.below(3)], dice), vec![]),
        _ => moved(&multi(vec![(part(-1.0), vec![]), (part(0.25), vec![])]), x),
    }
}

fn fence(id: usize, shapes: Vec<ShapeSpec>) -> Fence {
    let version = |(shape, number): (ShapeSpec, i64)| FenceVersion {
        version: number,
        effective_from: None,
        changed_at: Timestamp::from_micros(number),
        active: true,
        deleted: false,
        shape,
        rules: Rules::EXACT,
    };
    Fence {
        id: GeofenceId(Uuid::from_u128(id as u128)),
        organization_id: OrganizationId(Uuid::nil()),
        name: format!("fence {id}"),
        versions: shapes.into_iter().zip(1..).map(version).collect(),
    }
}

/// Places that reveal mistakes: corners, edges, middles and surroundings of fences, and random ones.
fn questions(shapes: &[&ShapeSpec], dice: &mut Dice) -> Vec<Place> {
    let mut places = vec![at(180.0, 0.0), at(-180.0, 0.0), at(0.0, 90.0), at(-180.0, -90.0), at(77.0, 90.0)];
    for shape in shapes {
        for area in Shape::prepare(shape).boxes() {
            for (x, y) in [(0.0, 0.0), (1.0, 1.0), (0.5, 0.5), (0.5, 1.0), (dice.share(), dice.share())] {
                let (wide, high) = (area.east - area.west, area.north - area.south);
                places.push(place(area.west + x * wide, area.south + y * high));
            }
        }
        if let ShapeSpec::Polygon(polygon) = shape {
            let vertex = polygon.vertices[dice.below(polygon.vertices.len())];
            places.extend([vertex, Place::new(vertex.latitude.next_up().min(90.0), vertex.longitude)]);
        }
    }
    places.extend((0..20).map(|_| somewhere(dice)).map(|(x, y)| place(x, y)));
    places
}

/// Queries the set and every fence, about places and about the ways from each to the next.
fn compare(set: &FenceSet, fences: &[Arc<FenceTimeline>], places: &[Place]) {
    for (place, next) in places.iter().zip(places.iter().skip(1)) {
        let mut near = BTreeMap::new();
        set.for_each_near(*place, |found| {
            let said: Vec<bool> = found.fence.versions().iter().map(|version| found.is_in(version)).collect();
            assert!(near.insert(found.fence.id, said).is_none(), "{:?} twice", found.fence.id);
        });
        let mut met = Vec::new();
        set.for_each_near_segment(*place, *next, |fence| met.push(fence.id));
        let distinct: BTreeSet<_> = met.iter().collect();
        assert_eq!(distinct.len(), met.len(), "each once");
        for fence in fences {
            let true_ones: Vec<bool> = fence.versions().iter().map(|v| v.shape.covers(*place)).collect();
            match near.get(&fence.id) {
                Some(said) => assert_eq!(said, &true_ones, "{place:?} {fence:?}"),
                None => assert!(!true_ones.contains(&true), "{place:?} unknown to be in {fence:?}"),
            }
            let crosses = |v: &PreparedVersion| !v.shape.crossings(*place, *next).is_empty();
            if !distinct.contains(&fence.id) {
                assert!(!fence.versions().iter().any(crosses), "{place:?} to {next:?} through {fence:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn an_index_answers_like_every_fence_asked(seed in any::<u64>(), count in 1_usize..40, edits in 0_usize..20) {
        let mut dice = Dice(seed);
        let specs: Vec<Vec<ShapeSpec>> = (0..count)
            .map(|_| (0..[1, 1, 2, 10][dice.below(4)]).map(|_| shape(&mut dice)).collect())
            .collect();
        let mut fences: Vec<Arc<FenceTimeline>> = specs
            .iter()
            .enumerate()
            .map(|(id, shapes)| Arc::new(FenceTimeline::prepare(&fence(id, shapes.clone()))))
            .collect();
        let places = questions(&specs.iter().flatten().collect::<Vec<_>>(), &mut dice);
        let mut set = FenceSet::new(fences.clone());
        compare(&set, &fences, &places);
        let (before, first) = (set.clone(), fences.clone());
        for _ in 0..edits {
            let id = dice.below(count);
            let moved = Arc::new(FenceTimeline::prepare(&fence(id, vec![shape(&mut dice)])));
            fences[id] = Arc::clone(&moved);
            set = set.with(moved);
        }
        compare(&set, &fences, &places);
        compare(&before, &first, &places);
    }
}

#[test]
fn what_was_moved_away_leaves_nothing_behind() {
    let mut dice = Dice(4);
    let alone = FenceSet::new(vec![Arc::new(FenceTimeline::prepare(&fence(1, vec![shape(&mut dice)])))]);
    let mut set = alone.clone();
    for _ in 0..200 {
        let other = fence(2 + dice.below(5), vec![shape(&mut dice)]);
        set = set.with(Arc::new(FenceTimeline::prepare(&other)));
    }
    // All other fences at one place: the index is as large as if they had been there from the start.
    let still = shape(&mut dice);
    for id in 2..7 {
        set = set.with(Arc::new(FenceTimeline::prepare(&fence(id, vec![still.clone()]))));
    }
    let anew = FenceSet::new(set.iter().cloned().collect());
    assert_eq!((set.len(), set.index_bytes()), (anew.len(), anew.index_bytes()));
}

#[test]
fn a_hundred_thousand_fences_and_edits_of_them() {
    let mut dice = Dice(9);
    let small = |id: usize, dice: &mut Dice| {
        // Half of them in one city, the others anywhere in a region.
        let far = if id.is_multiple_of(2) { 0.05 } else { 5.0 };
        let (x, y) = (10.0 + dice.between(-far, far), 50.0 + dice.between(-far, far));
        let shape = match id % 3 {
            0 => circle(x, y, dice.between(5.0, 500.0)),
            1 => polygon(rectangle(x, y, x + 0.002, y + 0.001), vec![]),
            _ => polygon(star(x, y, 0.005, 9, dice), vec![]),
        };
        Arc::new(FenceTimeline::prepare(&fence(id, vec![shape])))
    };
    let mut fences: Vec<_> = (0..100_000).map(|id| small(id, &mut dice)).collect();
    let mut set = FenceSet::new(fences.clone());
    for _ in 0..500 {
        let id = dice.below(fences.len());
        let moved = small(id, &mut dice);
        fences[id] = Arc::clone(&moved);
        set = set.with(moved);
    }
    let places: Vec<Place> =
        (0..20).map(|_| at(10.0 + dice.between(-0.05, 0.05), 50.0 + dice.between(-0.05, 0.05))).collect();
    compare(&set, &fences, &places);
}
