//! `POST /v1/geofences/import`.

use actix_web::HttpResponse;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::answer::Answer;
use super::body::CollectionBody;
use super::code::Code;
use super::collection::Collection;
use super::geojson::{from_new_feature, pointer_in_feature};
use super::problem::Problem;
use super::query::Query;
use super::request::{InOrganization, Shared, SignedCaller};
use crate::domain::field::FieldError;
use crate::large_bodies::LargeBodies;
use crate::ops::geofence_import::{Feature, Features, Imported, import_geofences};

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
    params(InOrganization),
    request_body(content((FeatureCollectionIn = "application/geo+json"), (FeatureCollectionIn = "application/json"))),
    responses((status = 200, body = Imported, description = "What became of each feature")))]
pub async fn import(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    query: Query,
    CollectionBody { collection, turn }: CollectionBody,
) -> Answer {
    let by = query.scoped(caller)?;
    let count = collection.len();
    let shared = context.large_bodies.clone();
    let feature = async move |index| read(&shared, collection.clone(), index).await;
    let features = Features { count, feature, turn };
    Ok(HttpResponse::Ok().json(import_geofences(&context, &by, features, place).await?))
}

/// Marks a pointer that is already relative to the feature.
const PLACED: &str = "feature:";

/// Converts a feature to the members of a geofence, off the async threads because a thousand vertices take
/// milliseconds.
async fn read(shared: &LargeBodies, collection: Collection, index: usize) -> Feature {
    let read = shared
        .run(move || from_new_feature(collection.feature(index).map_err(|problem| problem.field_errors())?));
    let lost = || Err(Problem::new(Code::Internal).field_errors());
    read.await.unwrap_or_else(lost).map_err(unplaced)
}

fn unplaced(mut errors: Vec<FieldError>) -> Vec<FieldError> {
    for error in &mut errors {
        error.pointer.insert_str(0, PLACED);
    }
    errors
}

/// Translates a pointer into a geofence made from a feature to the pointer in the request body.
fn place(index: usize, pointer: &str) -> String {
    match pointer.strip_prefix(PLACED) {
        Some(pointer) => format!("/features/{index}{pointer}"),
        None => format!("/features/{index}{}", pointer_in_feature(pointer)),
    }
}
