//! Versions of a fence, and sets of fences against a list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;
use waypost_actors::geofence::{FenceSet, FenceTimeline};
use waypost_actors::model::{
    Fence, FenceVersion, GeofenceId, OrganizationId, Place, Rules, ShapeSpec, Timestamp,
};

use crate::{Dice, at, circle, polygon, prepared, rectangle};

fn version(number: i64, from: Option<i64>, shape: ShapeSpec) -> FenceVersion {
    FenceVersion {
        version: number,
        effective_from: from.map(Timestamp::from_micros),
        changed_at: Timestamp::from_micros(number),
        active: true,
        deleted: false,
        shape,
        rules: Rules::EXACT,
    }
}

fn fence(id: usize, versions: Vec<FenceVersion>) -> Fence {
    let id = GeofenceId(Uuid::from_u128(id as u128));
    Fence { id, organization_id: OrganizationId(Uuid::nil()), name: format!("fence {id}"), versions }
}

fn square(x: f64) -> ShapeSpec {
    polygon(rectangle(x, 0.0, x + 1.0, 1.0), vec![])
}

#[test]
fn the_newest_version_in_effect_judges() {
    // The third was dated back to before the second.
    let timeline = FenceTimeline::prepare(&fence(
        1,
        vec![
            version(1, Some(100), square(0.0)),
            version(2, Some(300), square(0.0)),
            version(3, Some(200), square(5.0)),
            version(4, Some(400), square(5.0)),
        ],
    ));
    for (at, number) in [
        (99, None),
        (100, Some(1)),
        (199, Some(1)),
        (200, Some(3)),
        (300, Some(3)),
        (399, Some(3)),
        (400, Some(4)),
    ] {
        let in_force = timeline.in_force_at(Timestamp::from_micros(at)).map(|v| v.version);
        assert_eq!(in_force, number, "at {at}");
    }
    let always = FenceTimeline::prepare(&fence(1, vec![version(1, None, square(0.0))]));
    assert_eq!(always.in_force_at(Timestamp::MIN).map(|v| v.version), Some(1));
    let shapes: Vec<_> = timeline.versions().iter().map(|v| &v.shape).collect();
    assert!(Arc::ptr_eq(shapes[0], shapes[1]) && !Arc::ptr_eq(shapes[1], shapes[2]));
}

#[test]
fn versions_are_added_and_replaced_by_number() {
    let one =
        FenceTimeline::prepare(&fence(1, vec![version(2, None, square(2.0)), version(1, None, square(1.0))]));
    let mut edit = fence(1, vec![version(3, None, square(3.0)), version(2, Some(7), square(9.0))]);
    "renamed".clone_into(&mut edit.name);
    edit.versions[0].active = false;
    let two = one.with(&edit);
    assert_eq!(two.versions().iter().map(|v| v.version).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!((two.name.as_str(), two.newest().version, two.newest().active), ("renamed", 3, false));
    assert_eq!(two.versions()[1].effective_from, Some(Timestamp::from_micros(7)));
    assert!(two.versions()[1].shape.covers(at(9.5, 0.5)));
    let same = two.with(&fence(1, vec![version(4, None, square(3.0))]));
    assert!(Arc::ptr_eq(&same.newest().shape, &two.newest().shape), "an equal shape is kept once");
    assert_eq!((one.versions().len(), one.newest().version), (2, 2), "the old timeline stays as it was");
}

/// The reference: a walk through a list.
struct List(BTreeMap<GeofenceId, Fence>);

impl List {
    fn holding(&self, place: Place) -> BTreeSet<GeofenceId> {
        let holds = |fence: &&Fence| {
            FenceTimeline::prepare(fence).versions().iter().any(|version| version.shape.covers(place))
        };
        self.0.values().filter(holds).map(|fence| fence.id).collect()
    }
}

fn assert_same(set: &FenceSet, list: &List, place: Place) {
    let mut holding = BTreeSet::new();
    set.for_each_near(place, |near| {
        if near.fence.versions().iter().any(|version| near.is_in(version)) {
            assert!(holding.insert(near.fence.id), "each once");
        }
    });
    assert_eq!(holding, list.holding(place), "{place:?}");
}

#[test]
fn a_set_answers_like_a_list_through_any_edits() {
    let mut dice = Dice(17);
    let mut list = List(BTreeMap::new());
    let mut set = FenceSet::empty();
    assert!(set.is_empty() && set.last_effective_from().is_none());
    for round in 0..400 {
        let id = dice.below(120);
        let x = [-180.0, 176.0, 178.5, -179.5][dice.below(4)];
        let shape = if dice.below(3) == 0 { circle(x, 1.0, dice.between(1e4, 1e5)) } else { square(x) };
        let held = list.0.get(&GeofenceId(Uuid::from_u128(id as u128)));
        let number = held.map_or(1, |fence| fence.versions.len() as i64 + 1);
        let from = (dice.below(2) == 0).then(|| dice.below(1000) as i64);
        let mut change = version(number, from, shape);
        change.rules.infer_passages = dice.below(100) == 0;
        change.rules.speed_limit_kmh = (dice.below(100) == 0).then_some(30.0);
        // Now and then a version is replaced, and with it perhaps the last that took effect.
        change.version -= i64::from(number > 1 && dice.below(3) == 0);
        let edit = fence(id, vec![change.clone()]);
        let before = set.get(edit.id).map(|old| old.with(&edit));
        set = set.with(Arc::new(before.unwrap_or_else(|| FenceTimeline::prepare(&edit))));
        let kept = list.0.entry(edit.id).or_insert_with(|| fence(id, vec![]));
        kept.versions.retain(|v| v.version != change.version);
        kept.versions.push(change);
        if round == 200 {
            set = FenceSet::new(set.iter().cloned().collect());
        }
        let place =
            at([-180.0, 180.0, dice.between(175.0, 180.0), -179.0][dice.below(4)], dice.between(-1.0, 2.0));
        assert_same(&set, &list, place);
        assert_eq!((set.len(), set.is_empty()), (list.0.len(), false));
        let ids: Vec<_> = set.iter().map(|fence| fence.id).collect();
        assert_eq!(ids.iter().copied().collect::<BTreeSet<_>>(), list.0.keys().copied().collect());
        assert_eq!(ids.len(), list.0.len());
        let versions = || list.0.values().flat_map(|fence| &fence.versions);
        assert_eq!(set.last_effective_from(), versions().filter_map(|v| v.effective_from).max());
        assert_eq!(set.infers_passages(), versions().any(|v| v.rules.infer_passages));
        assert_eq!(set.limits_speed(), versions().any(|v| v.rules.speed_limit_kmh.is_some()));
    }
}

#[test]
fn a_snapshot_keeps_what_it_held() {
    let prepare = |x: f64| Arc::new(FenceTimeline::prepare(&fence(1, vec![version(1, None, square(x))])));
    let before = FenceSet::new(vec![prepare(0.0)]);
    let after = before.with(prepare(10.0));
    let count = |set: &FenceSet, place| {
        let mut count = 0;
        set.for_each_near(place, |_| count += 1);
        count
    };
    let (old, new) = (at(0.5, 0.5), at(10.5, 0.5));
    assert_eq!((count(&before, old), count(&before, new)), (1, 0));
    assert_eq!((count(&after, old), count(&after, new)), (0, 1));
    assert_eq!((before.len(), after.len()), (1, 1));
}

/// docs/tracking.md, "Geometry": about 30 bytes a vertex, and the picture of 16 KiB at most.
#[test]
fn memory_is_what_is_documented() {
    let outline = |vertices: usize| {
        let corner = |i: usize| {
            let angle = std::f64::consts::TAU * i as f64 / vertices as f64;
            at(10.0 + angle.cos(), 50.0 + angle.sin())
        };
        prepared(&polygon((0..vertices).map(corner).collect(), vec![])).memory_bytes()
    };
    let (small, large) = (outline(1_000), outline(10_000));
    assert!((20_000..50_000).contains(&small), "{small}");
    assert!((250_000..400_000).contains(&large), "{large}");
    let round = prepared(&circle(10.0, 50.0, 500.0)).memory_bytes();
    assert!((50..500).contains(&round), "{round}");
    // Two fences far apart take twice as much of the index as one.
    let alone =
        |id: usize, x: f64| Arc::new(FenceTimeline::prepare(&fence(id, vec![version(1, None, square(x))])));
    let one = FenceSet::new(vec![alone(1, 10.0)]).index_bytes();
    let two = FenceSet::new(vec![alone(1, 10.0), alone(2, -100.0)]).index_bytes();
    assert!(one > 500 && (one * 3 / 2..one * 5 / 2).contains(&two), "{one} {two}");
}
