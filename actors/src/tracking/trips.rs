//! Trips and stops, fix by fix (docs/tracking.md, "Trips and stops").
//!
//! Whether the vehicle stands is what `standstill` says; a trip is where it was away from there for certain.

use super::context::Context;
use super::effects::Effects;
use super::journey::{Departure, Journey, Stretch};
use super::motion::{Leg, MAX_SILENCE_SECONDS};
use super::record::{Record, TripKind};
use super::standstill::{FAR, Stance, Standstill, is_beyond};
use super::state::VehicleState;
use super::totals::Totals;
use crate::model::{Fix, Place, Timestamp};

/// A rest of this length ends a trip. Seconds.
pub const TRIP_END_STOP_SECONDS: f64 = 300.0;
/// So does one of this length with the ignition off all the time. Seconds.
const OFF_SECONDS: f64 = 60.0;

/// A vehicle has left a place once it is this multiple of the fix's accuracy away from it.
const GONE: f64 = 2.0;

/// A fix that counts, and what is known of it.
#[derive(Clone, Copy)]
struct Step<'a> {
    way: Option<&'a (Fix, Leg)>,
    fix: &'a Fix,
    /// Since this fix it may stand, or it does not.
    begins_anew: bool,
    /// Whether it may stand, and whether it does for all that is known.
    standstill: Option<&'a Standstill>,
    totals: Totals,
    context: &'a Context<'a>,
}

/// Advances to a fix that counts. `stood`: whether the vehicle stood at the fix before it. Call when the standstill and
/// the limits of speed know the fix.
pub(super) fn follow(
    state: &mut VehicleState,
    way: Option<&(Fix, Leg)>,
    fix: &Fix,
    (stance, stood): (Stance, bool),
    context: &Context<'_>,
    effects: &mut Effects,
) {
    let max_speed_kmh = context.vehicle.limits.max_speed_kmh;
    let is_over = state.overspeed.is_some();
    let standstill = state.standstill.as_deref();
    let begins_anew = standstill.is_none_or(|standstill| standstill.begins_with(fix));
    let totals = way.map_or_else(Totals::default, |way| Totals::of(way, fix, is_over, max_speed_kmh));
    let step = Step { way, fix, begins_anew, standstill, totals, context };
    let Some(journey) = state.journey.as_mut() else {
        state.journey = Some(step.begin());
        return;
    };
    // That of the fix before, to which another report may still have added it.
    journey.off_since = match way.and_then(|(before, _)| Some((before.recorded_at, before.ignition?))) {
        Some((_, true)) => None,
        Some((at, false)) => journey.off_since.or(Some(at)),
        None => journey.off_since,
    };
    if let Some((before, leg)) = way
        && leg.seconds > MAX_SILENCE_SECONDS
    {
        step.over_a_silence(journey, (before, leg), (stance, stood), effects);
        return;
    }
    match journey.kind {
        TripKind::Stop if journey.departure.is_none() && matches!(stance, Stance::Stands { .. }) => {
            journey.certain.totals.add(&step.totals);
        }
        TripKind::Stop => step.depart(journey, effects),
        TripKind::Trip => step.travel(journey),
    }
    step.conclude(journey, effects);
}

/// Ends what goes on, as the vehicle goes out of service.
pub(super) fn end(state: &mut VehicleState, at: Timestamp, context: &Context<'_>, effects: &mut Effects) {
    let (Some(mut journey), Some(last)) = (state.journey.take(), state.last) else { return };
    let stands = state.standstill.as_deref().is_some_and(Standstill::stands);
    if journey.told_at.is_none() {
        return;
    }
    let end = match (journey.kind, journey.rest.as_deref()) {
        (TripKind::Trip, Some(rest)) if stands => (rest.since, rest.place),
        (TripKind::Trip, _) => {
            take_back(&mut journey);
            (last.recorded_at, last.place)
        }
        (TripKind::Stop, _) => {
            take_back(&mut journey);
            (at, last.place)
        }
    };
    effects.records.push(journey.ended_record(end, at, context));
}

/// Sets what confirms the records of a step.
pub(super) fn confirm(state: &mut VehicleState, records: &[Record], at: Timestamp) {
    let Some(journey) = state.journey.as_mut() else { return };
    let is_its_own = |record: &&Record| {
        record.is_open()
            && record.kind() == journey.kind.into()
            && record.occurred_at == journey.certain.since
    };
    if records.iter().any(|record| is_its_own(&record)) {
        journey.told_at = Some(at);
    }
}

/// The record of the trip or stop that goes on, if it has one.
pub(super) fn open_record(state: &VehicleState, context: &Context<'_>) -> Option<Record> {
    let journey = state.journey.as_ref()?;
    Some(journey.open_record(journey.told_at?, context))
}

/// What was uncertain belongs to what goes on.
fn take_back(journey: &mut Journey) {
    let departure = journey.departure.take().map(|departure| departure.stretch);
    for stretch in [departure, journey.rest.take().map(|rest| *rest)].into_iter().flatten() {
        journey.certain.totals.add(&stretch.totals);
    }
}

impl Step<'_> {
    /// The first fix of a vehicle, or the first one after nothing was known for long: a stop, until it is seen to move off.
    fn begin(&self) -> Journey {
        Journey::new(TripKind::Stop, Stretch::from(self.fix), None)
    }

    /// The vehicle moves off, or has done so and may come back.
    fn depart(&self, journey: &mut Journey, effects: &mut Effects) {
        let before = self.way.map_or(self.fix, |(before, _)| before);
        let departure = journey
            .departure
            .get_or_insert_with(|| Box::new(Departure { stretch: Stretch::from(before), is_far: false }));
        self.count(&mut departure.stretch.totals, &mut journey.rest);
        let is_far = is_beyond(journey.certain.place, self.fix, FAR);
        let was_far = std::mem::replace(&mut departure.is_far, is_far && self.is_gone(&departure.stretch));
        if departure.is_far && (was_far || self.standstill.is_none()) {
            let departure = departure.stretch;
            self.end_at(journey, (departure.since, departure.place), effects);
            let (rest, off_since) = (journey.rest.take(), journey.off_since);
            *journey = Journey { rest, ..Journey::new(TripKind::Trip, departure, off_since) };
            self.tell(journey, effects);
        } else if !is_far && self.stands() {
            take_back(journey);
        }
    }

    /// Whether it is away from where it set off, too: where it stood may be known badly.
    fn is_gone(&self, departure: &Stretch) -> bool {
        is_beyond(departure.place, self.fix, GONE)
    }

    fn travel(&self, journey: &mut Journey) {
        self.count(&mut journey.certain.totals, &mut journey.rest);
    }

    /// Counts the leg: what came before the vehicle may have come to rest is certain once it moves on.
    fn count(&self, moved: &mut Totals, rest: &mut Option<Box<Stretch>>) {
        if let Some(rest) = rest.as_mut().filter(|_| !self.begins_anew) {
            rest.totals.add(&self.totals);
            return;
        }
        if let Some(rest) = rest.take() {
            moved.add(&rest.totals);
        }
        moved.add(&self.totals);
        *rest = self.standstill.map(|_| Box::new(Stretch::from(self.fix)));
    }

    /// Ends a trip that has rested for long enough, and tells a stop that lasts.
    fn conclude(&self, journey: &mut Journey, effects: &mut Effects) {
        if !self.stands() {
            return;
        }
        match (journey.kind, journey.rest.as_deref()) {
            (TripKind::Trip, Some(rest)) if self.has_lasted(rest.since, journey.off_since) => {
                self.stop(journey, *rest, effects);
            }
            (TripKind::Stop, _)
                if journey.departure.is_none()
                    && journey.told_at.is_none()
                    && self.has_lasted(journey.certain.since, journey.off_since) =>
            {
                self.tell(journey, effects);
            }
            _ => {}
        }
    }

    /// The trip ended where the vehicle came to rest.
    fn stop(&self, journey: &mut Journey, rest: Stretch, effects: &mut Effects) {
        self.end_at(journey, (rest.since, rest.place), effects);
        *journey = Journey::new(TripKind::Stop, rest, journey.off_since);
        self.tell(journey, effects);
    }

    /// Nobody knows what the vehicle did: a trip ends where it was last seen; a stop goes on until it is seen elsewhere.
    fn over_a_silence(
        &self,
        journey: &mut Journey,
        (before, leg): (&Fix, &Leg),
        (stance, stood): (Stance, bool),
        effects: &mut Effects,
    ) {
        let mut is_elsewhere = leg.counts;
        match (journey.kind, journey.rest.as_deref()) {
            (TripKind::Trip, Some(rest)) if stood => {
                self.stop(journey, *rest, effects);
                is_elsewhere &= !matches!(stance, Stance::Stands { .. });
            }
            (TripKind::Trip, _) => {
                take_back(journey);
                self.end_at(journey, (before.recorded_at, before.place), effects);
                if is_elsewhere {
                    *journey = self.begin();
                    return;
                }
                *journey = Journey::new(TripKind::Stop, Stretch::from(before), journey.off_since);
                self.tell(journey, effects);
            }
            (TripKind::Stop, _) => {
                is_elsewhere &= !matches!(stance, Stance::Stands { .. });
                let departure = journey.departure.as_deref().filter(|_| is_elsewhere && !stood);
                if let Some(Departure { stretch, .. }) = departure {
                    self.end_at(journey, (stretch.since, stretch.place), effects);
                    *journey = self.begin();
                    return;
                }
                take_back(journey);
                let is_known = stood && before.recorded_at > journey.certain.since;
                if journey.told_at.is_none() && (is_known || !is_elsewhere) {
                    self.tell(journey, effects);
                }
            }
        }
        if is_elsewhere {
            journey.certain.totals.add(&Totals::unknown());
            self.end_at(journey, (self.fix.recorded_at, before.place), effects);
            *journey = self.begin();
        } else {
            journey.certain.totals.add(&self.totals);
            journey.rest = None;
        }
    }

    fn stands(&self) -> bool {
        self.standstill.is_some_and(Standstill::stands)
    }

    fn has_lasted(&self, since: Timestamp, off_since: Option<Timestamp>) -> bool {
        let now = self.fix.recorded_at;
        now.seconds_since(since) >= TRIP_END_STOP_SECONDS
            || off_since.is_some_and(|off| now.seconds_since(off.max(since)) >= OFF_SECONDS)
    }

    fn tell(&self, journey: &mut Journey, effects: &mut Effects) {
        let at = self.fix.recorded_at;
        journey.told_at = Some(at);
        effects.records.push(journey.open_record(at, self.context));
    }

    /// Ends what was told.
    fn end_at(&self, journey: &Journey, end: (Timestamp, Place), effects: &mut Effects) {
        if journey.told_at.is_some() {
            effects.records.push(journey.ended_record(end, self.fix.recorded_at, self.context));
        }
    }
}
