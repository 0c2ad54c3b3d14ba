//! Extractors for everything in a request except its body and its query.

use std::future::{Ready, ready};
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::{FromRequest, HttpMessage, HttpRequest, web};
use utoipa::IntoParams;
use uuid::Uuid;
use waypost_actors::model::OrganizationId;

use super::code::Code;
use super::fallback::no_such_id;
use super::problem::Problem;
use super::query::Query;
use crate::auth::Caller;
use crate::connections::Peer;
use crate::context::Context;
use crate::ops::etag::IfMatch;
use crate::ops::scoped::Scoped;

/// The context, in handlers.
pub type Shared = web::Data<Context>;

/// The caller of a route that requires one.
#[derive(Debug)]
pub struct SignedCaller(pub Caller);

/// The caller of a route for strangers, too: `None` without a token.
#[derive(Debug)]
pub struct MaybeCaller(pub Option<Caller>);

/// The parameter of a route that acts in one organization.
#[derive(IntoParams)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
#[expect(dead_code, reason = "described only: [`Query::organization`] reads it")]
pub struct InOrganization {
    /// Operators name the organization
    organization_id: Option<OrganizationId>,
}

/// The parameter of a deletion that may take with it what was recorded.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described only: [`Query::purges`] reads it")]
pub struct Purging {
    /// true: what was recorded is deleted too, soon after; also of what was deleted before
    purge: Option<bool>,
}

/// The id in the path. A malformed one is not found, like any unknown one.
#[derive(Debug)]
pub struct PathId<T>(pub T);

/// The two ids in the path, in order.
#[derive(Debug)]
pub struct PathIds<A, B>(pub A, pub B);

/// The `{token}` in the path.
#[derive(Debug)]
pub struct PathToken(pub String);

/// `If-Match`.
#[derive(Debug)]
pub struct Matching(pub IfMatch);

/// The token of `Authorization: Bearer …`.
#[must_use]
pub fn bearer(request: &HttpRequest) -> Option<&str> {
    let value = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Notes that a request had a valid credential: its connection no longer counts among the unknown ones of its
/// address.
pub(super) fn know_peer(request: &HttpRequest) {
    if let Some(peer) = request.conn_data::<Arc<Peer>>() {
        peer.know();
    }
}

impl FromRequest for SignedCaller {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        // Absent only if the route table calls this route open; then no one may be let in.
        let caller = request.extensions().get::<Caller>().cloned();
        ready(caller.map(Self).ok_or_else(|| Problem::new(Code::Unauthenticated)))
    }
}

/// For routes without a body and with no parameter but the organization. Must be the last argument of a handler, so
/// that a bad path is reported before an unknown query parameter. Routes with a body, which is reported first as
/// well, use [`Query::scoped`].
impl FromRequest for Scoped {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let caller = SignedCaller::from_request(request, payload).into_inner();
        let query = Query::from_request(request, payload).into_inner();
        ready(caller.and_then(|SignedCaller(caller)| query?.scoped(caller)))
    }
}

impl FromRequest for MaybeCaller {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(request.extensions().get::<Caller>().cloned())))
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
