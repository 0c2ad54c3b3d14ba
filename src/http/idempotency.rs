//! `Idempotency-Key` on POST: a repeated request gets the answer of the first one.
//!
//! Successful answers are kept for 24 hours; a refusal changed nothing, so the request is judged anew. A repetition
//! must have the same method, path, query and body bytes.

use actix_web::body::{BoxBody, MessageBody, to_bytes};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, HttpRequest, HttpResponse};
use serde_json::Value;

use super::code::Code;
use super::problem::Problem;
use super::receive::receive;
use crate::context::Context;
use crate::ops::idempotency::{Found, look_up};
use crate::ops::idempotency_key::{IdempotencyKey, KeptAnswer};

/// The header with the key.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The header that marks a repeated answer.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// The longest key.
const MAX_KEY_CHARACTERS: usize = 255;
/// Headers of an answer that are kept with it.
const KEPT_HEADERS: [HeaderName; 3] = [header::CONTENT_TYPE, header::LOCATION, header::ETAG];

/// Handles a request of the principal `whose`, who has a key space of its own: without a key at once, else for the
/// first time under its key, or with the answer kept for the key.
pub(super) async fn handle(
    context: &Context,
    whose: &[u8],
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let key = match key_of(&request) {
        Ok(Some(key)) => key,
        Ok(None) => return next.call(request).await.map(ServiceResponse::map_into_boxed_body),
        Err(problem) => return Ok(request.error_response(problem)),
    };
    let payload = request.take_payload();
    let body = match receive(request.request(), payload).await {
        Ok(body) => body,
        Err(problem) => return Ok(request.error_response(problem)),
    };
    let method = request.method().as_str().to_owned();
    let target = request.uri().to_string();
    let same: [&[u8]; 3] = [method.as_bytes(), target.as_bytes(), &body.bytes];
    let found = look_up(context, whose, key, &same).await;
    request.extensions_mut().insert(body);
    match found {
        Err(error) => Ok(request.error_response(Problem::from(error))),
        Ok(Found::Again(kept)) => {
            let answer = replayed(&kept, request.request());
            Ok(request.into_response(answer))
        }
        Ok(Found::First(key, _held)) => {
            let answered = next.call(request).await?.map_into_boxed_body();
            keep(context, &key, answered).await
        }
    }
}

fn key_of(request: &ServiceRequest) -> Result<Option<String>, Problem> {
    if request.method() != Method::POST {
        return Ok(None);
    }
    let Some(given) = request.headers().get(&KEY) else { return Ok(None) };
    let text = given.to_str().unwrap_or_default().trim();
    // The draft standard quotes the key; most clients do not.
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    if (1..=MAX_KEY_CHARACTERS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(Some(text.to_owned()));
    }
    let detail =
        format!("Idempotency-Key must be 1 to {MAX_KEY_CHARACTERS} visible ASCII characters, best a UUID");
    Err(Problem::new(Code::MalformedRequest).detail(detail))
}

/// Keeps a successful answer, for which its body is read.
async fn keep(
    context: &Context,
    key: &IdempotencyKey,
    answered: ServiceResponse<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    if !answered.status().is_success() {
        return Ok(answered);
    }
    let (request, answer) = answered.into_parts();
    let (answer, body) = answer.into_parts();
    let body = to_bytes(body).await.map_err(|_| Problem::new(Code::Internal))?;
    let kept = KeptAnswer {
        status: answer.status().as_u16(),
        headers: kept_headers(answer.headers()),
        body: String::from_utf8_lossy(&body).into_owned(),
        is_bare: false,
    };
    if let Err(error) = key.answered(context, &kept).await {
        // The answer kept by the transaction remains, and a repetition gets that.
        tracing::warn!(%error, "an answer could not be kept");
    }
    Ok(ServiceResponse::new(request, answer.set_body(BoxBody::new(body))))
}

fn kept_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let kept = KEPT_HEADERS.iter().filter_map(|name| Some((name.to_string(), headers.get(name)?)));
    kept.filter_map(|(name, value)| Some((name, value.to_str().ok()?.to_owned()))).collect()
}

fn replayed(kept: &KeptAnswer, request: &HttpRequest) -> HttpResponse {
    let mut answer = HttpResponse::build(StatusCode::from_u16(kept.status).unwrap_or(StatusCode::OK));
    for (name, value) in &kept.headers {
        answer.insert_header((name.as_str(), value.as_str()));
    }
    if kept.is_bare {
        answer.content_type("application/json");
        let id = serde_json::from_str::<Value>(&kept.body).ok();
        let id = id.as_ref().and_then(|body| body["id"].as_str());
        if let Some(id) = id.filter(|_| kept.status == 201) {
            answer.insert_header((header::LOCATION, location(request.path(), id)));
        }
    }
    answer.insert_header((REPLAYED, HeaderValue::from_static("true")));
    answer.body(kept.body.clone())
}

/// The location of a resource created at `path`.
fn location(path: &str, id: &str) -> String {
    match path {
        "/v1/organizations" => format!("{path}/organization/{id}"),
        _ => format!("{path}/{id}"),
    }
}
