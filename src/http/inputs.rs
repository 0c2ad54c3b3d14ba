//! `/in`: where apps and gateways report that know nothing of us, each in its own words (docs/devices.md).
//!
//! What is refused for good is answered as stored, because most of them send a refused report again for ever. What may
//! work later is a 503, because some of them delete on a 4xx.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use waypost_actors::live::LiveError;
use waypost_actors::model::TrackerId;

use super::answer::Answer;
use super::code::Code;
use super::positions::not_taken;
use super::problem::Problem;
use super::receive::receive;
use super::refusal::RETRY_SECONDS;
use super::report_token::{self, ReportToken};
use super::request::{Shared, know_peer};
use super::sockets::{Reporting, identified};
use crate::auth::API_KEY_PREFIX;
use crate::context::Context;
use crate::ingest::adapters::{self, Adapter, MOST_MESSAGES, Parsed, Request, Words};
use crate::ingest::decode::BadFrame;
use crate::ingest::protocol::MAX_ITEMS;
use crate::ingest::{Intake, Rejected};
use crate::report_log::Tally;

/// What a request said, once it is read.
struct Read {
    adapter: &'static Adapter,
    kept: Words,
    parsed: Result<Parsed<'static>, BadFrame>,
    raw: Vec<u8>,
}

/// Report in the words of OsmAnd, Traccar, OwnTracks, Overland, flespi or μlogger.
pub async fn report(context: Shared, request: HttpRequest, payload: web::Payload) -> Answer {
    let reporting = reporter(&context, &request).await?;
    let body = receive(&request, payload.into_inner()).await.map_err(patient)?;
    let asked = asked(&context, &request);
    let (read, _turn) = body.make(move |body| read(&Request { body, ..asked })).await.map_err(patient)?;
    let kept = read.kept;
    store(&context, reporting, read).await?;
    Ok(said(kept))
}

/// Who reports, by the credential of the request.
async fn reporter(context: &Context, request: &HttpRequest) -> Result<Reporting, Problem> {
    let Some(ReportToken { token, is_bearer }) = report_token::find(request) else {
        return Err(Problem::new(Code::Unauthenticated).detail(
            "put the tracker's token into the path, /in/{token}, or send it as Bearer, as the password of Basic or as ?token=",
        ));
    };
    // An access token opens more than reporting, and paths and queries are written down everywhere.
    if token.contains('.') && !is_bearer {
        return Err(Problem::new(Code::InvalidToken).detail("an access token is accepted as Bearer only"));
    }
    if token.starts_with(API_KEY_PREFIX) && !is_bearer {
        let (caller, scope) = context.auth.device_key(&token).await?;
        know_peer(request);
        return Ok(Reporting::Fleet(caller, scope));
    }
    identified(context, request, &token).await
}

/// The request but for its body.
fn asked(context: &Context, request: &HttpRequest) -> Request {
    let header = |name: &str| {
        let value = request.headers().get(name).and_then(|value| value.to_str().ok());
        value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    Request {
        rest: report_token::rest(request),
        query: request.query_string().to_owned(),
        content_type: header(header::CONTENT_TYPE.as_str()).unwrap_or_default(),
        limit_names: header("x-limit-u").zip(header("x-limit-d")),
        body: web::Bytes::new(),
        received_at: context.clock.now(),
    }
}

/// Reads a request. One that is too large stays with its client, who can be told to send less at once; one that cannot be
/// read will never be.
fn read(asked: &Request) -> Result<Read, Problem> {
    let adapter = adapters::of(asked);
    let too_large = |limit: String| {
        let detail = format!("{} takes {limit} in a request; send less at once", adapter.name);
        Problem::new(Code::PayloadTooLarge).detail(detail)
    };
    if asked.body.len() > adapter.body_bytes {
        return Err(too_large(format!("{} KiB", adapter.body_bytes / 1024)));
    }
    let parsed = (adapter.parse)(asked).map(Parsed::into_owned);
    if parsed.as_ref().is_ok_and(|parsed| parsed.count() > MOST_MESSAGES) {
        return Err(too_large(format!("{MOST_MESSAGES} messages")));
    }
    Ok(Read { adapter, kept: (adapter.kept)(asked), parsed, raw: asked.raw() })
}

/// Waits until everything is stored or refused for good. After an error, the client must send all of it again.
async fn store(context: &Context, reporting: Reporting, read: Read) -> Result<(), Problem> {
    let own = match &reporting {
        Reporting::Tracker(tracker) => Some(tracker.tracker_id),
        Reporting::Fleet(..) => None,
    };
    let mut intake =
        Intake::new(context.live.clone(), reporting.reports(context), context.report_log.clone());
    let assumed_speed = read.parsed.as_ref().ok().and_then(|parsed| parsed.assumed_speed);
    intake = intake.item_by_item().by(read.adapter.name).assuming(assumed_speed);
    let taken = take(&mut intake, read.parsed, own).await;
    if let Ok((tally, rejected)) = &taken {
        intake.note(*tally, rejected.clone(), &read.raw);
    }
    taken.map(drop).map_err(not_taken)
}

/// In slices as large as a frame of the tracker socket, for which there is always room at once.
async fn take(
    intake: &mut Intake,
    parsed: Result<Parsed<'static>, BadFrame>,
    own: Option<TrackerId>,
) -> Result<(Tally, Vec<Rejected>), LiveError> {
    let (mut tally, mut rejected) = (Tally::default(), Vec::new());
    let parsed = parsed.unwrap_or_else(|BadFrame(detail)| {
        rejected.push(Rejected { seq: None, index: 0, code: "unreadable", detail, tracker: own });
        // It was heard all the same.
        Parsed { contacts: vec![None], ..Parsed::default() }
    });
    intake.hear(&parsed.contacts).await?;
    tally.contacts = parsed.contacts.len() as u64 - rejected.len() as u64;
    let mut items = parsed.items.into_iter();
    loop {
        let slice: Vec<_> = items.by_ref().take(MAX_ITEMS).collect();
        if slice.is_empty() {
            return Ok((tally, rejected));
        }
        let (counts, refused) = intake.take(0, slice).await?.committed().await?;
        tally.stored += counts.stored;
        tally.duplicates += counts.duplicates;
        rejected.extend(refused);
    }
}

fn said(words: Words) -> HttpResponse {
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    match words.content_type {
        Some(kind) => answer.content_type(kind).body(words.body),
        None => answer.finish(),
    }
}

/// A body that came too slowly may come faster the next time, which a 4xx would not tell these clients.
fn patient(problem: Problem) -> Problem {
    match problem.code() {
        Code::RequestTimeout => Problem::new(Code::Busy)
            .detail("the body came too slowly; send it again")
            .retry_after(RETRY_SECONDS),
        _ => problem,
    }
}
