//! Assignments: who drives what, and who drove it when.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::{DriverId, OrganizationId, Timestamp, VehicleId};

use super::field::FieldError;
use super::members::{Members, Read, flag, id, instant};
use super::vehicle::{Plate, VehicleStub};
use super::words::words;

/// A start so little ahead of the server's clock is a clock that is a little fast: it counts as now.
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
    /// The account that began it.
    pub assigned_by: Uuid,
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

/// Which assignments of a history.
#[derive(Clone, Copy, Debug)]
pub struct HistoryFilter {
    /// Open or ended.
    pub state: AssignmentState,
    /// Those that had not ended by then.
    pub from: Option<Timestamp>,
    /// Those that had begun before.
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
    /// Since when.
    pub started_at: Timestamp,
}

/// A wish to give a driver a vehicle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssignIn {
    /// Which vehicle.
    pub vehicle_id: VehicleId,
    /// Since when: not in the future, not before the assignment it replaces began, and not within one
    /// that ended. Absent = now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// Whether to take it from another driver.
    #[schema(required = false)]
    pub force: bool,
}

impl AssignIn {
    /// Reads a wish.
    pub fn read(body: &Value, now: Timestamp) -> Result<Self, Vec<FieldError>> {
        let mut members = Members::of(body);
        let vehicle_id = members.required("vehicleId", id);
        let started_at = members.optional("startedAt", past(now));
        let force = members.optional("force", flag).unwrap_or(false);
        members.finish(|| Some(Self { vehicle_id: vehicle_id?, started_at, force }))
    }
}

/// When a past assignment really began and ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CorrectionIn {
    /// Since when.
    pub started_at: Timestamp,
    /// Until when: not before it began, not in the future.
    pub ended_at: Timestamp,
}

impl CorrectionIn {
    /// Reads a correction whose members are both there, present values merged with a body.
    pub fn read(body: &Value, now: Timestamp) -> Result<Self, Vec<FieldError>> {
        let mut members = Members::of(body);
        let started_at = members.required("startedAt", past(now));
        let ended_at = members.required("endedAt", past(now));
        if matches!((started_at, ended_at), (Some(start), Some(end)) if end < start) {
            members.problem("endedAt", "range", "must not be before startedAt");
        }
        members.finish(|| Some(Self { started_at: started_at?, ended_at: ended_at? }))
    }
}

/// An instant that is not ahead of now.
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

    use super::*;

    #[test]
    fn a_start_may_lie_back_but_not_ahead() {
        let now = Timestamp::parse("2026-05-01T12:00:00Z").unwrap();
        let read = |start: Value| {
            AssignIn::read(&json!({ "vehicleId": Uuid::nil(), "startedAt": start }), now)
                .map(|wish| wish.started_at)
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
