//! Assignments of drivers to vehicles, current and past.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::{DriverId, OrganizationId, Timestamp, VehicleId};

use super::body::body;
use super::members::{Members, Read, flag, id, instant};
use super::vehicle::{Plate, VehicleStub};
use super::words::words;

/// A start ahead of the server's clock by no more than this comes from a fast clock, and counts as now.
const FAST_CLOCK_SECONDS: f64 = 60.0;

words!(
    /// Why an assignment ended.
    EndReason {
        /// Somebody ended it.
        Unassigned = "unassigned",
        /// The vehicle was given to another driver.
        Reassigned = "reassigned",
        /// The driver was deleted.
        DriverDeleted = "driverDeleted",
        /// The organization gave the driver free.
        DriverUnlocked = "driverUnlocked",
        /// The vehicle was deleted.
        VehicleDeleted = "vehicleDeleted",
        /// The vehicle reported another card or none, or the card was not the driver's any more.
        CardEnded = "cardEnded",
    }
);

words!(
    /// Who made an assignment.
    #[schema(as = AssignmentOrigin)]
    Origin {
        /// Somebody did.
        Manual = "manual",
        /// The vehicle reported a card of the driver. It lasts while it does, as far as nobody assigned the vehicle by hand.
        Card = "card",
    }
);

words!(
    /// Which assignments.
    AssignmentState {
        /// Open ones.
        Current = "current",
        /// Ended ones.
        Past = "past",
        /// Both.
        All = "all",
    }
);

/// That a driver drives a vehicle, or did: from `startedAt`, inclusive, to `endedAt`, exclusive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Assignment {
    /// Which.
    pub id: Uuid,
    /// Whose: the vehicle's organization.
    pub organization_id: OrganizationId,
    /// Who.
    pub driver_id: DriverId,
    /// What.
    pub vehicle_id: VehicleId,
    /// Since when.
    pub started_at: Timestamp,
    /// Until when; absent = still.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Who made it.
    pub origin: Origin,
    /// The account that began it; absent: a card did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assigned_by: Option<Uuid>,
    /// The account that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<Uuid>,
    /// Why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_reason: Option<EndReason>,
    /// When it was made; a start may lie before it.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// An assignment with its vehicle, deleted or not, as it is called today.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct AssignedVehicle {
    /// The assignment.
    #[serde(flatten)]
    pub assignment: Assignment,
    /// The vehicle.
    pub vehicle: VehicleStub,
}

/// An assignment with its driver, deleted or not, as they are called today.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct AssignedDriver {
    /// The assignment.
    #[serde(flatten)]
    pub assignment: Assignment,
    /// The driver.
    pub driver: DriverName,
}

/// A driver, in few words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DriverName {
    /// Which.
    pub id: DriverId,
    /// Given name.
    pub first_name: String,
    /// Family name.
    pub last_name: String,
}

/// Filters a history of assignments.
#[derive(Clone, Copy, Debug)]
pub struct HistoryFilter {
    /// Open or ended.
    pub state: AssignmentState,
    /// Not ended by this instant.
    pub from: Option<Timestamp>,
    /// Begun before this instant.
    pub to: Option<Timestamp>,
}

/// A vehicle somebody drives now.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CurrentVehicle {
    /// Which.
    pub id: VehicleId,
    /// Its name.
    pub name: String,
    /// Its plate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plate: Option<Plate>,
    /// The assignment.
    pub assignment_id: Uuid,
    /// Who made it.
    pub origin: Origin,
    /// Since when.
    pub started_at: Timestamp,
}

/// Who drives a vehicle now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CurrentDriver {
    /// Who.
    pub id: DriverId,
    /// Given name.
    pub first_name: String,
    /// Family name.
    pub last_name: String,
    /// The assignment.
    pub assignment_id: Uuid,
    /// Who made it.
    pub origin: Origin,
    /// Since when.
    pub started_at: Timestamp,
}

body!(
    /// A wish to give a driver a vehicle.
    pub struct AssignVehicle {
        /// Whose; operators name it.
        organization_id "organizationId": optional OrganizationId, by(id);
        /// Which vehicle.
        vehicle_id "vehicleId": required VehicleId, by(id);
        /// Since when: not in the future, not before the assignment it replaces began, and not within one
        /// that ended. Absent = now.
        started_at "startedAt": optional Timestamp, by(instant);
        /// Whether to take it from another driver.
        force "force": optional bool, by(flag, value_type = bool, required = false);
    }
);

body!(
    /// When a past assignment really began and ended.
    pub struct CorrectionIn {
        /// Since when.
        started_at "startedAt": required Timestamp, by(instant);
        /// Until when: not before it began, not in the future.
        ended_at "endedAt": required Timestamp, by(instant);
    }
    READ_ONLY: &[
        "id", "organizationId", "driverId", "vehicleId", "origin", "assignedBy", "endedBy", "endReason", "createdAt", "updatedAt",
    ];
);

impl AssignVehicle {
    /// The start that the body names, if it does; one slightly ahead of the clock becomes `now`.
    #[must_use]
    pub fn started_by(&self, now: Timestamp) -> Option<Timestamp> {
        self.started_at.map(|at| at.min(now))
    }
}

/// Refuses times of an assignment in the future, and an end before its start.
pub fn happened_by(now: Timestamp) -> impl FnOnce(&mut Members<'_>) {
    move |assignment| {
        let mut at = |name| {
            let given = assignment.value(name).filter(|value| instant(value).is_ok())?;
            match past(now)(given) {
                Ok(at) => Some(at),
                Err((code, must)) => {
                    assignment.problem(name, code, format!("must be {must}"));
                    None
                }
            }
        };
        if at("startedAt").zip(at("endedAt")).is_some_and(|(start, end)| end < start) {
            assignment.problem("endedAt", "range", "must not be before startedAt");
        }
    }
}

/// Reads an instant that is not in the future.
pub fn past(now: Timestamp) -> impl Fn(&Value) -> Read<Timestamp> {
    move |value| match instant(value)? {
        at if at.seconds_since(now) > FAST_CLOCK_SECONDS => {
            Err(("range", "no instant in the future".to_owned()))
        }
        at => Ok(at.min(now)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::body::Params;
    use super::*;

    #[test]
    fn a_start_may_lie_back_but_not_ahead() {
        let now = Timestamp::parse("2026-05-01T12:00:00Z").unwrap();
        let read = |start: Value| {
            let body = json!({ "vehicleId": Uuid::nil(), "startedAt": start });
            let read = Params::<AssignVehicle>::from(body).made_if(happened_by(now));
            read.map(|wish| wish.started_by(now))
        };
        assert_eq!(read(Value::Null), Ok(None));
        assert_eq!(
            read(json!("2026-04-01T12:00:00Z")).unwrap(),
            Timestamp::parse("2026-04-01T12:00:00Z").ok()
        );
        assert_eq!(read(json!("2026-05-01T12:01:00Z")), Ok(Some(now)));
        assert_eq!(read(json!("2026-05-01T12:01:00.001Z")).unwrap_err()[0].pointer, "/startedAt");
    }
}
