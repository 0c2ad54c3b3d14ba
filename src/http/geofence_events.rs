//! `/v1/geofence-events`.

use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::model::{
    Cause, Event, EventId, EventKind, EventStatus, GeofenceId, Origin, Timestamp, VehicleId,
};

use super::answer::{self, Answer, CursorPagination, SliceOf};
use super::event_filter::event_filter;
use super::query::{Query, flag, id, instant, number, word};
use super::request::{InOrganization, PathId, Shared, SignedCaller};
use crate::domain::event::{EventFilter, EventOrder};
use crate::ops::geofence_events as ops;
use crate::ops::inside::{Inside, VehicleInside, vehicles_inside, vehicles_inside_at};
use crate::ops::scoped::Scoped;

/// Who is inside a geofence.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InsideOut {
    /// The instant of the answer.
    as_of: Timestamp,
    /// The vehicles, by entry.
    data: Vec<VehicleInside>,
    /// Where the list ends.
    pagination: CursorPagination,
}

/// Reads the filters except `vehicleId`, which one of the lists has in its path.
fn filter(query: &mut Query, order: EventOrder) -> EventFilter {
    let common = event_filter(query, order, EventKind::WORDS);
    EventFilter {
        geofence_ids: query.many("geofenceId", id),
        causes: query.many("cause", word(Cause::WORDS)),
        origins: query.many("origin", word(Origin::WORDS)),
        inferred: query.one("inferred", flag),
        from: query.one("from", instant),
        to: query.one("to", instant),
        min_duration_seconds: query.one("minDurationSeconds", |text| match order {
            EventOrder::Sequence => Err(
                "left out with sort=sequence: how long a stay was is known after its entry had its number"
                    .to_owned(),
            ),
            _ => number(text),
        }),
        ..common
    }
}

fn order(query: &mut Query) -> EventOrder {
    query.order(EventOrder::WORDS).unwrap_or(EventOrder::NewestFirst)
}

/// List geofence events. `sort=sequence` is a feed: commit order, every status; send the last
/// `endCursor` as `after` and miss nothing.
#[utoipa::path(get, path = "/v1/geofence-events", tag = "geofence events",
    params(("vehicleId" = Option<Vec<VehicleId>>, Query), ("driverId" = Option<Vec<Uuid>>, Query),
        ("geofenceId" = Option<Vec<GeofenceId>>, Query), ("type" = Option<Vec<EventKind>>, Query),
        ("from" = Option<Timestamp>, Query, description = "occurredAt from here, inclusive"),
        ("to" = Option<Timestamp>, Query, description = "occurredAt up to here, exclusive"),
        ("cause" = Option<Vec<Cause>>, Query), ("origin" = Option<Vec<Origin>>, Query),
        ("inferred" = Option<bool>, Query),
        ("status" = Option<Vec<EventStatus>>, Query, description = "Default: active; in the feed: every one"),
        ("minDurationSeconds" = Option<f64>, Query, description = "Records of visits that ended and were at least so long: their entries, dwells and exits; not with sort=sequence"),
        ("sort" = Option<String>, Query, description = "-occurredAt (default), occurredAt or sequence"),
        InOrganization,
        ("limit" = Option<i64>, Query), ("after" = Option<String>, Query, description = "A cursor")),
    responses((status = 200, body = SliceOf<Event>, description = "A slice of the log"),
        (status = 410, description = "cursorExpired")))]
pub async fn list_events(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let order = order(&mut query);
    let vehicle_ids = query.many("vehicleId", id);
    let filter = EventFilter { vehicle_ids, ..filter(&mut query, order) };
    let asked = query.slice();
    let by = query.scoped(caller)?;
    let found = ops::list_events(&context, &by, filter, order, &asked).await?;
    Ok(answer::slice(&request, found))
}

/// Get a geofence event.
#[utoipa::path(get, path = "/v1/geofence-events/{id}", tag = "geofence events",
    params(("id" = EventId, Path),
        InOrganization),
    responses((status = 200, body = Event, description = "The event")))]
pub async fn find_event(context: Shared, PathId(id): PathId<EventId>, by: Scoped) -> Answer {
    let found = ops::find_event(&context, &by, id).await?;
    Ok(answer::ok(&found, &found))
}

/// List the geofence events of one vehicle.
#[utoipa::path(get, path = "/v1/geofence-events/vehicle/{vehicleId}", tag = "geofence events",
    params(("vehicleId" = VehicleId, Path), ("driverId" = Option<Vec<Uuid>>, Query),
        ("geofenceId" = Option<Vec<GeofenceId>>, Query), ("type" = Option<Vec<EventKind>>, Query),
        ("from" = Option<Timestamp>, Query), ("to" = Option<Timestamp>, Query),
        ("cause" = Option<Vec<Cause>>, Query), ("origin" = Option<Vec<Origin>>, Query),
        ("inferred" = Option<bool>, Query), ("status" = Option<Vec<EventStatus>>, Query),
        ("minDurationSeconds" = Option<f64>, Query, description = "Records of visits that ended and were at least so long"),
        ("sort" = Option<String>, Query, description = "-occurredAt (default), occurredAt or sequence"),
        InOrganization,
        ("limit" = Option<i64>, Query), ("after" = Option<String>, Query, description = "A cursor")),
    responses((status = 200, body = SliceOf<Event>, description = "A slice of the log"),
        (status = 410, description = "cursorExpired")))]
pub async fn list_events_of_vehicle(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(vehicle): PathId<VehicleId>,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let order = order(&mut query);
    let filter = filter(&mut query, order);
    let asked = query.slice();
    let by = query.scoped(caller)?;
    let found = ops::list_events_of_vehicle(&context, &by, vehicle, filter, order, &asked).await?;
    Ok(answer::slice(&request, found))
}

/// List the vehicles inside a geofence now, by entry; with `asOf` those that were inside then, by what
/// is known today.
#[utoipa::path(get, path = "/v1/geofence-events/geofence/{geofenceId}/vehicles", tag = "geofence events",
    params(("geofenceId" = GeofenceId, Path),
        ("asOf" = Option<Timestamp>, Query, description = "A past instant: who was inside then; a future one is refused"),
        InOrganization,
        ("limit" = Option<i64>, Query), ("after" = Option<String>, Query, description = "A cursor")),
    responses((status = 200, body = InsideOut, description = "The vehicles inside")))]
pub async fn list_vehicles_inside(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(geofence): PathId<GeofenceId>,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let at = query.one("asOf", instant);
    let asked = query.slice();
    let by = query.scoped(caller)?;
    let Inside { as_of, slice } = match at {
        None => vehicles_inside(&context, &by, geofence, &asked).await?,
        Some(at) => vehicles_inside_at(&context, &by, geofence, at, &asked).await?,
    };
    let (pagination, link) = answer::cursor_pagination(&request, &slice);
    let body = InsideOut { as_of, data: slice.items, pagination };
    Ok(answer::linked(HttpResponse::Ok(), link).json(body))
}
