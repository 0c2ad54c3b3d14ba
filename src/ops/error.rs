//! Why something was not done.

use waypost_actors::live::LiveError;

use crate::auth::AuthError;
use crate::domain::field::FieldError;

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
    /// Not possible from the present state.
    #[error("{0}")]
    Transition(String),
    /// The subscription allows no more.
    #[error("the plan allows {limit} {what}")]
    PlanLimit {
        /// Of what.
        what: &'static str,
        /// How many.
        limit: i64,
    },
    /// The resource is not as the client thinks.
    #[error("changed in the meantime")]
    Precondition,
    /// The cursor was not made here for this list.
    #[error("invalid cursor")]
    Cursor,
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

impl From<sqlx::Error> for OpError {
    fn from(error: sqlx::Error) -> Self {
        if is_unavailable(&error) {
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

/// Whether an error says that the store is away or too slow, rather than that we asked nonsense.
#[must_use]
pub fn is_unavailable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::WorkerCrashed => true,
        // 57xxx: cancelled by the timeout or shutting down; 53xxx: out of resources; 08xxx: connection;
        // 40xxx: serialization; 5, 6: SQLite busy or locked.
        sqlx::Error::Database(error) => error.code().is_some_and(|code| {
            ["57", "53", "08", "40"].iter().any(|class| code.len() == 5 && code.starts_with(class))
                || matches!(code.as_ref(), "5" | "6" | "13")
        }),
        _ => false,
    }
}
