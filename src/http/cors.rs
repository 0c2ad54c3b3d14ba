//! Pages of other origins that may call `/v1` (CORS, as the Fetch standard has it).
//!
//! Part of the outermost layer, so that such a page can also read why it is refused, whichever layer did it. Credentials
//! are never allowed: there are no cookies, and tokens go in a header that the page sets itself.

use actix_web::HttpResponse;
use actix_web::dev::ServiceRequest;
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::web::Data;

use crate::config::{AllowedOrigin, Settings};

const METHODS: &str = "GET, HEAD, POST, PUT, DELETE";
/// What a request to `/v1` may carry.
const HEADERS: &str = "accept, authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, x-request-id";
/// What a page may read of an answer.
const EXPOSED: &str =
    "etag, idempotency-replayed, link, location, ratelimit, ratelimit-policy, retry-after, x-request-id";
/// How long a browser may go by a preflight's answer, in seconds.
const KEPT_SECONDS: &str = "3600";

/// What answers to a request say of origins.
pub(super) struct Cors {
    /// The origin that may read them.
    origin: Option<HeaderValue>,
    /// Whether that depends on the request's origin.
    varies: bool,
}

impl Cors {
    /// What the settings grant a request.
    pub(super) fn of(request: &ServiceRequest) -> Self {
        let nobody = Self { origin: None, varies: false };
        let Some(settings) = request.app_data::<Data<Settings>>() else { return nobody };
        let allowed = &settings.allowed_origins;
        if allowed.is_empty() || !request.path().starts_with("/v1/") {
            return nobody;
        }
        if allowed.iter().any(AllowedOrigin::is_any) {
            return Self { origin: Some(HeaderValue::from_static("*")), varies: false };
        }
        let origin = request.headers().get(header::ORIGIN);
        let is_allowed = |origin: &&HeaderValue| {
            origin.to_str().is_ok_and(|origin| allowed.iter().any(|known| known.covers(origin)))
        };
        Self { origin: origin.filter(is_allowed).cloned(), varies: true }
    }

    /// The answer to a request by which a browser asks what a page may; `None` for other requests, and for pages that
    /// may nothing.
    pub(super) fn preflight(&self, request: &ServiceRequest) -> Option<HttpResponse> {
        let asks = request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        let is_one = request.method() == Method::OPTIONS && asks && self.origin.is_some();
        is_one.then(|| {
            HttpResponse::build(StatusCode::NO_CONTENT)
                .insert_header((header::ACCESS_CONTROL_ALLOW_METHODS, METHODS))
                .insert_header((header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS))
                .insert_header((header::ACCESS_CONTROL_MAX_AGE, KEPT_SECONDS))
                .finish()
        })
    }

    /// Adds what a browser has to know to let a page read an answer.
    pub(super) fn tell(&self, headers: &mut HeaderMap) {
        if let Some(origin) = &self.origin {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
        }
        if self.varies {
            let others = headers.get(header::VARY).and_then(|value| value.to_str().ok());
            let varies = others.map_or_else(|| "origin".to_owned(), |others| format!("{others}, origin"));
            headers
                .insert(header::VARY, HeaderValue::try_from(varies).unwrap_or(HeaderValue::from_static("*")));
        }
    }
}
