//! What a socket was given to send and its connection has not taken yet, in bytes.
//!
//! The channel of a WebSocket counts messages, not bytes, and takes thirty-two of any size: a client that
//! hardly reads would keep megabytes of a large fleet's deltas waiting. Whoever may send much waits for
//! [`Outflow::room`] first. Knows framing, and nothing of what is said.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};

use actix_web::HttpResponse;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use bytes::Bytes;
use tokio::sync::Notify;

/// Bytes that may wait before more is sent; one message over it, since it is not cut.
const ROOM_BYTES: i64 = 64 * 1024;

/// The bytes on their way from a socket's task to its connection.
#[derive(Clone, Default)]
pub struct Outflow {
    flow: Arc<Flow>,
}

#[derive(Default)]
struct Flow {
    /// Given and not taken.
    waiting: AtomicI64,
    taken: Notify,
}

impl Outflow {
    /// Counts what the connection takes of a socket's answer.
    #[must_use]
    pub fn of(answer: HttpResponse) -> (HttpResponse, Self) {
        let outflow = Self::default();
        let flow = Arc::clone(&outflow.flow);
        (answer.map_body(|_, body| BoxBody::new(Counted { body, flow })), outflow)
    }

    /// Notes that a message with so many bytes is given to the socket.
    pub fn give(&self, payload_bytes: usize) {
        self.flow.waiting.fetch_add(frame_bytes(payload_bytes), Ordering::AcqRel);
    }

    /// Waits until the connection has taken most of what it was given.
    pub async fn room(&self) {
        loop {
            let taken = self.flow.taken.notified();
            if self.flow.waiting.load(Ordering::Acquire) < ROOM_BYTES {
                return;
            }
            taken.await;
        }
    }
}

/// Bytes of a server's frame with such a payload.
fn frame_bytes(payload: usize) -> i64 {
    let head = match payload {
        0..126 => 2,
        126..65_536 => 4,
        _ => 10,
    };
    i64::try_from(payload + head).unwrap_or(i64::MAX)
}

/// A socket's bytes, counted as its connection takes them.
struct Counted {
    body: BoxBody,
    flow: Arc<Flow>,
}

impl MessageBody for Counted {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let next = Pin::new(&mut self.body).poll_next(cx);
        if let Poll::Ready(Some(Ok(bytes))) = &next {
            let taken = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
            self.flow.waiting.fetch_sub(taken, Ordering::AcqRel);
            // The one task that sends may be about to wait: `notify_one` is kept for it.
            self.flow.taken.notify_one();
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use actix_web::test::TestRequest;
    use actix_web::{FromRequest as _, web};
    use futures_util::FutureExt;

    use super::*;

    #[actix_web::test]
    async fn every_byte_given_is_taken_in_the_end_and_room_comes_in_between() {
        let (request, mut body) = TestRequest::default()
            .insert_header(("connection", "upgrade"))
            .insert_header(("upgrade", "websocket"))
            .insert_header(("sec-websocket-version", "13"))
            .insert_header(("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="))
            .to_http_parts();
        let body = web::Payload::from_request(&request, &mut body).await.unwrap();
        let (answer, mut socket, _frames) = actix_ws::handle(&request, body).unwrap();
        let (answer, outflow) = Outflow::of(answer);
        let mut body = answer.into_body();
        for size in [0, 1, 125, 126, 65_535] {
            assert!(outflow.room().now_or_never().is_some());
            outflow.give(size);
            socket.text("x".repeat(size)).await.unwrap();
        }
        outflow.give(4);
        socket.ping(b"four").await.unwrap();
        assert!(outflow.room().now_or_never().is_none());
        while outflow.room().now_or_never().is_none() {
            poll_fn(|cx| Pin::new(&mut body).poll_next(cx)).await.unwrap().unwrap();
        }
        outflow.give(65_536);
        socket.text("x".repeat(65_536)).await.unwrap();
        poll_fn(|cx| Pin::new(&mut body).poll_next(cx)).await.unwrap().unwrap();
        assert_eq!(outflow.flow.waiting.load(Ordering::Acquire), 0);
    }
}
