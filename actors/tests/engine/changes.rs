//! Fences that change while fixes are on their way: the records still add up.

use std::collections::{HashMap, HashSet};

use waypost_actors::model::{
    Cause, Event, EventKind, FenceVersion, Fix, Place, Rules, Timestamp, VehicleLimits,
};
use waypost_actors::tracking::{Freshness, NearSpan, RecordKind, settle_change};

use crate::late::Life;
use crate::script::{Script, at, square, version};
use crate::timelines::{Dated, Step, THE_END};

/// A version made at an instant, in force from then on.
fn made(number: i64, seconds: f64) -> FenceVersion {
    FenceVersion {
        changed_at: at(seconds),
        effective_from: Some(at(seconds)),
        ..version(number, Rules::EXACT)
    }
}

fn deleted(number: i64, seconds: f64) -> FenceVersion {
    FenceVersion { active: false, deleted: true, ..made(number, seconds) }
}

/// Each record once, and no visit that ends before it begins.
fn adds_up(events: &[Event]) {
    let mut ids = HashSet::new();
    assert!(events.iter().all(|event| ids.insert(event.id)), "an id twice: {events:#?}");
    let mut entered: HashMap<_, Timestamp> = HashMap::new();
    for event in events {
        match event.kind {
            EventKind::Entry => assert!(entered.insert(event.visit_id, event.occurred_at).is_none()),
            EventKind::Exit => assert!(entered[&event.visit_id] <= event.occurred_at, "{events:#?}"),
            EventKind::Dwell => {}
        }
    }
}

#[test]
fn a_late_fix_newer_than_all_stored_ones_marks_its_vehicle_too() {
    let mut script = Script::new(Rules::EXACT);
    script.drive(&[(0.0, 5.0)]).change(deleted(2, 50.0));
    // Recorded before the deletion, which stands on the timeline already.
    script.drive(&[(45.0, 6.0)]);
    assert_eq!(script.standings()[1], (None, Freshness::Recheck { late: true }));
    assert_eq!(script.events(), ["entry@0", "exit@50"]);
}

#[test]
fn a_suspect_that_a_fence_change_overtook_is_not_judged_behind_it() {
    let mut script = Script::new(Rules::EXACT);
    script.vehicle.limits =
        VehicleLimits { max_speed_kmh: Some(25.0), max_accuracy_meters: None, overspeed_kmh: None };
    // The suspect of 10 s agrees with the fix of 55 s, but the fence that both are in was created in between.
    script.drive(&[(9.0, 1.0), (10.0, 9.0)]).change(deleted(2, 50.0)).drive(&[(55.0, 9.1)]);
    assert_eq!(script.effects.confirmed, [], "what is not judged stays quarantined");
    assert_eq!(script.events(), ["entry@9", "exit@50"]);
    adds_up(&script.geofence_events());
}

#[test]
fn an_exit_in_the_instant_of_the_dwell_is_behind_it() {
    let mut script = Script::new(Rules { dwell_after_seconds: Some(54.0), ..Rules::EXACT });
    script.vehicle.limits =
        VehicleLimits { max_speed_kmh: Some(200.0), max_accuracy_meters: None, overspeed_kmh: None };
    // The suspect of 54 s on the boundary is believed at 74 s: dwell and exit come in one step.
    script.drive(&[(0.0, 5.0), (48.0, 1.0), (54.0, 10.0), (74.0, 15.0)]);
    assert_eq!(script.events(), ["entry@0", "dwell@54", "exit@54"]);
}

#[test]
fn a_version_that_a_later_one_overruled_never_takes_effect() {
    let mut script = Script::new(Rules::EXACT);
    script.now = at(60.0);
    script.drive(&[(0.0, 5.0)]);
    // Planned for 100 s, and withdrawn at 50 s.
    let planned = FenceVersion { changed_at: at(20.0), shape: square(1.0, 1.0, 0.01), ..made(2, 100.0) };
    script.change(planned).change(made(3, 50.0));
    script.drive(&[(90.0, 6.0), (110.0, 7.0)]);
    assert_eq!(script.events(), ["entry@0"]);
}

#[test]
fn an_exit_never_comes_before_the_change_that_made_the_entry() {
    let mut script = Script::with(vec![made(1, 15.0)]);
    // Last seen at 10 s where the fence is made at 15 s; out of it, by the way, at 12 s.
    script.drive(&[(10.0, 8.0), (20.0, 18.0)]);
    // It was where it was last seen when the fence was made, and has been on its way out since.
    assert_eq!(script.events(), ["entry@15", "exit@16"]);
    let exit = &script.geofence_events()[1];
    assert!((exit.location.longitude - 0.01).abs() < 1e-9, "{:?}", exit.location);
    assert_eq!((exit.time_uncertainty_seconds, exit.analytics.unwrap().duration_seconds), (2.5, 1.0));
    assert_eq!(script.geofence_events()[0].cause, Cause::GeofenceCreated);
    adds_up(&script.geofence_events());
}

#[test]
fn an_entry_never_comes_before_its_fence_was_in_force() {
    let mut script = Script::with(vec![made(1, 15.0)]);
    script.drive(&[(10.0, -2.0), (20.0, 8.0)]);
    assert_eq!(script.events(), ["entry@15"]);
    let entry = &script.geofence_events()[0];
    assert!((entry.location.longitude - 0.003).abs() < 1e-9, "{:?}", entry.location);
}

/// The server's clock is finer than the milliseconds to which crossings are interpolated.
#[test]
fn an_entry_comes_at_the_very_instant_of_the_change_that_it_would_come_before() {
    let instant = Timestamp::from_micros(at(15.0).as_micros() + 400);
    let change = FenceVersion { changed_at: instant, effective_from: Some(instant), ..made(1, 15.0) };
    let mut script = Script::with(vec![change]);
    script.drive(&[(10.0, -2.0), (20.0, 8.0)]);
    assert_eq!(script.geofence_events()[0].occurred_at, instant);
}

#[test]
fn a_stay_judged_anew_by_a_fix_ends_before_the_next_one_begins() {
    let mut script = Script::new(Rules::EXACT);
    script.drive(&[(0.0, 2.0)]);
    // In force always, made later, and met by a fix before the correction that it brings: the vehicle
    // was last seen west of the new shape, and is now inside it.
    let moved = FenceVersion {
        changed_at: at(5.0),
        effective_from: None,
        shape: square(0.003, 0.0, 0.01),
        ..version(2, Rules::EXACT)
    };
    script.fences[0].versions.push(moved);
    script.drive(&[(10.0, 7.0)]);
    assert_eq!(script.events(), ["entry@0", "exit@0", "entry@2"]);
    adds_up(&script.geofence_events());
}

#[test]
fn a_change_of_a_rule_does_not_push_out_who_jitters_within_the_margin() {
    let mut script = Script::new(Rules::default());
    // 0.1 thousandths are 11 m: outside, within the margin of 20 m.
    script.drive(&[(0.0, 5.0), (10.0, 10.1)]);
    let named = Rules { speed_limit_kmh: Some(30.0), ..Rules::default() };
    script.change(FenceVersion { rules: named, ..made(2, 20.0) });
    script.drive(&[(30.0, 9.9)]);
    assert_eq!(script.events(), ["entry@0"]);
    // A smaller margin, though, it is beyond.
    script.drive(&[(40.0, 10.1)]).change(FenceVersion { rules: Rules::EXACT, ..made(3, 50.0) });
    assert_eq!(script.events(), ["entry@0", "exit@50"]);
}

#[test]
fn a_change_of_a_rule_does_not_push_out_who_still_has_to_stay_out_for_longer() {
    let rules = Rules { min_outside_seconds: 15.0, ..Rules::EXACT };
    let mut script = Script::new(rules);
    script.drive(&[(0.0, 5.0), (10.0, 15.0)]);
    let named = Rules { speed_limit_kmh: Some(30.0), ..rules };
    script.change(FenceVersion { rules: named, ..made(2, 20.0) });
    assert_eq!(script.events(), ["entry@0"]);
    script.drive(&[(25.0, 15.0)]);
    assert_eq!(script.events(), ["entry@0", "exit@5"]);
    // Without a waiting time it is out at once.
    let mut script = Script::new(rules);
    script.drive(&[(0.0, 5.0), (10.0, 15.0)]).change(FenceVersion { rules: Rules::EXACT, ..made(2, 20.0) });
    assert_eq!(script.events(), ["entry@0", "exit@20"]);
}

#[test]
fn nothing_passes_through_a_fence_while_it_changes() {
    let passing = Rules { infer_passages: true, ..Rules::EXACT };
    let dated = |number, from| FenceVersion { effective_from: from, ..version(number, passing) };
    // The second version is in force on the whole way, but the first one took effect on it.
    let mut script = Script::with(vec![dated(1, Some(at(10.0))), dated(2, None)]);
    assert!(script.drive(&[(0.0, -5.0), (20.0, 15.0)]).events().is_empty());
    let mut script = Script::with(vec![dated(1, Some(at(0.0))), dated(2, None)]);
    assert_eq!(script.drive(&[(0.0, -5.0), (20.0, 15.0)]).events().len(), 2);
}

#[test]
fn two_exits_come_in_the_order_of_their_instants() {
    let mut script = Script::new(Rules::EXACT);
    let wide = FenceVersion { shape: square(0.0, 0.0, 0.012), ..version(1, Rules::EXACT) };
    let mut narrow = script.fences[0].clone();
    (script.fences[0].versions, narrow.id.0) = (vec![wide], uuid::Uuid::from_u128(4));
    script.fences.push(narrow);
    script.drive(&[(0.0, 5.0), (10.0, 15.0)]);
    assert_eq!(script.events()[2..], ["exit@5", "exit@7"]);
}

#[test]
fn settling_twice_records_nothing_twice() {
    let mut script = Script::new(Rules::EXACT);
    script.drive(&[(0.0, 5.0)]).change(deleted(2, 50.0));
    script.run(|state, context, effects| settle_change(state, NearSpan::since(at(50.0)), context, effects));
    script.drive(&[(60.0, 5.0)]);
    adds_up(&script.geofence_events());
    assert_eq!(script.events(), ["entry@0", "exit@50"]);
}

#[test]
fn no_passage_is_inferred_along_an_impossible_jump() {
    let mut script = Script::new(Rules::default());
    script.vehicle.limits =
        VehicleLimits { max_speed_kmh: Some(250.0), max_accuracy_meters: None, overspeed_kmh: None };
    // From 55 km west to 55 km east of the fence within ten seconds; the next fix confirms it.
    script.drive(&[(0.0, -500.0), (10.0, 500.0), (20.0, 500.1)]);
    assert_eq!(script.effects.confirmed.len(), 1);
    assert!(script.events().is_empty(), "{:?}", script.events());
}

#[test]
fn a_passage_begins_before_it_ends_even_within_a_millisecond() {
    let mut script = Script::new(Rules::default());
    for (millis, east) in [(0.0, -5.0), (0.001, 35.0)] {
        script.fix(Fix::new(at(millis), script.now, Place::new(0.005, east / 1000.0)));
    }
    let kinds: Vec<EventKind> = script.geofence_events().iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::Entry, EventKind::Exit]);
    assert_eq!(script.events(), ["entry@0i", "exit@0i"]);
}

#[test]
fn a_version_at_the_very_instant_of_a_fix_comes_before_it() {
    // Known before: settled against the fix before it.
    let off = FenceVersion { active: false, ..version(1, Rules::EXACT) };
    let mut script =
        Script::with(vec![off, FenceVersion { effective_from: Some(at(20.0)), ..made(2, 20.0) }]);
    script.drive(&[(0.0, 5.0), (20.0, 6.0)]);
    assert_eq!(script.events(), ["entry@20"]);
    assert_eq!(script.geofence_events()[0].fix.recorded_at, at(0.0));
    // Known afterwards: that fix awaits a correction.
    let late = |seconds| {
        let mut script = Script::new(Rules::EXACT);
        script.drive(&[(0.0, -5.0), (20.0, 5.0)]).change(made(2, seconds));
        script.effects.late.map(|mark| (mark.from, mark.until))
    };
    assert_eq!([20.0, 20.001].map(late), [Some((at(20.0), at(20.0))), None]);
}

#[test]
fn who_goes_out_of_service_enters_nothing_at_that_instant() {
    let off = FenceVersion { active: false, ..version(1, Rules::EXACT) };
    let mut script = Script::with(vec![off, made(2, 20.0)]);
    script.vehicle.limits.max_speed_kmh = Some(250.0);
    script.drive(&[(0.0, 5.0), (10.0, 500.0)]);
    assert!(script.state.suspect.is_some());
    script.vehicle.out_of_service = vec![(at(20.0), None)];
    script.run(|state, context, effects| settle_change(state, NearSpan::since(at(20.0)), context, effects));
    assert!(script.events().is_empty() && script.state.suspect.is_none());
    // A fix stored while it was out of service is judged once it turns out that it was not.
    script.drive(&[(30.0, 5.0)]);
    script.vehicle.out_of_service = vec![(at(20.0), Some(at(25.0)))];
    script.run(|state, context, effects| settle_change(state, NearSpan::since(at(25.0)), context, effects));
    assert_eq!(script.effects.late.map(|mark| (mark.from, mark.until)), Some((at(25.0), at(30.0))));
}

#[test]
fn what_a_correction_has_passed_is_late() {
    let mut script = Script::new(Rules::EXACT);
    script.drive(&[(0.0, -5.0)]);
    script.state.corrected_to = at(50.0);
    script.drive(&[(30.0, 5.0), (50.0, 5.0)]);
    assert!(script.events().is_empty());
    let late = (None, Freshness::Recheck { late: true });
    assert_eq!(script.standings()[1..], [late, late]);
    script.drive(&[(50.001, 5.0)]);
    assert_eq!(script.events().len(), 1);
}

#[test]
fn the_state_is_kept_every_500_fixes() {
    let mut script = Script::new(Rules::EXACT);
    let parked: Vec<_> = (0..1_001).map(|second| (f64::from(second), 5.0)).collect();
    script.drive(&parked);
    let kept: Vec<_> = script.effects.checkpoints.iter().map(|kept| kept.at).collect();
    assert_eq!(kept, [at(499.0), at(999.0)]);
}

/// A part of the past that ends between the fix before a change and the change has nothing of what the change made.
#[test]
fn what_a_change_made_is_confirmed_by_it_and_stands_when_the_past_before_it_is_judged_anew() {
    let deletion = Step::Change {
        fence: 0,
        shape: square(0.0, 0.0, 0.01),
        active: false,
        deleted: true,
        rules: Rules::EXACT,
        dated: Dated::Now,
    };
    for (change, slice) in
        [deletion, Step::Out].iter().flat_map(|change| (1..6).map(move |slice| (change, slice)))
    {
        let fences = Script::new(Rules::EXACT).fences;
        let mut life = Life::new(&fences, None, 100);
        life.slice = slice;
        let report = |fixes: &[(f64, f64)]| {
            let fix = |(seconds, east): &(f64, f64)| {
                Fix::new(at(*seconds), at(THE_END), Place::new(0.005, east / 1000.0))
            };
            Step::Report(fixes.iter().map(fix).collect())
        };
        let on_time = [(0.0, -5.0), (5.0, -5.0), (10.0, 5.0), (20.0, 5.0)];
        life.through(&[(30.0, report(&on_time)), (50.0, change.clone()), (70.0, report(&[(60.0, 5.0)]))]);
        let exit = |life: &Life| {
            let mut exits = life.ledger.records.values().filter(|record| record.kind() == RecordKind::Exit);
            exits.next().map(|exit| (exit.confirmed_at, exit.revision))
        };
        assert_eq!(exit(&life), Some((at(50.0), 1)));
        life.through(&[(80.0, report(&[(2.0, -5.0)]))]);
        assert_eq!(exit(&life), Some((at(50.0), 1)), "{slice} {change:?}");
        life.keeps_the_law();
    }
}
