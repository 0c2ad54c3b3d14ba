//! The request that an operation belongs to: its id and client, for the audit, and its idempotency key.
//!
//! Travels with the request's task, like a log line's span, instead of through every signature. Outside a request
//! (the demo, the console) there is none.

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

/// Runs the handling of a request, with its id and its client's address.
pub async fn of_request<T>(request_id: String, address: String, handling: impl Future<Output = T>) -> T {
    CONTEXT.scope(RequestContext { request_id, address, idempotency_key: RefCell::new(None) }, handling).await
}

/// The client of the current request; the console outside a request.
#[must_use]
pub fn peer() -> Peer {
    let of = |context: &RequestContext| Peer {
        address: context.address.clone(),
        request_id: Some(context.request_id.clone()),
    };
    CONTEXT.try_with(of).unwrap_or_else(|_| Peer::console())
}

/// The id of the current request, if any.
#[must_use]
pub fn request_id() -> Option<String> {
    CONTEXT.try_with(|context| context.request_id.clone()).ok()
}

/// Sets the idempotency key of the current request.
pub(super) fn set_idempotency_key(key: IdempotencyKey) {
    // Outside a request there is nothing to repeat.
    let _ = CONTEXT.try_with(|context| context.idempotency_key.replace(Some(key)));
}

/// The idempotency key of the current request.
pub(super) fn idempotency_key() -> Option<IdempotencyKey> {
    CONTEXT.try_with(|context| context.idempotency_key.borrow().clone()).ok().flatten()
}
