//! Overspeed: a vehicle that goes faster than it may, fix by fix (docs/tracking.md, "Overspeed").
//!
//! An episode is recorded once it has lasted long enough, and again when it ends. A function of the timeline, as
//! everything here: late fixes are put right by the same corrections.

use super::alert;
use super::alert_detail::AlertRule;
use super::context::Context;
use super::effects::Effects;
use super::episode::{Limit, Overspeed};
use super::motion::{Leg, MAX_SILENCE_SECONDS, plausible_speed};
use super::record::{Detail, Record};
use super::state::{Phase, VehicleState};
use crate::model::{Fix, Timestamp};

/// An episode counts from the fix on that is this long after its first one. Seconds.
const LEAST_SECONDS: f64 = 10.0;
/// It is an alert from the fix on that is this long after its first one: what lasts shorter is over before anybody could do
/// anything. Seconds.
const ALERT_SECONDS: f64 = 60.0;

/// Advances to a fix that counts. Call when it is known which fences hold the fix.
pub(super) fn follow(
    state: &mut VehicleState,
    way: Option<&(Fix, Leg)>,
    fix: &Fix,
    context: &Context<'_>,
    effects: &mut Effects,
) {
    let limit = limit_at(state, fix, context);
    if limit.is_none() && state.overspeed.is_none() {
        return;
    }
    let way = way.filter(|(_, leg)| leg.seconds <= MAX_SILENCE_SECONDS);
    let speed_kmh = match way {
        Some((_, leg)) => Some(leg.speed_kmh),
        None => plausible_speed(fix, context.vehicle.limits.max_speed_kmh),
    };
    if way.is_none() {
        end(state, fix.recorded_at, context, effects);
    }
    if let (Some((_, leg)), Some(mut episode)) = (way, state.overspeed.take()) {
        if leg.counts {
            episode.newest.distance_meters += leg.meters;
        }
        episode.newest.at = fix.recorded_at;
        if limit == Some(episode.limit) && leg.speed_kmh > episode.least_kmh() {
            episode.newest.max_speed_kmh = episode.newest.max_speed_kmh.max(leg.speed_kmh);
            episode.count(context, effects);
            state.overspeed = Some(episode);
            return;
        }
        episode.end(fix.recorded_at, context, effects);
    }
    let over = limit.zip(speed_kmh).filter(|(limit, kmh)| *kmh > limit.kmh);
    state.overspeed = over.map(|(limit, kmh)| Box::new(Overspeed::begin(limit, fix, kmh)));
}

/// Ends an episode at its newest fix, after which nothing is known. `confirmed_at`: the instant that shows this.
pub(super) fn end(
    state: &mut VehicleState,
    confirmed_at: Timestamp,
    context: &Context<'_>,
    effects: &mut Effects,
) {
    if let Some(episode) = state.overspeed.take() {
        episode.end(confirmed_at, context, effects);
    }
}

/// Sets what confirms the records of a step.
pub(super) fn confirm(state: &mut VehicleState, records: &mut [Record], at: Timestamp) {
    for record in &mut *records {
        record.confirmed_at = at;
    }
    let Some(episode) = state.overspeed.as_deref_mut() else { return };
    // If another episode ended among them, this one began after it: it is not told yet, or told by this step too.
    for record in records {
        let told = match &record.detail {
            Detail::Overspeed(_) => &mut episode.counted,
            Detail::Alert(alert) if alert.rule == AlertRule::Overspeed => &mut episode.raised,
            _ => continue,
        };
        if let Some((_, confirmed_at)) = told {
            *confirmed_at = at;
        }
    }
}

/// The record of an episode that counts and has not ended, with the values from when it began to count, and its alert,
/// with those from when it became one.
pub(super) fn open_records(state: &VehicleState, context: &Context<'_>) -> Vec<Record> {
    let Some(episode) = state.overspeed.as_deref() else { return Vec::new() };
    let open = |(reached, confirmed_at)| episode.record(reached, None, confirmed_at, context);
    let alert = episode.raised.map(open).as_ref().and_then(alert::of_overspeed);
    episode.counted.map(open).into_iter().chain(alert).collect()
}

/// The lowest limit in force at a fix: the vehicle's own, and those of the fences it is in.
fn limit_at(state: &VehicleState, fix: &Fix, context: &Context<'_>) -> Option<Limit> {
    let own = context.vehicle.limits.overspeed_kmh.map(|kmh| Limit { kmh, geofence_id: None });
    if !context.fences.limits_speed() {
        return own;
    }
    let inside = state.stays.iter().filter(|stay| matches!(stay.phase, Phase::Inside));
    let of_fences = inside.filter_map(|stay| {
        let version = context.fences.get(stay.geofence_id)?.in_force_at(fix.recorded_at)?;
        Some(Limit { kmh: version.rules.speed_limit_kmh?, geofence_id: Some(stay.geofence_id) })
    });
    own.into_iter()
        .chain(of_fences)
        .min_by(|a, b| a.kmh.total_cmp(&b.kmh).then(a.geofence_id.cmp(&b.geofence_id)))
}

impl Overspeed {
    /// Records the episode once it is long enough.
    fn count(&mut self, context: &Context<'_>, effects: &mut Effects) {
        let seconds = self.newest.at.seconds_since(self.since);
        let now = Some((self.newest, self.newest.at));
        if self.counted.is_none() && seconds >= LEAST_SECONDS {
            self.counted = now;
            effects.records.push(self.record(self.newest, None, self.newest.at, context));
        }
        if self.raised.is_none() && seconds >= ALERT_SECONDS {
            self.raised = now;
            let record = self.record(self.newest, None, self.newest.at, context);
            effects.records.extend(alert::of_overspeed(&record));
        }
    }

    /// Ends the episode at its newest fix; one that never counted leaves no record.
    fn end(&self, confirmed_at: Timestamp, context: &Context<'_>, effects: &mut Effects) {
        if self.counted.is_none() {
            return;
        }
        let record = self.record(self.newest, Some(self.newest.at), confirmed_at, context);
        let alert = self.raised.and_then(|_| alert::of_overspeed(&record));
        effects.records.push(record);
        effects.records.extend(alert);
    }
}
