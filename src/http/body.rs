//! Request bodies: unpacked, limited, parsed to JSON; what the JSON must say is the domain's business.

use actix_web::dev::{Decompress, Payload};
use actix_web::http::header::{self, HeaderMap};
use actix_web::web::{Bytes, BytesMut};
use actix_web::{FromRequest, HttpRequest};
use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt, StreamExt};
use serde_json::Value;

use super::code::Code;
use super::problem::Problem;

/// The largest body of most routes, unpacked.
pub const SMALL_BYTES: usize = 64 * 1024;
/// The largest body of a geofence, unpacked.
pub const GEOFENCE_BYTES: usize = 4 * 1024 * 1024;
/// The largest body of an import, unpacked.
pub const IMPORT_BYTES: usize = 16 * 1024 * 1024;
/// The deepest nesting of a body.
const MAX_DEPTH: usize = 32;

/// A JSON body of at most `LIMIT` bytes.
#[derive(Debug)]
pub struct JsonBody<const LIMIT: usize = SMALL_BYTES>(pub Value);

/// The JSON body of an action that needs none: nothing at all is an empty object.
#[derive(Debug)]
pub struct OptionalBody(pub Value);

/// A geofence, as JSON or as GeoJSON.
#[derive(Debug)]
pub struct GeofenceBody {
    /// The body.
    pub json: Value,
    /// Whether it came as `application/geo+json`.
    pub is_geojson: bool,
}

/// A collection of geofences.
#[derive(Debug)]
pub struct CollectionBody(pub Value);

impl<const LIMIT: usize> FromRequest for JsonBody<LIMIT> {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (headers, payload) = (request.headers().clone(), payload.take());
        async move {
            accept(&headers, &["application/json"])?;
            Ok(Self(parse(&read(payload, &headers, LIMIT).await?)?))
        }
        .boxed_local()
    }
}

impl FromRequest for OptionalBody {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (headers, payload) = (request.headers().clone(), payload.take());
        async move {
            let body = read(payload, &headers, SMALL_BYTES).await?;
            if body.is_empty() {
                return Ok(Self(Value::Object(serde_json::Map::new())));
            }
            accept(&headers, &["application/json"])?;
            Ok(Self(parse(&body)?))
        }
        .boxed_local()
    }
}

impl FromRequest for GeofenceBody {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (headers, payload) = (request.headers().clone(), payload.take());
        async move {
            let kind = accept(&headers, &["application/json", "application/geo+json"])?;
            let json = parse(&read(payload, &headers, GEOFENCE_BYTES).await?)?;
            Ok(Self { json, is_geojson: kind == "application/geo+json" })
        }
        .boxed_local()
    }
}

impl FromRequest for CollectionBody {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (headers, payload) = (request.headers().clone(), payload.take());
        async move {
            accept(&headers, &["application/geo+json", "application/json"])?;
            Ok(Self(parse(&read(payload, &headers, IMPORT_BYTES).await?)?))
        }
        .boxed_local()
    }
}

/// The body's media type, when it is one of `kinds`.
pub fn accept(headers: &HeaderMap, kinds: &[&'static str]) -> Result<&'static str, Problem> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let bare = given.split(';').next().unwrap_or_default().trim();
    kinds.iter().copied().find(|kind| kind.eq_ignore_ascii_case(bare)).ok_or_else(|| {
        Problem::new(Code::UnsupportedMediaType)
            .detail(format!("Content-Type is {given:?}; this route takes {}", kinds.join(" or ")))
    })
}

/// Reads a whole body of at most `limit` bytes after unpacking.
pub async fn read(payload: Payload, headers: &HeaderMap, limit: usize) -> Result<Vec<u8>, Problem> {
    let encoding = headers.get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    if !matches!(encoding.unwrap_or("identity"), "identity" | "gzip" | "x-gzip" | "br" | "zstd") {
        return Err(Problem::new(Code::UnsupportedMediaType)
            .detail("Content-Encoding must be gzip, br or zstd, or absent"));
    }
    let too_large =
        || Problem::new(Code::PayloadTooLarge).detail(format!("this route takes {} KiB", limit / 1024));
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|bytes: usize| bytes > limit) {
        return Err(too_large());
    }
    let mut unpacked = Decompress::from_headers(payload, headers);
    let mut body = Vec::new();
    while let Some(chunk) = unpacked.next().await {
        let chunk = chunk.map_err(|_| {
            Problem::new(Code::MalformedRequest).detail("the body ends early or cannot be unpacked")
        })?;
        if body.len() + chunk.len() > limit {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Reads a whole body as it comes, packed or not, of at most `limit` bytes.
pub async fn read_packed(mut payload: Payload, limit: usize) -> Result<Bytes, Problem> {
    let mut body = BytesMut::new();
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| Problem::new(Code::MalformedRequest).detail("the body ends early"))?;
        if body.len() + chunk.len() > limit {
            return Err(
                Problem::new(Code::PayloadTooLarge).detail(format!("no route takes {} KiB", limit / 1024))
            );
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// Parses JSON, naming line and column of what is wrong.
pub fn parse(body: &[u8]) -> Result<Value, Problem> {
    let malformed = |detail: String| Problem::new(Code::MalformedJson).detail(detail);
    let value: Value = serde_json::from_slice(body).map_err(|error| malformed(error.to_string()))?;
    if depth_exceeds(&value, MAX_DEPTH) {
        return Err(malformed(format!("nested deeper than {MAX_DEPTH} levels")));
    }
    Ok(value)
}

fn depth_exceeds(value: &Value, left: usize) -> bool {
    match value {
        Value::Array(items) => left == 0 || items.iter().any(|item| depth_exceeds(item, left - 1)),
        Value::Object(members) => left == 0 || members.values().any(|item| depth_exceeds(item, left - 1)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_json_is_placed() {
        let problem = parse(b"{\n  \"name\": oops\n}").unwrap_err();
        assert_eq!(problem.code(), Code::MalformedJson);
        assert!(problem.to_string().contains("line 2 column"), "{problem}");
    }

    #[test]
    fn nesting_is_limited() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert!(parse(nested(MAX_DEPTH + 1).as_bytes()).is_err());
    }
}
