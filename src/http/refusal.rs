//! Translates refusals of `auth` and `ops` into problems for the client.

use std::error::Error;

use super::code::Code;
use super::problem::Problem;
use crate::auth::AuthError;
use crate::domain::account::Role;
use crate::ops::error::{Blocked, OpError, Taken, is_taken_over, is_unavailable};

/// Seconds after which clients may retry while the server is unavailable.
pub(super) const RETRY_SECONDS: u64 = 1;

impl From<AuthError> for Problem {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::Unauthenticated => Self::new(Code::Unauthenticated),
            AuthError::UnknownKey => Self::new(Code::Unauthenticated)
                .detail("this key is unknown or revoked, or its system user is disabled; POST /v1/system-users/{id}/keys makes a new one"),
            AuthError::KeyExpired(at) => Self::new(Code::Unauthenticated).detail(format!(
                "this key expired at {at}; POST /v1/system-users/{{id}}/keys makes a new one"
            )),
            AuthError::NotInPublic => Self::new(Code::Unauthenticated).detail(
                "in a path, a query or a password, only a key whose only scope is positions:ingest is accepted, or a tracker's token",
            ),
            AuthError::InvalidCredentials => Self::new(Code::InvalidCredentials),
            AuthError::InvalidToken => Self::new(Code::InvalidToken),
            AuthError::Forbidden(action) => Self::new(Code::Forbidden).detail(action.needs()),
            AuthError::OrganizationInactive => Self::new(Code::OrganizationInactive),
            AuthError::SubscriptionInactive => Self::new(Code::SubscriptionInactive),
            AuthError::NoOrganization => Self::new(Code::NoOrganization),
            AuthError::EmailNotVerified => Self::new(Code::EmailNotVerified),
            AuthError::OrganizationRequired => Self::new(Code::OrganizationRequired),
            AuthError::NotFound => Self::new(Code::NotFound),
            AuthError::LinkExpired => Self::new(Code::LinkExpired),
            AuthError::LinkUsed => Self::new(Code::LinkUsed),
            AuthError::EmailTaken => Self::new(Code::EmailTaken),
            AuthError::TooManyAttempts(seconds) => Self::new(Code::TooManyAttempts).retry_after(seconds),
            AuthError::Busy => Self::new(Code::Busy).retry_after(RETRY_SECONDS),
            AuthError::Keys(error) => internal(&error),
            AuthError::Store(error) if is_taken_over(&error) => taken_over(),
            AuthError::Store(error) if is_unavailable(&error) => unavailable(&error),
            AuthError::Store(error) => internal(&error),
        }
    }
}

impl From<OpError> for Problem {
    fn from(error: OpError) -> Self {
        match error {
            OpError::Auth(error) => error.into(),
            OpError::NotFound => Self::new(Code::NotFound),
            OpError::Invalid(errors) => Self::new(Code::ValidationFailed)
                .detail(errors.first().map(|e| format!("{} {}", e.pointer, e.detail)).unwrap_or_default())
                .errors(errors),
            // The same no matter which organization has it.
            OpError::Taken(Taken::UniqueId) => Self::new(Code::UniqueIdTaken).detail(
                "a tracker of this platform has this unique id. If it may be one of your own, GET /v1/trackers?q={uniqueId} finds it: \
                 change its vehicleId instead of making it again, or give it another uniqueId. If none of yours is found, compare \
                 the id with the one on the device, and ask the operator of this server, who can see to it",
            ),
            OpError::Taken(taken) => Self::new(match taken {
                Taken::Slug => Code::SlugTaken,
                Taken::Email => Code::EmailTaken,
                Taken::Plate => Code::PlateTaken,
                Taken::Vin => Code::VinTaken,
                Taken::UniqueId => Code::UniqueIdTaken,
                Taken::License => Code::LicenseTaken,
                Taken::Card => Code::CardTaken,
            }),
            OpError::Blocked(blocked) => refused(blocked),
            OpError::Transition(detail) => Self::new(Code::InvalidTransition).detail(detail),
            OpError::LastAdministrator(Role::SuperAdmin) => Self::new(Code::LastSuperAdmin),
            OpError::LastAdministrator(_) => Self::new(Code::LastOrgAdmin),
            OpError::PlanLimit { what, limit } => {
                Self::new(Code::PlanLimitReached).detail(format!("the plan allows {limit} {what}"))
            }
            OpError::WebhookLimit => Self::new(Code::WebhookLimitReached),
            OpError::KeyLimit => Self::new(Code::KeyLimitReached),
            OpError::FileType => Self::new(Code::UnsupportedMediaType)
                .detail("the body begins like no PDF, JPEG or PNG; send the file itself, as it is"),
            OpError::FileLimit => Self::new(Code::FileLimitReached),
            OpError::ShareLimit => Self::new(Code::ShareLimitReached),
            OpError::ShareOver => Self::new(Code::ShareOver),
            OpError::SignUpClosed => Self::new(Code::SignUpClosed),
            OpError::Precondition => Self::new(Code::PreconditionFailed),
            OpError::KeyUnderWay => Self::new(Code::IdempotencyKeyInUse).retry_after(RETRY_SECONDS),
            OpError::KeyReused => Self::new(Code::IdempotencyKeyReused),
            OpError::Cursor => Self::new(Code::InvalidCursor),
            OpError::CursorExpired => Self::new(Code::CursorExpired),
            OpError::TakenOver => taken_over(),
            OpError::Busy => Self::new(Code::Busy).retry_after(RETRY_SECONDS),
            OpError::Unavailable(cause) => unavailable(&*cause),
            OpError::Internal(cause) => internal(&*cause),
        }
    }
}

fn refused(blocked: Blocked) -> Problem {
    match blocked {
        Blocked::DriverLocked => Problem::new(Code::DriverLocked),
        Blocked::DriverNotHeld => Problem::new(Code::DriverNotHeld),
        Blocked::DriverAssignedElsewhere => Problem::new(Code::DriverAssignedElsewhere),
        Blocked::DriverNotActive => Problem::new(Code::DriverNotActive),
        Blocked::LicenseExpired => Problem::new(Code::LicenseExpired),
        Blocked::OpenVehicleLimit(limit) => Problem::new(Code::OpenVehicleLimitReached).detail(format!(
            "maxOpenVehiclesPerDriver is {limit}; end another assignment of the driver first"
        )),
        Blocked::VehicleNotActive => Problem::new(Code::VehicleNotActive),
        Blocked::VehicleAlreadyAssigned(None) => Problem::new(Code::VehicleAlreadyAssigned),
        Blocked::VehicleAlreadyAssigned(Some(driver)) => Problem::new(Code::VehicleAlreadyAssigned)
            .detail(format!("driver {driver} drives it; send force: true to reassign it")),
        Blocked::AssignedByCard => Problem::new(Code::AssignedByCard),
        Blocked::AssignmentOverlaps(end) => Problem::new(Code::AssignmentOverlaps)
            .detail(format!("startedAt must not be before {end}, where the vehicle's history ends")),
        Blocked::AnotherAssignment(from, to) => Problem::new(Code::AssignmentOverlaps).detail(match to {
            Some(to) => format!("another assignment of the vehicle lasted from {from} to {to}"),
            None => format!("another assignment of the vehicle lasts since {from}"),
        }),
    }
}

fn taken_over() -> Problem {
    let detail = "another server has taken over the store, and this one ends; nothing was changed. Repeat the \
        request: the other one takes it";
    Problem::new(Code::Unavailable).detail(detail).retry_after(RETRY_SECONDS)
}

/// Logs the cause, which the client does not see.
fn unavailable(cause: &dyn Error) -> Problem {
    tracing::warn!(%cause, "not available");
    Problem::new(Code::Unavailable).retry_after(RETRY_SECONDS)
}

fn internal(cause: &dyn Error) -> Problem {
    tracing::error!(%cause, "internal error");
    Problem::new(Code::Internal)
}
