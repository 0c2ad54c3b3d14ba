//! The order of what one way makes of several fences: by instant; at one instant exits before entries, then by fence
//! (docs/tracking.md, "Entries and exits").

use waypost_actors::model::{Event, Fence, GeofenceId, Rules};

use crate::script::{Script, square, version};

/// Fences by number, each from so many thousandths of a degree east for ten.
fn fences(of: &[(u128, f64)]) -> Script {
    let mut script = Script::new(Rules::EXACT);
    let like = script.fences[0].clone();
    script.fences = of
        .iter()
        .map(|(number, west)| {
            let mut first = version(1, Rules::EXACT);
            first.shape = square(west / 1000.0, 0.0, 0.01);
            Fence { id: GeofenceId(uuid::Uuid::from_u128(*number)), versions: vec![first], ..like.clone() }
        })
        .collect();
    script
}

/// The events of the last way, each with its fence.
fn last_way(script: &mut Script, track: &[(f64, f64)]) -> Vec<String> {
    let word = |event: &Event| format!("{} {}", event.kind.as_str(), event.geofence_id.0.as_u128());
    let (last, before) = track.split_last().expect("a way");
    script.drive(before);
    let known = script.geofence_events().len();
    script.drive(&[*last]);
    script.geofence_events()[known..].iter().map(word).collect()
}

#[test]
fn what_comes_first_on_the_way_is_told_first() {
    // Into two fences, and then out of the one it was in.
    let mut script = fences(&[(3, -2.0), (2, 4.0), (1, 2.0)]);
    assert_eq!(last_way(&mut script, &[(0.0, 1.0), (10.0, 10.0)]), ["entry 1", "entry 2", "exit 3"]);
}

#[test]
fn at_one_instant_exits_come_before_entries_and_then_it_goes_by_fence() {
    // Two pairs side by side: what it leaves ends where what it enters begins.
    for numbers in [[1, 2, 3, 4], [4, 3, 2, 1], [3, 1, 4, 2]] {
        let [a, b, c, d] = numbers;
        let mut script = fences(&[(a, -10.0), (b, -10.0), (c, 0.0), (d, 0.0)]);
        let told = last_way(&mut script, &[(0.0, -5.0), (10.0, 5.0)]);
        let (out, into) = ((a.min(b), a.max(b)), (c.min(d), c.max(d)));
        let expected = [("exit", out.0), ("exit", out.1), ("entry", into.0), ("entry", into.1)];
        assert_eq!(told, expected.map(|(kind, number)| format!("{kind} {number}")));
    }
}
