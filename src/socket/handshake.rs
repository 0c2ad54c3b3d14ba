//! The answer to a handshake, and what takes over the connection after it.

use actix_http::ws;
use actix_web::http::header::SEC_WEBSOCKET_PROTOCOL;
use actix_web::{Error, HttpRequest, HttpResponse};
use bytes::BytesMut;
use futures_util::future::LocalBoxFuture;
use tokio::net::TcpStream;

use super::messages::Messages;
use super::out::Out;

/// What serves a connection, given the bytes already read from it.
type Serve = dyn FnOnce(TcpStream, BytesMut) -> LocalBoxFuture<'static, ()>;

/// Takes over the connection; stored in the extensions of an answer.
pub(super) struct Takeover(pub(super) Box<Serve>);

/// Answers a handshake, choosing the first of our protocols that the client offers; fails if the request is none.
pub fn handshake(request: &HttpRequest, protocols: &[&str]) -> Result<HttpResponse, Error> {
    let mut answer = ws::handshake(request.head())?;
    let offered = request.headers().get_all(SEC_WEBSOCKET_PROTOCOL);
    let mut offered = offered.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    if let Some(spoken) = offered.find_map(|name| protocols.iter().find(|known| **known == name.trim())) {
        answer.insert_header((SEC_WEBSOCKET_PROTOCOL, *spoken));
    }
    Ok(answer.finish().map_into_boxed_body().into())
}

/// Hands the connection to `serve` once the handshake's answer is sent. Messages have `most` bytes at most.
#[must_use]
pub fn serve<F>(
    answer: HttpResponse,
    most: usize,
    serve: impl FnOnce(Out, Messages) -> F + 'static,
) -> HttpResponse
where
    F: Future<Output = ()> + 'static,
{
    take_over(answer, move |connection, read| {
        let (input, output) = connection.into_split();
        serve(Out::new(output), Messages::new(input, read, most))
    })
}

/// Hands the connection to `serve` as it is, once the answer is sent, with the bytes already read from it.
#[must_use]
pub fn take_over<F>(
    mut answer: HttpResponse,
    serve: impl FnOnce(TcpStream, BytesMut) -> F + 'static,
) -> HttpResponse
where
    F: Future<Output = ()> + 'static,
{
    let takeover = Takeover(Box::new(move |connection, read| Box::pin(serve(connection, read))));
    answer.extensions_mut().insert(takeover);
    answer
}
