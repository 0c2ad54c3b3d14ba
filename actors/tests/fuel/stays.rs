//! What a vehicle burns during a stay, which keeps no more of its refuels and drains than it needs.

use waypost_actors::fuel::{FuelEvent, FuelEventKind, Measured, Meter, StayFuel};

use crate::consumption::{HOUR, TANK, at, event, measured};

/// How long after its end an event becomes certain, in seconds.
const CERTAIN_AFTER: f64 = 1_200.0;
const REFUELS: u32 = 40;
const BETWEEN: f64 = 2.0 * HOUR;

/// 10 l an hour are burnt, and 20 l refuelled within a minute each two hours.
fn level(seconds: f64) -> f64 {
    let refuels = ((seconds - 60.0) / BETWEEN).floor().clamp(0.0, f64::from(REFUELS));
    200.0 - 10.0 * seconds / HOUR + 20.0 * refuels
}

fn refuel(number: u32) -> FuelEvent {
    let started = f64::from(number) * BETWEEN;
    let liters = (level(started), level(started + 60.0));
    event(FuelEventKind::Refuel, (started, started + 60.0), liters)
}

/// A stay with a reading each minute up to an hour, and a period that has all its events at hand.
fn stayed(before: Option<Measured>, events: &[FuelEvent], hours: u32) -> (StayFuel, Option<f64>) {
    let (mut stay, mut meter) = (StayFuel::begin(at(0.0), before.as_ref(), TANK), Meter::begin(at(0.0)));
    before.iter().for_each(|before| meter.observe(before));
    for minute in 1..=hours * 60 {
        let seconds = f64::from(minute) * 60.0;
        let reading = measured(seconds, level(seconds));
        stay.observe(&reading, TANK, None);
        meter.observe(&reading);
        let is_certain = |event: &&FuelEvent| at(seconds).seconds_since(event.ended_at) == CERTAIN_AFTER;
        stay.add_certain(events.iter().filter(is_certain).copied());
        assert!(kept_events(&stay) <= 1, "minute {minute}");
    }
    let until = at(f64::from(hours) * HOUR);
    (stay, meter.up_to(until).finish(events, &TANK).liters)
}

fn kept_events(stay: &StayFuel) -> usize {
    let kept = serde_json::to_value(stay).expect("it is written");
    kept["events"].as_array().expect("it has a list").len()
}

/// The litres used up to an hour, which are those of the period.
fn used(stay: &StayFuel, whole: Option<f64>, hours: f64) -> f64 {
    let used = stay.used_liters(at(hours * HOUR)).expect("it is known");
    let whole = whole.expect("it is known");
    assert!((used - whole).abs() < 1e-6, "{used} is {whole}");
    used
}

#[test]
fn a_long_stay_adds_up_what_is_long_past_and_keeps_the_rest() {
    let events: Vec<FuelEvent> = (1..=REFUELS).map(refuel).collect();
    let (stay, whole) = stayed(None, &events, 81);
    let used = used(&stay, whole, 81.0);
    assert!((used - 810.0).abs() < 10.0, "{used}");
    assert_eq!(kept_events(&stay), 0);
}

#[test]
fn a_refuel_in_which_a_stay_began_is_kept_for_the_level_it_began_with() {
    // Smoothed, the level before the stay is halfway between the two.
    let refuel = event(FuelEventKind::Refuel, (-120.0, 60.0), (100.0, level(60.0)));
    let (stay, whole) = stayed(Some(measured(-60.0, 150.0)), &[refuel], 2);
    let used = used(&stay, whole, 2.0);
    assert!((used - 20.0).abs() < 0.5, "{used}");
    assert_eq!(kept_events(&stay), 1);
}

#[test]
fn a_stay_that_was_kept_without_sums_is_read() {
    let (stay, _) = stayed(None, &[], 1);
    let mut kept = serde_json::to_value(&stay).unwrap();
    kept["meter"].as_object_mut().unwrap().remove("settled").expect("the sums");
    assert_eq!(serde_json::from_value::<StayFuel>(kept).unwrap(), stay);
}
