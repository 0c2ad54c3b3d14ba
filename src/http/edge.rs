//! The outermost layer around every request: its id, its log line, HEAD as GET, the security headers, and problem
//! bodies for everything that is not a success.

use std::sync::Arc;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode, header};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, HttpMessage, HttpRequest, HttpResponse};
use tracing::Instrument;

use super::code::Code;
use super::cors::Cors;
use super::event_stream;
use super::limit;
use super::problem::Problem;
use super::refusal::RETRY_SECONDS;
use crate::clock;
use crate::config::Settings;
use crate::connections::Peer;
use crate::context::Context;
use crate::ops::{etag, request_context};
use crate::rate_limit::BucketState;

/// The header that carries a request's id, in and out.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The policy of answers that are not pages with one of their own: they may load nothing.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// Browser features that no page of ours uses.
const NO_PERMISSIONS: &str = "camera=(), geolocation=(), microphone=(), payment=(), usb=()";
/// Makes browsers use https for a year.
const HTTPS_ONLY: HeaderValue = HeaderValue::from_static("max-age=31536000");
/// Path and query of a request at most: room for 200 ids as a filter, twice.
const TARGET_BYTES: usize = 16 * 1024;
/// Smallest answer that is compressed.
const PACKED_FROM_BYTES: u64 = 1024;

/// The id of a request, from its `X-Request-Id` or generated; part of its extensions and log lines.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

/// Part of the extensions of a HEAD, which its handler sees as a GET.
pub(super) struct IsHead;

/// Wraps the handling of one request.
pub async fn edge(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let id = request_id(request.headers());
    request.extensions_mut().insert(RequestId(id.clone()));
    let _handled = request.request().conn_data::<Arc<Peer>>().map(Peer::handled);
    let method = request.method().clone();
    if method == Method::HEAD {
        // The server itself omits the body, so hardly a handler needs to care.
        request.head_mut().method = Method::GET;
        request.extensions_mut().insert(IsHead);
    }
    let path = without_tokens(request.path()); // the request itself may not be held while it is routed
    let is_too_long =
        request.uri().path_and_query().is_some_and(|target| target.as_str().len() > TARGET_BYTES);
    let has_https = has_https(&request);
    let cors = Cors::of(&request);
    let span = tracing::info_span!("request", request_id = %id);
    let client = limit::address(&request);
    request_context::of_request(id.clone(), client.clone(), async {
        let answered = if is_too_long {
            Ok(request.error_response(too_long()))
        } else if let Some(answer) = cors.preflight(&request) {
            Ok(request.into_response(answer))
        } else {
            patiently(request, next).await
        };
        let seal = |headers: &mut HeaderMap| {
            seal(headers, &id, has_https);
            cors.tell(headers);
        };
        let mut answered = into_problem(answered, &path, &id, seal);
        let (status, path) = match &mut answered {
            Ok(response) => {
                name_representation(response.headers_mut());
                if not_modified(response) {
                    *response = without_body(response);
                }
                let state = response.request().extensions().get::<BucketState>().copied();
                if let Some(state) = state {
                    limit::tell(state, response.headers_mut());
                }
                seal(response.headers_mut());
                (response.status(), named(response.request()))
            }
            Err(error) => (error.as_response_error().status_code(), path),
        };
        tracing::info!(%method, path, status = status.as_u16(), client);
        answered
    })
    .instrument(span)
    .await
}

/// Handles a request, but not for as long as a store that is away would let it wait: the client is asked to retry.
async fn patiently(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let readiness = request.app_data::<Data<Context>>().map(|context| context.readiness.clone());
    let answer = async { next.call(request).await.map(ServiceResponse::map_into_boxed_body) };
    let Some(readiness) = readiness else { return answer.await };
    tokio::select! {
        biased;
        answer = answer => answer,
        () = readiness.in_vain() => {
            Err(Problem::new(Code::Unavailable).detail("the database is away").retry_after(RETRY_SECONDS).into())
        }
    }
}

/// The client's request id if it is short and harmless, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let harmless = |text: &&str| {
        (1..=64).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b))
    };
    let given = headers.get(&REQUEST_ID).and_then(|value| value.to_str().ok()).filter(harmless);
    given.map_or_else(|| clock::new_id().to_string(), str::to_owned)
}

/// Turns every refusal, ours and the framework's, into a problem.
fn into_problem(
    answered: Result<ServiceResponse<BoxBody>, Error>,
    path: &str,
    id: &str,
    seal: impl Fn(&mut HeaderMap),
) -> Result<ServiceResponse<BoxBody>, Error> {
    match answered {
        Ok(response) => Ok(match refusal(&response) {
            Some(problem) => {
                let request = response.into_parts().0;
                let answer = answer(&problem, &named(&request), id);
                ServiceResponse::new(request, answer)
            }
            None => response,
        }),
        Err(error) => {
            let problem = error.as_error::<Problem>().cloned().unwrap_or_else(|| {
                let response = error.error_response();
                Problem::from_framework(response.status(), response.headers())
            });
            let mut answer = answer(&problem, path, id);
            seal(answer.headers_mut());
            Err(InternalError::from_response(problem, answer).into())
        }
    }
}

/// The answer to a request that never came to a route, because the server that it is for cannot be reached.
pub(crate) fn refused(request: &ServiceRequest, problem: &Problem) -> HttpResponse {
    let has_https = has_https(request);
    let id = request_id(request.headers());
    let mut answer = answer(problem, &without_tokens(request.path()), &id);
    seal(answer.headers_mut(), &id, has_https);
    Cors::of(request).tell(answer.headers_mut());
    answer
}

/// What a refusal is answered with.
fn answer(problem: &Problem, path: &str, id: &str) -> HttpResponse {
    let answer = event_stream::later(problem, path).unwrap_or_else(|| problem.answer(path, id));
    // An outage is logged once where it is noticed, not again for every request.
    if answer.status().is_server_error() && answer.status() != StatusCode::SERVICE_UNAVAILABLE {
        tracing::error!(%problem, "request failed");
    }
    answer
}

fn refusal(response: &ServiceResponse<BoxBody>) -> Option<Problem> {
    let ours = response.response().error().and_then(|error| error.as_error::<Problem>()).cloned();
    if ours.is_some() {
        return ours;
    }
    let status = response.status();
    let page = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| {
        kind.as_bytes().starts_with(b"text/html") || kind.as_bytes().starts_with(b"application/problem+json")
    });
    ((status.is_client_error() || status.is_server_error()) && !page)
        .then(|| Problem::from_framework(status, response.headers()))
}

/// The path for logs, without a secret in it.
fn named(request: &HttpRequest) -> String {
    match request.match_pattern() {
        Some(pattern) if pattern.contains("{token}") => pattern,
        _ => without_tokens(request.path()),
    }
}

/// A path as it may be written down: with a token in it that no route has there, or none for this method, it was
/// mistyped, and the token is still one.
fn without_tokens(path: &str) -> String {
    let mut is_in = false;
    let shown = path.split('/').map(|segment| {
        let is_secret = is_in && !segment.is_empty() || segment.contains("wp") && segment.contains('_');
        is_in = matches!(segment, "in" | "s") || is_in && segment.is_empty();
        if is_secret { "{token}" } else { segment }
    });
    shown.collect::<Vec<_>>().join("/")
}

fn too_long() -> Problem {
    Problem::new(Code::UriTooLong)
        .detail(format!("path and query may have {} KiB together", TARGET_BYTES / 1024))
}

/// Sets `Vary` and adds the content coding to the ETag, so that caches do not mix up representations.
fn name_representation(headers: &mut HeaderMap) {
    let varies = headers.get(header::VARY).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !varies.to_ascii_lowercase().contains("accept-encoding") {
        let varies = if varies.is_empty() {
            "accept-encoding".to_owned()
        } else {
            format!("{varies}, accept-encoding")
        };
        headers.insert(header::VARY, HeaderValue::try_from(varies).unwrap_or(HeaderValue::from_static("*")));
    }
    let Some(coding) = headers.get(header::CONTENT_ENCODING).and_then(|coding| coding.to_str().ok()) else {
        return;
    };
    if coding == "identity" {
        headers.remove(header::CONTENT_ENCODING);
        return;
    }
    let tag = headers.get(header::ETAG).and_then(|tag| etag::with_part(tag.to_str().ok()?, coding));
    if let Some(tag) = tag.and_then(|tag| HeaderValue::try_from(tag).ok()) {
        headers.insert(header::ETAG, tag);
    }
}

/// Keeps small answers from being compressed, which would make them larger.
pub async fn small_as_it_is<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let mut answer = next.call(request).await?;
    let is_small =
        matches!(answer.response().body().size(), BodySize::Sized(bytes) if bytes < PACKED_FROM_BYTES);
    if is_small && !answer.headers().contains_key(header::CONTENT_ENCODING) {
        // The compression layer skips encoded answers; the outermost layer removes this header again.
        answer.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("identity"));
    }
    Ok(answer)
}

/// Whether the client has the current representation.
fn not_modified(response: &ServiceResponse<BoxBody>) -> bool {
    let is_read = response.request().method() == Method::GET && response.status() == StatusCode::OK;
    if !is_read {
        return false;
    }
    let Some(tag) = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok()) else {
        return false;
    };
    let known = response.request().headers().get_all(header::IF_NONE_MATCH);
    let mut known = known.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    known.any(|given| given.trim() == "*" || etag::is_same(given.trim(), tag))
}

/// 304 with the headers that describe the resource. A browser replaces its cached headers with these, so a page's
/// policy must be among them.
fn without_body(response: &ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
    let mut answer = HttpResponse::NotModified();
    let told = [header::ETAG, header::VARY, header::CACHE_CONTROL, header::CONTENT_SECURITY_POLICY];
    for name in told {
        if let Some(value) = response.headers().get(&name) {
            answer.insert_header((name, value.clone()));
        }
    }
    ServiceResponse::new(response.request().clone(), answer.finish())
}

fn has_https(request: &ServiceRequest) -> bool {
    request.app_data::<Data<Settings>>().is_some_and(|settings| settings.has_https())
}

fn seal(headers: &mut HeaderMap, id: &str, has_https: bool) {
    if has_https {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HTTPS_ONLY);
    }
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, id);
    }
    let fixed = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, NOTHING),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), NO_PERMISSIONS),
    ];
    for (name, value) in fixed {
        if !headers.contains_key(&name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}
