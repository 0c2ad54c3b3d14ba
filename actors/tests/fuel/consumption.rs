//! What was burnt, computed from the level of the tank and from counters.

use uuid::Uuid;
use waypost_actors::fuel::{
    Consumption, FuelEvent, FuelEventKind, FuelMotion, Measured, Meter, Source, Tank,
};
use waypost_actors::model::{EventId, Timestamp};

const START: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);
pub(crate) const TANK: Tank = Tank { capacity_liters: 400.0, window_seconds: 300.0, version: 1 };
pub(crate) const HOUR: f64 = 3600.0;
/// When the sensor of a drive gets its second calibration: after everything the other tests look at.
const NEW_CALIBRATION: f64 = 10.0 * HOUR;

pub(crate) fn at(seconds: f64) -> Timestamp {
    START.plus_seconds(seconds)
}

/// A reading each minute from one instant to another, at 70 km/h; `level` and `counter` give the litres.
fn drive(
    meter: &mut Meter,
    from: f64,
    to: f64,
    level: impl Fn(f64) -> Option<f64>,
    counter: impl Fn(f64) -> Option<f64>,
) {
    for minute in 0..=((to - from) / 60.0) as u32 {
        let seconds = from + f64::from(minute) * 60.0;
        let (level_liters, counter_liters) = (level(seconds), counter(seconds));
        meter.observe(&Measured {
            at: at(seconds),
            level_liters,
            counter_liters,
            distance_meters: Some(70_000.0 / 60.0),
            version: Some(if seconds < NEW_CALIBRATION { 1 } else { 2 }),
        });
    }
}

/// A level of a vehicle that stands.
pub(crate) fn measured(seconds: f64, liters: f64) -> Measured {
    Measured {
        at: at(seconds),
        level_liters: Some(liters),
        counter_liters: None,
        distance_meters: Some(0.0),
        version: Some(1),
    }
}

pub(crate) fn event(kind: FuelEventKind, seconds: (f64, f64), liters: (f64, f64)) -> FuelEvent {
    FuelEvent {
        id: EventId(Uuid::nil()),
        kind,
        started_at: at(seconds.0),
        ended_at: at(seconds.1),
        level_before_liters: liters.0,
        level_after_liters: liters.1,
        volume_liters: (liters.1 - liters.0).abs(),
        place: None,
        motion: FuelMotion::Stopped,
        confidence: 0.9,
    }
}

/// 21 l an hour at 70 km/h is 30 l on 100 km.
fn burning(start: f64) -> impl Fn(f64) -> Option<f64> {
    move |seconds| Some(start - 21.0 * seconds / HOUR)
}

fn none(_: f64) -> Option<f64> {
    None
}

#[test]
fn what_the_tank_lost() {
    let mut meter = Meter::new(at(0.0), at(2.0 * HOUR + 1.0));
    drive(&mut meter, 0.0, 2.0 * HOUR, burning(300.0), none);
    let found = meter.finish(&[], &TANK);
    assert_eq!(found.source, Some(Source::Level));
    assert!((found.liters.unwrap() - 42.0).abs() < 0.01, "{found:?}");
    assert!((found.liters_per_100_km.unwrap() - 30.0).abs() < 0.01, "{found:?}");
    assert!(found.coverage > 0.99);
}

#[test]
fn refuels_and_drains_are_not_burnt() {
    let events = [
        event(FuelEventKind::Refuel, (HOUR, HOUR + 60.0), (279.0, 379.0)),
        event(FuelEventKind::Drain, (1.5 * HOUR, 1.5 * HOUR + 60.0), (368.5, 338.5)),
    ];
    let level = |seconds: f64| {
        let came = if seconds > HOUR { 100.0 } else { 0.0 } - if seconds > 1.5 * HOUR { 30.0 } else { 0.0 };
        burning(300.0)(seconds).map(|liters| liters + came)
    };
    let mut meter = Meter::new(at(0.0), at(3.0 * HOUR));
    drive(&mut meter, 0.0, 2.0 * HOUR, level, none);
    let found = meter.finish(&events, &TANK);
    assert!((found.liters.unwrap() - 42.0).abs() < 0.01, "{found:?}");
    assert_eq!((found.refueled_liters, found.drained_liters), (100.0, 30.0));
}

#[test]
fn a_new_calibration_is_neither_burnt_nor_refuelled() {
    let level = |seconds: f64| {
        let shift = if seconds < NEW_CALIBRATION { 0.0 } else { 35.0 };
        burning(400.0)(seconds).map(|liters| liters + shift)
    };
    let mut meter = Meter::new(at(9.0 * HOUR), at(11.0 * HOUR + 1.0));
    drive(&mut meter, 8.5 * HOUR, 11.0 * HOUR, level, none);
    let found = meter.finish(&[], &TANK);
    // What was burnt in the minute between the two versions is unknown.
    assert!((found.liters.unwrap() - 42.0).abs() < 0.71, "{found:?}");
    let mut after = Meter::new(at(NEW_CALIBRATION), at(11.0 * HOUR + 1.0));
    drive(&mut after, NEW_CALIBRATION - 60.0, 11.0 * HOUR, level, none);
    assert!((after.finish(&[], &TANK).liters.unwrap() - 21.0).abs() < 0.71);
}

#[test]
fn periods_that_meet_anywhere_add_up() {
    let refuel = event(FuelEventKind::Refuel, (HOUR, HOUR + 300.0), (279.0, 379.0));
    // A smoothed level: it lags behind the refuel.
    let level = |seconds: f64| {
        let share = ((seconds - HOUR - 150.0) / 300.0).clamp(0.0, 1.0);
        burning(300.0)(seconds).map(|liters| liters + 100.0 * share)
    };
    for border in (600..7200).step_by(60) {
        let border = f64::from(border) + 30.0;
        let mut parts = 0.0;
        for (from, to) in [(0.0, border), (border, 2.0 * HOUR + 1.0)] {
            let mut meter = Meter::new(at(from), at(to));
            // From the newest reading before the period on.
            drive(&mut meter, (from / 60.0).floor() * 60.0, 2.0 * HOUR, level, none);
            let found = meter.finish(&[refuel], &TANK);
            assert!(!found.inconsistent, "{border}: {found:?}");
            parts += found.liters.unwrap();
        }
        // The plateaus are those of the event, so what burnt while it was smoothed is off by little.
        assert!((parts - 42.0).abs() < 4.0, "{border}: {parts}");
    }
}

#[test]
fn a_counter_is_preferred_and_survives_gaps_and_exchanges() {
    let mut meter = Meter::new(at(0.0), at(4.0 * HOUR));
    let counter = |seconds: f64| Some(15_000.0 + 21.0 * seconds / HOUR);
    drive(&mut meter, 0.0, HOUR, |_| Some(200.0), counter);
    drive(&mut meter, 3.0 * HOUR, 4.0 * HOUR, |_| Some(230.0), counter);
    let found = meter.finish(&[], &TANK);
    assert_eq!(found.source, Some(Source::Counter));
    assert!((found.liters.unwrap() - 84.0).abs() < 0.5, "{found:?}");

    let mut exchanged = Meter::new(at(0.0), at(2.0 * HOUR));
    drive(&mut exchanged, 0.0, HOUR, none, counter);
    drive(&mut exchanged, HOUR + 60.0, 2.0 * HOUR, none, |seconds| Some(21.0 * seconds / HOUR));
    let found = exchanged.finish(&[], &TANK);
    assert!((found.liters.unwrap() - 41.0).abs() < 1.0, "{found:?}");
}

#[test]
fn what_contradicts_itself_is_flagged_and_never_negative() {
    let mut meter = Meter::new(at(0.0), at(2.0 * HOUR));
    drive(&mut meter, 0.0, HOUR, |seconds| Some(200.0 + seconds / 60.0), none);
    let found = meter.finish(&[], &TANK);
    assert_eq!((found.liters, found.liters_per_100_km, found.inconsistent), (None, None, true));
    let mut noise = Meter::new(at(0.0), at(2.0 * HOUR));
    drive(&mut noise, 0.0, HOUR, |seconds| Some(200.0 + seconds / HOUR), none);
    let found = noise.finish(&[], &TANK);
    assert_eq!((found.liters, found.inconsistent), (Some(0.0), false));
}

#[test]
fn nothing_is_said_per_100_km_of_a_short_way_or_of_poor_coverage() {
    let parked = |level: f64, hours: f64| Measured {
        at: at(hours * HOUR),
        level_liters: Some(level),
        counter_liters: None,
        distance_meters: Some(0.0),
        version: Some(1),
    };
    let mut leak = Meter::new(at(0.0), at(8.0 * HOUR + 1.0));
    leak.observe(&parked(200.0, 0.0));
    leak.observe(&parked(184.0, 8.0));
    let found = leak.finish(&[], &TANK);
    assert_eq!((found.liters, found.liters_per_100_km, found.coverage > 0.9), (Some(16.0), None, true));

    let mut poor = Meter::new(at(0.0), at(24.0 * HOUR));
    drive(&mut poor, 0.0, HOUR, burning(300.0), none);
    let found = poor.finish(&[], &TANK);
    assert!(found.coverage < 0.1 && found.liters.is_some() && found.liters_per_100_km.is_none());
    let nothing = Meter::new(at(0.0), at(HOUR)).finish(&[], &TANK);
    assert_eq!((nothing.liters, nothing.source, nothing.coverage), (None, None, 0.0));
}

#[test]
fn a_single_reading_and_an_empty_period_tell_nothing() {
    let mut one = Meter::new(at(0.0), at(HOUR));
    drive(&mut one, 60.0, 60.0, burning(300.0), none);
    let found = one.finish(&[], &TANK);
    assert_eq!((found.liters, found.source), (None, None));
    assert_eq!(Meter::new(at(0.0), at(0.0)).finish(&[], &TANK).coverage, 0.0);
}

#[test]
fn a_gain_of_a_hundredth_of_the_tank_is_an_error_of_the_sensor() {
    for (gained, liters) in [(4.0, Some(0.0)), (4.1, None)] {
        let mut meter = Meter::new(at(0.0), at(2.0 * HOUR));
        drive(&mut meter, 0.0, HOUR, |seconds| Some(200.0 + gained * seconds / HOUR), none);
        let found = meter.finish(&[], &TANK);
        assert_eq!((found.liters, found.inconsistent), (liters, liters.is_none()), "{gained}");
    }
}

#[test]
fn a_silence_in_which_a_vehicle_stayed_is_told_of() {
    // Levels forty minutes apart, and halfway a fix without one.
    for (meters, coverage) in [(49.9, 1.0), (50.0, 0.0)] {
        let mut meter = Meter::new(at(0.0), at(2_400.0 + 0.001));
        for (seconds, level_liters, way) in
            [(0.0, Some(200.0), 0.0), (1_200.0, None, meters), (2_400.0, Some(190.0), meters)]
        {
            meter.observe(&Measured {
                at: at(seconds),
                level_liters,
                counter_liters: None,
                distance_meters: Some(way),
                version: Some(1),
            });
        }
        assert!((meter.finish(&[], &TANK).coverage - coverage).abs() < 1e-6, "{meters}");
    }
}

#[test]
fn a_counter_rises_by_200_litres_an_hour_and_a_litre_at_most() {
    for (seconds, rise, burnt) in
        [(36.0, 3.0, 3.0), (36.0, 3.1, 0.0), (360.0, 21.0, 21.0), (360.0, 21.1, 0.0)]
    {
        let mut meter = Meter::new(at(0.0), at(HOUR));
        for (seconds, counter_liters) in [(0.0, 500.0), (seconds, 500.0 + rise)] {
            meter.observe(&Measured {
                at: at(seconds),
                level_liters: None,
                counter_liters: Some(counter_liters),
                distance_meters: None,
                version: None,
            });
        }
        assert_eq!(meter.finish(&[], &TANK).liters, Some(burnt), "{rise} in {seconds} s");
    }
}

#[test]
fn a_smoothed_level_is_the_events_plateau_for_a_window() {
    let refuel = event(FuelEventKind::Refuel, (600.0, 660.0), (200.0, 300.0));
    // The last reading still lags.
    for (last, burnt) in [(630.0, 0.0), (959.0, 0.0), (960.0, 20.0)] {
        let mut meter = Meter::new(at(0.0), at(HOUR));
        for (seconds, level) in [(0.0, 200.0), (last, 280.0)] {
            meter.observe(&measured(seconds, level));
        }
        assert_eq!(meter.finish(&[refuel], &TANK).liters, Some(burnt), "{last}");
    }
}

#[test]
fn a_counter_that_stands_still_while_the_tank_loses_fuel_tells_nothing() {
    for counter in [0.0, 15_000.0] {
        let mut meter = Meter::new(at(0.0), at(2.0 * HOUR + 1.0));
        drive(&mut meter, 0.0, 2.0 * HOUR, burning(300.0), |_| Some(counter));
        let found = meter.finish(&[], &TANK);
        assert_eq!(found.source, Some(Source::Level));
        assert!((found.liters.unwrap() - 42.0).abs() < 0.01, "{found:?}");
    }
    // A hundredth of the tank is an error of its sensor.
    for (lost, source, burnt) in [(4.0, Source::Counter, 0.0), (4.1, Source::Level, 4.1)] {
        let mut meter = Meter::new(at(0.0), at(2.0 * HOUR));
        let level = |seconds: f64| Some(200.0 - lost * seconds / HOUR);
        drive(&mut meter, 0.0, HOUR, level, |_| Some(15_000.0));
        let found = meter.finish(&[], &TANK);
        assert_eq!(found.source, Some(source), "{lost}");
        assert!((found.liters.unwrap() - burnt).abs() < 1e-6, "{found:?}");
    }
}

/// What a counter alone tells: seconds, litres, and metres since the reading before.
fn counted(readings: &[(f64, f64, Option<f64>)]) -> Consumption {
    let end = readings.last().map_or(0.0, |(seconds, ..)| *seconds);
    let mut meter = Meter::new(at(0.0), at(end + 1.0));
    for (seconds, liters, distance_meters) in readings {
        meter.observe(&Measured {
            at: at(*seconds),
            level_liters: None,
            counter_liters: Some(*liters),
            distance_meters: *distance_meters,
            version: None,
        });
    }
    meter.finish(&[], &TANK)
}

#[test]
fn a_counter_that_is_back_where_it_fell_from_counts_from_there() {
    let monday = 62.0 * HOUR;
    for back in [10_000.0, 10_030.0] {
        let found = counted(&[
            (0.0, 10_000.0, None),
            (60.0, 0.0, None),
            (120.0, 0.0, None),
            (monday, back, None),
            (monday + 600.0, back + 3.0, None),
        ]);
        assert_eq!(found.liters, Some(back - 10_000.0 + 3.0));
        assert!(found.coverage > 0.99, "{found:?}");
    }
    // One that was exchanged counts from where it began, and falls from there.
    let found = counted(&[
        (0.0, 15_000.0, None),
        (60.0, 0.0, None),
        (120.0, 0.5, None),
        (180.0, 0.0, None),
        (36.0 * HOUR, 0.5, None),
    ]);
    assert_eq!(found.liters, Some(0.5));
}

#[test]
fn a_counter_rises_by_50_litres_an_hour_and_a_litre_while_nobody_sees_the_vehicle_stand() {
    for (meters, rise, burnt) in
        [(99.9, 501.0, Some(501.0)), (99.9, 501.5, None), (100.0, 501.5, Some(501.5))]
    {
        let found = counted(&[(0.0, 500.0, None), (10.0 * HOUR, 500.0 + rise, Some(meters))]);
        assert_eq!(found.liters, burnt, "{rise} over {meters} m");
    }
    // Seen, it may be more.
    let found = counted(&[(0.0, 500.0, None), (600.0, 534.0, Some(0.0))]);
    assert_eq!(found.liters, Some(34.0));
}

/// Levels at even minutes and the counter at odd ones: each period begins with the newest of both.
#[test]
fn periods_that_meet_add_up_where_level_and_counter_come_apart() {
    let refuel = event(FuelEventKind::Refuel, (58.0 * 60.0, HOUR), (280.0, 380.0));
    let is_even = |seconds: f64| ((seconds / 60.0) as u32).is_multiple_of(2);
    let level = |seconds: f64| is_even(seconds).then_some(if seconds < HOUR { 280.0 } else { 380.0 });
    let counter = |seconds: f64| (!is_even(seconds)).then_some(15_000.0 + 21.0 * seconds / HOUR);
    for border in 50..70 {
        let border = f64::from(border) * 60.0 + 30.0;
        let (mut burnt, mut refueled) = (0.0, 0.0);
        for (from, to) in [(0.0, border), (border, 2.0 * HOUR + 1.0)] {
            let mut meter = Meter::new(at(from), at(to));
            let first = ((from / 60.0).floor() - 1.0).max(0.0) * 60.0;
            drive(&mut meter, first, 2.0 * HOUR, level, counter);
            let found = meter.finish(&[refuel], &TANK);
            burnt += found.liters.unwrap();
            refueled += found.refueled_liters;
        }
        assert!((burnt - 21.0 * 118.0 / 60.0).abs() < 0.01, "{border}: {burnt}");
        assert_eq!(refueled, 100.0, "{border}");
    }
}

#[test]
fn a_refuel_that_ended_with_the_first_level_that_is_known_is_the_periods() {
    let refuel = event(FuelEventKind::Refuel, (-90_000.0, 60.0), (100.0, 200.0));
    for before in [None, Some((-90_000.0, 100.0))] {
        let mut meter = Meter::new(at(0.0), at(HOUR));
        for (seconds, level) in before.into_iter().chain([(60.0, 150.0), (660.0, 196.0)]) {
            meter.observe(&measured(seconds, level));
        }
        let found = meter.finish(&[refuel], &TANK);
        assert_eq!((found.liters, found.refueled_liters), (Some(4.0), 100.0), "{before:?}");
    }
}
