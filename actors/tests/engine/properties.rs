//! Properties that hold for any track through any fences, whatever their rules and however they change.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use proptest::collection::vec;
use proptest::prelude::*;
use waypost_actors::geofence::{FenceSet, FenceTimeline, Shape, geodesic_meters};
use waypost_actors::model::{
    Event, EventKind, Fence, FenceVersion, Fix, GeofenceId, OrganizationId, Place, Rules, ShapeSpec,
    Timestamp, Vehicle, VehicleId, VehicleLimits, VisitId,
};
use waypost_actors::tracking::{Context, Effects, NearSpan, VehicleState, apply, settle_change};

use crate::fences::{any_rules, fences, grid, shapes};
use crate::ledger::geofence_events;
use crate::script::at;

/// What happens to a vehicle, in the order in which the server learns of it.
#[derive(Clone, Debug)]
enum Step {
    /// It reports a fix `after` seconds after the previous one (or before it).
    Fix { after: i32, place: (i32, i32), accuracy: Option<f64> },
    /// A fence changes, `after` seconds after the newest fix and the last change. `settled`: at once, not only by
    /// the next fix.
    Change { fence: usize, after: i32, shape: ShapeSpec, active: bool, rules: Rules, settled: bool },
}

fn any_fix(after: std::ops::Range<i32>) -> impl Strategy<Value = Step> {
    let accuracy = prop_oneof![Just(None), Just(Some(5.0)), Just(Some(80.0)), Just(Some(400.0))];
    (after, (-70..70, -70..70), accuracy).prop_map(|(after, place, accuracy)| Step::Fix {
        after,
        place,
        accuracy,
    })
}

fn any_change() -> impl Strategy<Value = Step> {
    (0..4_usize, 0..60, shapes(), any::<bool>(), any_rules(), any::<bool>()).prop_map(
        |(fence, after, shape, active, rules, settled)| Step::Change {
            fence,
            after,
            shape,
            active,
            rules,
            settled,
        },
    )
}

/// In time, and nothing but fixes.
fn drives() -> impl Strategy<Value = Vec<Step>> {
    vec(prop_oneof![4 => any_fix(1..60), 1 => any_fix(1..900)], 1..40)
}

/// Late fixes, repeated instants and fence changes too.
fn lives() -> impl Strategy<Value = Vec<Step>> {
    vec(prop_oneof![6 => any_fix(1..60), 1 => any_fix(-90..900), 2 => any_change()], 1..60)
}

/// A vehicle that goes through steps.
struct Life {
    vehicle: Vehicle,
    fences: Vec<Fence>,
    set: FenceSet,
    state: VehicleState,
    newest: Timestamp,
    /// The server's clock at the last change.
    changed_at: Timestamp,
    /// The effects of each step.
    effects: Vec<Effects>,
}

impl Life {
    fn new(fences: &[Fence], max_speed_kmh: Option<f64>) -> Self {
        let vehicle = Vehicle {
            id: VehicleId(uuid::Uuid::from_u128(2)),
            organization_id: OrganizationId(uuid::Uuid::from_u128(1)),
            name: "V".into(),
            limits: VehicleLimits { max_speed_kmh, max_accuracy_meters: Some(200.0), overspeed_kmh: None },
            out_of_service: vec![],
            calibrations: vec![],
        };
        let (state, set) = (VehicleState::default(), prepared(fences));
        Self {
            vehicle,
            fences: fences.to_vec(),
            set,
            state,
            newest: at(0.0),
            changed_at: at(0.0),
            effects: Vec::new(),
        }
    }

    fn through(mut self, steps: &[Step]) -> Self {
        steps.iter().for_each(|step| self.step(step));
        self
    }

    fn step(&mut self, step: &Step) {
        let mut effects = Effects::default();
        match step {
            Step::Fix { after, place, accuracy } => {
                let recorded_at = self.newest.plus_seconds(f64::from(*after));
                self.newest = self.newest.max(recorded_at);
                let mut fix = Fix::new(recorded_at, at(1e6), grid(place.0, place.1));
                fix.accuracy_meters = *accuracy;
                self.fix(fix, &mut effects);
            }
            Step::Change { fence, after, shape, active, rules, settled } => {
                self.changed_at = self.newest.max(self.changed_at).plus_seconds(f64::from(*after));
                let changed_at = self.changed_at;
                let number = fence % self.fences.len();
                let fence = &mut self.fences[number];
                fence.versions.push(FenceVersion {
                    version: fence.versions.len() as i64 + 1,
                    effective_from: (after % 3 > 0).then_some(changed_at),
                    changed_at,
                    active: *active,
                    deleted: false,
                    shape: shape.clone(),
                    rules: *rules,
                });
                let from = fence.versions.last().and_then(|version| version.effective_from);
                self.set = prepared(&self.fences);
                if *settled {
                    let context =
                        Context { vehicle: &self.vehicle, fences: &self.set, detected_at: changed_at };
                    let span = NearSpan::since(from.unwrap_or(Timestamp::FIRST));
                    settle_change(&mut self.state, span, &context, &mut effects);
                }
            }
        }
        self.effects.push(effects);
    }

    fn fix(&mut self, fix: Fix, effects: &mut Effects) {
        let context = Context { vehicle: &self.vehicle, fences: &self.set, detected_at: at(1e6) };
        apply(&mut self.state, fix, &context, effects);
    }

    fn events(&self) -> Vec<Event> {
        self.effects.iter().flat_map(|effects| geofence_events(&effects.records)).collect()
    }

    fn inside(&self) -> BTreeSet<GeofenceId> {
        self.state.open_stays().map(|stay| stay.geofence_id).collect()
    }
}

fn prepared(fences: &[Fence]) -> FenceSet {
    FenceSet::new(fences.iter().map(|fence| FenceTimeline::prepare(fence).into()).collect())
}

/// Reads the records as a dispatcher would; returns the fences the vehicle is in by them.
pub(crate) fn told(events: &[Event]) -> BTreeMap<GeofenceId, VisitId> {
    let (mut ids, mut visits) = (HashSet::new(), HashSet::new());
    let mut inside: BTreeMap<GeofenceId, (VisitId, Timestamp)> = BTreeMap::new();
    let mut left: BTreeMap<GeofenceId, Timestamp> = BTreeMap::new();
    for event in events {
        let fence = event.geofence_id;
        assert!(ids.insert(event.id), "a record twice: {event:#?}");
        match event.kind {
            EventKind::Entry => {
                assert!(visits.insert(event.visit_id), "a visit twice");
                let last_exit = left.get(&fence).copied().unwrap_or(Timestamp::MIN);
                assert!(last_exit <= event.occurred_at, "in before it was out: {events:#?}");
                let before = inside.insert(fence, (event.visit_id, event.occurred_at));
                assert_eq!(before, None, "in twice: {events:#?}");
            }
            EventKind::Exit => {
                let (visit, entered_at) = inside.remove(&fence).expect("only who is inside leaves");
                assert_eq!(visit, event.visit_id);
                assert!(entered_at <= event.occurred_at, "out before it was in: {events:#?}");
                left.insert(fence, event.occurred_at);
            }
            EventKind::Dwell => {
                assert_eq!(inside.get(&fence).map(|(visit, _)| *visit), Some(event.visit_id));
            }
        }
    }
    inside.into_iter().map(|(fence, (visit, _))| (fence, visit)).collect()
}

fn moved(fences: &[Fence], degrees: f64) -> Vec<Fence> {
    let mut fences = fences.to_vec();
    for version in fences.iter_mut().flat_map(|fence| &mut fence.versions) {
        match &mut version.shape {
            ShapeSpec::Circle(circle) => circle.center = east(circle.center, degrees),
            ShapeSpec::Polygon(polygon) => {
                polygon.vertices.iter_mut().for_each(|place| *place = east(*place, degrees));
            }
            ShapeSpec::MultiPolygon(_) => unreachable!("none is drawn"),
        }
    }
    fences
}

fn east(place: Place, degrees: f64) -> Place {
    let longitude = place.longitude + degrees;
    Place { longitude: if longitude >= 180.0 { longitude - 360.0 } else { longitude }, ..place }
}

proptest! {
    #[test]
    fn records_pair_and_add_up_to_the_state(
        fences in fences(any_rules()),
        steps in lives(),
        max_speed_kmh in prop_oneof![Just(None), Just(Some(250.0))],
    ) {
        let life = Life::new(&fences, max_speed_kmh).through(&steps);
        let inside = told(&life.events());
        let held = life.state.open_stays().map(|stay| (stay.geofence_id, stay.visit_id)).collect();
        prop_assert_eq!(&inside, &held);
        // The visits' rows agree with the records.
        let mut open = BTreeMap::new();
        for visit in life.effects.iter().flat_map(|effects| &effects.visits) {
            prop_assert!(visit.exit.is_none_or(|(_, at)| at >= visit.entered_at));
            match visit.exit {
                None => { open.insert(visit.id, visit.geofence_id); }
                Some(_) => { open.remove(&visit.id); }
            }
        }
        prop_assert_eq!(open, inside.into_iter().map(|(fence, visit)| (visit, fence)).collect());
    }

    #[test]
    fn analytics_add_up_and_go_no_farther_than_the_fixes(
        fences in fences(any_rules()),
        steps in lives(),
    ) {
        let mut life = Life::new(&fences, Some(250.0));
        // Late ones await a correction, which is not made here.
        let mut evaluated = BTreeMap::new();
        for step in &steps {
            life.step(step);
            let confirmed = life.effects.iter().next_back().into_iter().flat_map(|effects| effects.confirmed.clone());
            evaluated.extend(confirmed.chain(life.state.last).map(|fix| (fix.recorded_at, fix.place)));
        }
        let fixes: Vec<(Timestamp, Place)> = evaluated.into_iter().collect();
        let entries = life.events().into_iter().filter(|event| event.kind == EventKind::Entry);
        let entries: BTreeMap<_, _> = entries.map(|entry| (entry.visit_id, entry.occurred_at)).collect();
        for event in life.events() {
            prop_assert_eq!(event.analytics.is_some(), event.kind == EventKind::Exit);
            let Some(inside) = event.analytics else { continue };
            let millis = |seconds: f64| (seconds * 1e3).round() as i64;
            let parts = [inside.moving_seconds, inside.stopped_seconds, inside.gap_seconds].map(millis);
            prop_assert!(parts.iter().all(|part| *part >= 0), "{:?}", inside);
            prop_assert_eq!(parts.iter().sum::<i64>(), millis(inside.duration_seconds));
            let entered_at = entries[&event.visit_id];
            prop_assert_eq!(inside.duration_seconds, event.occurred_at.seconds_since(entered_at));
            let around = |way: &&[(Timestamp, Place)]| way[1].0 > entered_at && way[0].0 < event.fix.recorded_at;
            let way: f64 = fixes.windows(2).filter(around).map(|way| geodesic_meters(way[0].1, way[1].1)).sum();
            prop_assert!(inside.distance_meters <= way * (1.0 + 1e-5) + 0.01, "{:?} {}", inside, way);
            prop_assert!((0..=fixes.len() as i64).contains(&inside.fix_count));
        }
    }

    #[test]
    fn with_exact_rules_inside_is_inside_at_every_moment(
        fences in fences(Just(Rules::EXACT)),
        steps in drives(),
    ) {
        let shapes: Vec<_> =
            fences.iter().map(|fence| (fence.id, Shape::prepare(&fence.versions[0].shape))).collect();
        let mut life = Life::new(&fences, None);
        for step in &steps {
            life.step(step);
            let Some(last) = life.state.last else { continue };
            let holding = shapes.iter().filter(|(_, shape)| shape.covers(last.place));
            prop_assert_eq!(life.inside(), holding.map(|(id, _)| *id).collect());
        }
        told(&life.events());
    }

    #[test]
    fn whoever_was_inside_has_a_visit_over_that_fix(
        fences in fences(Just(Rules { hold_while_standing: false, ..Rules::default() })),
        steps in drives(),
    ) {
        let shapes: Vec<_> =
            fences.iter().map(|fence| (fence.id, Shape::prepare(&fence.versions[0].shape))).collect();
        let mut life = Life::new(&fences, None);
        for step in &steps {
            life.step(step);
            let Some(last) = life.state.last else { continue };
            let holding = shapes.iter().filter(|(_, shape)| shape.covers(last.place));
            prop_assert!(life.inside().is_superset(&holding.map(|(id, _)| *id).collect()));
        }
    }

    #[test]
    fn a_state_that_was_written_and_read_goes_on_as_before(
        fences in fences(any_rules()),
        steps in lives(),
    ) {
        let whole = Life::new(&fences, Some(250.0)).through(&steps);
        let mut broken = Life::new(&fences, Some(250.0));
        for step in &steps {
            broken.step(step);
            let text = serde_json::to_string(&broken.state).unwrap();
            broken.state = serde_json::from_str(&text).unwrap();
        }
        prop_assert_eq!(&whole.effects, &broken.effects);
        prop_assert_eq!(whole.state, broken.state);
    }

    #[test]
    fn how_fixes_are_batched_does_not_matter(fences in fences(any_rules()), steps in drives()) {
        let single = Life::new(&fences, Some(250.0)).through(&steps);
        let mut whole = Life::new(&fences, Some(250.0));
        let mut effects = Effects::default();
        for row in single.effects.iter().flat_map(|effects| &effects.rows) {
            whole.fix(row.fix, &mut effects);
        }
        prop_assert_eq!(single.events(), geofence_events(&effects.records));
        prop_assert_eq!(single.state, whole.state);
    }

    #[test]
    fn a_move_along_the_parallel_changes_no_event(
        fences in fences(any_rules()),
        steps in drives(),
        degrees in prop_oneof![Just(180.0), Just(97.0), Just(179.0)],
    ) {
        let here = Life::new(&fences, Some(250.0)).through(&steps);
        let mut there = Life::new(&moved(&fences, degrees), Some(250.0));
        let mut effects = Effects::default();
        for row in here.effects.iter().flat_map(|effects| &effects.rows) {
            there.fix(Fix { place: east(row.fix.place, degrees), ..row.fix }, &mut effects);
        }
        let (here, there) = (here.events(), geofence_events(&effects.records));
        for (here, there) in here.iter().zip(&there) {
            let metres = |event: &Event| event.analytics.map_or(0.0, |inside| inside.distance_meters);
            prop_assert!((metres(here) - metres(there)).abs() <= 0.002, "{:?} {:?}", here, there);
        }
        let names = |events: &[Event]| events.iter().map(|e| (e.id, e.visit_id, e.kind)).collect::<BTreeSet<_>>();
        prop_assert_eq!(names(&here), names(&there), "{:#?} {:#?}", here, there);
        let instants = |events: &[Event]| events.iter().map(|e| (e.id, e.occurred_at)).collect::<BTreeMap<_, _>>();
        for ((_, here), (_, there)) in instants(&here).into_iter().zip(instants(&there)) {
            // Crossings of circles are found by search, to a tenth of a millimetre.
            prop_assert!(here.seconds_since(there).abs() <= 0.001, "{here} {there}");
        }
    }
}
