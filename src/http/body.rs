//! Request bodies: checks the media type and parses the JSON; its content is up to the domain.

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::web::Bytes;
use actix_web::{FromRequest, HttpRequest};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use serde_json::Value;

use super::code::Code;
use super::collection::Collection;
use super::json::parse;
use super::problem::Problem;
use super::receive::receive;
use crate::domain::body::Params;
use crate::large_bodies::Turn;

/// A JSON body.
#[derive(Debug)]
pub struct JsonBody(pub Value);

/// The JSON body of an action that needs none: an empty body counts as an empty object.
#[derive(Debug)]
pub struct OptionalBody(pub Value);

/// A geofence, as JSON or as GeoJSON.
#[derive(Debug)]
pub struct GeofenceBody {
    /// The body.
    pub json: Value,
    /// Whether it came as `application/geo+json`.
    pub is_geojson: bool,
    /// Of a large body, the right to process it.
    pub turn: Option<Turn>,
}

/// A collection of geofences.
#[derive(Debug)]
pub struct CollectionBody {
    /// The collection.
    pub collection: Collection,
    /// Of a large body, the right to process it.
    pub turn: Option<Turn>,
}

impl FromRequest for JsonBody {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        async move {
            accept(&request, &["application/json"])?;
            let (json, _) = receive(&request, payload).await?.make(|body| parse(&body)).await?;
            Ok(Self(json))
        }
        .boxed_local()
    }
}

impl<B> FromRequest for Params<B> {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        JsonBody::from_request(request, payload)
            .map(|body| body.map(|JsonBody(json)| json.into()))
            .boxed_local()
    }
}

impl FromRequest for OptionalBody {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        async move {
            let body = read(&request, payload).await?;
            if body.is_empty() {
                return Ok(Self(Value::Object(serde_json::Map::new())));
            }
            accept(&request, &["application/json"])?;
            Ok(Self(parse(&body)?))
        }
        .boxed_local()
    }
}

impl FromRequest for GeofenceBody {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        async move {
            let kind = accept(&request, &["application/json", "application/geo+json"])?;
            let (json, turn) = receive(&request, payload).await?.make(|body| parse(&body)).await?;
            Ok(Self { json, is_geojson: kind == "application/geo+json", turn })
        }
        .boxed_local()
    }
}

impl FromRequest for CollectionBody {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        async move {
            accept(&request, &["application/geo+json", "application/json"])?;
            let (collection, turn) = receive(&request, payload).await?.make(Collection::read).await?;
            Ok(Self { collection, turn })
        }
        .boxed_local()
    }
}

/// The body's media type, if it is one of `kinds`.
pub fn accept(request: &HttpRequest, kinds: &[&'static str]) -> Result<&'static str, Problem> {
    let given =
        request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let bare = given.split(';').next().unwrap_or_default().trim();
    kinds.iter().copied().find(|kind| kind.eq_ignore_ascii_case(bare)).ok_or_else(|| {
        Problem::new(Code::UnsupportedMediaType)
            .detail(format!("Content-Type is {given:?}; this route takes {}", kinds.join(" or ")))
    })
}

/// Reads the whole body on a route that takes no large ones.
pub async fn read(request: &HttpRequest, payload: Payload) -> Result<Bytes, Problem> {
    Ok(receive(request, payload).await?.make(Ok).await?.0)
}
