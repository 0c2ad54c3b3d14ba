//! Client sockets: handshake, messages, and in short words how they end.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::ClientRequestBuilder;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

/// An open socket.
pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A server that does not answer the handshake for so long is given up.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// A request for a socket with a bearer credential.
pub(crate) fn request(url: &str, token: &str, subprotocol: Option<&str>) -> ClientRequestBuilder {
    let request = ClientRequestBuilder::new(url.parse().unwrap());
    let request = request.with_header("authorization", format!("Bearer {token}"));
    match subprotocol {
        Some(subprotocol) => request.with_sub_protocol(subprotocol),
        None => request,
    }
}

/// Opens a socket; or says why not: an HTTP status, `unreachable`, `silent`.
pub(crate) async fn connect(url: &str, token: &str, subprotocol: Option<&str>) -> Result<Socket, String> {
    let config = WebSocketConfig::default().read_buffer_size(4096).write_buffer_size(0);
    let request = request(url, token, subprotocol);
    match timeout(ANSWER_WITHIN, connect_async_with_config(request, Some(config), true)).await {
        Ok(Ok((socket, _))) => Ok(socket),
        Ok(Err(tungstenite::Error::Http(answer))) => Err(answer.status().as_u16().to_string()),
        Ok(Err(_)) => Err("unreachable".to_owned()),
        Err(_) => Err("silent".to_owned()),
    }
}

/// The next thing said in words; or how the socket ended: a close code, or `broken`.
pub(crate) async fn next(socket: &mut Socket) -> Result<Value, String> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
            Some(Ok(Message::Close(frame))) => {
                return Err(frame.map_or(0, |frame| u16::from(frame.code)).to_string());
            }
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return Err("broken".to_owned()),
        }
    }
}
