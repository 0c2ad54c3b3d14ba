//! What an error of the store means to its caller.

/// Why a statement failed.
pub use sqlx::Error as SqlError;

/// The result of a statement.
pub type Result<T> = std::result::Result<T, SqlError>;

/// Another server writes to the store, and this one no longer may.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("another server has taken over the store")]
pub(super) struct TakenOver;

/// Bytes of a vehicle that make no sense in the form that they say they have. No other version reads them, and no other try.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Damaged(String);

/// The error of such bytes.
pub(in crate::store) fn damaged(what: String) -> SqlError {
    SqlError::Decode(Box::new(Damaged(what)))
}

/// Whether an error is that of such bytes.
pub(in crate::store) fn is_damaged(error: &SqlError) -> bool {
    matches!(error, SqlError::Decode(why) if why.is::<Damaged>())
}

/// The error of bytes in a form that is not known here: a newer version reads them, which another server may have already.
pub(in crate::store) fn of_newer_version(what: &str, form: u8) -> SqlError {
    SqlError::Decode(format!("{what}: form {form} is of a newer version").into())
}

/// Whether a transaction was refused because another server has taken over. Nothing of it is stored.
#[must_use]
pub fn is_taken_over(error: &SqlError) -> bool {
    matches!(error, SqlError::Configuration(why) if why.is::<TakenOver>())
}

/// Whether a statement failed because a unique key was taken.
#[must_use]
pub fn is_conflict(error: &SqlError) -> bool {
    error.as_database_error().is_some_and(|e| e.is_unique_violation())
}

/// Whether an error means that the store is away or too slow, rather than that the statement is wrong.
#[must_use]
pub fn is_unavailable(error: &SqlError) -> bool {
    match error {
        SqlError::PoolTimedOut
        | SqlError::PoolClosed
        | SqlError::Io(_)
        | SqlError::Tls(_)
        // The connection was cut in the middle of an answer.
        | SqlError::Protocol(_)
        | SqlError::WorkerCrashed => true,
        SqlError::Configuration(_) => is_taken_over(error),
        // 57xxx: cancelled by the timeout or shutting down; 53xxx: out of resources; 08xxx: connection;
        // 40xxx: serialization; 3D000: no such database; 55P03: a lock waited for too long; 25006: read-only;
        // 25P03: idle in a transaction for too long.
        SqlError::Database(error) => error.code().is_some_and(|code| {
            if code.len() == 5 {
                let classes = ["57", "53", "08", "40", "3D000", "55P03", "25006", "25P03"];
                return classes.iter().any(|class| code.starts_with(class));
            }
            // SQLite, in any extended form: busy, locked, interrupted by the time limit of lists, I/O error, disk full,
            // file cannot be opened.
            code.parse::<i32>().is_ok_and(|code| matches!(code & 0xff, 5 | 6 | 9 | 10 | 13 | 14))
        }),
        _ => false,
    }
}

/// Whether an error means that a value can never be stored, however often it is tried: neither itself nor beside what is stored
/// damaged. Nothing of its transaction is stored.
#[must_use]
pub fn is_never_taken(error: &SqlError) -> bool {
    match error {
        SqlError::Encode(_) => true,
        SqlError::Decode(_) => is_damaged(error),
        // 22xxx: data; 23xxx: constraints; 54xxx: limits. SQLite: too big, constraint, mismatch, range.
        SqlError::Database(error) => error.code().is_some_and(|code| {
            if code.len() == 5 {
                return ["22", "23", "54"].iter().any(|class| code.starts_with(class));
            }
            code.parse::<i32>().is_ok_and(|code| matches!(code & 0xff, 18..=20 | 25))
        }),
        _ => false,
    }
}
