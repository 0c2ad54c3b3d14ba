//! How much a vehicle burnt in a period: by its counter, else by what its tank lost (docs/fuel.md §5).

use serde::{Deserialize, Serialize};

use super::event::{FuelEvent, FuelEventKind};
use super::sensor::MAX_WINDOW_SECONDS;
use super::tank::Tank;
use super::track::Track;
use crate::model::Timestamp;

/// A shorter distance says nothing about consumption. Kilometres.
const MIN_DISTANCE_KM: f64 = 1.0;
/// If a smaller share of the period is covered, too little is known.
const MIN_COVERAGE: f64 = 0.5;
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
    /// How far the vehicle moved since the previous reading, in metres; `None` if unknown.
    pub distance_meters: Option<f64>,
    /// The version of the sensor's configuration by which the level was read.
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

/// What came in, and what went out and was not burnt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Totals {
    refueled_liters: f64,
    drained_liters: f64,
}

impl Totals {
    fn add(&mut self, event: &FuelEvent) {
        match event.kind {
            FuelEventKind::Refuel => self.refueled_liters += event.volume_liters,
            FuelEventKind::Drain => self.drained_liters += event.volume_liters,
        }
    }
}

/// Sums up a period from its readings, one at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meter {
    from: Timestamp,
    /// `None` while the period goes on.
    to: Option<Timestamp>,
    meters: f64,
    level: Track,
    counter: Track,
    burnt_liters: f64,
    /// The version of the newest level, and by how much the level has changed through changes of version.
    version: Option<i64>,
    recalibrated_liters: f64,
    /// Of the events that are told no more ([`Self::settle`]).
    #[serde(default)]
    settled: Totals,
}

impl Meter {
    /// A period from one instant (included) to another (excluded).
    #[must_use]
    pub fn new(from: Timestamp, to: Timestamp) -> Self {
        let track = Track { meters: Some(0.0), ..Track::default() };
        Self {
            from,
            to: Some(to),
            meters: 0.0,
            level: track,
            counter: track,
            burnt_liters: 0.0,
            version: None,
            recalibrated_liters: 0.0,
            settled: Totals::default(),
        }
    }

    /// A period whose end is not known yet.
    #[must_use]
    pub fn begin(from: Timestamp) -> Self {
        Self { to: None, ..Self::new(from, from) }
    }

    /// A copy of this period that ends at `to`.
    #[must_use]
    pub fn up_to(&self, to: Timestamp) -> Self {
        Self { to: Some(to), ..self.clone() }
    }

    /// Takes the next reading, in order of time. Begin with the newest level and the newest counter before the period,
    /// if there are any, and with what lies between them: what was burnt since then counts for this period, so that no
    /// litre falls between two periods.
    pub fn observe(&mut self, measured: &Measured) {
        if self.to.is_some_and(|to| measured.at >= to) {
            return;
        }
        if measured.at >= self.from && self.any() {
            self.meters += measured.distance_meters.unwrap_or(0.0);
        }
        self.level.proceed(measured.distance_meters);
        self.counter.proceed(measured.distance_meters);
        if let Some(liters) = measured.level_liters {
            self.note_version(measured, liters);
            let stayed = self.level.stayed();
            self.level.take(measured.at, liters, self.from, stayed);
        }
        if let Some(liters) = measured.counter_liters {
            let rise = self.counter.rise_to(measured.at, liters);
            self.counter.take(measured.at, liters, self.from, rise.is_some());
            if measured.at >= self.from {
                self.burnt_liters += rise.unwrap_or(0.0);
            }
        }
    }

    /// Adds events of the period to its totals that no level leans on any more, because the newest one was read later
    /// than any window after them. The others stay in the list.
    pub(super) fn settle(&mut self, events: &mut Vec<FuelEvent>) {
        let Some(((opened, _), (newest, _))) = self.level.opening.zip(self.level.newest) else { return };
        let settled = &mut self.settled;
        events.retain(|event| {
            let is_past = newest.seconds_since(event.ended_at) >= MAX_WINDOW_SECONDS;
            let is_settled = is_past && event.started_at >= opened;
            if is_settled {
                settled.add(event);
            }
            !is_settled
        });
    }

    /// The totals, given the refuels and drains that touch the period, in order.
    #[must_use]
    pub fn finish(&self, events: &[FuelEvent], tank: &Tank) -> Consumption {
        let (opened, closed) = (self.level.opening, self.level.newest);
        let mut totals = self.settled;
        events.iter().filter(|event| self.is_mine(event)).for_each(|event| totals.add(event));
        let Totals { refueled_liters, drained_liters } = totals;
        let by_level =
            opened.zip(closed).filter(|(opened, closed)| opened.0 < closed.0).map(|(opened, closed)| {
                let is_over = |event: &FuelEvent| opened.0 >= event.ended_at && !self.is_mine(event);
                let start = plateau(opened, events, tank, is_over);
                let end = plateau(closed, events, tank, |event| closed.0 >= event.ended_at);
                start - end + self.recalibrated_liters + refueled_liters - drained_liters
            });
        let error = ERROR_LITERS.max(ERROR_SHARE * tank.capacity_liters);
        let covered = self.counter.covered_seconds;
        // One that stands still while the tank loses fuel is broken, or nobody reads it.
        let stands_still = self.burnt_liters <= 0.0 && by_level.is_some_and(|liters| liters > error);
        let counter_tells = covered > 0.0 && covered >= self.level.covered_seconds * MIN_COVERAGE;
        let by_counter = (counter_tells && !stands_still).then_some(self.burnt_liters);
        let (source, balance, track) = match (by_counter, by_level) {
            (Some(liters), _) => (Some(Source::Counter), Some(liters), &self.counter),
            (None, Some(liters)) => (Some(Source::Level), Some(liters), &self.level),
            (None, None) => (None, None, &self.level),
        };
        let inconsistent = balance.is_some_and(|liters| liters < -error);
        let liters = balance.filter(|_| !inconsistent).map(|liters| liters.max(0.0));
        let period = self.to.map_or(0.0, |to| to.seconds_since(self.from));
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

    /// One amount of fuel reads differently under another calibration: the difference is neither burnt nor
    /// refuelled.
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

    /// An event belongs to the period it ends in; if the first reading of the next period is its end, to that one. That
    /// holds for the first level of a period, too, if no level is known from before the period.
    fn is_mine(&self, event: &FuelEvent) -> bool {
        let Some(((opened, _), (closed, _))) = self.level.opening.zip(self.level.newest) else {
            return false;
        };
        let ended_after_opening = event.ended_at > opened || event.ended_at == opened && opened >= self.from;
        ended_after_opening && event.ended_at <= closed
    }
}

/// The level a reading's tank really had: a smoothed level lags behind a refuel and a drain. `is_over`: whether an event
/// counts as over by then.
fn plateau(
    (at, smoothed): (Timestamp, f64),
    events: &[FuelEvent],
    tank: &Tank,
    is_over: impl Fn(&FuelEvent) -> bool,
) -> f64 {
    let lags =
        |event: &&FuelEvent| at > event.started_at && at.seconds_since(event.ended_at) < tank.window_seconds;
    let Some(event) = events.iter().rev().find(lags) else { return smoothed };
    if is_over(event) { event.level_after_liters } else { event.level_before_liters }
}
