//! The two sockets: trackers report on `/v1/ws/tracker`, dispatchers watch on `/v1/ws/live`.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};
use futures_util::FutureExt;
use futures_util::future::Either;
use tokio::time::sleep;
use waypost_actors::model::OrganizationId;

use super::changes;
use super::code::Code;
use super::foreign_pages;
use super::problem::Problem;
use super::query::Query;
use super::request::{InOrganization, Shared, bearer, know_peer};
use crate::auth::{
    API_KEY_PREFIX, Action, AuthError, Caller, OrgScope, Reports, TrackerCredential, TrackerRefused,
};
use crate::connections::Peer;
use crate::context::Context;
use crate::feed::shard_feed::{PASS, ShardFeeds};
use crate::feed::{self, Feed, FeedLimits, Opening};
use crate::ingest::{self, Intake, SocketLimits, protocol};
use crate::sessions::{End, ReportingSession};
use crate::socket;

/// Pause between two checks of whether a system user's session is still valid.
const CHECK_EVERY: Duration = Duration::from_secs(10);

/// Report positions over a WebSocket.
///
/// JSON text frames, subprotocol `waypost.tracker.v1`. The tracker's token comes as a bearer header, or
/// as a second subprotocol `bearer.<token>`. So does the key or access token of a system user with the scope
/// positions:ingest, which names the tracker of each item. An `ack` means committed. The words and close codes are
/// described in docs/tracking.md.
#[utoipa::path(get, path = "/v1/ws/tracker", tag = "live",
    responses((status = 101, description = "The socket is open")))]
pub async fn tracker_socket(
    context: Shared,
    request: HttpRequest,
    query: Query,
) -> Result<HttpResponse, actix_web::Error> {
    query.finish()?;
    let looked_up_at = context.sessions.revocations();
    let mut whose = reporting(&context, &request).await?;
    let answer = socket::handshake(&request, &[protocol::SUBPROTOCOL])?;
    let reporting_session = whose.open(&context);
    // A token revoked or a tracker moved since the lookup found no socket to end, so look up again. That is rare
    // enough that thousands of trackers reconnecting at once are looked up once each.
    if context.sessions.revocations() != looked_up_at {
        whose = reporting(&context, &request).await?;
    }
    let session = whose.session();
    let intake = Intake::new(context.live.clone(), whose.reports(&context), context.report_log.clone());
    let intake = intake.for_long();
    let live = context.live.clone();
    let limits =
        SocketLimits { ping_every: context.settings.tracker_ping_interval, ..SocketLimits::default() };
    let context = context.get_ref().clone();
    Ok(socket::serve(answer, protocol::MAX_FRAME_BYTES, move |out, messages| {
        let served = ingest::run(out, messages, intake, reporting_session, live, limits);
        match session {
            // Small, because there are very many of these futures.
            None => Either::Left(served),
            Some(caller) => Either::Right(
                async move {
                    tokio::select! {
                        () = served => {}
                        () = keep_to_session(&context, caller) => {}
                    }
                }
                .boxed_local(),
            ),
        }
    }))
}

/// Ends the sockets of a reporting system user once its session is over; checks from time to time.
async fn keep_to_session(context: &Context, caller: Caller) {
    loop {
        sleep(CHECK_EVERY).await;
        if let Ok(false) = Box::pin(context.auth.still_holds(&caller)).await {
            context.sessions.end_session(caller.credential.id(), End::Credential);
        }
    }
}

/// Watch vehicles, geofences and events over a WebSocket.
///
/// JSON text frames. The access token, or a system user's key, comes as a bearer header; a browser sends a one-time ticket as
/// its first message instead. The words are described in docs/tracking.md.
#[utoipa::path(get, path = "/v1/ws/live", tag = "live",
    params(InOrganization),
    responses((status = 101, description = "The socket is open"),
        (status = 401, description = "unauthenticated"),
        (status = 403, description = "forbidden, organizationInactive, emailNotVerified, originNotAllowed")))]
pub async fn live_socket(
    context: Shared,
    request: HttpRequest,
    mut query: Query,
) -> Result<HttpResponse, actix_web::Error> {
    let organization = query.organization();
    query.finish()?;
    foreign_pages::refuse(&context.settings, request.headers())?;
    let caller = match bearer(&request) {
        Some(token) => {
            let caller = context.auth.caller(token).await.map_err(Problem::from)?;
            caller.may(Action::WatchLive).map_err(Problem::from)?;
            know_peer(&request);
            Some(caller)
        }
        None => None,
    };
    watch(&context, &request, feed_of(&context, &request), (caller, organization))
}

/// The feed of the shard that answers, for another node: its caller is followed for all of the shard's organizations.
/// `pass`: whom the other node has signed in.
pub async fn shard_feed(
    context: &Shared,
    request: &HttpRequest,
    pass: &str,
) -> Result<HttpResponse, actix_web::Error> {
    let caller = context.auth.resume_stream(PASS, pass).await.map_err(Problem::from)?;
    caller.may(Action::WatchLive).map_err(Problem::from)?;
    let feed = Feed { serves: Arc::new(|_| true), shards: None, ..feed_of(context, request) };
    watch(context, request, feed, (Some(caller), None))
}

/// Lets somebody watch: who is known by the request, or by the first message.
fn watch(
    context: &Shared,
    request: &HttpRequest,
    feed: Feed,
    (caller, organization): (Option<Caller>, Option<OrganizationId>),
) -> Result<HttpResponse, actix_web::Error> {
    let answer = socket::handshake(request, &[])?;
    let (sessions, show_change) = (context.sessions.clone(), changes::shown_to_callers(context));
    let peer = request.conn_data::<Arc<Peer>>().cloned();
    let opening = Opening { caller, peer, organization, sessions, show_change };
    Ok(socket::serve(answer, feed::protocol::MAX_FRAME_BYTES, |out, messages| {
        feed::run(out, messages, feed, opening)
    }))
}

/// The feed and its limits.
pub(super) fn feed_of(context: &Context, request: &HttpRequest) -> Feed {
    Feed {
        shards: request.app_data::<Rc<dyn ShardFeeds>>().cloned(),
        live: context.live.clone(),
        log: Arc::clone(&context.track) as _,
        auth: context.auth.clone(),
        serves: {
            let context = context.clone();
            Arc::new(move |audience| context.serves(audience))
        },
        limits: FeedLimits {
            heartbeat_every: context.settings.feed_heartbeat_interval,
            ..FeedLimits::default()
        },
    }
}

/// The sender of positions.
pub(super) enum Reporting {
    /// A tracker that reports for itself.
    Tracker(Arc<TrackerCredential>),
    /// A system user that reports for its organization's trackers.
    Fleet(Caller, OrgScope),
}

impl Reporting {
    fn open(&self, context: &Context) -> ReportingSession {
        let sessions = &context.sessions;
        match self {
            Self::Tracker(tracker) => {
                ReportingSession::Tracker(sessions.open(tracker.tracker_id, tracker.organization_id))
            }
            Self::Fleet(caller, scope) => ReportingSession::Fleet(sessions.open_fleet(
                caller.id,
                caller.credential.id(),
                scope.organization_id(),
            )),
        }
    }

    /// The caller whose session the socket depends on; the session may end before the socket does.
    fn session(&self) -> Option<Caller> {
        match self {
            Self::Tracker(_) => None,
            Self::Fleet(caller, _) => Some(caller.clone()),
        }
    }

    /// The trackers it may report for.
    pub(super) fn reports(self, context: &Context) -> Reports {
        match self {
            Self::Tracker(tracker) => Reports::Own(tracker),
            Self::Fleet(_, scope) => Reports::Fleet(Box::new(context.auth.fleet(scope))),
        }
    }
}

/// Identifies the sender by the token of the header or of the second subprotocol.
pub(super) async fn reporting(context: &Context, request: &HttpRequest) -> Result<Reporting, Problem> {
    let token = bearer(request).or_else(|| offered_token(request));
    let token = token.ok_or_else(|| {
        Problem::new(Code::Unauthenticated)
            .detail("a tracker's token is needed, or a system user's key or access token")
    })?;
    identified(context, request, token).await
}

/// Identifies the sender by a token: a tracker's own, or a system user's key or access token, which is a JWT and
/// contains dots.
pub(super) async fn identified(
    context: &Context,
    request: &HttpRequest,
    token: &str,
) -> Result<Reporting, Problem> {
    if token.contains('.') || token.starts_with(API_KEY_PREFIX) {
        let caller = context.auth.reporter(token).await?;
        let scope = caller.scope(&context.db, Action::IngestPositions, None).await?;
        know_peer(request);
        return Ok(Reporting::Fleet(caller, scope));
    }
    match context.auth.tracker(token).await {
        Ok(Some(credential)) => {
            know_peer(request);
            Ok(Reporting::Tracker(credential))
        }
        Ok(None) => Err(Problem::new(Code::InvalidToken)
            .detail("this is no tracker's token; POST /v1/trackers/{id}/token gives a new one")),
        Err(TrackerRefused::Disabled) => Err(Problem::new(Code::TrackerDisabled)),
        Err(TrackerRefused::OrganizationInactive) => Err(Problem::new(Code::OrganizationInactive)),
        Err(TrackerRefused::Store(error)) => Err(AuthError::Store(error).into()),
    }
}

/// The token that a client offers as its second subprotocol.
pub(crate) fn offered_token(request: &HttpRequest) -> Option<&str> {
    request
        .headers()
        .get_all(header::SEC_WEBSOCKET_PROTOCOL)
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .find_map(|offered| offered.trim().strip_prefix(protocol::BEARER_PREFIX))
}
