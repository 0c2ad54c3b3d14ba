//! The request an operation comes from: its id and its client, for the audit, and the key it may be repeated under.
//!
//! Travels with the request's task and not through every signature, as a log line's span does. Outside a
//! request (the demo, the console) there is none.

use std::cell::RefCell;
use std::future::Future;

use super::idempotency_key::IdempotencyKey;
use crate::auth::Peer;

tokio::task_local! {
    static CONTEXT: RequestContext;
}

struct RequestContext {
    request_id: String,
    address: String,
    idempotency_key: RefCell<Option<IdempotencyKey>>,
}

/// Runs the handling of a request from a client's address.
pub async fn of_request<T>(request_id: String, address: String, handling: impl Future<Output = T>) -> T {
    CONTEXT.scope(RequestContext { request_id, address, idempotency_key: RefCell::new(None) }, handling).await
}

/// The client of the request under way; the console, without one.
#[must_use]
pub fn peer() -> Peer {
    let of = |context: &RequestContext| Peer {
        address: context.address.clone(),
        request_id: Some(context.request_id.clone()),
    };
    CONTEXT.try_with(of).unwrap_or_else(|_| Peer::console())
}

/// The id of the request under way, if there is one.
#[must_use]
pub fn request_id() -> Option<String> {
    CONTEXT.try_with(|context| context.request_id.clone()).ok()
}

/// Says under which key the request under way may be repeated.
pub(super) fn set_idempotency_key(key: IdempotencyKey) {
    // Without a request there is nobody to repeat it.
    let _ = CONTEXT.try_with(|context| context.idempotency_key.replace(Some(key)));
}

/// The key of the request under way.
pub(super) fn idempotency_key() -> Option<IdempotencyKey> {
    CONTEXT.try_with(|context| context.idempotency_key.borrow().clone()).ok().flatten()
}
