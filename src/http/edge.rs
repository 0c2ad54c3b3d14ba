//! The outermost layer around every request: its id, its log line, HEAD as GET, the security
//! headers, and problem bodies for whatever is not a success.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode, header};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, HttpMessage, HttpRequest, HttpResponse};
use tracing::Instrument;

use super::answer::AlwaysNew;
use super::code::Code;
use super::limit;
use super::problem::Problem;
use super::refusal::RETRY_SECONDS;
use crate::clock;
use crate::context::Context;
use crate::ops::origin;
use crate::rate_limit::Standing;

/// The header that carries a request's id, in and out.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// What an answer may load, when it is not a page with a policy of its own: nothing.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// The id of a request, from its `X-Request-Id` or made; in its extensions and log lines.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

/// Wraps the handling of one request.
pub async fn edge(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let id = request_id(request.headers());
    request.extensions_mut().insert(RequestId(id.clone()));
    let method = request.method().clone();
    if method == Method::HEAD {
        // The server itself leaves the body out; handlers need not know.
        request.head_mut().method = Method::GET;
    }
    let path = request.path().to_owned(); // the request itself may not be held while it is routed
    let span = tracing::info_span!("request", request_id = %id);
    let client = request
        .app_data::<Data<Context>>()
        .map_or_else(String::new, |context| limit::address(context, &request));
    origin::of_request(id.clone(), client.clone(), async {
        let answered = patiently(request, next).await;
        let mut answered = settle(answered, &path, &id);
        let (status, path) = match &mut answered {
            Ok(response) => {
                if not_modified(response) {
                    *response = without_body(response);
                }
                let standing = response.request().extensions().get::<Standing>().copied();
                if let Some(standing) = standing {
                    limit::tell(standing, response.headers_mut());
                }
                seal(response.headers_mut(), &id);
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

/// Handles a request, but not for as long as a store that is away lets it wait: its client is told to come back.
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

/// The client's id when it is short and harmless, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let harmless = |text: &&str| {
        (1..=64).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b))
    };
    let given = headers.get(&REQUEST_ID).and_then(|value| value.to_str().ok()).filter(harmless);
    given.map_or_else(|| clock::new_id().to_string(), str::to_owned)
}

/// Turns every refusal, ours and the framework's, into a problem.
fn settle(
    answered: Result<ServiceResponse<BoxBody>, Error>,
    path: &str,
    id: &str,
) -> Result<ServiceResponse<BoxBody>, Error> {
    match answered {
        Ok(response) => Ok(match refusal(&response) {
            Some(problem) => {
                let request = response.into_parts().0;
                let answer = problem.answer(&named(&request), id);
                ServiceResponse::new(request, logged(&problem, answer))
            }
            None => response,
        }),
        Err(error) => {
            let problem = error.as_error::<Problem>().cloned().unwrap_or_else(|| {
                let response = error.error_response();
                Problem::from_framework(response.status(), response.headers())
            });
            let mut answer = logged(&problem, problem.answer(path, id));
            seal(answer.headers_mut(), id);
            Err(InternalError::from_response(problem, answer).into())
        }
    }
}

fn logged(problem: &Problem, answer: HttpResponse) -> HttpResponse {
    // What is not available now says so itself, once; not again for everybody who asks.
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

/// The path, but for a secret in it.
fn named(request: &HttpRequest) -> String {
    match request.match_pattern() {
        Some(pattern) if pattern.contains("{token}") => pattern,
        _ => request.path().to_owned(),
    }
}

/// Whether the client has the resource as it is. Not where the answer has members that its ETag leaves out and
/// that change by themselves.
fn not_modified(response: &ServiceResponse<BoxBody>) -> bool {
    let is_read = response.request().method() == Method::GET && response.status() == StatusCode::OK;
    if !is_read || response.response().extensions().get::<AlwaysNew>().is_some() {
        return false;
    }
    let Some(tag) = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok()) else {
        return false;
    };
    let known = response.request().headers().get_all(header::IF_NONE_MATCH);
    let mut known = known.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    known.any(|given| matches!(given.trim(), "*") || given.trim().trim_start_matches("W/") == tag)
}

/// 304 with the headers that tell about the resource: a browser puts them in place of those it has kept, so a page's
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

fn seal(headers: &mut HeaderMap, id: &str) {
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, id);
    }
    let fixed = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, NOTHING),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        if !headers.contains_key(&name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}
