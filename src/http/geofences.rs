//! `/v1/geofences`, as JSON and as GeoJSON.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use waypost_actors::model::{GeofenceId, Timestamp};

use super::answer::{self, Answer, PageOf};
use super::body::GeofenceBody;
use super::geojson::{MEDIA_TYPE, from_feature, from_new_feature, pointer_in_feature, to_feature};
use super::problem::Problem;
use super::query::{Query, flag, number, word};
use super::request::{InOrganization, Matching, PathId, Shared, SignedCaller};
use crate::context::Context;
use crate::domain::body::Params;
use crate::domain::dry_run::{DryRunGeofence, DryRunResult};
use crate::domain::field::FieldError;
use crate::domain::geofence::{CreateGeofence, Geofence, PastCorrection};
use crate::domain::paging::{Page, SortKey};
use crate::large_bodies::Turn;
use crate::ops::error::OpError;
use crate::ops::etag;
use crate::ops::geofence_dry_run;
use crate::ops::geofences as ops;
use crate::ops::scoped::Scoped;

const NEWEST_FIRST: SortKey = SortKey { name: "createdAt", is_descending: true };

/// A geofence and how many vehicles are in it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GeofenceOut {
    #[serde(flatten)]
    geofence: Geofence,
    /// Vehicles inside now; not part of the ETag.
    inside_count: usize,
    /// Only when one geofence is asked for: what of the past it still changes. Absent once all is put right.
    #[serde(skip_serializing_if = "Option::is_none")]
    past_correction: Option<PastCorrection>,
}

impl GeofenceOut {
    /// As JSON or GeoJSON, with or without its shape.
    fn shown(&self, as_feature: bool, with_shape: bool) -> Value {
        let mut shown = json!(self);
        if as_feature {
            return to_feature(shown, with_shape.then_some(&self.geofence.attributes.shape));
        }
        if let Some(members) = shown.as_object_mut().filter(|_| !with_shape) {
            members.remove("shape");
        }
        shown
    }
}

/// Whether the client prefers GeoJSON.
fn wants_geojson(request: &HttpRequest) -> bool {
    let accepted = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains(MEDIA_TYPE))
}

/// A geofence from a body, in either of its two forms.
struct SentGeofence {
    members: Value,
    is_feature: bool,
    _turn: Option<Turn>,
}

impl SentGeofence {
    fn of(
        body: GeofenceBody,
        from_feature: fn(Value) -> Result<Value, Vec<FieldError>>,
    ) -> Result<Self, Problem> {
        let GeofenceBody { json, is_geojson, turn } = body;
        if !is_geojson {
            return Ok(Self { members: json, is_feature: false, _turn: turn });
        }
        let members = from_feature(json).map_err(OpError::from)?;
        Ok(Self { members, is_feature: true, _turn: turn })
    }
}

/// Translates the pointers of problems into the form the client sent.
fn in_clients_terms(error: OpError, is_feature: bool) -> Problem {
    match (error, is_feature) {
        (OpError::Invalid(mut errors), true) => {
            for error in &mut errors {
                error.pointer = pointer_in_feature(&error.pointer);
            }
            OpError::Invalid(errors).into()
        }
        (error, _) => error.into(),
    }
}

pub(super) async fn with_count(context: &Context, geofence: Geofence) -> Result<GeofenceOut, OpError> {
    let inside_count = ops::inside_counts(context, [geofence.id]).await?.pop().unwrap_or_default();
    Ok(GeofenceOut { geofence, inside_count, past_correction: None })
}

fn single(
    mut answer: actix_web::HttpResponseBuilder,
    request: &HttpRequest,
    out: &GeofenceOut,
) -> HttpResponse {
    let as_feature = wants_geojson(request);
    let shown = out.shown(as_feature, true);
    answer.insert_header((header::ETAG, etag::shown(&out.geofence, &shown)));
    answer.insert_header((header::VARY, "accept"));
    if as_feature {
        answer.content_type(MEDIA_TYPE);
    }
    answer.json(shown)
}

/// List geofences. `Accept: application/geo+json` gives a FeatureCollection.
#[utoipa::path(get, path = "/v1/geofences", tag = "geofences",
    params(("q" = Option<String>, Query, description = "Text to find in name, description or category"),
        ("category" = Option<Vec<String>>, Query, description = "Only of these categories"),
        ("enabled" = Option<bool>, Query, description = "Only those in force, or only those that are not"),
        ("bbox" = Option<String>, Query, description = "west,south,east,north: those whose box touches it; west > east across the antimeridian"),
        ("near" = Option<String>, Query, description = "latitude,longitude,radiusMeters: those whose box touches the box around that circle"),
        ("geometry" = Option<String>, Query, description = "full (default) or none: without shapes"),
        ("updatedAfter" = Option<Timestamp>, Query, description = "Only what was changed after this; deletions are in /v1/changes"),
        ("sort" = Option<String>, Query, description = "name, areaSquareMeters, createdAt, updatedAt; - for descending"),
        InOrganization,
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, description = "A page", content(
        (PageOf<GeofenceOut> = "application/json"), (Value = "application/geo+json")))))]
pub async fn list_geofences(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let boxes = [query.one("bbox", bbox), query.one("near", near)].into_iter().flatten().collect();
    // A list, or one with commas in its name.
    let mut categories = query.many("category", |text| Ok(text.to_owned()));
    categories.extend(query.each("category", |text| Ok(text.to_owned())));
    let filter = ops::Filter {
        q: query.q(),
        categories,
        enabled: query.one("enabled", flag),
        boxes,
        updated_after: query.updated_after(),
    };
    let with_shape = query.one("geometry", word(&[("full", true), ("none", false)])).unwrap_or(true);
    let (by, sort, page) = query.listed(caller, ops::SORT_KEYS, NEWEST_FIRST)?;
    let found = ops::list_geofences(&context, &by, &filter, &sort, page).await?;
    let counts = ops::inside_counts(&context, found.items.iter().map(|geofence| geofence.id)).await?;
    let items = found.items.into_iter().zip(counts);
    let items =
        items.map(|(geofence, inside_count)| GeofenceOut { geofence, inside_count, past_correction: None });
    let items = items.collect();
    let found = Page { items, total: found.total };
    if !wants_geojson(&request) {
        return Ok(answer::page(&request, page, found, |out: GeofenceOut| out.shown(false, with_shape)));
    }
    let pagination = answer::pagination(&found, page);
    let link = pagination.link(&request);
    let features: Vec<Value> = found.items.iter().map(|out| out.shown(true, with_shape)).collect();
    let collection = json!({ "type": "FeatureCollection", "features": features, "pagination": pagination });
    Ok(answer::linked(HttpResponse::Ok(), link).content_type(MEDIA_TYPE).json(collection))
}

/// Create a geofence. Answers once every vehicle that is inside has its entry.
#[utoipa::path(post, path = "/v1/geofences", tag = "geofences",
    request_body(content((CreateGeofence = "application/json"), (Value = "application/geo+json"))),
    responses((status = 201, description = "Created; Location names it", content(
        (GeofenceOut = "application/json"), (Value = "application/geo+json"))),
        (status = 403, description = "planLimitReached")))]
pub async fn create_geofence(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    query: Query,
    body: GeofenceBody,
) -> Answer {
    let by = query.scoped(caller)?;
    let SentGeofence { members, is_feature, _turn } = SentGeofence::of(body, from_new_feature)?;
    let made = ops::create_geofence(&context, &by, members.into()).await;
    let out = with_count(&context, made.map_err(|error| in_clients_terms(error, is_feature))?).await?;
    let mut answer = HttpResponse::Created();
    answer.insert_header((header::LOCATION, format!("/v1/geofences/{}", out.geofence.id)));
    Ok(single(answer, &request, &out))
}

/// Try out a geofence: which visits it would have made of the positions that are stored, had it been in force always. Nothing is made.
///
/// A vehicle that was inside at its first position has a visit from that position on. Reads up to 31 days, two million positions and ten
/// seconds: of all vehicles the hours behind `from` first, and `readThrough` says how far it came. An organization has one dry run at a
/// time, a server two: others get 503 `busy`. A system user needs `geofences:write`, and `positions:read` or `events:read`.
#[utoipa::path(post, path = "/v1/geofences/dry-run", tag = "geofences",
    request_body = DryRunGeofence,
    responses((status = 200, body = DryRunResult, description = "What it would have recorded"),
        (status = 503, description = "busy")))]
pub async fn dry_run(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    query: Query,
    body: Params<DryRunGeofence>,
) -> Answer {
    let by = query.scoped(caller)?;
    Ok(HttpResponse::Ok().json(geofence_dry_run::dry_run(&context, &by, body).await?))
}

/// Get a geofence. `Accept: application/geo+json` gives a Feature.
#[utoipa::path(get, path = "/v1/geofences/{id}", tag = "geofences",
    params(("id" = GeofenceId, Path),
        InOrganization),
    responses((status = 200, description = "The geofence", content(
        (GeofenceOut = "application/json"), (Value = "application/geo+json")))))]
pub async fn find_geofence(
    context: Shared,
    PathId(id): PathId<GeofenceId>,
    request: HttpRequest,
    by: Scoped,
) -> Answer {
    let (scope, found) = ops::find_geofence(&context, &by, id).await?;
    let past_correction = ops::past_correction(&context, &scope, id).await?;
    let out = GeofenceOut { past_correction, ..with_count(&context, found).await? };
    Ok(single(HttpResponse::Ok(), &request, &out))
}

/// Change a geofence: members left out stay, null clears, `shape` is replaced whole. Answers once
/// every vehicle it touches has its records.
#[utoipa::path(put, path = "/v1/geofences/{id}", tag = "geofences",
    params(("id" = GeofenceId, Path),
        InOrganization),
    request_body(content((CreateGeofence = "application/json"), (Value = "application/geo+json"))),
    responses((status = 200, description = "The geofence as it is now", content(
        (GeofenceOut = "application/json"), (Value = "application/geo+json")))))]
pub async fn update_geofence(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<GeofenceId>,
    request: HttpRequest,
    query: Query,
    Matching(if_match): Matching,
    body: GeofenceBody,
) -> Answer {
    let by = query.scoped(caller)?;
    let SentGeofence { members, is_feature, _turn } = SentGeofence::of(body, from_feature)?;
    let changed = ops::update_geofence(&context, &by, id, &if_match, members.into()).await;
    let out = with_count(&context, changed.map_err(|error| in_clients_terms(error, is_feature))?).await?;
    Ok(single(HttpResponse::Ok(), &request, &out))
}

/// Delete a geofence. The stays in it end now; its history is kept.
#[utoipa::path(delete, path = "/v1/geofences/{id}", tag = "geofences",
    params(("id" = GeofenceId, Path),
        InOrganization),
    responses((status = 204, description = "Deleted")))]
pub async fn delete_geofence(
    context: Shared,
    PathId(id): PathId<GeofenceId>,
    Matching(if_match): Matching,
    by: Scoped,
) -> Answer {
    ops::delete_geofence(&context, &by, id, &if_match).await?;
    Ok(HttpResponse::NoContent().finish())
}

fn numbers<const N: usize>(text: &str) -> Option<[f64; N]> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|part| number(part.trim()).ok()).collect();
    numbers?.try_into().ok()
}

pub(super) fn bbox(text: &str) -> Result<[f64; 4], String> {
    let is_good = |[west, south, east, north]: &[f64; 4]| {
        let on_earth =
            west.abs() <= 180.0 && east.abs() <= 180.0 && south.abs() <= 90.0 && north.abs() <= 90.0;
        on_earth && south <= north
    };
    numbers(text).filter(is_good).ok_or_else(|| "west,south,east,north in degrees".to_owned())
}

/// The box around a circle. Uses the metres per degree of the widest degree, so it is never too small.
fn near(text: &str) -> Result<[f64; 4], String> {
    let is_good = |[latitude, longitude, radius]: &[f64; 3]| {
        latitude.abs() <= 90.0 && longitude.abs() <= 180.0 && (0.0..=1_000_000.0).contains(radius)
    };
    let must = "latitude,longitude,radiusMeters (at most 1,000,000)";
    let [latitude, longitude, radius] = numbers(text).filter(is_good).ok_or_else(|| must.to_owned())?;
    let (up, shrink) = (radius / 110_574.0, (latitude.abs() + radius / 110_574.0).to_radians().cos());
    let across = radius / 110_574.0 / shrink;
    let (south, north) = ((latitude - up).max(-90.0), (latitude + up).min(90.0));
    if latitude.abs() + up >= 90.0 || across >= 180.0 {
        return Ok([-180.0, south, 180.0, north]);
    }
    let round = |degrees: f64| (degrees + 540.0).rem_euclid(360.0) - 180.0;
    Ok([round(longitude - across), south, round(longitude + across), north])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_and_circles() {
        assert_eq!(bbox("170, -10,-170,10"), Ok([170.0, -10.0, -170.0, 10.0]));
        for bad in ["", "1,2,3", "1,2,3,4,5", "1,3,2,2", "nan,0,1,1", "181,0,1,1"] {
            assert!(bbox(bad).is_err(), "{bad}");
        }
        let [west, south, east, north] = near("0,179.99,11057.4").unwrap();
        assert!((west - 179.89).abs() < 0.01 && (east + 179.91).abs() < 0.01, "{west} {east}");
        assert!((south + 0.1).abs() < 1e-9 && (north - 0.1).abs() < 1e-9);
        assert_eq!(near("89.99,0,5000").map(|b| (b[0], b[2], b[3])), Ok((-180.0, 180.0, 90.0)));
    }
}
