//! `POST /v1/geofences/import`.

use actix_web::HttpResponse;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use waypost_actors::model::OrganizationId;

use super::answer::Answer;
use super::body::CollectionBody;
use super::code::Code;
use super::geojson::{from_feature, pointer_in_feature};
use super::problem::Problem;
use super::query::Query;
use super::request::{Shared, SignedCaller};
use crate::domain::field::FieldError;
use crate::ops::geofence_import::{Imported, import_geofences};

/// Features of an import at most.
const MAX_FEATURES: usize = 1_000;

/// Geofences to import.
#[derive(Debug, Serialize, ToSchema)]
pub struct FeatureCollectionIn {
    /// `FeatureCollection`.
    #[serde(rename = "type")]
    #[schema(pattern = "^FeatureCollection$")]
    pub kind: String,
    /// At most 1,000 Features: a Polygon, a MultiPolygon, or a Point with `radiusMeters` among its properties;
    /// the other members of a geofence stand among the properties too.
    #[schema(max_items = 1000)]
    pub features: Vec<Value>,
}

/// Import geofences from a GeoJSON FeatureCollection of up to 16 MiB, unpacked.
///
/// What is good is made, all of it in one transaction; each feature that is not is told with its problem, also when
/// the plan allows no more. So a 200 may hold failures: look at `failed`.
#[utoipa::path(post, path = "/v1/geofences/import", tag = "geofences",
    params(("organizationId" = Option<OrganizationId>, Query, description = "Operators name the organization")),
    request_body(content((FeatureCollectionIn = "application/geo+json"), (FeatureCollectionIn = "application/json"))),
    responses((status = 200, body = Imported, description = "What became of each feature")))]
pub async fn import(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    mut query: Query,
    CollectionBody(body): CollectionBody,
) -> Answer {
    let named = query.organization();
    query.finish()?;
    let features = features(&body)?;
    let read = features.iter().map(from_feature).map(|read| read.map_err(unplaced)).collect();
    let place = |index: usize, pointer: &str| match pointer.strip_prefix(PLACED) {
        Some(pointer) => format!("/features/{index}{pointer}"),
        None => format!("/features/{index}{}", pointer_in_feature(pointer, &features[index])),
    };
    Ok(HttpResponse::Ok().json(import_geofences(&context, &caller, named, read, place).await?))
}

/// Marks a pointer that names a place in the feature already.
const PLACED: &str = "feature:";

fn unplaced(mut errors: Vec<FieldError>) -> Vec<FieldError> {
    for error in &mut errors {
        error.pointer.insert_str(0, PLACED);
    }
    errors
}

fn features(body: &Value) -> Result<&Vec<Value>, Problem> {
    let invalid = |pointer: &str, detail: String| {
        let error = FieldError::new(pointer, "value", detail.clone());
        Problem::new(Code::ValidationFailed).detail(format!("{pointer} {detail}")).errors(vec![error])
    };
    if body["type"] != "FeatureCollection" {
        return Err(invalid("/type", "must be FeatureCollection".to_owned()));
    }
    let known = ["type", "features", "bbox", "name", "crs", "pagination"];
    if let Some(name) =
        body.as_object().and_then(|body| body.keys().find(|name| !known.contains(&name.as_str())))
    {
        return Err(invalid(&format!("/{name}"), "is not known".to_owned()));
    }
    let features =
        body["features"].as_array().ok_or_else(|| invalid("/features", "must be a list".to_owned()))?;
    if features.len() > MAX_FEATURES {
        let detail = format!("must have at most {MAX_FEATURES} items, this one has {}", features.len());
        return Err(invalid("/features", detail));
    }
    Ok(features)
}
