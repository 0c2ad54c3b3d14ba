//! Takes connections out of the HTTP server.

use std::io;
use std::pin::pin;
use std::time::Duration;

use actix_codec::{Framed, FramedParts};
use actix_http::{ConnectionType, Request, Response, h1};
use actix_service::{Service, ServiceFactory, apply_fn_factory};
use actix_web::Error;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::ServiceResponse;
use bytes::BytesMut;
use futures_util::future::{LocalBoxFuture, poll_fn};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;
use tokio_util::codec::Encoder;
use tokio_util::task::TaskTracker;

use super::handshake::Takeover;
use super::out::hung_up;
use crate::connections::{Connection, OpenConnection};

/// Time a refused client has to hang up before its connection is dropped.
const HANG_UP_WITHIN: Duration = Duration::from_secs(1);

/// An answer no larger than this is sent in one piece: many clients of other protocols only look for the reason of a
/// refusal in what arrives with its head.
const TOGETHER_BYTES: usize = 16 * 1024;

/// A connection on which a client asks for another protocol, with its request.
type Upgrade = (Request, Framed<Connection, h1::Codec>);

/// Lets `application` answer requests for another protocol. If the answer was made by
/// [`serve`](super::handshake::serve), the connection continues as a socket with a task of its own among `sockets`;
/// otherwise it is closed.
pub fn switching<A, B>(
    application: A,
    sockets: TaskTracker,
) -> impl ServiceFactory<Upgrade, Config = (), Response = (), Error = Error, InitError = A::InitError>
where
    A: ServiceFactory<Request, Config = (), Response = ServiceResponse<B>, Error = Error>,
    B: MessageBody + 'static,
{
    apply_fn_factory(application, move |(request, connection): Upgrade, application: &A::Service| {
        switch(application.call(request), connection.into_parts(), sockets.clone())
    })
}

async fn switch<B: MessageBody + 'static>(
    answer: impl Future<Output = Result<ServiceResponse<B>, Error>>,
    connection: FramedParts<Connection, h1::Codec>,
    sockets: TaskTracker,
) -> Result<(), Error> {
    // A stopping server may no longer wait for this socket. Then the request, which it does wait for, lasts as long.
    let among = sockets.token();
    let is_missed = sockets.is_closed();
    let answer: Response<BoxBody> = match answer.await {
        Ok(answer) => answer.map_into_boxed_body().into(),
        Err(error) => error.into(),
    };
    if let Some((served, open_connection)) = taken(answer, connection).await {
        if is_missed {
            served.await;
        } else {
            // On a task of its own, because the task of the HTTP connection takes thousands of bytes and is no longer
            // needed.
            actix_rt::spawn(async move {
                served.await;
                drop((among, open_connection));
            });
        }
    }
    Ok(())
}

/// Sends the answer; returns what serves the connection from then on. `None` if the client is gone.
async fn taken(
    mut answer: Response<BoxBody>,
    connection: FramedParts<Connection, h1::Codec>,
) -> Option<(LocalBoxFuture<'static, ()>, OpenConnection)> {
    let FramedParts { mut io, codec, read_buf, .. } = connection;
    let takeover = answer.extensions_mut().remove::<Takeover>();
    if takeover.is_none() {
        answer.head_mut().set_connection_type(ConnectionType::Close);
    }
    send(answer, codec, &mut io).await.ok()?;
    let Some(Takeover(serve)) = takeover else {
        io.shutdown().await.ok()?;
        timeout(HANG_UP_WITHIN, hung_up(io.stream())).await.ok();
        return None;
    };
    let (io, open_connection) = io.into_parts();
    Some((serve(io, BytesMut::from(&read_buf[..])), open_connection))
}

async fn send(answer: Response<BoxBody>, mut codec: h1::Codec, io: &mut Connection) -> io::Result<()> {
    let (head, body) = answer.into_parts();
    let (mut bytes, size) = (BytesMut::new(), body.size());
    codec.encode(h1::Message::Item((head, size)), &mut bytes)?;
    if !matches!(size, BodySize::None | BodySize::Sized(0)) {
        let mut body = pin!(body);
        while let Some(chunk) = poll_fn(|cx| body.as_mut().poll_next(cx)).await {
            let chunk = chunk.map_err(|error| io::Error::other(error.to_string()))?;
            codec.encode(h1::Message::Chunk(Some(chunk)), &mut bytes)?;
            if bytes.len() > TOGETHER_BYTES {
                io.write_all(&bytes).await?;
                bytes.clear();
            }
        }
        codec.encode(h1::Message::Chunk(None), &mut bytes)?;
    }
    io.write_all(&bytes).await
}
