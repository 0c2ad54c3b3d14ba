//! One request to another node and its answer, both passed on as they come. Knows nothing of what they say.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_codec::Framed;
use actix_http::error::{ParseError, PayloadError};
use actix_http::h1::{ClientCodec, ClientPayloadCodec, Message, MessageType};
use actix_http::{RequestHead, RequestHeadType, ResponseHead, ServiceConfig};
use actix_web::body::{BodySize, MessageBody};
use actix_web::dev::Payload;
use actix_web::http::{Method, header};
use bytes::Bytes;
use futures_util::Stream;
use futures_util::future::poll_fn;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::head;
use super::pool::Pool;
use crate::connections::{Handled, OpenConnection};

/// A request has to be handed on within this; a body takes a minute at most.
const SENT_WITHIN: Duration = Duration::from_secs(90);
/// The head of an answer has to come within this. What a node does takes as long as it takes, such as a large import;
/// that the node is gone is noticed sooner, by the probes of its connection.
const ANSWER_WITHIN: Duration = Duration::from_secs(120);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failed {
    /// The client did not send all of its request.
    #[error("the request ends early")]
    Request,
    /// The other node cannot be reached, or went away.
    #[error("the other server gave no answer")]
    Owner(#[from] io::Error),
}

/// A connection to another node with the request on it.
pub(super) type SentRequest = Framed<TcpStream, ClientCodec>;

/// The body of a request on its way.
pub(super) struct Body {
    /// How long it is said to be.
    pub(super) size: BodySize,
    /// What comes of it.
    pub(super) payload: Payload,
    /// While this exists, the client is waited for.
    pub(super) _awaited: Option<Handled>,
    /// Notes that some of it came.
    pub(super) moved: Box<dyn Fn()>,
}

/// The body of an answer on its way.
pub(super) struct AnswerBody {
    size: BodySize,
    rest: Option<Framed<TcpStream, ClientPayloadCodec>>,
    /// Whether the answer ends with its connection.
    ends_with_connection: bool,
    /// Where the connection is kept afterwards.
    home: Option<(Pool, SocketAddr)>,
    /// Completes once the other node's session is gone.
    departure: Pin<Box<WaitForCancellationFutureOwned>>,
    _open: Option<OpenConnection>,
}

/// Sends a request, and waits for the head of its answer. An answer that comes before the whole request was sent counts: a node refuses
/// a body that is too large without reading all of it. Gives too whether the connection may serve another request after the answer.
pub(super) async fn ask(
    stream: TcpStream,
    config: ServiceConfig,
    head: RequestHead,
    body: Option<Body>,
) -> Result<(SentRequest, ResponseHead, bool), Failed> {
    let mut asked = Framed::new(stream, ClientCodec::new(config));
    let size = body.as_ref().map_or(BodySize::None, |body| body.size);
    Pin::new(&mut asked).write(Message::Item((RequestHeadType::Owned(head), size)))?;
    let mut sending = Sending { body, is_broken: false };
    let early =
        timeout(SENT_WITHIN, poll_fn(|cx| sending.poll(&mut asked, cx))).await.map_err(|_| timed_out())??;
    let is_sent = early.is_none();
    let head = match early {
        Some(head) => head,
        None => timeout(ANSWER_WITHIN, poll_fn(|cx| poll_head(&mut asked, cx)))
            .await
            .map_err(|_| timed_out())??,
    };
    Ok((asked, head, is_sent && !sending.is_broken))
}

/// What is left to be sent.
struct Sending {
    body: Option<Body>,
    is_broken: bool,
}

impl Sending {
    /// Ready once everything is sent, or with an answer that came before.
    fn poll(
        &mut self,
        asked: &mut SentRequest,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<ResponseHead>, Failed>> {
        let sent = match self.is_broken {
            true => Poll::Pending, // it may have answered before
            false => self.poll_send(asked, cx),
        };
        match sent {
            Poll::Ready(Ok(())) => return Poll::Ready(Ok(None)),
            Poll::Ready(Err(Failed::Request)) => return Poll::Ready(Err(Failed::Request)),
            Poll::Ready(Err(Failed::Owner(_))) => self.is_broken = true,
            Poll::Pending => {}
        }
        poll_head(asked, cx).map_ok(Some)
    }

    /// Passes on what comes of the body, and reads no more of it while the other node takes none.
    fn poll_send(&mut self, asked: &mut SentRequest, cx: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        loop {
            if asked.is_write_buf_full() {
                ready!(flush(asked, cx))?;
            }
            let Some(body) = &mut self.body else { return flush(asked, cx).map_err(Failed::from) };
            match Pin::new(&mut body.payload).poll_next(cx) {
                Poll::Ready(Some(Ok(chunk))) => {
                    (body.moved)();
                    Pin::new(&mut *asked).write(Message::Chunk(Some(chunk)))?;
                }
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(Failed::Request)),
                Poll::Ready(None) => {
                    Pin::new(&mut *asked).write(Message::Chunk(None)).map_err(|_| Failed::Request)?;
                    self.body = None;
                }
                Poll::Pending => {
                    if let Poll::Ready(flushed) = flush(asked, cx) {
                        flushed?;
                    }
                    return Poll::Pending;
                }
            }
        }
    }
}

fn flush(asked: &mut SentRequest, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
    Pin::new(asked).flush::<Message<(RequestHeadType, BodySize)>>(cx)
}

fn poll_head(asked: &mut SentRequest, cx: &mut Context<'_>) -> Poll<Result<ResponseHead, Failed>> {
    let head = match ready!(Pin::new(asked).next_item(cx)) {
        Some(Ok(head)) => Ok(head),
        Some(Err(ParseError::Io(error))) => Err(error),
        Some(Err(error)) => Err(io::Error::other(error.to_string())),
        None => Err(ErrorKind::UnexpectedEof.into()),
    };
    Poll::Ready(head.map_err(Failed::from))
}

fn timed_out() -> Failed {
    Failed::Owner(ErrorKind::TimedOut.into())
}

impl AnswerBody {
    /// The body that follows a head. `home`: where the connection is kept if it may be used again; `departure` is cancelled once the
    /// other node is gone.
    pub(super) fn after(
        asked: SentRequest,
        (method, head): (&Method, &ResponseHead),
        home: Option<(Pool, SocketAddr)>,
        (departure, open): (CancellationToken, Option<OpenConnection>),
    ) -> Self {
        let has_body = asked.codec_ref().message_type() != MessageType::None;
        let home = home.filter(|_| asked.codec_ref().keep_alive());
        let size = head::answer_size(method, head, has_body);
        let ends_with_connection =
            size == BodySize::Stream && !head.headers.contains_key(header::TRANSFER_ENCODING);
        let rest = asked.into_map_codec(ClientCodec::into_payload_codec);
        let departure = Box::pin(departure.cancelled_owned());
        let mut body = Self { size, rest: Some(rest), ends_with_connection, home, departure, _open: open };
        if !has_body || size == BodySize::None {
            body.go_home();
        }
        body
    }

    /// Keeps the connection, now that the answer is read to its end.
    fn go_home(&mut self) {
        if let (Some(rest), Some((pool, node))) = (self.rest.take(), self.home.take()) {
            let parts = rest.into_parts();
            if parts.read_buf.is_empty() {
                pool.keep(node, parts.io);
            }
        }
    }
}

impl MessageBody for AnswerBody {
    type Error = io::Error;

    fn size(&self) -> BodySize {
        self.size
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let Some(rest) = &mut self.rest else { return Poll::Ready(None) };
        let next = match Pin::new(rest).next_item(cx) {
            Poll::Ready(next) => next,
            Poll::Pending => {
                ready!(self.departure.as_mut().poll(cx));
                Some(Err(PayloadError::Io(ErrorKind::ConnectionAborted.into())))
            }
        };
        let broken = match next {
            Some(Ok(Some(chunk))) => return Poll::Ready(Some(Ok(chunk))),
            Some(Ok(None)) => {
                self.go_home();
                return Poll::Ready(None);
            }
            None if self.ends_with_connection => {
                self.rest = None;
                return Poll::Ready(None);
            }
            None => ErrorKind::UnexpectedEof.into(),
            Some(Err(PayloadError::Io(error))) => error,
            Some(Err(error)) => io::Error::other(error.to_string()),
        };
        self.rest = None;
        Poll::Ready(Some(Err(broken)))
    }
}
