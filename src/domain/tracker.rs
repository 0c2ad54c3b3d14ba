//! Trackers: devices that send fixes with credentials of their own, and the vehicles they were installed in.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use waypost_actors::model::{OrganizationId, Timestamp, TrackerId, VehicleId};

use super::body::body;
use super::field::FieldError;
use super::fold::folded;
use super::members::{Members, Patch, Read, id, instant, text};
use super::words::words;

/// Most installations of one tracker.
const MAX_INSTALLATIONS: usize = 500;

words!(
    /// Whether a tracker may send fixes.
    TrackerStatus {
        /// It may.
        Active = "active",
        /// Its token is refused.
        Disabled = "disabled",
    }
);

words!(
    /// A unit of speed.
    SpeedUnit {
        /// Kilometres per hour.
        KilometersPerHour = "kmh",
        /// Metres per second.
        MetersPerSecond = "ms",
        /// Knots.
        Knots = "knots",
    }
);

/// How often a tracker should report: what its vehicle says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TrackerConfig {
    /// In motion, seconds.
    pub interval_seconds: u32,
    /// At rest, seconds.
    pub stopped_interval_seconds: u32,
}

impl Default for TrackerConfig {
    /// The config of a vehicle without one of its own.
    fn default() -> Self {
        Self { interval_seconds: 10, stopped_interval_seconds: 300 }
    }
}

/// A stay of a tracker in a vehicle. A fix belongs to the vehicle in which its tracker sat when
/// the fix was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Installation {
    /// The vehicle.
    pub vehicle_id: VehicleId,
    /// From this instant on; absent = ever, so that imported history finds its vehicle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Before this instant; absent = still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
}

body!(
    /// The attributes of a tracker that a client sets.
    pub struct TrackerIn {
        /// The device's own id (IMEI, say), 1 to 64 characters without spaces; unique on the platform.
        unique_id "uniqueId": required String, by(unique_id, pattern = r"^[^\s\x00-\x1f\x7f-\x9f]{1,64}$");
        /// Which model.
        model "model": optional String, text(1..=60);
        /// Whether it may send fixes.
        status "status": required TrackerStatus, word, or TrackerStatus::Active;
        /// The unit of its speeds, where its app leaves that open: `speed` of the OsmAnd form, `vel` of OwnTracks. Absent: what
        /// the protocol says, knots and km/h.
        speed_unit "speedUnit": optional SpeedUnit, word;
        /// Where it sat when, by start. Sending it replaces the whole history; to move the tracker
        /// now, send `vehicleId` instead.
        installations "installations": required Vec<Installation>, deep(read_installations), or Vec::<Installation>::new();
    }
    WHOLE: &["installations"];
);

body!(
    /// A new tracker.
    pub struct CreateTracker {
        /// Whose; operators name it.
        organization_id "organizationId": optional OrganizationId, by(id);
        /// The vehicle it sits in, from ever.
        vehicle_id "vehicleId": patch VehicleId, by(id);
        /// Its attributes.
        ..tracker: TrackerIn;
    }
    WHOLE: TrackerIn::WHOLE;
);

body!(
    /// What may be changed of a tracker.
    pub struct UpdateTracker {
        /// Moves it there now; null takes it out of its vehicle.
        vehicle_id "vehicleId": patch VehicleId, by(id);
        /// Its attributes.
        ..tracker: TrackerIn;
    }
    WHOLE: TrackerIn::WHOLE;
    READ_ONLY: &["id", "organizationId", "createdAt", "updatedAt"];
);

/// A tracker.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tracker {
    /// Which.
    pub id: TrackerId,
    /// Whose.
    pub organization_id: OrganizationId,
    /// The vehicle it sits in now. May be sent: moves the tracker there now, null takes it out.
    pub vehicle_id: Option<VehicleId>,
    /// Its attributes.
    #[serde(flatten)]
    pub attributes: TrackerIn,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl TrackerIn {
    /// A tracker with defaults for everything but its id.
    #[must_use]
    pub const fn of(unique_id: String) -> Self {
        Self {
            unique_id,
            model: None,
            status: TrackerStatus::Active,
            speed_unit: None,
            installations: Vec::new(),
        }
    }

    /// The vehicle it is installed in now.
    #[must_use]
    pub fn vehicle_id(&self) -> Option<VehicleId> {
        self.installations.last().filter(|stay| stay.to.is_none()).map(|stay| stay.vehicle_id)
    }

    /// The text that is searched.
    #[must_use]
    pub fn search_key(&self) -> String {
        folded(&format!("{} {}", self.unique_id, self.model.as_deref().unwrap_or_default()))
    }

    /// Moves the tracker now, if the body names a vehicle or null.
    #[must_use]
    pub fn moved(mut self, to: Patch<Option<VehicleId>>, now: Timestamp) -> Self {
        if let Patch::Set(vehicle) = to {
            self.move_to(vehicle, now);
        }
        self
    }

    /// Moves it now. The first installation has an open start; those that were still to begin do not come to be.
    pub fn move_to(&mut self, vehicle: Option<VehicleId>, now: Timestamp) {
        if self.vehicle_id() == vehicle {
            return;
        }
        self.installations.retain(|stay| stay.from.is_none_or(|from| from < now));
        let from = (!self.installations.is_empty()).then_some(now);
        if let Some(last) = self.installations.last_mut() {
            last.to = Some(last.to.map_or(now, |to| to.min(now)));
        }
        self.installations.extend(vehicle.map(|vehicle_id| Installation { vehicle_id, from, to: None }));
    }
}

/// A device's own id.
pub fn unique_id(value: &Value) -> Read<String> {
    let found = text(1..=64)(value)?;
    if found.chars().any(char::is_whitespace) {
        return Err(("format", "free of spaces".to_owned()));
    }
    Ok(found)
}

fn read_installations(value: &Value) -> Result<Vec<Installation>, Vec<FieldError>> {
    let place = "/installations";
    let Some(items) = value.as_array() else {
        return Err(vec![FieldError::new(place, "type", "must be a list")]);
    };
    if items.len() > MAX_INSTALLATIONS {
        let detail = format!("must have at most {MAX_INSTALLATIONS} items");
        return Err(vec![FieldError::new(place, "length", detail)]);
    }
    let mut problems = Vec::new();
    let mut stays: Vec<Installation> = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let mut members = Members::at(item, format!("{place}/{i}"));
        let vehicle_id = members.required("vehicleId", id);
        let from = members.optional("from", instant);
        let to = members.optional("to", instant);
        if let (Some(from), Some(to)) = (from, to)
            && to <= from
        {
            members.problem("to", "range", "must be later than from");
        }
        match members.finish(|| Some(Installation { vehicle_id: vehicle_id?, from, to })) {
            Ok(stay) => stays.push(stay),
            Err(found) => problems.extend(found),
        }
    }
    if problems.is_empty() {
        problems = overlaps(&stays, place);
    }
    if problems.is_empty() { Ok(stays) } else { Err(problems) }
}

/// Installations must be in order and must not overlap, because a tracker is in one place at a time.
fn overlaps(stays: &[Installation], place: &str) -> Vec<FieldError> {
    let overlap = |(i, pair): (usize, &[Installation])| {
        let apart = matches!((pair[0].to, pair[1].from), (Some(to), Some(from)) if to <= from);
        let detail = "must begin when the one before it ends, or later";
        (!apart).then(|| FieldError::new(format!("{place}/{}/from", i + 1), "range", detail))
    };
    stays.windows(2).enumerate().filter_map(overlap).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::body::Params;
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_000_000);

    fn vehicle(n: u128) -> VehicleId {
        VehicleId(uuid::Uuid::from_u128(n))
    }

    #[test]
    fn a_move_ends_what_was_planned() {
        let later = |seconds| Some(NOW.plus_seconds(seconds));
        let stay = |n, from, to| Installation { vehicle_id: vehicle(n), from, to };
        let planned = |installations| TrackerIn { installations, ..TrackerIn::of("x".to_owned()) };
        let mut attributes = planned(vec![stay(1, None, later(10.0)), stay(2, later(20.0), None)]);
        attributes.move_to(Some(vehicle(3)), NOW);
        assert_eq!(attributes.installations, [stay(1, None, Some(NOW)), stay(3, Some(NOW), None)]);
        let mut attributes = planned(vec![stay(2, later(20.0), None)]);
        attributes.move_to(None, NOW);
        assert_eq!(attributes.installations, []);
    }

    #[test]
    fn the_first_stay_has_an_open_start_and_a_move_closes_it() {
        let mut attributes = TrackerIn::of("x".to_owned());
        attributes.move_to(Some(vehicle(1)), NOW);
        assert_eq!(attributes.installations, [Installation { vehicle_id: vehicle(1), from: None, to: None }]);
        attributes.move_to(Some(vehicle(1)), NOW.plus_seconds(1.0));
        assert_eq!(attributes.installations.len(), 1);
        attributes.move_to(Some(vehicle(2)), NOW.plus_seconds(2.0));
        attributes.move_to(None, NOW.plus_seconds(3.0));
        assert_eq!(attributes.vehicle_id(), None);
        assert_eq!(attributes.installations[0].to, Some(NOW.plus_seconds(2.0)));
        assert_eq!(attributes.installations[1].from, Some(NOW.plus_seconds(2.0)));
        assert_eq!(attributes.installations[1].to, Some(NOW.plus_seconds(3.0)));
    }

    #[test]
    fn what_a_new_tracker_leaves_out_has_its_default() {
        let made = Params::<CreateTracker>::from(json!({ "uniqueId": "x" })).made().unwrap();
        assert_eq!((made.tracker, made.vehicle_id), (TrackerIn::of("x".to_owned()), Patch::Keep));
    }

    #[test]
    fn stays_that_overlap_are_refused() {
        let at = |vehicle_id: u128, from: Option<&str>, to: Option<&str>| json!({ "vehicleId": vehicle(vehicle_id), "from": from, "to": to });
        let (one, two) = (Some("2026-01-01T00:00:00Z"), Some("2026-01-02T00:00:00Z"));
        for (stays, wrong) in [
            (json!([at(1, None, one), at(2, one, None)]), None),
            (json!([at(1, None, two), at(2, one, None)]), Some("/installations/1/from")),
            (json!([at(1, None, None), at(2, one, None)]), Some("/installations/1/from")),
            (json!([at(1, two, one)]), Some("/installations/0/to")),
        ] {
            let body = Params::<TrackerIn>::from(json!({ "uniqueId": "x", "installations": stays }));
            let pointer = body.made().err().map(|problems| problems[0].pointer.clone());
            assert_eq!(pointer.as_deref(), wrong);
        }
    }
}
