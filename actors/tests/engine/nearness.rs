//! Whether a vehicle may have been near a fence since an instant (docs/store.md, "Areas"): never no where it was.

use waypost_actors::geofence::FenceTimeline;
use waypost_actors::model::Rules;
use waypost_actors::tracking::VehicleState;

use crate::script::{Script, at};

fn may_have_met(script: &Script, from: f64) -> bool {
    script.state.may_have_met(&FenceTimeline::prepare(&script.fences[0]), at(from))
}

#[test]
fn who_jumped_may_have_been_anywhere_and_who_did_not_was_no_farther_than_it_can_go() {
    // 5.6 km east in a second, and on: no vehicle goes that fast, so nothing bounds where it was.
    let mut jumped = Script::new(Rules::EXACT);
    jumped.drive(&[(0.0, 5.0), (1.0, 55.0), (2.0, 55.1), (3.0, 55.2)]);
    assert!(may_have_met(&jumped, 0.5) && may_have_met(&jumped, 1.0));
    let mut came = Script::new(Rules::EXACT);
    // 5.6 km off all the time; 70 m/s for three seconds and two kilometres do not lead here.
    came.drive(&[(0.0, 55.0), (1.0, 55.1), (2.0, 55.2), (3.0, 55.3)]);
    assert!(!may_have_met(&came, 0.5) && !may_have_met(&came, 1.0));
    // Since an instant after its newest fix it was nowhere.
    assert!(!may_have_met(&jumped, 4.0));
}

#[test]
fn who_was_close_by_may_have_been_there() {
    // 560 m from the fence's edge: within what it can have gone.
    let mut close = Script::new(Rules::EXACT);
    close.drive(&[(0.0, 15.0), (1.0, 15.1), (2.0, 15.2), (3.0, 15.3)]);
    assert!(may_have_met(&close, 0.5));
    // Of its last way it is known where it led.
    for (track, through) in [([(0.0, -5.0), (100.0, 15.0)], true), ([(0.0, 15.0), (100.0, 25.0)], false)] {
        let mut script = Script::new(Rules::EXACT);
        script.drive(&track);
        assert_eq!(may_have_met(&script, 50.0), through, "{track:?}");
    }
}

#[test]
fn an_hour_is_traced() {
    assert!(!VehicleState::is_beyond_trace(at(3_600.0), at(0.0)));
    assert!(VehicleState::is_beyond_trace(at(3_600.001), at(0.0)));
}
