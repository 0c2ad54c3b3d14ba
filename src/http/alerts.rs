//! `/v1/alerts`.

use actix_web::{HttpRequest, HttpResponse};
use waypost_actors::model::{DriverId, EventId, EventStatus, GeofenceId, Timestamp, VehicleId};
use waypost_actors::tracking::AlertRule;

use super::answer::{self, Answer, SliceOf};
use super::query::{Query, flag, id, instant, word};
use super::request::{InOrganization, PathId, Shared, SignedCaller};
use crate::domain::alert::{Alert, SnoozeAlert};
use crate::domain::body::Params;
use crate::domain::event::{EventFilter, EventOrder};
use crate::ops::alerts as ops;
use crate::ops::scoped::Scoped;

/// List alerts: what a dispatcher should look at, one for each cause, with who has seen it. `open=true` are those that ask for
/// somebody's attention now. Drains are there for who may read fuel. `sort=sequence` is a feed: commit order, every status; send the
/// last `endCursor` as `after` and miss nothing of what becomes of alerts. What is done with them is in the log of changes.
#[utoipa::path(get, path = "/v1/alerts", tag = "alerts",
    params(("rule" = Option<Vec<AlertRule>>, Query, description = "Default: every one that the caller may read"),
        ("vehicleId" = Option<Vec<VehicleId>>, Query, description = "About one of these, or about it and others"),
        ("driverId" = Option<Vec<DriverId>>, Query),
        ("geofenceId" = Option<Vec<GeofenceId>>, Query, description = "The fence whose rule or limit it is"),
        ("open" = Option<bool>, Query, description = "true: asks for attention; false: does not"),
        ("from" = Option<Timestamp>, Query, description = "Began from here, inclusive"),
        ("to" = Option<Timestamp>, Query, description = "Began up to here, exclusive"),
        ("status" = Option<Vec<EventStatus>>, Query, description = "Default: active; in the feed: every one"),
        ("sort" = Option<String>, Query, description = "-occurredAt (default), occurredAt or sequence"),
        InOrganization,
        ("limit" = Option<i64>, Query), ("after" = Option<String>, Query, description = "A cursor")),
    responses((status = 200, body = SliceOf<Alert>, description = "A slice of the alerts"),
        (status = 410, description = "cursorExpired")))]
pub async fn list_alerts(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let order = query.order(EventOrder::WORDS).unwrap_or(EventOrder::NewestFirst);
    let mut statuses = query.many("status", word(EventStatus::WORDS));
    if statuses.is_empty() && order != EventOrder::Sequence {
        statuses = vec![EventStatus::Active];
    }
    let filter = EventFilter {
        vehicle_ids: query.many("vehicleId", id),
        driver_ids: query.many("driverId", id),
        geofence_ids: query.many("geofenceId", id),
        rules: query.many("rule", word(AlertRule::WORDS)),
        statuses,
        from: query.one("from", instant),
        to: query.one("to", instant),
        ..EventFilter::default()
    };
    let open = query.one("open", flag);
    let asked = query.slice();
    let by = query.scoped(caller)?;
    let found = ops::list_alerts(&context, &by, (filter, open), order, &asked).await?;
    Ok(answer::slice(&request, found))
}

/// Get an alert, with who has seen it.
#[utoipa::path(get, path = "/v1/alerts/{id}", tag = "alerts",
    params(("id" = EventId, Path), InOrganization),
    responses((status = 200, body = Alert, description = "The alert")))]
pub async fn find_alert(context: Shared, PathId(id): PathId<EventId>, by: Scoped) -> Answer {
    Ok(shown(&ops::find_alert(&context, &by, id).await?))
}

/// Whether it asks for attention follows from the rest and the time.
fn shown(alert: &Alert) -> HttpResponse {
    answer::with_derived(&(&alert.event, &alert.handling, &alert.verdict), alert)
}

/// Say that an alert is seen, for all who share it. Seen already is as good: who was first stays. A drain asks for no attention
/// any more; what lasts goes on.
#[utoipa::path(post, path = "/v1/alerts/{id}/acknowledge", tag = "alerts",
    params(("id" = EventId, Path), InOrganization),
    responses((status = 200, body = Alert, description = "The alert"),
        (status = 409, description = "invalidTransition")))]
pub async fn acknowledge_alert(context: Shared, PathId(id): PathId<EventId>, by: Scoped) -> Answer {
    Ok(shown(&ops::acknowledge_alert(&context, &by, id).await?))
}

/// Put an alert off, for all who share it, until an instant.
#[utoipa::path(post, path = "/v1/alerts/{id}/snooze", tag = "alerts", request_body = SnoozeAlert,
    params(("id" = EventId, Path), InOrganization),
    responses((status = 200, body = Alert, description = "The alert"),
        (status = 409, description = "invalidTransition")))]
pub async fn snooze_alert(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<EventId>,
    query: Query,
    body: Params<SnoozeAlert>,
) -> Answer {
    let by = query.scoped(caller)?;
    Ok(shown(&ops::snooze_alert(&context, &by, id, body).await?))
}
