//! `/v1/events`: everything that happened, of every kind.

use actix_web::HttpRequest;
use waypost_actors::model::{DriverId, EventStatus, GeofenceId, Timestamp, VehicleId};
use waypost_actors::tracking::{RecordKind, RecordView};

use super::answer::{self, Answer, SliceOf};
use super::event_filter::event_filter;
use super::query::{Query, id, instant};
use super::request::{InOrganization, Shared, SignedCaller};
use crate::domain::event::{EventFilter, EventOrder};
use crate::ops::events as ops;

/// List what happened: entries, exits, dwells, refuels, drains, times over a limit of speed, trips, stops, and who is heard of again or not
/// any more, each in the form of its kind. Refuels and drains are there for who may read fuel. `sort=sequence` is a feed: commit order, every status;
/// send the last `endCursor` as `after` and miss nothing.
#[utoipa::path(get, path = "/v1/events", operation_id = "list_all_events", tag = "events",
    params(("type" = Option<Vec<RecordKind>>, Query, description = "Default: every one that the caller may read"),
        ("vehicleId" = Option<Vec<VehicleId>>, Query), ("driverId" = Option<Vec<DriverId>>, Query),
        ("geofenceId" = Option<Vec<GeofenceId>>, Query,
            description = "The fence crossed, or the one whose limit it is; nothing else"),
        ("from" = Option<Timestamp>, Query, description = "Happened or began from here, inclusive"),
        ("to" = Option<Timestamp>, Query, description = "Happened or began up to here, exclusive"),
        ("status" = Option<Vec<EventStatus>>, Query, description = "Default: active; in the feed: every one"),
        ("sort" = Option<String>, Query, description = "-occurredAt (default), occurredAt or sequence"),
        InOrganization,
        ("limit" = Option<i64>, Query), ("after" = Option<String>, Query, description = "A cursor")),
    responses((status = 200, body = SliceOf<RecordView>, description = "A slice of the log"),
        (status = 410, description = "cursorExpired")))]
pub async fn list_events(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let order = query.order(EventOrder::WORDS).unwrap_or(EventOrder::NewestFirst);
    let common = event_filter(&mut query, order, RecordKind::WORDS);
    let filter = EventFilter {
        vehicle_ids: query.many("vehicleId", id),
        geofence_ids: query.many("geofenceId", id),
        from: query.one("from", instant),
        to: query.one("to", instant),
        ..common
    };
    let asked = query.slice();
    let by = query.scoped(caller)?;
    let found = ops::list_events(&context, &by, filter, order, &asked).await?;
    Ok(answer::slice(&request, found))
}
