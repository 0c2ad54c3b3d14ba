//! A second report of a fix may add what the first one lacked. Wherever the engine remembers the fix, it remembers
//! the merged fix, as in-order input would give.

use waypost_actors::model::{Fence, Fix, FuelReading, GeofenceId, OrganizationId, Place, Rules};

use crate::late::Life;
use crate::script::{at, version};
use crate::timelines::{Step, THE_END};

/// Reports these fixes one by one, around a fence entered after ten minutes; `out_at`: out of service from then on.
/// The remembered state is kept at every point.
fn reported(fixes: &[Fix], out_at: Option<f64>) {
    let rules = Rules { min_inside_seconds: 600.0, ..Rules::EXACT };
    let fences = vec![Fence {
        id: GeofenceId(uuid::Uuid::from_u128(3)),
        organization_id: OrganizationId(uuid::Uuid::from_u128(1)),
        name: "F".into(),
        versions: vec![version(1, rules)],
    }];
    let mut schedule = Vec::new();
    for fix in fixes {
        let now = fix.recorded_at.seconds_since(at(0.0)).max(out_at.unwrap_or(0.0));
        schedule.push((now, Step::Report(vec![*fix])));
        if out_at.is_some() && schedule.len() == 1 {
            schedule.push((now, Step::Out));
        }
    }
    for (keeps, correcting) in (1..=fixes.len()).flat_map(|keeps| [(keeps, false), (keeps, true)]) {
        let mut life = Life::new(&fences, Some(250.0), keeps);
        let mut schedule = schedule.clone();
        if correcting && let Some((now, last)) = schedule.pop() {
            // The slice is read before the last report and written after it.
            schedule.extend([(now, Step::Correct { fixes: 9, waits: 2 }), (now, last)]);
        }
        life.through(&schedule);
        life.keeps_the_law();
    }
}

fn seen(seconds: f64, east: f64) -> Fix {
    Fix::new(at(seconds), at(THE_END), Place::new(0.005, east / 1000.0))
}

/// What a second report may add to a fix without changing a record.
fn adding() -> [fn(Fix) -> Fix; 4] {
    [
        |fix| Fix { odometer_km: Some(6.0), ..fix },
        |fix| Fix { ignition: Some(true), ..fix },
        |fix| Fix { altitude_meters: Some(300.0), ..fix },
        |fix| Fix { received_at: fix.received_at.plus_seconds(-1.0), ..fix },
    ]
}

#[test]
fn what_a_second_report_adds_is_kept_though_a_correction_begins_behind_it() {
    let fuel = |fix| Fix { fuel: Some(FuelReading::Liters(40.0)), ..fix };
    for add in adding() {
        let (first, outside) = (seen(0.0, -5.0), seen(30.0, -5.0));
        reported(&[first, outside, add(first), fuel(outside)], Some(10.0));
        reported(&[first, outside, fuel(outside), add(first)], Some(10.0));
        // The newest fix turns out to be inaccurate, so that the one before it is the newest again.
        let inaccurate = Fix { accuracy_meters: Some(400.0), ..outside };
        reported(&[first, outside, add(first), inaccurate], None);
    }
}

#[test]
fn what_an_inaccurate_second_report_adds_is_taken() {
    for add in adding() {
        let first = Fix { accuracy_meters: Some(15.0), ..seen(0.0, -5.0) };
        reported(&[first, add(Fix { accuracy_meters: Some(400.0), ..first })], None);
    }
}

#[test]
fn what_a_second_report_adds_to_a_fix_that_begins_a_visit_is_taken() {
    for add in adding() {
        let inside = seen(20.0, 5.0);
        reported(&[seen(0.0, -5.0), inside, add(inside), seen(40.0, 5.0)], None);
    }
}

#[test]
fn fuel_that_a_second_report_of_a_suspect_adds_is_not_lost_to_a_correction() {
    let (far, again) = (seen(10.0, 300.0), seen(20.0, 300.0));
    let fuelled = Fix { fuel: Some(FuelReading::Liters(40.0)), ..far };
    reported(&[seen(0.0, -5.0), far, fuelled, again, Fix { speed_kmh: Some(1.0), ..again }], None);
}
