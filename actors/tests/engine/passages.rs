//! Passages and interpolated crossings, by hand (docs/tracking.md, "Entries and exits").
//!
//! The vehicle drives a thousandth of a degree (111.3 m) a second along the parallel of 0.005°, so what
//! lies at 5 thousandths is reached 5 seconds after 0.

use waypost_actors::model::{
    EventKind, FenceVersion, MultiPolygon, Polygon, Rules, ShapeSpec, VehicleLimits, VisitId,
};

use crate::script::{Script, at, square, version};

/// The exact rules, passages inferred.
const PASSING: Rules = Rules { infer_passages: true, ..Rules::EXACT };

/// Two blocks, from 0 to 4 and from 6 to 10 thousandths of a degree, as one fence.
fn two_blocks(rules: Rules) -> Script {
    let block = |west: f64| match square(west, 0.0, 0.004) {
        ShapeSpec::Polygon(polygon) => polygon,
        _ => unreachable!("a square is a polygon"),
    };
    let polygons: Vec<Polygon> = [0.0, 0.006].into_iter().map(block).collect();
    // The blocks are 4 thousandths high: drive through their middle, not along their edge.
    let lift = |mut polygon: Polygon| {
        polygon.vertices.iter_mut().for_each(|corner| corner.latitude += 0.003);
        polygon
    };
    let shape = ShapeSpec::MultiPolygon(MultiPolygon { polygons: polygons.into_iter().map(lift).collect() });
    Script::with(vec![FenceVersion { shape, ..version(1, rules) }])
}

fn visits(script: &Script) -> Vec<VisitId> {
    let mut visits: Vec<VisitId> = script.geofence_events().iter().map(|event| event.visit_id).collect();
    visits.dedup();
    visits
}

#[test]
fn an_entry_is_the_last_crossing_and_an_exit_the_first() {
    let mut script = two_blocks(Rules::EXACT);
    script.drive(&[(0.0, -5.0), (13.0, 8.0), (26.0, -5.0)]);
    assert_eq!(script.events(), ["entry@11", "exit@15"]);
    let [entry, exit] = &script.geofence_events()[..] else { panic!() };
    assert!(
        (entry.location.longitude - 0.006).abs() < 1e-9 && (exit.location.longitude - 0.006).abs() < 1e-9
    );
    assert_eq!((entry.time_uncertainty_seconds, exit.time_uncertainty_seconds), (6.5, 6.5));
    assert_eq!((entry.fix.recorded_at, exit.fix.recorded_at), (at(13.0), at(26.0)));
}

#[test]
fn each_chord_is_a_visit() {
    let mut script = two_blocks(PASSING);
    script.drive(&[(0.0, -5.0), (20.0, 15.0)]);
    assert_eq!(script.events(), ["entry@5i", "exit@9i", "entry@11i", "exit@15i"]);
    assert_eq!(visits(&script).len(), 2);
    let exits = script.geofence_events().into_iter().filter_map(|event| event.analytics);
    let chords: Vec<_> = exits.map(|exit| (exit.duration_seconds, exit.fix_count)).collect();
    assert_eq!(chords, [(4.0, 0), (4.0, 0)]);
    for event in &script.geofence_events() {
        assert_eq!((event.time_uncertainty_seconds, event.fix.recorded_at), (10.0, at(20.0)));
    }
    assert!(script.state.stays.is_empty());
}

#[test]
fn chords_are_one_visit_when_the_vehicle_was_not_out_between_them() {
    // 2 seconds, and 111 m from either block halfway.
    for rules in
        [Rules { min_outside_seconds: 2.5, ..PASSING }, Rules { exit_margin_meters: 112.0, ..PASSING }]
    {
        let mut script = two_blocks(rules);
        script.drive(&[(0.0, -5.0), (20.0, 15.0), (23.0, 18.0)]);
        assert_eq!(script.events(), ["entry@5i", "exit@15i"], "{rules:?}");
        assert_eq!(visits(&script).len(), 1);
    }
    let mut out = two_blocks(Rules { min_outside_seconds: 2.0, exit_margin_meters: 111.0, ..PASSING });
    out.drive(&[(0.0, -5.0), (20.0, 15.0)]);
    assert_eq!(out.events(), ["entry@5i", "exit@9i", "entry@11i"]);
    out.drive(&[(22.0, 17.0)]);
    assert_eq!(out.events().last().unwrap(), "exit@15i");
}

#[test]
fn a_chord_too_short_to_count_is_no_entry() {
    for (seconds, events) in [(4.5, 0), (3.5, 4)] {
        let mut script = two_blocks(Rules { min_inside_seconds: seconds, ..PASSING });
        script.drive(&[(0.0, -5.0), (20.0, 15.0)]);
        assert_eq!(script.events().len(), events, "{seconds}");
    }
}

#[test]
fn a_passage_ends_within_the_margin_no_sooner_than_any_stay() {
    // The later fix is 11 m outside, the margin 20 m: the vehicle may be on the fence's edge still.
    let through = [(0.0, -5.0), (15.1, 10.1)];
    let mut back = Script::new(Rules::default());
    back.drive(&through);
    assert_eq!(back.events(), ["entry@5i"]);
    back.drive(&[(20.0, 5.0), (30.0, 15.0)]);
    assert_eq!(back.events(), ["entry@5i", "exit@25"]);
    assert_eq!(visits(&back).len(), 1);
    // From the entry 10.1 thousandths east, back to 5, and to the exit at 10; two fixes saw the stay.
    let analytics = back.geofence_events()[1].analytics.expect("exits have analytics");
    assert_eq!((analytics.duration_seconds, analytics.fix_count), (20.0, 2));
    assert!((analytics.distance_meters - 20.2 * 111.319_5).abs() < 0.5, "{}", analytics.distance_meters);

    let mut on = Script::new(Rules::default());
    on.drive(&through).drive(&[(20.1, 15.1)]);
    assert_eq!(on.events(), ["entry@5i", "exit@15i"]);
    assert_eq!(on.geofence_events()[1].fix.recorded_at, at(15.1));
    // A fix that saw it beyond the margin at once finds the same entry.
    let mut straight = Script::new(Rules::EXACT);
    straight.fences[0].versions[0].rules = PASSING;
    straight.drive(&through);
    let ids = |script: &Script| script.geofence_events().iter().map(|event| event.id).collect::<Vec<_>>();
    assert_eq!(ids(&straight), ids(&on));
}

#[test]
fn a_passage_waits_for_its_exit_as_long_as_any_stay() {
    let mut script = Script::new(Rules { min_outside_seconds: 15.0, ..PASSING });
    script.drive(&[(0.0, -5.0), (20.0, 15.0), (34.9, 15.0)]);
    assert_eq!(script.events(), ["entry@5i"]);
    let text = serde_json::to_string(&script.state).unwrap();
    assert_eq!(serde_json::from_str::<waypost_actors::tracking::VehicleState>(&text).unwrap(), script.state);
    script.drive(&[(35.0, 15.0)]);
    assert_eq!(script.events(), ["entry@5i", "exit@15i"]);
    assert_eq!(script.effects.visits.last().unwrap().exit.unwrap().1, at(15.0));
}

#[test]
fn a_way_back_through_the_fence_breaks_an_exit_that_waits() {
    let waiting = Rules { min_outside_seconds: 60.0, ..PASSING };
    let track = [(0.0, 5.0), (10.0, 15.0), (30.0, -5.0), (70.0, -5.0), (90.0, -5.0)];
    let mut script = Script::new(waiting);
    script.drive(&track[..4]);
    assert_eq!(script.events(), ["entry@0"]);
    script.drive(&track[4..]);
    // In again at 15 s and out at 25 s, seen by no fix.
    assert_eq!(script.events(), ["entry@0", "exit@25i"]);
    let mut blind = Script::new(Rules { infer_passages: false, ..waiting });
    blind.drive(&track);
    assert_eq!(blind.events(), ["entry@0", "exit@5"]);
}

#[test]
fn a_passage_after_an_exit_is_a_visit_of_its_own() {
    let mut script = Script::new(PASSING);
    script.drive(&[(0.0, 5.0), (10.0, 15.0), (30.0, -5.0)]);
    assert_eq!(script.events(), ["entry@0", "exit@5", "entry@15i", "exit@25i"]);
    assert_eq!(visits(&script).len(), 2);
}

#[test]
fn nothing_passes_over_a_gap_or_faster_than_the_vehicle_goes() {
    for (seconds, limit, events) in
        [(600.0, None, 2), (600.001, None, 0), (33.0, Some(250.0), 2), (32.0, Some(250.0), 0)]
    {
        let mut script = Script::new(PASSING);
        script.vehicle.limits =
            VehicleLimits { max_speed_kmh: limit, max_accuracy_meters: None, overspeed_kmh: None };
        // 20 thousandths are 2,224 m on the sphere: 242.6 km/h in 33 s, 250.2 km/h in 32 s.
        script.drive(&[(0.0, -5.0), (seconds, 15.0), (seconds + 0.01, 15.0)]);
        assert_eq!(script.events().len(), events, "{seconds} {limit:?}");
        assert!(
            script.geofence_events().iter().all(|event| event.kind != EventKind::Dwell && event.inferred)
        );
    }
}
