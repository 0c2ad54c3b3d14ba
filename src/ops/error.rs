//! Why something was not done.

use waypost_actors::live::LiveError;
use waypost_actors::model::{DriverId, Timestamp};

use crate::auth::AuthError;
use crate::domain::account::Role;
use crate::domain::field::FieldError;
use crate::store::sql::{SqlError, is_conflict};
pub use crate::store::sql::{is_taken_over, is_unavailable};

/// A unique thing that another one has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// An organization's slug.
    Slug,
    /// An account's address.
    Email,
    /// A vehicle's plate.
    Plate,
    /// A vehicle's VIN.
    Vin,
    /// A tracker's own id.
    UniqueId,
    /// A driver's licence.
    License,
}

/// What stands in the way of an assignment or a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// Another organization holds the driver.
    DriverLocked,
    /// Nobody holds the driver, and another organization made them.
    DriverNotHeld,
    /// The driver drives for another organization.
    DriverAssignedElsewhere,
    /// The driver is inactive or suspended.
    DriverNotActive,
    /// The driver's licence is expired, and the organization minds.
    LicenseExpired,
    /// The driver drives as many vehicles as the organization lets one drive.
    OpenVehicleLimit(i64),
    /// The vehicle is not in use.
    VehicleNotActive,
    /// Another driver drives the vehicle; known, but for one who came at the same instant.
    VehicleAlreadyAssigned(Option<DriverId>),
    /// The vehicle's history goes on until then.
    AssignmentOverlaps(Timestamp),
    /// Another assignment of the vehicle lies in the same time: when it began, and when it ended.
    AnotherAssignment(Timestamp, Option<Timestamp>),
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum OpError {
    /// The caller may not.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// Not there, or not the caller's.
    #[error("not found")]
    NotFound,
    /// The body has invalid members.
    #[error("invalid members")]
    Invalid(Vec<FieldError>),
    /// Another one has it.
    #[error("taken: {0:?}")]
    Taken(Taken),
    /// Something stands in its way.
    #[error("blocked: {0:?}")]
    Blocked(Blocked),
    /// Not possible from the present state.
    #[error("{0}")]
    Transition(String),
    /// Strangers may not sign up.
    #[error("sign-up is closed")]
    SignUpClosed,
    /// The subscription allows no more.
    #[error("the plan allows {limit} {what}")]
    PlanLimit {
        /// Of what.
        what: &'static str,
        /// How many.
        limit: i64,
    },
    /// Nobody else of this role could go on.
    #[error("the last {0:?}")]
    LastAdministrator(Role),
    /// The resource is not as the client thinks.
    #[error("changed in the meantime")]
    Precondition,
    /// A request with the same Idempotency-Key is under way.
    #[error("a request with this key is under way")]
    KeyUnderWay,
    /// The Idempotency-Key came before with another request.
    #[error("the key came before with another request")]
    KeyReused,
    /// The cursor was not made here for this list.
    #[error("invalid cursor")]
    Cursor,
    /// Another server has taken over the store: nothing was changed.
    #[error("another server has taken over the store")]
    TakenOver,
    /// Too many changes are on their way: nothing was changed.
    #[error("too many changes are on their way")]
    Busy,
    /// The store or the live core cannot be reached.
    #[error("not available: {0}")]
    Unavailable(String),
    /// A mistake of ours.
    #[error("internal: {0}")]
    Internal(String),
}

impl From<Vec<FieldError>> for OpError {
    fn from(problems: Vec<FieldError>) -> Self {
        Self::Invalid(problems)
    }
}

impl From<SqlError> for OpError {
    fn from(error: SqlError) -> Self {
        if is_taken_over(&error) {
            Self::TakenOver
        } else if is_unavailable(&error) {
            Self::Unavailable(error.to_string())
        } else {
            Self::Internal(error.to_string())
        }
    }
}

impl From<LiveError> for OpError {
    fn from(error: LiveError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

/// Says which unique thing another one has, where a statement failed for that.
pub(super) fn conflict<T>(written: Result<T, SqlError>, taken: Taken) -> Result<T, OpError> {
    written.map_err(|error| if is_conflict(&error) { OpError::Taken(taken) } else { error.into() })
}
