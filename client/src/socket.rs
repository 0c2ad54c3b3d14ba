//! The two sockets of a server as its clients open them: a tracker's and the live feed. Texts are sent and
//! received; types say why a socket was not opened and how it ended.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, client_async, connect_async_with_config};

pub use tokio_tungstenite::tungstenite::client::ClientRequestBuilder as Request;

/// An open socket.
pub type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Why a socket was not opened.
#[derive(Debug, thiserror::Error)]
pub enum Unopened {
    /// The server answered without opening it.
    #[error("{status} {body}")]
    Refused {
        /// Its status.
        status: StatusCode,
        /// Its problem, as it came.
        body: String,
    },
    /// There was no server, or it was cut off.
    #[error("{0}")]
    Unreachable(String),
    /// No answer in time.
    #[error("no answer to the handshake")]
    Silent,
}

/// How an open socket ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// Closed by the server, with a code.
    #[error("closed with {code} {reason}")]
    Closed {
        /// The close code.
        code: u16,
        /// The reason.
        reason: String,
    },
    /// Closed by a frame without a code.
    #[error("closed without a code")]
    Unsaid,
    /// The connection broke.
    #[error("{0}")]
    Broken(String),
}

/// The request for a tracker's socket at a server (`http://…`).
#[must_use]
pub fn tracker(server: &str, token: &str) -> Request {
    request(server, "/v1/ws/tracker", token).with_sub_protocol("waypost.tracker.v1")
}

/// The request for the live feed at a server (`http://…`). Without a token, the client signs in by its first
/// message.
#[must_use]
pub fn feed(server: &str, token: &str) -> Request {
    request(server, "/v1/ws/live", token)
}

/// The request for the live feed of one organization, for an operator.
#[must_use]
pub fn feed_of(server: &str, token: &str, organization: &str) -> Request {
    request(server, &format!("/v1/ws/live?organizationId={organization}"), token)
}

fn request(server: &str, path: &str, token: &str) -> Request {
    let uri = format!("{}{path}", server.replacen("http", "ws", 1)).parse();
    let request = Request::new(uri.expect("a server's address is one"));
    match token {
        "" => request,
        token => request.with_header("authorization", format!("Bearer {token}")),
    }
}

/// Opens a socket with small buffers, so that thousands fit one process.
pub async fn open(request: Request, answer_within: Duration) -> Result<Socket, Unopened> {
    let config = WebSocketConfig::default().read_buffer_size(4096).write_buffer_size(0);
    opened(answer_within, connect_async_with_config(request, Some(config), true)).await
}

/// Opens a socket on a connection made by the caller.
pub async fn open_on(
    stream: TcpStream,
    request: Request,
    answer_within: Duration,
) -> Result<Socket, Unopened> {
    opened(answer_within, client_async(request, MaybeTlsStream::Plain(stream))).await
}

async fn opened<A>(
    within: Duration,
    handshake: impl Future<Output = Result<(Socket, A), Error>>,
) -> Result<Socket, Unopened> {
    match timeout(within, handshake).await {
        Ok(Ok((socket, _))) => Ok(socket),
        Ok(Err(Error::Http(answer))) => {
            let body = answer.body().as_deref().map(String::from_utf8_lossy).unwrap_or_default();
            Err(Unopened::Refused { status: answer.status(), body: body.into_owned() })
        }
        Ok(Err(error)) => Err(Unopened::Unreachable(error.to_string())),
        Err(_) => Err(Unopened::Silent),
    }
}

/// Sends a text.
pub async fn say(socket: &mut Socket, text: impl Into<Utf8Bytes>) -> Result<(), Ended> {
    socket.send(Message::Text(text.into())).await.map_err(|error| Ended::Broken(error.to_string()))
}

/// The next text. Pings are answered meanwhile; nothing is lost if the wait is cancelled.
pub async fn hear(socket: &mut Socket) -> Result<Utf8Bytes, Ended> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => return Ok(text),
            Some(Ok(Message::Close(Some(frame)))) => {
                return Err(Ended::Closed { code: frame.code.into(), reason: frame.reason.to_string() });
            }
            Some(Ok(Message::Close(None))) => return Err(Ended::Unsaid),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(Ended::Broken(error.to_string())),
            None => return Err(Ended::Broken("the connection is gone".to_owned())),
        }
    }
}
