//! `/v1/events/stream`: the live feed as Server-Sent Events.

use actix_web::http::header::{self, ContentEncoding, HeaderName};
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use futures_util::stream;
use serde_json::json;
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
use crate::clock::random_part;
use crate::feed;
use crate::feed::protocol::{FilterSpec, Subscribe, Topic};

/// Pieces of a body that may wait for the connection; each is what was there to be sent at once.
const PIECES: usize = 2;
/// The client's pause before it connects again at least, in seconds.
const RETRY_SECONDS: u64 = 3;
/// The path, by which refusals know it.
const PATH: &str = "/v1/events/stream";
/// Stands in an id between the cursor and the pass of a stream by a ticket.
const PASS: char = '.';
/// The header by which a client resumes.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Follow events, changes and positions as Server-Sent Events.
///
/// The messages of the live feed (docs/tracking.md), each an event named by its `type`; `error` is named `problem`. The
/// id of what is in the log is a cursor: `Last-Event-ID` goes on after it. The access token comes as a bearer header, or
/// a one-time ticket in the query; with the `Last-Event-ID` of a stream that it opened it is good again, for as long as
/// the session or key that it is of. What passes is no refusal, which would end clients for good: while the database is
/// away, and for too many requests, the answer is 200, says `status` or `problem`, and ends; connect again.
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
        (status = 401, description = "unauthenticated, invalidToken"),
        (status = 403, description = "forbidden, organizationInactive"),
        (status = 404, description = "notFound")))]
pub async fn stream_events(context: Shared, request: HttpRequest, mut query: Query) -> Answer {
    let ticket = query.one("ticket", |text| Ok(text.to_owned()));
    let last_id = last_id(&request);
    let asked = subscription(last_id, &mut query);
    let caller = signed_in(&context, &request, ticket.as_deref(), last_id).await?;
    caller.may(Action::WatchLive)?;
    query.finish()?;
    if let Some((code, detail)) = feed::refusal(&feed_of(&context, &request), &caller, &asked).await {
        let code = match code {
            "forbidden" => Code::Forbidden,
            "notFound" => Code::NotFound,
            _ => Code::InvalidParameter,
        };
        return Err(Problem::new(code).detail(detail));
    }
    know_peer(&request);
    let by_ticket = ticket.filter(|_| bearer(&request).is_none());
    let pass = by_ticket.map(|ticket| context.auth.stream_pass(&ticket, &caller));
    let (body, pieces) = channel(PIECES);
    body.try_send(Bytes::from(retry(RETRY_SECONDS))).ok();
    let tools = (context.sessions.clone(), changes::shown_to_callers(&context));
    actix_web::rt::spawn(feed::stream((body, pass), feed_of(&context, &request), caller, tools, asked));
    let next = |mut pieces: Receiver<Bytes>| async move {
        pieces.recv().await.map(|piece| (Ok::<_, actix_web::Error>(piece), pieces))
    };
    // Our own compression would hold events back.
    Ok(answer().insert_header(ContentEncoding::Identity).streaming(stream::unfold(pieces, next)))
}

/// What a client of the stream is answered instead of a refusal that passes, which would end it for good: when to connect again,
/// and why. `None` for other paths and refusals.
pub(super) fn later(problem: &Problem, path: &str) -> Option<HttpResponse> {
    if path != PATH || !matches!(problem.code().row().status, 429 | 503) {
        return None;
    }
    let seconds = problem.retry_seconds().unwrap_or_default().max(RETRY_SECONDS);
    let (name, said) = match problem.code() {
        Code::Unavailable => ("status", json!({ "type": "status", "storing": false })),
        code => ("problem", json!({ "type": "error", "code": code.as_str(), "detail": problem.told() })),
    };
    Some(answer().body(format!("{}event: {name}\ndata: {said}\n\n", retry(seconds))))
}

/// Sets the client's pause before it connects again: up to half as long again, so that those who lost the server at one moment do not
/// all come back at another.
fn retry(seconds: u64) -> String {
    format!("retry: {:.0}\n\n", seconds as f64 * 1_000.0 * (1.0 + random_part() / 2.0))
}

fn answer() -> actix_web::HttpResponseBuilder {
    let mut answer = HttpResponse::Ok();
    answer.content_type("text/event-stream").insert_header((header::CACHE_CONTROL, "no-store"));
    // A proxy must not hold events back.
    answer.insert_header(("x-accel-buffering", "no"));
    answer
}

/// The caller by a token, or by a ticket: one that is used up is good once more for every connection that says an id which a
/// stream of it had.
async fn signed_in(
    context: &Shared,
    request: &HttpRequest,
    ticket: Option<&str>,
    last_id: Option<&str>,
) -> Result<Caller, Problem> {
    let ticket = match (bearer(request), ticket) {
        (Some(token), _) => return Ok(context.auth.caller(token).await?),
        (None, Some(ticket)) => ticket,
        (None, None) => return Err(AuthError::Unauthenticated.into()),
    };
    if let Some(caller) = context.auth.tickets.redeem(ticket, context.clock.now()) {
        return Ok(caller);
    }
    let pass = last_id.and_then(|id| id.split_once(PASS)).map(|(_, pass)| pass);
    context.auth.resume_stream(ticket, pass.unwrap_or_default()).await.map_err(|error| match error {
        AuthError::InvalidToken => Problem::new(Code::InvalidToken).detail(
            "the ticket is unknown, older than 30 s, or used without the Last-Event-ID of its stream; POST /v1/auth/ws-ticket gives \
             another one",
        ),
        error => error.into(),
    })
}

/// Where the client was.
fn last_id(request: &HttpRequest) -> Option<&str> {
    let id = request.headers().get(LAST_EVENT_ID).and_then(|value| value.to_str().ok());
    id.filter(|id| !id.is_empty())
}

fn subscription(last_id: Option<&str>, query: &mut Query) -> Subscribe {
    let given = query.one("cursor", |text| Ok(text.to_owned()));
    let cursor = last_id.or(given.as_deref());
    // The id of a stream by a ticket is a cursor too, whatever it has behind that.
    let cursor = cursor.map(|id| id.split_once(PASS).map_or(id, |(cursor, _)| cursor).to_owned());
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
        cursor,
    }
}
