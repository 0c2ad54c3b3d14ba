//! Hands requests and sockets on to the node that has their organization, and its answers back, as a proxy does.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_http::{ResponseHead, ServiceConfig};
use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use tokio_util::sync::CancellationToken;

use super::exchange::{AnswerBody, Body, Failed, SentRequest, ask};
use super::head;
use super::pool::Pool;
use super::shards::Shards;
use super::tunnel::{Side, join};
use super::whose::Whose;
use crate::connections::{OpenConnection, Peer};
use crate::http::code::Code;
use crate::http::edge;
use crate::http::limit;
use crate::http::problem::Problem;
use crate::socket;
use crate::throttle::Throttle;

/// Seconds after which a client may ask again: another node has the organization by then.
const RETRY_SECONDS: u64 = 1;

/// Pause between two log lines about nodes that cannot be reached.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// The answer of another node, up to its body.
pub(super) struct Answered {
    /// The connection that it came on.
    pub(super) connection: SentRequest,
    pub(super) head: ResponseHead,
    /// Whether the connection may serve another request afterwards.
    may_be_kept: bool,
    /// Cancelled once that node's session is gone: the token that the request was sent under, so no departure between is missed.
    departure: CancellationToken,
}

impl Answered {
    /// What follows the answer, for a connection that is no longer one of HTTP.
    pub(super) fn into_side(self) -> Side {
        let parts = self.connection.into_parts();
        (parts.io, parts.read_buf)
    }
}

/// Hands on the requests of one thread.
#[derive(Clone)]
pub struct Relay {
    pool: Pool,
    /// How often it is logged that a node cannot be reached.
    telling: Rc<Throttle>,
    shards: Shards,
    config: ServiceConfig,
    pub(super) stopping: CancellationToken,
}

impl Relay {
    /// A relay for the thread that calls this. Its sockets end once `stopping` is cancelled; what is handed on to a node ends once
    /// `shards` sees that it is gone.
    #[must_use]
    pub fn new(shards: Shards, stopping: CancellationToken) -> Self {
        Self {
            pool: Pool::default(),
            telling: Rc::new(Throttle::new(TOLD_EVERY)),
            shards,
            config: ServiceConfig::default(),
            stopping,
        }
    }

    /// Hands a request on to the owner of what it is about, and gives the owner's answer.
    pub async fn hand_on(
        &self,
        request: ServiceRequest,
        whose: Whose,
        to: SocketAddr,
    ) -> ServiceResponse<BoxBody> {
        let peer = request.conn_data::<Arc<Peer>>().cloned();
        let _handled = peer.as_ref().map(Peer::handled);
        let (request, answer) = match head::asks_for_socket(&request) {
            true => self.socket(request, to, peer.as_deref()).await,
            false => self.request(request, to, peer.as_ref()).await,
        };
        let is_good = answer.status().is_success() || answer.status() == StatusCode::SWITCHING_PROTOCOLS;
        if let (Whose::Organization(_), true, Some(peer)) = (whose, is_good, peer) {
            peer.know();
        }
        ServiceResponse::new(request, answer)
    }

    async fn request(
        &self,
        mut request: ServiceRequest,
        to: SocketAddr,
        peer: Option<&Arc<Peer>>,
    ) -> (HttpRequest, HttpResponse) {
        let head = head::for_owner(&request, limit::client(&request), false);
        let moved = peer.cloned();
        let body = Body {
            size: head::body_size(&request),
            payload: request.take_payload(),
            _awaited: peer.map(Peer::awaited),
            moved: Box::new(move || moved.iter().for_each(|peer| peer.moved())),
        };
        let open = peer.map(|peer| peer.another());
        let answer = match self.ask(head, Some(body), to).await {
            Ok(answered) => self.answer(&request, answered, to, open),
            Err(failed) => edge::refused(&request, &self.problem(&failed)),
        };
        (request.into_parts().0, answer)
    }

    /// The owner's answer, whose body comes when it is asked for.
    fn answer(
        &self,
        request: &ServiceRequest,
        answered: Answered,
        to: SocketAddr,
        open: Option<OpenConnection>,
    ) -> HttpResponse {
        let (head, body) = self.body(answered, request.method(), to, open);
        head::for_client(&head, BoxBody::new(body))
    }

    async fn socket(
        &self,
        request: ServiceRequest,
        to: SocketAddr,
        peer: Option<&Peer>,
    ) -> (HttpRequest, HttpResponse) {
        let head = head::for_owner(&request, limit::client(&request), true);
        let open = peer.map(Peer::another);
        let answer = match self.open(head, to).await {
            Ok(answered) if answered.head.status == StatusCode::SWITCHING_PROTOCOLS => {
                let relay = self.clone();
                socket::take_over(head::switching(&answered.head), move |client, read| async move {
                    relay.join((client, read), answered).await;
                    drop(open);
                })
            }
            Ok(answered) => self.answer(&request, answered, to, open),
            Err(failed) => edge::refused(&request, &self.problem(&failed)),
        };
        (request.into_parts().0, answer)
    }

    /// Asks another node for a socket, on a connection of its own.
    pub(super) async fn open(
        &self,
        head: actix_http::RequestHead,
        to: SocketAddr,
    ) -> Result<Answered, Failed> {
        Ok(Answered { may_be_kept: false, ..self.ask(head, None, to).await? })
    }

    /// Sends a request to another node, and waits for the head of its answer for as long as that node is there.
    pub(super) async fn ask(
        &self,
        head: actix_http::RequestHead,
        body: Option<Body>,
        to: SocketAddr,
    ) -> Result<Answered, Failed> {
        let asked = async {
            let stream = self.pool.take(to).await?;
            ask(stream, self.config.clone(), head, body).await
        };
        let departure = self.shards.departure(to);
        let gone = || Failed::Owner(ErrorKind::ConnectionAborted.into());
        let (connection, head, may_be_kept) =
            departure.run_until_cancelled(asked).await.ok_or_else(gone)??;
        Ok(Answered { connection, head, may_be_kept, departure })
    }

    /// An answer's head, and the body that follows it, for as long as the node that sends it is there.
    pub(super) fn body(
        &self,
        answered: Answered,
        method: &Method,
        to: SocketAddr,
        open: Option<OpenConnection>,
    ) -> (ResponseHead, AnswerBody) {
        let Answered { connection, head, may_be_kept, departure } = answered;
        let home = may_be_kept.then(|| (self.pool.clone(), to));
        let body = AnswerBody::after(connection, (method, &head), home, (departure, open));
        (head, body)
    }

    /// Joins a client's socket to the one that another node opened for it, until either ends, this node stops or the other's session
    /// is gone.
    pub(super) async fn join(&self, client: Side, answered: Answered) {
        let departure = answered.departure.clone();
        tokio::select! {
            _ = join(client, answered.into_side()) => {}
            () = self.ended(&departure) => {}
        }
    }

    fn problem(&self, failed: &Failed) -> Problem {
        match failed {
            Failed::Request => Problem::new(Code::MalformedRequest).detail("the body ends early"),
            Failed::Owner(error) => self.unreachable(error),
        }
    }

    /// What a client is told while the owner of its organization is away.
    fn unreachable(&self, error: &io::Error) -> Problem {
        if self.telling.is_due() {
            tracing::warn!(%error, "the server that has the organization cannot be reached");
        }
        Problem::new(Code::Unavailable)
            .detail("the server that has this organization cannot be reached now")
            .retry_after(RETRY_SECONDS)
    }

    /// Completes once this node stops or the other's session is gone, by its departure.
    pub(super) async fn ended(&self, departure: &CancellationToken) {
        tokio::select! {
            () = self.stopping.cancelled() => {}
            () = departure.cancelled() => {}
        }
    }
}
