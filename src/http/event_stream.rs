//! `/v1/events/stream`: the live feed as Server-Sent Events.

use actix_web::http::header::{self, HeaderName};
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::mpsc::{Receiver, channel};
use waypost_actors::model::{GeofenceId, OrganizationId, VehicleId};

use super::answer::Answer;
use super::changes;
use super::code::Code;
use super::geofences::bbox;
use super::problem::Problem;
use super::query::{Query, id, word};
use super::request::{Shared, bearer, know_peer};
use super::sockets::feed_of;
use crate::auth::{Action, AuthError, Caller};
use crate::feed;
use crate::feed::protocol::{FilterSpec, Subscribe, Topic};

/// Pieces of a body that may wait for the connection; each is what was there to be sent at once.
const PIECES: usize = 2;
/// The client's pause before it connects again, in milliseconds.
const RETRY: &str = "retry: 3000\n\n";
/// Told instead of a refusal while the store is away, because any status but 200 ends clients for good.
const AWAY: &str = "event: status\ndata: {\"type\":\"status\",\"storing\":false}\n\n";
/// The header by which a client resumes.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Follow events, changes and positions as Server-Sent Events.
///
/// The messages of the live feed (docs/tracking.md), each an event named by its `type`; `error` is named `problem`. The
/// id of what is in the log is a cursor: `Last-Event-ID` goes on after it. The access token comes as a bearer header, or
/// a one-time ticket in the query. While the database is away the stream says `status` and ends; connect again.
#[utoipa::path(get, path = "/v1/events/stream", tag = "live",
    params(("topics" = Option<Vec<String>>, Query, description = "positions, occupancy, events (default), fuel, changes"),
        ("vehicleId" = Option<Vec<VehicleId>>, Query, description = "Only of these vehicles"),
        ("geofenceId" = Option<Vec<GeofenceId>>, Query, description = "Only of these geofences"),
        ("bbox" = Option<String>, Query, description = "west,south,east,north: positions within"),
        ("organizationId" = Option<OrganizationId>, Query, description = "For operators, who otherwise follow all"),
        ("minIntervalMs" = Option<u64>, Query, description = "Between two deltas, 0 to 60,000; default 1,000"),
        ("cursor" = Option<String>, Query, description = "Where to go on; `Last-Event-ID` comes before it"),
        ("ticket" = Option<String>, Query, description = "From POST /v1/auth/ws-ticket")),
    responses((status = 200, content_type = "text/event-stream", body = String, description = "The stream"),
        (status = 401, description = "unauthenticated"),
        (status = 403, description = "forbidden, organizationInactive"),
        (status = 404, description = "notFound")))]
pub async fn stream_events(context: Shared, request: HttpRequest, mut query: Query) -> Answer {
    let ticket = query.one("ticket", |text| Ok(text.to_owned()));
    let asked = subscription(&request, &mut query);
    let caller = tokio::select! {
        biased;
        caller = signed_in(&context, &request, ticket.as_deref()) => caller,
        () = context.readiness.in_vain() => return Ok(answer().body(format!("{RETRY}{AWAY}"))),
    };
    let caller = match caller {
        Err(AuthError::Store(_)) => return Ok(answer().body(format!("{RETRY}{AWAY}"))),
        caller => caller?,
    };
    caller.may(Action::WatchLive)?;
    query.finish()?;
    if let Some((code, detail)) = feed::refusal(&caller, &asked) {
        let code = match code {
            "forbidden" => Code::Forbidden,
            "notFound" => Code::NotFound,
            _ => Code::InvalidParameter,
        };
        return Err(Problem::new(code).detail(detail));
    }
    know_peer(&request);
    let (body, pieces) = channel(PIECES);
    body.try_send(Bytes::from_static(RETRY.as_bytes())).ok();
    let tools = (context.sessions.clone(), changes::shown_to_callers(&context));
    actix_web::rt::spawn(feed::stream(body, feed_of(&context), caller, tools, asked));
    let next = |mut pieces: Receiver<Bytes>| async move {
        pieces.recv().await.map(|piece| (Ok::<_, actix_web::Error>(piece), pieces))
    };
    Ok(answer().streaming(stream::unfold(pieces, next)))
}

fn answer() -> actix_web::HttpResponseBuilder {
    let mut answer = HttpResponse::Ok();
    answer.content_type("text/event-stream").insert_header((header::CACHE_CONTROL, "no-store"));
    // Neither a proxy nor our own compression may hold events back.
    answer.insert_header(("x-accel-buffering", "no")).insert_header((header::CONTENT_ENCODING, "identity"));
    answer
}

async fn signed_in(
    context: &Shared,
    request: &HttpRequest,
    ticket: Option<&str>,
) -> Result<Caller, AuthError> {
    match (bearer(request), ticket) {
        (Some(token), _) => context.auth.caller(token).await,
        (None, Some(ticket)) => {
            let caller = context.auth.tickets.redeem(ticket, context.clock.now());
            caller.ok_or(AuthError::InvalidToken)
        }
        (None, None) => Err(AuthError::Unauthenticated),
    }
}

fn subscription(request: &HttpRequest, query: &mut Query) -> Subscribe {
    let cursor = query.one("cursor", |text| Ok(text.to_owned()));
    let last = request.headers().get(LAST_EVENT_ID).and_then(|value| value.to_str().ok());
    let topics = query.many("topics", word(Topic::WORDS));
    let some = |ids: Vec<_>| (!ids.is_empty()).then_some(ids);
    let interval = |text: &str| match text.parse() {
        Ok(millis) if millis <= 60_000 => Ok(millis),
        _ => Err("a whole number from 0 to 60000".to_owned()),
    };
    Subscribe {
        id: "stream".to_owned(),
        topics: if topics.is_empty() { vec![Topic::Events] } else { topics },
        filter: FilterSpec {
            vehicle_ids: some(query.many("vehicleId", id)),
            geofence_ids: {
                let ids: Vec<GeofenceId> = query.many("geofenceId", id);
                (!ids.is_empty()).then_some(ids)
            },
            bbox: query.one("bbox", bbox),
            organization_id: query.organization(),
        },
        min_interval_ms: query.one("minIntervalMs", interval).unwrap_or(1_000),
        cursor: last.filter(|id| !id.is_empty()).map(str::to_owned).or(cursor),
    }
}
