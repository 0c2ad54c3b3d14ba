//! Checks the caller of a route that requires or accepts an access token.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header;
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage};
use uuid::Uuid;

use super::code::Code;
use super::problem::Problem;
use super::request::{Shared, bearer, know_peer};
use super::route::{Access, Route};
use super::{idempotency, limit};
use crate::auth::Caller;
use crate::context::Context;
use crate::ops::sign_up;
use crate::rate_limit::Class;

/// Prefix of tracker tokens.
const TRACKER_TOKEN_PREFIX: &str = "wpt_";

/// Lets requests through with or without an access token, but refuses an invalid one.
pub(super) async fn known_or_stranger(
    context: Shared,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    if request.headers().contains_key(header::AUTHORIZATION) {
        return signed_in(context, request, next).await;
    }
    let address = limit::address(&request);
    let counted = limit::count_stranger(&context, &request, Class::SignIn).await;
    match counted.and_then(|()| permit(&context, &request, None)) {
        Ok(()) => idempotency::handle(&context, address.as_bytes(), request, next).await,
        Err(problem) => Ok(request.error_response(problem)),
    }
}

/// Lets a request through only if its caller is signed in and may do what the route does. Checked before anything
/// else of the request, including its body and the answer kept for its idempotency key.
pub(super) async fn signed_in(
    context: Shared,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let caller = match bearer(request.request()) {
        Some(token) => match limit::refuse_guess(&context, &request, token) {
            Ok(()) => context.auth.caller(token).await.map_err(Problem::from),
            Err(problem) => Err(problem),
        },
        None => Err(Problem::new(Code::Unauthenticated)
            .detail("send Authorization: Bearer with an access token; POST /v1/auth/login gives one")),
    };
    let is_tracker = bearer(request.request()).is_some_and(|token| token.starts_with(TRACKER_TOKEN_PREFIX));
    let caller = caller.map_err(|problem| {
        if is_tracker {
            problem.detail("this is a tracker's token: it reports at /v1/positions and nothing else")
        } else {
            problem
        }
    });
    let counted = match &caller {
        Ok(caller) => limit::count_caller(&context, &request, caller.id).await,
        Err(_) => limit::count_stranger(&context, &request, Class::Requests).await,
    };
    let permitted =
        counted.and(caller).and_then(|caller| permit(&context, &request, Some(&caller)).map(|()| caller));
    match permitted {
        Ok(caller) => {
            know_peer(request.request());
            let id = caller.id;
            request.extensions_mut().insert(caller);
            idempotency::handle(&context, id.as_bytes(), request, next).await
        }
        Err(problem) => Ok(request.error_response(problem)),
    }
}

/// Refuses a caller who may not do what the route does; of a stranger, there is none.
fn permit(context: &Context, request: &ServiceRequest, caller: Option<&Caller>) -> Result<(), Problem> {
    let access = request.app_data::<Route>().map(|route| route.access);
    match (access, caller) {
        (Some(Access::May(action)), Some(caller)) => Ok(caller.may(action)?),
        (Some(Access::OneselfOr(action)), Some(caller)) => {
            let named = request.match_info().get("id").and_then(|id| Uuid::try_parse(id).ok());
            if named.is_some_and(|id| caller.is_oneself(id)) { Ok(()) } else { Ok(caller.may(action)?) }
        }
        (Some(Access::Either(action)), caller) => Ok(sign_up::permit(context, caller, action)?),
        _ => Ok(()),
    }
}
