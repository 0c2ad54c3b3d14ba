//! Locks within this process, which is the only one that writes to its store.

mod idempotency_keys;
mod keyed_lock;
mod turns;

pub use idempotency_keys::{HeldKey, IdempotencyKeys};
pub use keyed_lock::{KeyGuard, KeyedLock, Reservation};
pub use turns::{OwnTurn, Turns};
