//! Trackers: the devices whose credentials send fixes, and in which vehicle they sat when.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use waypost_actors::model::{OrganizationId, Timestamp, TrackerId, VehicleId};

use super::field::FieldError;
use super::fold::folded;
use super::members::{Members, Read, id, instant, one_of, text};
use super::words::words;

/// Stays of one tracker at most.
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
    /// That of a vehicle of which nothing else was said.
    fn default() -> Self {
        Self { interval_seconds: 10, stopped_interval_seconds: 300 }
    }
}

/// A stay of a tracker in a vehicle. A fix belongs to the vehicle in which its tracker sat when
/// the fix was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stay {
    /// The vehicle.
    pub vehicle_id: VehicleId,
    /// From this instant on; absent = ever, so that imported history finds its vehicle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Before this instant; absent = still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
}

/// What may be said of a tracker.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrackerIn {
    /// The device's own id (IMEI, say), 1 to 64 characters without spaces; unique on the platform.
    #[schema(pattern = r"^[^\s\x00-\x1f\x7f-\x9f]{1,64}$")]
    pub unique_id: String,
    /// Which model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 60)]
    pub model: Option<String>,
    /// Whether it may send fixes.
    #[schema(required = false)]
    pub status: TrackerStatus,
    /// Where it sat when, by start. Sending it replaces the whole history; to move the tracker
    /// now, send `vehicleId` instead.
    #[schema(required = false)]
    pub installations: Vec<Stay>,
}

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
    /// What was said of it.
    #[serde(flatten)]
    pub said: TrackerIn,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Default for TrackerIn {
    fn default() -> Self {
        Self {
            unique_id: String::new(),
            model: None,
            status: TrackerStatus::Active,
            installations: Vec::new(),
        }
    }
}

impl TrackerIn {
    /// Reads one whose members are all there (defaults or present values merged with a body).
    /// `vehicleId`, where it is there, moves the tracker at `now`.
    pub fn read(body: &Value, now: Timestamp) -> Result<Self, Vec<FieldError>> {
        let mut members = Members::of(body);
        let unique_id = members.required("uniqueId", unique_id);
        let model = members.optional("model", text(1..=60));
        let status = members.required("status", one_of(TrackerStatus::WORDS));
        let moved = members.change("vehicleId", id);
        let stays = members.any("installations").map(read_stays);
        let stays = match stays {
            Some(Ok(stays)) => Some(stays),
            Some(Err(problems)) => {
                members.extend(problems);
                None
            }
            None => Some(Vec::new()),
        };
        members.finish(|| {
            let mut said = Self { unique_id: unique_id?, model, status: status?, installations: stays? };
            if let super::members::Patch::Set(vehicle) = moved {
                said.move_to(vehicle, now);
            }
            Some(said)
        })
    }

    /// The vehicle it sits in now.
    #[must_use]
    pub fn vehicle_id(&self) -> Option<VehicleId> {
        self.installations.last().filter(|stay| stay.to.is_none()).map(|stay| stay.vehicle_id)
    }

    /// What a search looks through.
    #[must_use]
    pub fn search_key(&self) -> String {
        folded(&format!("{} {}", self.unique_id, self.model.as_deref().unwrap_or_default()))
    }

    /// Moves it now. The first stay of all has an open start.
    pub fn move_to(&mut self, vehicle: Option<VehicleId>, now: Timestamp) {
        if self.vehicle_id() == vehicle {
            return;
        }
        let from = (!self.installations.is_empty()).then_some(now);
        if let Some(last) = self.installations.last_mut() {
            last.to = last.to.or(Some(now));
        }
        self.installations.extend(vehicle.map(|vehicle_id| Stay { vehicle_id, from, to: None }));
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

fn read_stays(value: &Value) -> Result<Vec<Stay>, Vec<FieldError>> {
    let place = "/installations";
    let Some(items) = value.as_array() else {
        return Err(vec![FieldError::new(place, "type", "must be a list")]);
    };
    if items.len() > MAX_INSTALLATIONS {
        let detail = format!("must have at most {MAX_INSTALLATIONS} items");
        return Err(vec![FieldError::new(place, "length", detail)]);
    }
    let mut problems = Vec::new();
    let mut stays: Vec<Stay> = Vec::with_capacity(items.len());
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
        match members.finish(|| Some(Stay { vehicle_id: vehicle_id?, from, to })) {
            Ok(stay) => stays.push(stay),
            Err(found) => problems.extend(found),
        }
    }
    if problems.is_empty() {
        problems = overlaps(&stays, place);
    }
    if problems.is_empty() { Ok(stays) } else { Err(problems) }
}

/// Stays must be in order and not overlap: a tracker is in one place at a time.
fn overlaps(stays: &[Stay], place: &str) -> Vec<FieldError> {
    let overlap = |(i, pair): (usize, &[Stay])| {
        let apart = matches!((pair[0].to, pair[1].from), (Some(to), Some(from)) if to <= from);
        let detail = "must begin when the one before it ends, or later";
        (!apart).then(|| FieldError::new(format!("{place}/{}/from", i + 1), "range", detail))
    };
    stays.windows(2).enumerate().filter_map(overlap).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_000_000);

    fn vehicle(n: u128) -> VehicleId {
        VehicleId(uuid::Uuid::from_u128(n))
    }

    #[test]
    fn the_first_stay_has_an_open_start_and_a_move_closes_it() {
        let mut said = TrackerIn::default();
        said.move_to(Some(vehicle(1)), NOW);
        assert_eq!(said.installations, [Stay { vehicle_id: vehicle(1), from: None, to: None }]);
        said.move_to(Some(vehicle(1)), NOW.plus_seconds(1.0));
        assert_eq!(said.installations.len(), 1);
        said.move_to(Some(vehicle(2)), NOW.plus_seconds(2.0));
        said.move_to(None, NOW.plus_seconds(3.0));
        assert_eq!(said.vehicle_id(), None);
        assert_eq!(said.installations[0].to, Some(NOW.plus_seconds(2.0)));
        assert_eq!(said.installations[1].from, Some(NOW.plus_seconds(2.0)));
        assert_eq!(said.installations[1].to, Some(NOW.plus_seconds(3.0)));
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
            let body = json!({ "uniqueId": "x", "status": "active", "installations": stays });
            let pointer = TrackerIn::read(&body, NOW).err().map(|problems| problems[0].pointer.clone());
            assert_eq!(pointer.as_deref(), wrong);
        }
    }
}
