//! `/v1/trips` and `/v1/stops`.

use actix_web::HttpRequest;
use waypost_actors::model::{DriverId, EventStatus, Timestamp, VehicleId};
use waypost_actors::tracking::{TripEvent, TripKind};

use super::answer::{self, Answer, SliceOf};
use super::query::{Query, flag, id, instant, word};
use super::request::{InOrganization, Shared, SignedCaller};
use crate::domain::event::{EventFilter, EventOrder};
use crate::ops::trips as ops;

/// List trips: what vehicles did between two stops, from the first movement on. One that goes on has no end and no `summary`. `sort=sequence` is
/// a feed: commit order, every status; send the last `endCursor` as `after` and miss nothing.
#[utoipa::path(get, path = "/v1/trips", tag = "trips",
    params(("vehicleId" = Option<Vec<VehicleId>>, Query), ("driverId" = Option<Vec<DriverId>>, Query),
        ("from" = Option<Timestamp>, Query, description = "Began at or after it"),
        ("to" = Option<Timestamp>, Query, description = "Began before it"),
        ("open" = Option<bool>, Query, description = "true: goes on; false: ended"),
        ("status" = Option<Vec<EventStatus>>, Query, description = "Default: active; in the feed: every one"),
        ("sort" = Option<String>, Query, description = "-occurredAt (default), occurredAt or sequence"),
        InOrganization,
        ("limit" = Option<i64>, Query), ("after" = Option<String>, Query, description = "A cursor")),
    responses((status = 200, body = SliceOf<TripEvent>, description = "A slice of the trips"),
        (status = 410, description = "cursorExpired")))]
pub async fn list_trips(context: Shared, caller: SignedCaller, request: HttpRequest, query: Query) -> Answer {
    list(context, caller, request, query, TripKind::Trip).await
}

/// List stops: where vehicles stood for five minutes or longer, or for one with the ignition off. One that goes on has no end and no `summary`.
/// `sort=sequence` is a feed: commit order, every status; send the last `endCursor` as `after` and miss nothing.
#[utoipa::path(get, path = "/v1/stops", tag = "trips",
    params(("vehicleId" = Option<Vec<VehicleId>>, Query), ("driverId" = Option<Vec<DriverId>>, Query),
        ("from" = Option<Timestamp>, Query, description = "Began at or after it"),
        ("to" = Option<Timestamp>, Query, description = "Began before it"),
        ("open" = Option<bool>, Query, description = "true: goes on; false: ended"),
        ("status" = Option<Vec<EventStatus>>, Query, description = "Default: active; in the feed: every one"),
        ("sort" = Option<String>, Query, description = "-occurredAt (default), occurredAt or sequence"),
        InOrganization,
        ("limit" = Option<i64>, Query), ("after" = Option<String>, Query, description = "A cursor")),
    responses((status = 200, body = SliceOf<TripEvent>, description = "A slice of the stops"),
        (status = 410, description = "cursorExpired")))]
pub async fn list_stops(context: Shared, caller: SignedCaller, request: HttpRequest, query: Query) -> Answer {
    list(context, caller, request, query, TripKind::Stop).await
}

async fn list(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
    kind: TripKind,
) -> Answer {
    let order = query.order(EventOrder::WORDS).unwrap_or(EventOrder::NewestFirst);
    let mut statuses = query.many("status", word(EventStatus::WORDS));
    if statuses.is_empty() && order != EventOrder::Sequence {
        statuses = vec![EventStatus::Active];
    }
    let filter = EventFilter {
        vehicle_ids: query.many("vehicleId", id),
        driver_ids: query.many("driverId", id),
        statuses,
        from: query.one("from", instant),
        to: query.one("to", instant),
        open: query.one("open", flag),
        ..EventFilter::default()
    };
    let asked = query.slice();
    let by = query.scoped(caller)?;
    let found = ops::list_trips(&context, &by, kind, filter, order, &asked).await?;
    Ok(answer::slice(&request, found))
}
