//! Rate limits of requests: what they are counted under, and the headers that report them.
//!
//! Headers follow draft-ietf-httpapi-ratelimit-headers-11, which is not final.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, HttpMessage, HttpRequest};
use sha2::{Digest, Sha256};

use super::code::Code;
use super::problem::Problem;
use super::report_token;
use super::request::Shared;
use super::route::Route;
use super::sockets::offered_token;
use crate::cluster::from_node;
use crate::config::Settings;
use crate::connections::network;
use crate::context::Context;
use crate::rate_limit::{BucketState, Class};

const LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Routes of signed-in callers that guess at a licence number, send mail, hash a password, or create what strangers may create.
const STRICT: [(&str, &str); 7] = [
    ("GET", "/v1/drivers/search"),
    ("POST", "/v1/users"),
    ("PUT", "/v1/users/{id}"),
    ("POST", "/v1/users/{id}/invitation"),
    ("POST", "/v1/system-users"),
    ("PUT", "/v1/system-users/{id}"),
    ("POST", "/v1/organizations"),
];

/// Counts a request of a signed-in caller.
pub(super) async fn count_caller(
    context: &Context,
    request: &ServiceRequest,
    principal: uuid::Uuid,
) -> Result<(), Problem> {
    let route = request.app_data::<Route>();
    let is_strict = route.is_some_and(|route| STRICT.contains(&(route.method, route.path)));
    let class = if is_strict { Class::SignIn } else { Class::Requests };
    count(context, request.request(), class, &principal.to_string()).await
}

/// Counts a request without a signed-in caller, by its address.
pub(super) async fn count_stranger(
    context: &Context,
    request: &ServiceRequest,
    class: Class,
) -> Result<(), Problem> {
    count(context, request.request(), class, &address(request)).await
}

/// Refuses a credential before it is looked up, if its address has sent too many unknown ones, unless it is recalled.
pub(super) fn refuse_guess(context: &Context, request: &ServiceRequest, token: &str) -> Result<(), Problem> {
    match context.rate_limits.still_refused(Class::Requests, &address(request)) {
        Some(state) if !context.auth.recalls(token) => judge(request.request(), state),
        _ => Ok(()),
    }
}

/// Counts sign-ins and sign-ups.
pub(super) async fn sign_ins(
    context: Shared,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let counted = count_stranger(&context, &request, Class::SignIn).await;
    served(counted, request, next).await
}

/// Counts other requests that need no sign-in.
pub(super) async fn strangers(
    context: Shared,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let counted = count_stranger(&context, &request, Class::Requests).await;
    served(counted, request, next).await
}

/// Counts a tracker's requests, by its token, and by its address where the token is unknown. At `/in` a refusal is a 503, because
/// some apps delete on a 4xx.
pub(super) async fn ingest(
    context: Shared,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let found = report_token::find(request.request()).map(|found| found.token);
    let token = found.or_else(|| offered_token(request.request()).map(Cow::from)).unwrap_or_default();
    let who: String = Sha256::digest(&*token)[..12].iter().map(|byte| format!("{byte:02x}")).collect();
    let counted = match refuse_guess(&context, &request, &token) {
        Ok(()) => count(&context, request.request(), Class::Ingest, &who).await,
        Err(problem) => Err(problem),
    };
    let is_foreign = request.path() == "/in" || request.path().starts_with("/in/");
    let in_its_words = |problem: Problem| if is_foreign { problem.with_code(Code::Busy) } else { problem };
    drop(token);
    let from = address(&request);
    let answered = served(counted.map_err(in_its_words), request, next).await?;
    if answered.status() != StatusCode::UNAUTHORIZED {
        return Ok(answered);
    }
    match count(&context, answered.request(), Class::Requests, &from).await {
        Ok(()) => Ok(answered),
        Err(problem) => Ok(answered.error_response(in_its_words(problem))),
    }
}

/// Calls the route if the request was within the limit.
async fn served(
    counted: Result<(), Problem>,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    match counted {
        Ok(()) => next.call(request).await.map(ServiceResponse::map_into_boxed_body),
        Err(problem) => Ok(request.error_response(problem)),
    }
}

/// The class of a route that needs no sign-in: every POST tries a secret, creates something or sends mail. Refreshing
/// and one-time links carry 256 random bits and only count as requests.
pub(super) fn class_of_open(route: &Route) -> Option<Class> {
    let with_long_secret = ["/v1/auth/refresh", "/v1/auth/logout", "/v1/auth/sign-in-link/{token}"];
    match route.method {
        "POST" if !with_long_secret.contains(&route.path) => Some(Class::SignIn),
        // Load balancers poll these all the time.
        _ if ["/healthz", "/readyz"].contains(&route.path) => None,
        _ => Some(Class::Requests),
    }
}

async fn count(context: &Context, request: &HttpRequest, class: Class, who: &str) -> Result<(), Problem> {
    match context.rate_limits.count(class, who).await {
        Some(state) => judge(request, state),
        None => Ok(()),
    }
}

/// Lets the answer tell the state of a bucket, and refuses the request if it was beyond the limit.
fn judge(request: &HttpRequest, state: BucketState) -> Result<(), Problem> {
    request.extensions_mut().insert(state);
    if state.is_allowed {
        return Ok(());
    }
    let (count, seconds) = (state.rate.count, state.rate.per.as_secs());
    let detail = format!("{} allows {count} requests in {seconds} seconds", state.class.as_str());
    Err(Problem::new(Code::TooManyRequests).detail(detail).retry_after(seconds_up(state)))
}

/// Sets the rate limit headers of an answer.
pub(super) fn tell(state: BucketState, headers: &mut HeaderMap) {
    let name = state.class.as_str();
    let policy = format!("\"{name}\";q={};w={}", state.rate.count, state.rate.per.as_secs());
    let limit = format!("\"{name}\";r={};t={}", state.remaining, seconds_up(state));
    for (header, text) in [(POLICY, policy), (LIMIT, limit)] {
        if let Ok(value) = HeaderValue::try_from(text) {
            headers.insert(header, value);
        }
    }
}

fn seconds_up(state: BucketState) -> u64 {
    state.wait.as_millis().div_ceil(1000).max(1) as u64
}

/// The network that a request comes from, as text.
pub(super) fn address(request: &ServiceRequest) -> String {
    client(request).map_or_else(|| "unknown".to_owned(), |ip| network(ip).to_string())
}

/// The address that a request comes from, by the header in which the proxy in front tells it, if there is one. What another
/// node handed on comes from where that node says.
pub(crate) fn client(request: &ServiceRequest) -> Option<IpAddr> {
    let peer = request.peer_addr().map(|peer| peer.ip());
    if from_node::is_from_node(request) {
        return from_node::told_address(request).or(peer);
    }
    let named =
        request.app_data::<Data<Settings>>().and_then(|settings| settings.client_address_header.as_deref());
    let forwarded = named.and_then(|name| request.headers().get_all(name).last());
    // The last entry was added by the nearest proxy; the ones before it may be forged.
    forwarded.and_then(|value| named_address(value.to_str().ok()?.rsplit(',').next()?)).or(peer)
}

/// Parses an address as proxies write it: bare, in brackets, or with a port.
fn named_address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_write_an_address_with_or_without_a_port() {
        let named = |text: &str| named_address(text).map(|ip| ip.to_string());
        for text in ["192.0.2.1", " 192.0.2.1:4711"] {
            assert_eq!(named(text).as_deref(), Some("192.0.2.1"), "{text}");
        }
        for text in ["2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:4711"] {
            assert_eq!(named(text).as_deref(), Some("2001:db8::1"), "{text}");
        }
        for text in ["", "unknown", "192.0.2.1:", "[2001:db8::1]:x"] {
            assert_eq!(named(text), None, "{text}");
        }
    }
}
