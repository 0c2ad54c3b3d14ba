//! `/v1/fuel`: the log, and the refuels and drains found in it.

use actix_web::HttpRequest;
use uuid::Uuid;
use waypost_actors::fuel::{FuelEventKind, Quality};
use waypost_actors::model::{DriverId, EventId, EventStatus, Timestamp, VehicleId};

use super::answer::{self, Answer, SliceOf};
use super::event_filter::event_filter;
use super::query::{Query, id, instant, word};
use super::request::{InOrganization, Matching, PathId, Shared, SignedCaller};
use crate::domain::body::Params;
use crate::domain::event::EventFilter;
use crate::domain::fuel::{FuelEntry, FuelEventOrder, FuelFilter};
use crate::domain::fuel_verdict::{FuelVerdictIn, JudgedFuelEvent};
use crate::ops::fuel as ops;
use crate::ops::fuel_verdict;
use crate::ops::scoped::Scoped;

/// List the fuel log: what sensors said, and what that means in litres.
#[utoipa::path(get, path = "/v1/fuel", tag = "fuel",
    params(("vehicleId" = Option<Vec<VehicleId>>, Query),
        ("from" = Option<Timestamp>, Query, description = "recordedAt from here, inclusive"),
        ("to" = Option<Timestamp>, Query, description = "recordedAt up to here, exclusive"),
        ("quality" = Option<Vec<Quality>>, Query, description = "Default: every one"),
        ("sort" = Option<String>, Query, description = "-recordedAt (default) or recordedAt"),
        InOrganization,
        ("limit" = Option<i64>, Query, description = "Default 200, at most 1,000"),
        ("after" = Option<String>, Query, description = "A cursor")),
    responses((status = 200, body = SliceOf<FuelEntry>, description = "A slice of the log")))]
pub async fn list_fuel(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let filter = FuelFilter {
        vehicle_ids: query.many("vehicleId", id),
        from: query.one("from", instant),
        to: query.one("to", instant),
        qualities: query.many("quality", word(Quality::WORDS)),
        is_oldest_first: query.order(&[("-recordedAt", false), ("recordedAt", true)]).unwrap_or(false),
    };
    let asked = query.long_slice();
    let by = query.scoped(caller)?;
    let found = ops::list_fuel(&context, &by, &filter, &asked).await?;
    Ok(answer::slice(&request, found))
}

/// Get an entry of the fuel log.
#[utoipa::path(get, path = "/v1/fuel/{id}", tag = "fuel",
    params(("id" = Uuid, Path),
        InOrganization),
    responses((status = 200, body = FuelEntry, description = "The entry")))]
pub async fn find_fuel(context: Shared, PathId(id): PathId<Uuid>, by: Scoped) -> Answer {
    let found = ops::find_fuel(&context, &by, id).await?;
    Ok(answer::ok(&found, &found))
}

/// List refuels and drains. `sort=sequence` is a feed: commit order, every status; send the last `endCursor` as
/// `after` and miss nothing.
#[utoipa::path(get, path = "/v1/fuel/events", tag = "fuel",
    params(("vehicleId" = Option<Vec<VehicleId>>, Query), ("driverId" = Option<Vec<DriverId>>, Query),
        ("type" = Option<Vec<FuelEventKind>>, Query),
        ("status" = Option<Vec<EventStatus>>, Query, description = "Default: active; in the feed: every one"),
        ("from" = Option<Timestamp>, Query, description = "Ended then or later"),
        ("to" = Option<Timestamp>, Query, description = "Begun before it"),
        ("sort" = Option<String>, Query, description = "-startedAt (default), startedAt or sequence"),
        InOrganization,
        ("limit" = Option<i64>, Query), ("after" = Option<String>, Query, description = "A cursor")),
    responses((status = 200, body = SliceOf<JudgedFuelEvent>, description = "A slice of the list")))]
pub async fn list_fuel_events(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let order = query.order(FuelEventOrder::WORDS).unwrap_or(FuelEventOrder::NewestFirst);
    let common = event_filter(&mut query, order.into(), FuelEventKind::WORDS);
    let filter = EventFilter {
        vehicle_ids: query.many("vehicleId", id),
        ended_from: query.one("from", instant),
        to: query.one("to", instant),
        ..common
    };
    let asked = query.slice();
    let by = query.scoped(caller)?;
    let found = ops::list_fuel_events(&context, &by, filter, order, &asked).await?;
    Ok(answer::slice(&request, found))
}

/// Get a refuel or drain, with what somebody found of it.
#[utoipa::path(get, path = "/v1/fuel/events/{eventId}", tag = "fuel",
    params(("eventId" = EventId, Path),
        InOrganization),
    responses((status = 200, body = JudgedFuelEvent, description = "The refuel or drain")))]
pub async fn find_fuel_event(context: Shared, PathId(id): PathId<EventId>, by: Scoped) -> Answer {
    let found = fuel_verdict::find_fuel_event(&context, &by, id).await?;
    Ok(answer::ok(&found, &found))
}

/// Say whether a refuel or drain was one: members left out stay, a null note goes. The event stays what the readings say, and the
/// verdict stands beside it; the alert of a drain is seen with that.
#[utoipa::path(put, path = "/v1/fuel/events/{eventId}/verdict", tag = "fuel", request_body = FuelVerdictIn,
    params(("eventId" = EventId, Path),
        InOrganization),
    responses((status = 200, body = JudgedFuelEvent, description = "The refuel or drain, with the verdict"),
        (status = 409, description = "invalidTransition")))]
pub async fn judge_fuel_event(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<EventId>,
    query: Query,
    Matching(if_match): Matching,
    body: Params<FuelVerdictIn>,
) -> Answer {
    let by = query.scoped(caller)?;
    let judged = fuel_verdict::judge_fuel_event(&context, &by, id, &if_match, body).await?;
    Ok(answer::ok(&judged, &judged))
}
