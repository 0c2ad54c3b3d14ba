//! The request an operation comes from: its id and its client, for the audit, and the key it may be repeated under.
//!
//! Travels with the request's task and not through every signature, as a log line's span does. Outside a
//! request (the demo, the console) there is none.

use std::cell::RefCell;
use std::future::Future;

use super::once::Once;
use crate::auth::Peer;

tokio::task_local! {
    static ORIGIN: Origin;
}

struct Origin {
    request_id: String,
    address: String,
    once: RefCell<Option<Once>>,
}

/// Runs the handling of a request from a client's address.
pub async fn of_request<T>(request_id: String, address: String, handling: impl Future<Output = T>) -> T {
    ORIGIN.scope(Origin { request_id, address, once: RefCell::new(None) }, handling).await
}

/// The client of the request under way; the console, without one.
#[must_use]
pub fn peer() -> Peer {
    let of = |origin: &Origin| Peer {
        address: origin.address.clone(),
        request_id: Some(origin.request_id.clone()),
    };
    ORIGIN.try_with(of).unwrap_or_else(|_| Peer::console())
}

/// The id of the request under way, if there is one.
#[must_use]
pub fn request_id() -> Option<String> {
    ORIGIN.try_with(|origin| origin.request_id.clone()).ok()
}

/// Says under which key the request under way may be repeated.
pub(super) fn set_once(once: Once) {
    // Without a request there is nobody to repeat it.
    let _ = ORIGIN.try_with(|origin| origin.once.replace(Some(once)));
}

/// The key of the request under way.
pub(super) fn once() -> Option<Once> {
    ORIGIN.try_with(|origin| origin.once.borrow().clone()).ok().flatten()
}
