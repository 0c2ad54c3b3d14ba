//! A late fix early in a long trip: what lies behind its window gets the new sums, in records, checkpoints and states.

use std::sync::Arc;

use waypost::store::track::Track;
use waypost_actors::geofence::FenceSet;
use waypost_actors::model::{Fix, Place, Vehicle, VehicleLimits};
use waypost_actors::ports::{TrackStore, VehicleWrite};
use waypost_actors::tracking::{
    Checkpoint, Context, Detail, Effects, Meanwhile, Record, RecordKind, VehicleState, apply, correct,
};
use waypost_test_support::{TestStore, for_each_engine};

use crate::fleet::{ORGANIZATION, VEHICLE, at, commit, log, stand};

for_each_engine!(what_lies_behind_a_window_is_put_right);

fn vehicle() -> Vehicle {
    Vehicle {
        id: VEHICLE,
        organization_id: ORGANIZATION,
        name: "Bus 1".into(),
        limits: VehicleLimits { max_speed_kmh: Some(250.0), max_accuracy_meters: None, overspeed_kmh: None },
        out_of_service: Vec::new(),
        calibrations: Vec::new(),
    }
}

/// Each 10 s a fix: a trip of 1,600 fixes at 36 km/h, and a stop.
fn day() -> Vec<Fix> {
    let fix = |number: i64| {
        let (meters, kmh) = if number < 1_600 { (number * 100, 36.0) } else { (160_000, 0.0) };
        let place = Place::new(30.0 + meters as f64 / 110_850.0, -97.0);
        Fix { speed_kmh: Some(kmh), ..Fix::new(at(number * 10), at(number * 10 + 1), place) }
    };
    (0..1_650).map(fix).collect()
}

fn step(state: &mut VehicleState, fixes: &[Fix]) -> VehicleWrite {
    let (vehicle, fences) = (vehicle(), FenceSet::new(Vec::new()));
    let context = Context { vehicle: &vehicle, fences: &fences, detected_at: at(100_000) };
    let mut effects = Effects::default();
    for fix in fixes {
        apply(state, *fix, &context, &mut effects);
    }
    write(state, effects)
}

fn write(state: &VehicleState, effects: Effects) -> VehicleWrite {
    let (effects, state, judged_at) = (Box::new(effects), Arc::new(state.clone()), at(100_000));
    VehicleWrite { vehicle_id: VEHICLE, organization_id: ORGANIZATION, effects, state, judged_at }
}

async fn correct_all(track: &Track, state: &mut VehicleState) {
    let (vehicle, fences) = (vehicle(), FenceSet::new(Vec::new()));
    let context = Context { vehicle: &vehicle, fences: &fences, detected_at: at(100_000) };
    let slice = track.slice(VEHICLE).await.expect("read").expect("it is dirty");
    let corrected = correct(&slice, &Meanwhile::default(), &context);
    assert!(corrected.correction.until.is_some_and(|until| until < at(6_000)), "its window is short");
    *state = corrected.live(state);
    let effects = Effects { correction: Some(Box::new(corrected.correction)), ..Effects::default() };
    commit(track, vec![write(state, effects)]).await;
}

fn ended(records: &[Record]) -> (i64, Detail) {
    let is_trip = |record: &&Record| record.kind() == RecordKind::Trip && record.ended_at.is_some();
    let trip = records.iter().find(is_trip).expect("a trip that ended");
    (trip.revision, trip.detail.clone())
}

async fn what_lies_behind_a_window_is_put_right(store: TestStore) {
    let track = stand(&store).await;
    let mut late = day()[20];
    late.recorded_at = late.recorded_at.plus_seconds(4.0);
    late.place.latitude += 0.001;
    let mut whole = day();
    whole.insert(21, late);
    let mut in_order = VehicleState::default();
    let expected = step(&mut in_order, &whole);

    let mut state = VehicleState::default();
    for part in day().chunks(50) {
        let written = step(&mut state, part);
        commit(&track, vec![written]).await;
    }
    let written = step(&mut state, &[late]);
    commit(&track, vec![written]).await;
    correct_all(&track, &mut state).await;

    assert_eq!(ended(&log(&track).await), (3, ended(&expected.effects.records).1));
    assert_eq!(state.journey, in_order.journey);
    // The next one begins with a checkpoint behind the window, and finds the sums that it needs.
    let mut other = day()[1_520];
    other.recorded_at = other.recorded_at.plus_seconds(4.0);
    let written = step(&mut state, &[other]);
    commit(&track, vec![written]).await;
    let slice = track.slice(VEHICLE).await.expect("read").expect("it is dirty");
    let Checkpoint { at: kept, state: begins } = slice.checkpoint.expect("kept");
    assert_eq!(kept, at(14_990));
    let mut until_then = VehicleState::default();
    step(&mut until_then, &whole[..=1_500]);
    assert_eq!(begins.journey, until_then.journey);
}
