//! Why the live core did not do what was asked.

/// Why the live core did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiveError {
    /// The store cannot be written now; ask again later.
    #[error("the store cannot be written now")]
    Unavailable,
    /// The core does not know the vehicle, or it was taken out of use.
    #[error("no such vehicle")]
    UnknownVehicle,
    /// The live core is stopping.
    #[error("the server is stopping")]
    Stopped,
}
