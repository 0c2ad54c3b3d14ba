//! One fence's part of a step: a stay that begins, and the records of entries, exits and visits.

use super::alert;
use super::analytics::Tally;
use super::context::Context;
use super::effects::{Effects, VisitRow};
use super::identity::{Anchor, event_id, visit_id};
use super::record::{Detail, GeofenceDetail, Record};
use super::standstill::Stance;
use super::state::{Candidate, Phase, Stay};
use crate::geofence::{FenceTimeline, PreparedVersion};
use crate::model::{Cause, EventId, EventKind, Fix, Place, Timestamp, VehicleId};

/// One fence's part of a step: the version in force, and where its records go.
pub(super) struct Step<'a> {
    pub(super) fence: &'a FenceTimeline,
    pub(super) version: &'a PreparedVersion,
    /// How far the fix is believed.
    pub(super) stance: Stance,
    pub(super) context: &'a Context<'a>,
    pub(super) effects: &'a mut Effects,
}

impl Step<'_> {
    pub(super) fn new_stay(&self, anchor: Anchor, entered_at: Timestamp, cause: Cause) -> Stay {
        let vehicle = self.vehicle();
        Stay {
            geofence_id: self.fence.id,
            version: self.version.version,
            visit_id: visit_id(vehicle, self.fence.id, anchor),
            entry_event_id: event_id(vehicle, self.fence.id, EventKind::Entry, anchor),
            entered_at,
            cause,
            phase: Phase::Inside,
            dwelt: false,
            overstay: None,
            tally: Tally::default(),
            fuel: None,
        }
    }

    pub(super) fn record_entry(&mut self, stay: &Stay, candidate: &Candidate) {
        self.record_entry_as(stay, candidate, false);
    }

    /// `inferred`: neither fix saw it.
    pub(super) fn record_entry_as(&mut self, stay: &Stay, candidate: &Candidate, inferred: bool) {
        let entry = self.detail(EventKind::Entry, stay, candidate, stay.cause, inferred);
        self.record(stay.entry_event_id, candidate, entry);
        self.visit(stay, None);
    }

    /// `tally`: the stay up to the candidate's crossing.
    pub(super) fn record_exit(
        &mut self,
        stay: &Stay,
        tally: &Tally,
        anchor: Anchor,
        candidate: &Candidate,
        cause: Cause,
        inferred: bool,
    ) {
        let id = event_id(self.vehicle(), self.fence.id, EventKind::Exit, anchor);
        let at = candidate.crossing.at;
        let analytics = Some(stay.analytics(tally, at));
        let exit = self.detail(EventKind::Exit, stay, candidate, cause, inferred);
        self.record(id, candidate, GeofenceDetail { analytics, ..exit });
        if let Some(overstay) = stay.overstay.as_deref() {
            let end = (Some(at), candidate.fix.recorded_at);
            self.effects.records.push(alert::of_overstay((stay, overstay), self.fence, end, self.context));
        }
        self.visit(stay, Some((id, at)));
    }

    fn visit(&mut self, stay: &Stay, exit: Option<(EventId, Timestamp)>) {
        self.effects.visits.push(VisitRow {
            id: stay.visit_id,
            geofence_id: stay.geofence_id,
            entry_event_id: stay.entry_event_id,
            entered_at: stay.entered_at,
            exit,
        });
    }

    /// Records what happened at a crossing.
    pub(super) fn record(&mut self, id: EventId, candidate: &Candidate, detail: GeofenceDetail) {
        let Candidate { crossing, fix } = candidate;
        let found = Record::found(id, crossing.at, Detail::Geofence(Box::new(detail)), self.context);
        // The callers, which know the step, may set a better `confirmed_at`.
        let (location, confirmed_at) = (Some(crossing.place), fix.recorded_at);
        self.effects.records.push(Record { location, confirmed_at, ..found });
    }

    pub(super) fn detail(
        &self,
        kind: EventKind,
        stay: &Stay,
        candidate: &Candidate,
        cause: Cause,
        inferred: bool,
    ) -> GeofenceDetail {
        GeofenceDetail {
            kind,
            visit_id: stay.visit_id,
            geofence_id: self.fence.id,
            geofence_name: self.fence.name.clone(),
            geofence_version: self.version.version,
            time_uncertainty_seconds: candidate.crossing.uncertainty_seconds,
            cause,
            inferred,
            fix: candidate.fix,
            analytics: None,
        }
    }

    /// Counts a fix as one of the stay.
    pub(super) fn count(&self, stay: &mut Stay, fix: &Fix) {
        stay.tally.count(fix, self.context.vehicle.limits.max_speed_kmh);
    }

    pub(super) const fn vehicle(&self) -> VehicleId {
        self.context.vehicle.id
    }
}

/// Whether a place is inside an active version.
pub(super) fn holds(version: &PreparedVersion, place: Place) -> bool {
    version.active && version.shape.covers(place)
}
