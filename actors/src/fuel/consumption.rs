//! How much a vehicle burnt in a period: by its counter, else by what its tank lost (docs/fuel.md §5).

use serde::{Deserialize, Serialize};

use super::edges::SILENCE_SECONDS;
use super::event::{FuelEvent, FuelEventKind};
use super::state::Tank;
use crate::model::Timestamp;

/// Litres an hour: twice what the largest engine of a road vehicle burns at full load. A counter that
/// rises faster was exchanged, or is wrong.
const MAX_COUNTER_LITERS_PER_HOUR: f64 = 200.0;
/// Counters step by up to this: SAE J1939's by half a litre. Litres.
const COUNTER_STEP_LITERS: f64 = 1.0;
/// Below this a distance says nothing of consumption. Kilometres.
const MIN_DISTANCE_KM: f64 = 1.0;
/// Below this share of the period nobody knows enough.
const MIN_COVERAGE: f64 = 0.5;
/// Metres a parked receiver strays: a silence in which no more was gone hides no drive.
const SAME_PLACE_METERS: f64 = 100.0;
/// A tank that gained less than this without a refuel is a sensor's error: a litre, or a share of the tank.
const ERROR_LITERS: f64 = 1.0;
const ERROR_SHARE: f64 = 0.01;

/// What a consumption was computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// A counter of litres burnt.
    Counter,
    /// The level of the tank.
    Level,
}

/// One stored reading of quality `ok`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The device's clock.
    pub at: Timestamp,
    /// The smoothed level, in litres.
    pub level_liters: Option<f64>,
    /// Litres burnt since the counter began.
    pub counter_liters: Option<f64>,
    /// How far the vehicle moved since the reading before, in metres; `None` if nobody knows.
    pub distance_meters: Option<f64>,
    /// The version of the sensor's configuration its level is of.
    pub version: Option<i64>,
}

/// What a vehicle burnt in a period.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Consumption {
    /// Litres burnt, 0 or more; null if nothing tells, or if what tells contradicts itself.
    pub liters: Option<f64>,
    /// Litres per 100 km; null under one kilometre, and if coverage is below one half.
    pub liters_per_100_km: Option<f64>,
    /// What it was computed from.
    pub source: Option<Source>,
    /// Kilometres gone, as far as they are known.
    pub distance_km: f64,
    /// Litres that came in.
    pub refueled_liters: f64,
    /// Litres that went out and were not burnt.
    pub drained_liters: f64,
    /// 0 to 1: the share of the period of which the source tells.
    pub coverage: f64,
    /// The tank gained more than was refuelled: an event is missing, or the sensor is wrong.
    pub inconsistent: bool,
}

/// Adds a period up from its readings, one at a time.
#[derive(Clone, Debug)]
pub struct Meter {
    from: Timestamp,
    to: Timestamp,
    meters: f64,
    level: Track,
    counter: Track,
    burnt_liters: f64,
    /// The version of the newest level, and what the level has changed by from version to version.
    version: Option<i64>,
    recalibrated_liters: f64,
}

/// One of the two sources: where it began, where it is, and how much of the time it tells of.
#[derive(Clone, Copy, Debug, Default)]
struct Track {
    opening: Option<(Timestamp, f64)>,
    newest: Option<(Timestamp, f64)>,
    /// Metres since the newest, `None` once any of them is unknown.
    meters: Option<f64>,
    covered_seconds: f64,
}

impl Meter {
    /// A period from an instant (included) to another (not included).
    #[must_use]
    pub fn new(from: Timestamp, to: Timestamp) -> Self {
        let track = Track { meters: Some(0.0), ..Track::default() };
        Self {
            from,
            to,
            meters: 0.0,
            level: track,
            counter: track,
            burnt_liters: 0.0,
            version: None,
            recalibrated_liters: 0.0,
        }
    }

    /// Takes the next reading, in the order of time. Begin with the newest one before the period, if there is
    /// one: what was burnt since then is this period's, and so no litre falls between two periods.
    pub fn observe(&mut self, measured: &Measured) {
        if measured.at >= self.to {
            return;
        }
        if measured.at >= self.from && self.any() {
            self.meters += measured.distance_meters.unwrap_or(0.0);
        }
        self.level.proceed(measured.distance_meters);
        self.counter.proceed(measured.distance_meters);
        if let Some(liters) = measured.level_liters {
            self.note_version(measured, liters);
            let hides_a_drive = !self.level.meters.is_some_and(|meters| meters < SAME_PLACE_METERS);
            self.level.take(measured.at, liters, self.from, !hides_a_drive);
        }
        if let Some(liters) = measured.counter_liters {
            let rise = self.counter.rise_to(measured.at, liters);
            self.counter.take(measured.at, liters, self.from, rise.is_some());
            if measured.at >= self.from {
                self.burnt_liters += rise.unwrap_or(0.0);
            }
        }
    }

    /// The sum, with the refuels and drains that touch the period, in order.
    #[must_use]
    pub fn finish(&self, events: &[FuelEvent], tank: &Tank) -> Consumption {
        let (opened, closed) = (self.level.opening, self.level.newest);
        let mine = events.iter().filter(|event| self.is_mine(event));
        let (mut refueled_liters, mut drained_liters) = (0.0, 0.0);
        for event in mine {
            match event.kind {
                FuelEventKind::Refuel => refueled_liters += event.volume_liters,
                FuelEventKind::Drain => drained_liters += event.volume_liters,
            }
        }
        let counter_tells = self.counter.covered_seconds >= self.level.covered_seconds * MIN_COVERAGE;
        let by_counter = (self.counter.covered_seconds > 0.0 && counter_tells).then_some(self.burnt_liters);
        let by_level =
            opened.zip(closed).filter(|(opened, closed)| opened.0 < closed.0).map(|(opened, closed)| {
                let start = plateau(opened, events, tank);
                let end = plateau(closed, events, tank);
                start - end + self.recalibrated_liters + refueled_liters - drained_liters
            });
        let (source, balance, track) = match (by_counter, by_level) {
            (Some(liters), _) => (Some(Source::Counter), Some(liters), &self.counter),
            (None, Some(liters)) => (Some(Source::Level), Some(liters), &self.level),
            (None, None) => (None, None, &self.level),
        };
        let error = ERROR_LITERS.max(ERROR_SHARE * tank.capacity_liters);
        let inconsistent = balance.is_some_and(|liters| liters < -error);
        let liters = balance.filter(|_| !inconsistent).map(|liters| liters.max(0.0));
        let period = self.to.seconds_since(self.from);
        let coverage = if period > 0.0 { (track.covered_seconds / period).min(1.0) } else { 0.0 };
        let distance_km = self.meters / 1000.0;
        let told = distance_km >= MIN_DISTANCE_KM && coverage >= MIN_COVERAGE;
        Consumption {
            liters,
            liters_per_100_km: liters.filter(|_| told).map(|liters| liters / distance_km * 100.0),
            source,
            distance_km,
            refueled_liters,
            drained_liters,
            coverage,
            inconsistent,
        }
    }

    /// The same fuel reads differently by another calibration: that is neither burnt nor refuelled.
    fn note_version(&mut self, measured: &Measured, liters: f64) {
        if let Some((_, before)) = self.level.newest
            && measured.version != self.version
            && measured.at >= self.from
        {
            self.recalibrated_liters += liters - before;
        }
        self.version = measured.version;
    }

    fn any(&self) -> bool {
        self.level.newest.is_some() || self.counter.newest.is_some()
    }

    /// An event belongs to the period it ends in: to the one after, if its first reading there is its end.
    fn is_mine(&self, event: &FuelEvent) -> bool {
        let opened = self.level.opening.map_or(self.from, |(at, _)| at);
        let closed = self.level.newest.map_or(self.to, |(at, _)| at);
        event.ended_at > opened && event.ended_at <= closed
    }
}

impl Track {
    fn proceed(&mut self, meters: Option<f64>) {
        self.meters = self.meters.zip(meters).map(|(so_far, more)| so_far + more);
    }

    /// `tells`: whether it tells of the time since the one before even if that was long ago.
    fn take(&mut self, at: Timestamp, liters: f64, from: Timestamp, tells: bool) {
        if let Some((before, _)) = self.newest {
            let seconds = at.seconds_since(before.max(from)).max(0.0);
            if tells || at.seconds_since(before) <= SILENCE_SECONDS {
                self.covered_seconds += seconds;
            }
        }
        if self.opening.is_none() || at < from {
            self.opening = Some((at, liters));
        }
        self.newest = Some((at, liters));
        self.meters = Some(0.0);
    }

    /// Litres burnt since the newest value; `None` if the counter began anew, or jumped.
    fn rise_to(&self, at: Timestamp, liters: f64) -> Option<f64> {
        let (before, counted) = self.newest?;
        let most = at.seconds_since(before) / 3600.0 * MAX_COUNTER_LITERS_PER_HOUR + COUNTER_STEP_LITERS;
        Some(liters - counted).filter(|rise| (0.0..=most).contains(rise))
    }
}

/// The level a reading's tank really had: a smoothed level lags behind a refuel and a drain.
fn plateau((at, smoothed): (Timestamp, f64), events: &[FuelEvent], tank: &Tank) -> f64 {
    let lags =
        |event: &&FuelEvent| at > event.started_at && at.seconds_since(event.ended_at) < tank.window_seconds;
    let Some(event) = events.iter().rev().find(lags) else { return smoothed };
    if at >= event.ended_at { event.level_after_liters } else { event.level_before_liters }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::fuel::FuelMotion;
    use crate::model::EventId;

    const START: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);
    const TANK: Tank = Tank { capacity_liters: 400.0, window_seconds: 300.0, version: 1 };
    const HOUR: f64 = 3600.0;
    /// When a drive's sensor gets its second calibration: after whatever the other tests look at.
    const NEW_CALIBRATION: f64 = 10.0 * HOUR;

    fn at(seconds: f64) -> Timestamp {
        START.plus_seconds(seconds)
    }

    /// A reading each minute from one instant to another: 70 km/h and so many litres an hour.
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

    fn event(kind: FuelEventKind, seconds: (f64, f64), liters: (f64, f64)) -> FuelEvent {
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
            let came =
                if seconds > HOUR { 100.0 } else { 0.0 } - if seconds > 1.5 * HOUR { 30.0 } else { 0.0 };
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
        // What was burnt in the minute between the two versions is not known.
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
}
