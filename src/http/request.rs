//! What handlers take out of a request besides its body and its query.

use std::future::{Ready, ready};

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::header;
use actix_web::middleware::Next;
use actix_web::{Error, FromRequest, HttpMessage, HttpRequest, web};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use uuid::Uuid;

use super::code::Code;
use super::fallback::no_such_id;
use super::problem::Problem;
use super::routes::{Access, Route};
use super::{limit, once};
use crate::auth::Caller;
use crate::context::Context;
use crate::ops::etag::IfMatch;
use crate::rate_limit::Class;

/// The context, in handlers.
pub type Shared = web::Data<Context>;

/// The caller of a route that asks for one.
#[derive(Debug)]
pub struct SignedCaller(pub Caller);

/// The caller of a route that anybody may call: absent without a token, refused with one that is not in force.
#[derive(Debug)]
pub struct MaybeCaller(pub Option<Caller>);

/// The id in the path. A malformed one is not found, like any other that is not there.
#[derive(Debug)]
pub struct PathId<T>(pub T);

/// The two ids in the path, in their order.
#[derive(Debug)]
pub struct PathIds<A, B>(pub A, pub B);

/// The `{token}` in the path.
#[derive(Debug)]
pub struct PathToken(pub String);

/// `If-Match`.
#[derive(Debug)]
pub struct Matching(pub IfMatch);

/// What the tokens of trackers begin with.
const TRACKER_TOKEN_PREFIX: &str = "wpt_";

/// Lets everybody through, but whoever says who it is must be that.
pub async fn known_or_stranger(
    context: Shared,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    if request.headers().contains_key(header::AUTHORIZATION) {
        return signed_in(context, request, next).await;
    }
    let address = limit::address(&context, &request);
    match limit::count_stranger(&context, &request, Class::SignIn).await {
        Ok(()) => once::handle(&context, address.as_bytes(), request, next).await,
        Err(problem) => Ok(request.error_response(problem)),
    }
}

/// Lets only signed-in callers through who may do what the route does, before anything else of the request is looked at:
/// neither its body nor what an earlier one under the same key was answered.
pub async fn signed_in(
    context: Shared,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let caller = match bearer(request.request()) {
        Some(token) => context.auth.caller(token).await.map_err(Problem::from),
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
    let access = request.app_data::<Route>().map(|route| route.access);
    let permitted = counted.and(caller).and_then(|caller| match access {
        Some(Access::May(action)) => caller.may(action).map(|()| caller).map_err(Problem::from),
        _ => Ok(caller),
    });
    match permitted {
        Ok(caller) => {
            let id = caller.id;
            request.extensions_mut().insert(caller);
            once::handle(&context, id.as_bytes(), request, next).await
        }
        Err(problem) => Ok(request.error_response(problem)),
    }
}

/// The token of `Authorization: Bearer …`.
#[must_use]
pub fn bearer(request: &HttpRequest) -> Option<&str> {
    let value = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl FromRequest for SignedCaller {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        // Absent only if the route table calls this route open: then nobody may be let in.
        let caller = request.extensions().get::<Caller>().cloned();
        ready(caller.map(Self).ok_or_else(|| Problem::new(Code::Unauthenticated)))
    }
}

impl FromRequest for MaybeCaller {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let token = bearer(request).map(str::to_owned);
        let is_malformed = token.is_none() && request.headers().contains_key(header::AUTHORIZATION);
        let context = request.app_data::<Shared>().cloned();
        async move {
            if is_malformed {
                return Err(Problem::new(Code::Unauthenticated));
            }
            let (Some(token), Some(context)) = (token, context) else { return Ok(Self(None)) };
            Ok(Self(Some(context.auth.caller(&token).await?)))
        }
        .boxed_local()
    }
}

impl<T: From<Uuid>> FromRequest for PathId<T> {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let text = request.match_info().iter().last().map(|(_, text)| text);
        let id = text.and_then(|text| Uuid::try_parse(text).ok());
        ready(id.map(|id| Self(T::from(id))).ok_or_else(|| no_such_id(request)))
    }
}

impl<A: From<Uuid>, B: From<Uuid>> FromRequest for PathIds<A, B> {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let mut ids = request.match_info().iter().map(|(_, text)| Uuid::try_parse(text).ok());
        let both = ids.next().flatten().zip(ids.next().flatten());
        let both = both.map(|(first, second)| Self(A::from(first), B::from(second)));
        ready(both.ok_or_else(|| Problem::new(Code::NotFound)))
    }
}

impl FromRequest for PathToken {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(request.match_info().query("token").to_owned())))
    }
}

impl FromRequest for Matching {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let given = request.headers().get_all(header::IF_MATCH);
        let tags: Option<Vec<String>> = given.map(|value| value.to_str().ok().map(str::to_owned)).collect();
        let Some(tags) = tags else {
            return ready(Err(Problem::new(Code::MalformedRequest).detail("If-Match cannot be read")));
        };
        let tags: Vec<String> =
            tags.iter().flat_map(|value| value.split(',')).map(|tag| tag.trim().to_owned()).collect();
        ready(Ok(Self(match tags.as_slice() {
            [] => IfMatch::Unsaid,
            [any] if any == "*" => IfMatch::Any,
            _ => IfMatch::OneOf(tags),
        })))
    }
}
