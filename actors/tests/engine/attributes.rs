//! What a report says beside where the vehicle is goes to the row of its fix, and a later report of the same fix adds to
//! it (docs/tracking.md, "Accepting a fix").

use waypost_actors::model::{Attributes, Fix, Place, Rules};
use waypost_actors::tracking::{Freshness, apply_with};

use crate::script::{Script, at};

fn said(json: &str) -> Attributes {
    Attributes::from_json(json).expect("attributes")
}

/// Reports a fix so many thousandths of a degree east, and returns what becomes of its rows and duplicates.
fn report(script: &mut Script, seconds: f64, east: f64, attributes: &str) -> (Vec<(Freshness, String)>, u64) {
    let fix = Fix::new(at(seconds), script.now, Place::new(0.005, east / 1000.0));
    let (rows, duplicates) = (script.effects.rows.len(), script.effects.duplicates);
    let attributes = said(attributes);
    script.run(|state, context, effects| apply_with(state, fix, Some(&attributes), context, effects));
    let told = script.effects.rows[rows..].iter().map(|row| {
        assert_eq!(row.fix.place, fix.place);
        (row.freshness, row.attributes.as_ref().map_or_else(String::new, |known| known.as_json().to_owned()))
    });
    (told.collect(), script.effects.duplicates - duplicates)
}

fn kept(script: &Script) -> Option<&str> {
    script.state.attributes.as_ref().map(Attributes::as_json)
}

#[test]
fn a_second_report_adds_attributes_and_a_third_one_of_the_same_is_a_duplicate() {
    let mut script = Script::new(Rules::EXACT);
    let row = |freshness, json: &str| vec![(freshness, json.to_owned())];
    let (rpm, both) = (r#"{"rpm":900}"#, r#"{"door":true,"rpm":900}"#);
    assert_eq!(report(&mut script, 0.0, 1.0, rpm), (row(Freshness::Fresh, rpm), 0));
    assert_eq!(kept(&script), Some(rpm));
    assert_eq!(report(&mut script, 0.0, 1.0, rpm), (vec![], 1));
    let door = r#"{"door":true}"#;
    assert_eq!(report(&mut script, 0.0, 1.0, door), (row(Freshness::Repeat, door), 0));
    assert_eq!(kept(&script), Some(both));
    assert_eq!(report(&mut script, 0.0, 1.0, door), (vec![], 1));
}

#[test]
fn what_the_newest_fix_says_is_kept_and_what_a_late_one_says_is_not() {
    let mut script = Script::new(Rules::EXACT);
    report(&mut script, 60.0, 2.0, r#"{"rpm":900}"#);
    let (rows, _) = report(&mut script, 0.0, 1.0, r#"{"rpm":800}"#);
    assert_eq!(rows, [(Freshness::Recheck { late: true }, r#"{"rpm":800}"#.to_owned())]);
    assert_eq!(kept(&script), Some(r#"{"rpm":900}"#));
    // Neither is what another place at the newest instant says, that does not count.
    report(&mut script, 60.0, 3.0, r#"{"rpm":700}"#);
    assert_eq!(kept(&script), Some(r#"{"rpm":900}"#));
    // A fix that says nothing leaves nothing of the one before it.
    script.drive(&[(90.0, 3.0)]);
    assert_eq!(kept(&script), None);
}
