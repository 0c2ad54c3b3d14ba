//! `/v1/visits`.

use actix_web::HttpRequest;
use waypost_actors::model::{DriverId, GeofenceId, Timestamp, VehicleId, VisitId};

use super::answer::{self, Answer, SliceOf};
use super::query::{Query, flag, id, instant, number};
use super::request::{InOrganization, PathId, Shared, SignedCaller};
use crate::domain::visit::{Visit, VisitFilter, VisitOrder};
use crate::ops::scoped::Scoped;
use crate::ops::visits as ops;

/// List visits: stays of vehicles in geofences, open ones with what they did so far.
#[utoipa::path(get, path = "/v1/visits", tag = "visits",
    params(("vehicleId" = Option<Vec<VehicleId>>, Query), ("driverId" = Option<Vec<DriverId>>, Query),
        ("geofenceId" = Option<Vec<GeofenceId>>, Query),
        ("from" = Option<Timestamp>, Query, description = "Still open then, or ended at or after it"),
        ("to" = Option<Timestamp>, Query, description = "Begun before it"),
        ("open" = Option<bool>, Query, description = "true: still inside; false: ended"),
        ("minDurationSeconds" = Option<f64>, Query, description = "At least so long; open ones up to now"),
        ("sort" = Option<String>, Query, description = "-enteredAt (default) or enteredAt"),
        InOrganization,
        ("limit" = Option<i64>, Query), ("after" = Option<String>, Query, description = "A cursor")),
    responses((status = 200, body = SliceOf<Visit>, description = "A slice of the visits")))]
pub async fn list_visits(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let order = query.order(VisitOrder::WORDS).unwrap_or(VisitOrder::NewestFirst);
    let filter = VisitFilter {
        vehicle_ids: query.many("vehicleId", id),
        driver_ids: query.many("driverId", id),
        geofence_ids: query.many("geofenceId", id),
        from: query.one("from", instant),
        to: query.one("to", instant),
        open: query.one("open", flag),
        min_duration_seconds: query.one("minDurationSeconds", number),
    };
    let asked = query.slice();
    let by = query.scoped(caller)?;
    let found = ops::list_visits(&context, &by, &filter, order, &asked).await?;
    Ok(answer::slice(&request, found))
}

/// Get a visit; an open one with what it did so far.
#[utoipa::path(get, path = "/v1/visits/{id}", tag = "visits",
    params(("id" = VisitId, Path),
        InOrganization),
    responses((status = 200, body = Visit, description = "The visit")))]
pub async fn find_visit(context: Shared, PathId(id): PathId<VisitId>, by: Scoped) -> Answer {
    let found = ops::find_visit(&context, &by, id).await?;
    Ok(answer::ok(&found, &found))
}
