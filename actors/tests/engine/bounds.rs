//! At the very bound: what counts when an instant, an accuracy or a silence is exactly the limit, and what a waiting
//! fix makes of a correction.

use waypost_actors::model::{
    Cause, Fence, FenceVersion, Fix, GeofenceId, OrganizationId, Origin, Place, Rules, VehicleLimits,
};
use waypost_actors::tracking::{
    Mark, Meanwhile, Quarantine, RecordKind, Slice, StoredFix, checkpoint_at, correct,
};

use crate::late::Life;
use crate::script::{Script, at, version};
use crate::timelines::{Step, THE_END};

const PASSING: Rules = Rules { infer_passages: true, ..Rules::EXACT };

fn limits(max_speed_kmh: Option<f64>, max_accuracy_meters: Option<f64>) -> VehicleLimits {
    VehicleLimits { max_speed_kmh, max_accuracy_meters, overspeed_kmh: None }
}

/// A version made at an instant, in force from then on.
fn made(seconds: f64, rules: Rules) -> FenceVersion {
    FenceVersion { changed_at: at(seconds), effective_from: Some(at(seconds)), ..version(2, rules) }
}

#[test]
fn who_is_on_the_way_out_leaves_with_the_deletion() {
    let rules = Rules { exit_margin_meters: 500.0, ..Rules::EXACT };
    for (is_deleted, events) in [(false, &["entry@0"][..]), (true, &["entry@0", "exit@50"][..])] {
        let mut script = Script::new(rules);
        // 56 m outside, within the margin.
        script.drive(&[(0.0, 5.0), (10.0, 10.5)]);
        script.change(FenceVersion { active: !is_deleted, deleted: is_deleted, ..made(50.0, rules) });
        assert_eq!(script.events(), events);
        let exit = script.geofence_events().into_iter().nth(1);
        assert!(exit.is_none_or(|exit| exit.cause == Cause::GeofenceDeleted));
    }
}

#[test]
fn an_accuracy_of_exactly_the_limit_counts() {
    let mut script = Script::new(Rules::EXACT);
    script.vehicle.limits = limits(None, Some(50.0));
    for (seconds, accuracy) in [(0.0, 50.0), (10.0, 50.1)] {
        let fix = Fix::new(at(seconds), script.now, Place::new(0.005, 0.005));
        script.fix(Fix { accuracy_meters: Some(accuracy), ..fix });
    }
    let quarantines: Vec<_> = script.standings().into_iter().map(|(quarantine, _)| quarantine).collect();
    assert_eq!(quarantines, [None, Some(Quarantine::Accuracy)]);
}

#[test]
fn a_suspect_in_the_instant_of_a_change_is_judged_behind_it() {
    let mut script = Script::new(Rules::EXACT);
    script.vehicle.limits = limits(Some(25.0), None);
    let deletion = FenceVersion { active: false, deleted: true, ..made(10.0, Rules::EXACT) };
    script.drive(&[(9.0, 1.0), (10.0, 9.0)]).change(deletion).drive(&[(55.0, 9.1)]);
    assert_eq!(script.effects.confirmed.iter().map(|fix| fix.recorded_at).collect::<Vec<_>>(), [at(10.0)]);
    assert_eq!(script.events(), ["entry@9", "exit@10"]);
}

#[test]
fn over_a_silence_of_exactly_the_limit_ways_are_interpolated() {
    let rules = Rules { max_gap_seconds: 20.0, ..PASSING };
    let mut script = Script::new(rules);
    script.drive(&[(0.0, -5.0), (20.0, 5.0)]);
    assert_eq!(script.events(), ["entry@10"]);
    let mut script = Script::new(rules);
    script.drive(&[(0.0, -5.0), (20.0, 15.0), (40.001, -5.0)]);
    assert_eq!(script.events(), ["entry@5i", "exit@15i"], "and over a longer one nothing is inferred");
}

#[test]
fn an_exit_in_the_instant_of_a_change_is_where_the_way_crosses() {
    let mut script = Script::new(Rules::EXACT);
    script.drive(&[(0.0, 6.0)]).change(made(4.0, Rules::EXACT)).drive(&[(8.0, 14.0)]);
    assert_eq!(script.events(), ["entry@0", "exit@4"]);
}

/// The first fix counts and the second, 890 m away after a second, waits. What is stored of the second decides whether
/// the state that is stored behind both is theirs.
#[test]
fn a_stored_state_is_agreed_with_only_if_who_waits_in_it_was_a_candidate() {
    let mut script = Script::new(Rules::EXACT);
    script.vehicle.limits = limits(Some(25.0), None);
    let fix = |seconds: f64, east: f64| Fix::new(at(seconds), at(100.0), Place::new(0.005, east / 1000.0));
    let stored = |fix, quarantine| StoredFix { fix, quarantine, attributes: None };
    let (first, waits) = (stored(fix(9.0, 1.0), None), fix(10.0, 9.0));
    script.run(|_, context, _| {
        for (quarantine, agrees) in [
            (Some(Quarantine::Speed), true),
            (None, true),
            (Some(Quarantine::Accuracy), false),
            (Some(Quarantine::OutOfService), false),
        ] {
            let fixes = vec![first.clone(), stored(waits, quarantine)];
            let checkpoint = checkpoint_at(at(20.0), None, &fixes, context);
            assert_eq!(checkpoint.state.suspect.as_deref(), Some(&waits));
            let mark = Mark { from: at(9.0), until: at(9.0), origin: Origin::Backfill };
            let slice = Slice { mark, checkpoint: None, fixes, checkpoints: vec![checkpoint], is_last: true };
            let correction = correct(&slice, &Meanwhile::default(), context).correction;
            assert_eq!(correction.until, agrees.then_some(at(20.0)), "{quarantine:?}");
            let told = (!agrees).then_some((waits, Some(Quarantine::Speed)));
            assert_eq!(correction.quarantines, Vec::from_iter(told), "{quarantine:?}");
        }
    });
}

#[test]
fn a_vehicle_is_in_so_many_fences_and_passes_through_so_many() {
    let fence = |number: usize| Fence {
        id: GeofenceId(uuid::Uuid::from_u128(number as u128 + 1)),
        organization_id: OrganizationId(uuid::Uuid::from_u128(1)),
        name: "F".into(),
        versions: vec![version(1, PASSING)],
    };
    let fences: Vec<Fence> = (0..1_200).map(fence).collect();
    let fix = |second: f64, east: f64| Fix::new(at(second), at(THE_END), Place::new(0.005, east / 1000.0));
    let count = |fixes: &[Fix]| {
        let mut life = Life::new(&fences, None, 50);
        life.through(&[(THE_END, Step::Report(fixes.to_vec()))]);
        life.keeps_the_law();
        let records = life.ledger.active();
        let of = |kind| records.values().filter(|record| record.kind() == kind).count();
        let greatest = records.values().filter_map(|record| Some(record.geofence()?.geofence_id)).max();
        (of(RecordKind::Entry), of(RecordKind::Exit), greatest)
    };
    let most = Some(fences[999].id);
    assert_eq!(count(&[fix(0.0, -5.0), fix(10.0, 5.0)]), (1_000, 0, most));
    assert_eq!(count(&[fix(0.0, -5.0), fix(10.0, 5.0), fix(20.0, 15.0)]), (1_000, 1_000, most));
    assert_eq!(count(&[fix(0.0, -5.0), fix(10.0, 15.0)]), (1_000, 1_000, most));
}
