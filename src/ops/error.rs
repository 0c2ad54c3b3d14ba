//! Why an operation failed.

use waypost_actors::live::LiveError;
use waypost_actors::model::{DriverId, Timestamp};

use crate::auth::AuthError;
use crate::domain::account::Role;
use crate::domain::field::FieldError;
use crate::store::sql::{SqlError, is_conflict};
pub use crate::store::sql::{is_taken_over, is_unavailable};

/// The cause of an error that its caller only logs.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Something unique that is taken already.
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
    /// A driver's card.
    Card,
}

/// The obstacle to an assignment or a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// Another organization holds the driver.
    DriverLocked,
    /// No organization holds the driver, and another one created them.
    DriverNotHeld,
    /// The driver drives for another organization.
    DriverAssignedElsewhere,
    /// The driver is inactive or suspended.
    DriverNotActive,
    /// The driver's licence has expired, and the organization's settings forbid that.
    LicenseExpired,
    /// The driver drives as many vehicles as the organization allows.
    OpenVehicleLimit(i64),
    /// The vehicle is not in use.
    VehicleNotActive,
    /// Another driver drives the vehicle; `None` if that one was assigned at the same moment.
    VehicleAlreadyAssigned(Option<DriverId>),
    /// The vehicle's history lasts until this instant.
    AssignmentOverlaps(Timestamp),
    /// A card made the assignment.
    AssignedByCard,
    /// Another assignment of the vehicle overlaps; its start and end.
    AnotherAssignment(Timestamp, Option<Timestamp>),
}

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
pub enum OpError {
    /// The caller has no right to it.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// It does not exist, or is not the caller's.
    #[error("not found")]
    NotFound,
    /// The body has invalid members.
    #[error("invalid members")]
    Invalid(Vec<FieldError>),
    /// Something unique is taken already.
    #[error("taken: {0:?}")]
    Taken(Taken),
    /// An obstacle.
    #[error("blocked: {0:?}")]
    Blocked(Blocked),
    /// The present state does not allow it.
    #[error("{0}")]
    Transition(String),
    /// Sign-up is closed.
    #[error("sign-up is closed")]
    SignUpClosed,
    /// The subscription's limit is reached.
    #[error("the plan allows {limit} {what}")]
    PlanLimit {
        /// What is limited.
        what: &'static str,
        /// The limit.
        limit: i64,
    },
    /// The system user has as many keys as it may.
    #[error("too many keys")]
    KeyLimit,
    /// The organization has as many webhooks as it may.
    #[error("too many webhooks")]
    WebhookLimit,
    /// The organization has as many links to vehicles as it may.
    #[error("too many shares")]
    ShareLimit,
    /// The link to vehicles shows nothing any more.
    #[error("the share is over")]
    ShareOver,
    /// The file is of no kind that is kept.
    #[error("not a file that is kept")]
    FileType,
    /// The organization's files have as many bytes as they may.
    #[error("too many bytes of files")]
    FileLimit,
    /// No other user of this role would be left to administer.
    #[error("the last {0:?}")]
    LastAdministrator(Role),
    /// The resource differs from what the client expects.
    #[error("changed in the meantime")]
    Precondition,
    /// A request with the same Idempotency-Key is under way.
    #[error("a request with this key is under way")]
    KeyUnderWay,
    /// The Idempotency-Key was used before, for another request.
    #[error("the key came before with another request")]
    KeyReused,
    /// The cursor is not valid for this list.
    #[error("invalid cursor")]
    Cursor,
    /// The log is not kept as far back as the cursor.
    #[error("the cursor has expired")]
    CursorExpired,
    /// Another server has taken over the store: nothing was changed.
    #[error("another server has taken over the store")]
    TakenOver,
    /// Too many changes are on their way to the live core; nothing was changed.
    #[error("too many changes are on their way")]
    Busy,
    /// The store or the live core cannot be reached.
    #[error("not available: {0}")]
    Unavailable(#[source] BoxError),
    /// A bug of ours.
    #[error("internal: {0}")]
    Internal(#[source] BoxError),
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
            Self::Unavailable(error.into())
        } else {
            Self::Internal(error.into())
        }
    }
}

impl From<LiveError> for OpError {
    fn from(error: LiveError) -> Self {
        Self::Unavailable(error.into())
    }
}

/// Turns a violated unique key into the error that names it.
pub(super) fn conflict<T>(written: Result<T, SqlError>, taken: Taken) -> Result<T, OpError> {
    written.map_err(|error| if is_conflict(&error) { OpError::Taken(taken) } else { error.into() })
}
