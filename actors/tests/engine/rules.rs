//! The rules of docs/tracking.md, one by one.

use waypost_actors::model::{
    Cause, EventKind, Fence, FenceVersion, Fix, GeofenceId, Place, Rules, Timestamp, VehicleLimits,
};
use waypost_actors::tracking::{Freshness, NearSpan, Quarantine, VehicleState, catch_up, settle_change};

use crate::script::{Script, at, square, version};

#[test]
fn entry_and_exit_where_the_way_crosses_the_boundary() {
    let mut script = Script::new(Rules::EXACT);
    script.drive(&[(0.0, -5.0), (10.0, 5.0), (20.0, 15.0)]);
    assert_eq!(script.events(), ["entry@5", "exit@15"]);
    let [entry, exit] = &script.geofence_events()[..] else { panic!() };
    assert!((entry.location.longitude - 0.0).abs() < 1e-9 && (exit.location.longitude - 0.01).abs() < 1e-9);
    assert_eq!((entry.time_uncertainty_seconds, entry.fix.recorded_at), (5.0, at(10.0)));
    assert_eq!((entry.cause, entry.visit_id), (Cause::Crossing, exit.visit_id));
    assert_ne!(entry.id, exit.id);
    assert_eq!(script.effects.visits.last().unwrap().exit, Some((exit.id, exit.occurred_at)));
}

#[test]
fn the_first_fix_inside_is_an_initial_entry() {
    let mut script = Script::new(Rules::EXACT);
    script.drive(&[(0.0, 0.0)]);
    assert_eq!(script.events(), ["entry@0"]);
    assert_eq!(script.geofence_events()[0].cause, Cause::Initial);
}

#[test]
fn over_a_gap_nothing_is_interpolated_or_inferred() {
    let mut script = Script::new(Rules { exit_margin_meters: 0.0, ..Rules::default() });
    script.drive(&[(0.0, -5.0), (601.0, 5.0), (1300.0, 15.0), (2000.0, -5.0)]);
    assert_eq!(script.events(), ["entry@601", "exit@1300"]);
    assert_eq!(script.geofence_events()[0].time_uncertainty_seconds, 601.0);
}

#[test]
fn jitter_within_the_margin_is_no_exit() {
    let mut script = Script::new(Rules::default());
    // 0.1 thousandths are 11 m; the margin is 20 m.
    script.drive(&[(0.0, 5.0), (10.0, 10.1), (20.0, 9.9), (30.0, 10.15), (40.0, 10.1), (50.0, 12.0)]);
    assert_eq!(script.events().len(), 2);
    let exit = &script.geofence_events()[1];
    // The boundary was crossed for good between the fixes of 20 s and 30 s.
    assert_eq!((exit.kind, exit.fix.recorded_at), (EventKind::Exit, at(30.0)));
    assert!((24.0 - exit.occurred_at.seconds_since(at(0.0))).abs() < 0.01, "{}", exit.occurred_at);
}

#[test]
fn a_poor_accuracy_widens_the_margin_but_not_beyond_200_metres() {
    let mut script = Script::new(Rules::default());
    script.drive(&[(0.0, 5.0)]);
    for (seconds, east, accuracy) in [(10.0, 11.0, 150.0), (20.0, 11.7, 195.0), (30.0, 11.9, 5000.0)] {
        let mut fix = Fix::new(at(seconds), script.now, Place::new(0.005, east / 1000.0));
        fix.accuracy_meters = Some(accuracy);
        script.fix(fix);
        // 111 m and 189 m are within 150 and 195 m; 211 m is beyond 200 m, whatever the accuracy says.
        assert_eq!(script.events().len(), if seconds < 30.0 { 1 } else { 2 }, "{seconds}");
    }
}

#[test]
fn minimum_times_confirm_and_broken_candidates_leave_nothing() {
    let rules = Rules { min_inside_seconds: 15.0, min_outside_seconds: 15.0, ..Rules::EXACT };
    let mut script = Script::new(rules);
    script.drive(&[(0.0, -5.0), (10.0, 5.0), (20.0, -5.0), (30.0, 5.0), (40.0, 6.0)]);
    assert_eq!(script.events(), Vec::<String>::new());
    script.drive(&[(45.0, 6.0)]);
    assert_eq!(script.events(), ["entry@25"]);
    assert_eq!(script.geofence_events()[0].fix.recorded_at, at(30.0));
    script.drive(&[(50.0, 14.0), (60.0, 6.0), (70.0, 14.0), (84.0, 15.0)]);
    assert_eq!(script.events().len(), 1);
    script.drive(&[(85.0, 15.0)]);
    assert_eq!(script.events(), ["entry@25", "exit@65"]);
}

#[test]
fn a_passage_between_two_outside_fixes_is_inferred() {
    let mut script = Script::new(Rules::default());
    script.drive(&[(0.0, -5.0), (20.0, 15.0)]);
    assert_eq!(script.events(), ["entry@5i", "exit@15i"]);
    let fixes: Vec<_> = script.geofence_events().iter().map(|event| event.fix.recorded_at).collect();
    assert_eq!(fixes, [at(20.0), at(20.0)]);
    assert_eq!(script.geofence_events()[0].visit_id, script.geofence_events()[1].visit_id);
    // Switched off, or after leaving by the margin, there is none.
    let mut off = Script::new(Rules { infer_passages: false, ..Rules::default() });
    assert!(off.drive(&[(0.0, -5.0), (20.0, 15.0)]).events().is_empty());
}

#[test]
fn a_corner_cut_shorter_than_ten_metres_is_no_passage() {
    let mut script = Script::new(Rules::default());
    // Across the corner (0, 0): the chord is 0.00005° · √2, about 8 m.
    for (seconds, place) in [(0.0, Place::new(0.00105, -0.001)), (20.0, Place::new(-0.001, 0.00105))] {
        script.fix(Fix::new(at(seconds), script.now, place));
    }
    assert!(script.events().is_empty(), "{:?}", script.events());
}

#[test]
fn duplicates_and_members_that_come_later() {
    let mut script = Script::new(Rules::EXACT);
    script.drive(&[(0.0, 5.0), (0.0, 5.0)]);
    assert_eq!((script.effects.duplicates, script.effects.rows.len()), (1, 1));
    let mut with_more = Fix::new(at(0.0), script.now, Place::new(0.005, 0.005));
    with_more.ignition = Some(true);
    script.fix(with_more);
    assert_eq!(script.standings()[1], (None, Freshness::Repeat));
    assert_eq!(script.state.last.unwrap().ignition, Some(true));
    assert_eq!(script.events().len(), 1);
}

#[test]
fn of_two_places_at_one_instant_the_choice_never_depends_on_arrival() {
    let place = |latitude: f64, accuracy| Fix {
        accuracy_meters: accuracy,
        ..Fix::new(at(0.0), at(0.0), Place::new(latitude, 0.005))
    };
    for (first, second, late) in [
        (place(0.005, None), place(0.004, None), true),
        (place(0.004, None), place(0.005, None), false),
        (place(0.004, None), place(0.005, Some(9.0)), true),
        (place(0.004, Some(5.0)), place(0.003, Some(9.0)), false),
    ] {
        let mut script = Script::new(Rules::EXACT);
        script.fix(first);
        script.fix(second);
        assert_eq!(script.standings()[1], (None, Freshness::Recheck { late }), "{first:?} {second:?}");
        assert_eq!(script.state.last, Some(first));
    }
}

#[test]
fn late_fixes_are_stored_and_not_evaluated() {
    let mut script = Script::new(Rules::EXACT);
    script.drive(&[(10.0, -5.0), (5.0, 5.0), (20.0, -5.0)]);
    assert!(script.events().is_empty());
    assert_eq!(script.standings()[1], (None, Freshness::Recheck { late: true }));
}

#[test]
fn fixes_from_the_future_are_stored_and_not_evaluated() {
    let mut script = Script::new(Rules::EXACT);
    script.now = at(0.0);
    script.drive(&[(120.5, 5.0), (120.0, 5.0)]);
    assert_eq!(
        script.standings(),
        [(Some(Quarantine::Future), Freshness::Recheck { late: false }), (None, Freshness::Fresh)]
    );
    assert_eq!(script.events(), ["entry@120"]);
}

#[test]
fn a_fix_dated_ahead_is_looked_for_once_its_time_has_come() {
    let mut script = Script::new(Rules::EXACT);
    script.now = at(0.0);
    script.drive(&[(500.0, 5.0), (100.0, 5.0)]);
    script.now = at(600.0);
    script.drive(&[(400.0, 5.0), (500.0, 5.0), (600.0, 5.0)]);
    let perhaps_stored = Freshness::Recheck { late: false };
    let standings = [perhaps_stored, Freshness::Fresh, Freshness::Fresh, perhaps_stored, Freshness::Fresh];
    assert_eq!(script.standings().iter().map(|(_, standing)| *standing).collect::<Vec<_>>(), standings);
}

/// Which were dated ahead, nobody knows any more.
#[test]
fn behind_a_state_that_was_lost_each_fix_of_a_day_is_looked_for() {
    let mut script = Script::new(Rules::EXACT);
    // Its correction has come to the present.
    script.state = VehicleState { corrected_to: Timestamp::MIN, ..VehicleState::lost(at(120.0)) };
    script.now = at(100_000.0);
    script.drive(&[(600.0, 5.0), (86_520.0, 5.0), (86_521.0, 5.0)]);
    let perhaps_stored = Freshness::Recheck { late: false };
    let standings = [perhaps_stored, perhaps_stored, Freshness::Fresh];
    assert_eq!(script.standings().iter().map(|(_, standing)| *standing).collect::<Vec<_>>(), standings);
}

#[test]
fn an_impossible_jump_counts_only_when_the_next_fix_confirms_it() {
    let limits =
        VehicleLimits { max_speed_kmh: Some(250.0), max_accuracy_meters: Some(200.0), overspeed_kmh: None };
    let mut script = Script::new(Rules::EXACT);
    script.vehicle.limits = limits;
    // A single outlier inside the fence, 100 km away from where the vehicle is before and after.
    script.drive(&[(0.0, 1000.0), (10.0, 5.0), (20.0, 1000.5)]);
    assert!(script.events().is_empty() && script.effects.confirmed.is_empty());
    assert_eq!(script.standings()[1].0, Some(Quarantine::Speed));
    // Two fixes that agree: the vehicle was ferried.
    script.drive(&[(30.0, 5.0), (40.0, 5.5)]);
    assert_eq!(script.effects.confirmed.len(), 1);
    assert_eq!(script.events().len(), 1);
    assert_eq!(script.geofence_events()[0].fix.recorded_at, at(30.0));
}

#[test]
fn a_fence_made_around_a_parked_vehicle_is_an_entry_at_that_instant() {
    let mut script = Script::with(vec![]);
    script.fences.clear();
    script.drive(&[(0.0, 5.0)]);
    let organization_id = script.vehicle.organization_id;
    let id = GeofenceId(uuid::Uuid::from_u128(3));
    script.fences.push(Fence { id, organization_id, name: "F".into(), versions: vec![] });
    let made =
        FenceVersion { changed_at: at(100.0), effective_from: Some(at(100.0)), ..version(1, Rules::EXACT) };
    script.change(made);
    assert_eq!(script.events(), ["entry@100"]);
    assert_eq!(script.geofence_events()[0].cause, Cause::GeofenceCreated);
    // Settling again, or going on inside, changes nothing.
    script.run(|state, context, effects| settle_change(state, NearSpan::since(at(100.0)), context, effects));
    script.drive(&[(110.0, 6.0)]);
    assert_eq!(script.events().len(), 1);
}

#[test]
fn a_fence_changed_and_deleted_around_a_parked_vehicle() {
    let mut script = Script::new(Rules::EXACT);
    script.drive(&[(0.0, 5.0)]);
    let at_instant = |number, seconds| FenceVersion {
        changed_at: at(seconds),
        effective_from: Some(at(seconds)),
        ..version(number, Rules::EXACT)
    };
    script.change(FenceVersion { shape: square(1.0, 1.0, 0.01), ..at_instant(2, 50.0) });
    script.change(at_instant(3, 60.0));
    script.change(FenceVersion { active: false, deleted: true, ..at_instant(4, 70.0) });
    let causes: Vec<Cause> = script.geofence_events().iter().map(|event| event.cause).collect();
    assert_eq!(script.events(), ["entry@0", "exit@50", "entry@60", "exit@70"]);
    assert_eq!(
        causes,
        [Cause::Initial, Cause::GeofenceChanged, Cause::GeofenceChanged, Cause::GeofenceDeleted]
    );
    assert!(script.state.stays.is_empty());
    let versions: Vec<i64> = script.geofence_events().iter().map(|event| event.geofence_version).collect();
    assert_eq!(versions, [1, 2, 3, 4]);
}

#[test]
fn a_fix_that_meets_a_newer_version_settles_it_first() {
    let mut script = Script::new(Rules::EXACT);
    script.drive(&[(0.0, 5.0)]);
    let gone = FenceVersion {
        active: false,
        changed_at: at(50.0),
        effective_from: Some(at(50.0)),
        ..version(2, Rules::EXACT)
    };
    // Published, but the vehicle notices only with its next fix; a fix recorded before is judged by the old one.
    script.fences[0].versions.push(gone);
    script.drive(&[(40.0, 6.0)]);
    assert_eq!(script.events(), ["entry@0"]);
    script.drive(&[(60.0, 6.0)]);
    assert_eq!(script.events(), ["entry@0", "exit@50"]);
    assert_eq!(script.geofence_events()[1].cause, Cause::GeofenceDeleted);
}

#[test]
fn a_stay_begun_by_a_change_never_ends_before_it_began() {
    let mut script = Script::new(Rules::EXACT);
    script.drive(&[(0.0, 5.0)]);
    let elsewhere = |number, seconds, shape| FenceVersion {
        changed_at: at(seconds),
        effective_from: Some(at(seconds)),
        shape,
        ..version(number, Rules::EXACT)
    };
    // Gone at 4 s, back at 8 s; the way from 0 s to 10 s crosses the boundary half-way, and is gone from 8 s on.
    script.change(elsewhere(2, 4.0, square(1.0, 1.0, 0.01)));
    script.change(elsewhere(3, 8.0, square(0.0, 0.0, 0.01)));
    script.drive(&[(10.0, 15.0)]);
    assert_eq!(script.events(), ["entry@0", "exit@4", "entry@8", "exit@9"]);
}

#[test]
fn an_entry_never_lies_before_its_version_was_in_force() {
    let mut script = Script::new(Rules::EXACT);
    script.drive(&[(0.0, -5.0)]);
    let later = FenceVersion { effective_from: Some(at(8.0)), ..version(2, Rules::EXACT) };
    script.fences[0].versions.push(later);
    script.drive(&[(10.0, 5.0)]);
    assert_eq!(script.events(), ["entry@8"]);
}

#[test]
fn a_version_dated_back_ends_a_stay_before_it_begins_another() {
    let mut script = Script::new(Rules::EXACT);
    script.drive(&[(0.0, 5.0)]);
    // In force since before the last fix, and not settled: the next fix finds it.
    let back = FenceVersion {
        effective_from: Some(at(-5.0)),
        shape: square(0.01, 0.0, 0.01),
        ..version(2, Rules::EXACT)
    };
    script.fences[0].versions.push(back);
    script.drive(&[(10.0, 15.0)]);
    assert_eq!(script.events(), ["entry@0", "exit@0", "entry@5"]);
}

#[test]
fn one_dwell_record_per_visit() {
    let mut script = Script::new(Rules { dwell_after_seconds: Some(30.0), ..Rules::EXACT });
    script.drive(&[(0.0, 5.0), (29.0, 5.0), (31.0, 5.0), (90.0, 5.0)]);
    assert_eq!(script.events(), ["entry@0", "dwell@30"]);
}

#[test]
fn a_vehicle_taken_out_of_use_ends_its_stays() {
    let mut script = Script::new(Rules::EXACT);
    script.drive(&[(0.0, 5.0)]);
    script.vehicle.out_of_service.push((at(500.0), Some(at(600.0))));
    script.run(catch_up);
    assert_eq!(script.events(), ["entry@0", "exit@500"]);
    assert_eq!(script.geofence_events()[1].cause, Cause::VehicleDeactivated);
    // Fixes it records meanwhile are kept and do not count; back in service it starts over.
    script.drive(&[(500.0, 5.0), (599.0, 50.0), (600.0, 5.0)]);
    let kept: Vec<_> = script.standings().iter().map(|(quarantine, _)| *quarantine).collect();
    assert_eq!(kept, [None, Some(Quarantine::OutOfService), Some(Quarantine::OutOfService), None]);
    assert_eq!(script.events(), ["entry@0", "exit@500", "entry@600"]);
    assert_eq!(script.geofence_events()[2].cause, Cause::Initial);
}

#[test]
fn the_state_survives_being_written_and_read() {
    let mut script = Script::new(Rules { min_outside_seconds: 60.0, ..Rules::default() });
    script.drive(&[(0.0, 5.0), (10.5, 12.0)]);
    let text = serde_json::to_string(&script.state).unwrap();
    assert_eq!(serde_json::from_str::<VehicleState>(&text).unwrap(), script.state);
    let empty = serde_json::to_string(&VehicleState::default()).unwrap();
    assert_eq!(serde_json::from_str::<VehicleState>(&empty).unwrap(), VehicleState::default());
}
