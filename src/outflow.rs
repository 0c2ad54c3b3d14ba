//! What a socket was given to send and its connection has not taken yet, in bytes.
//!
//! The channel of a WebSocket counts messages, not bytes, and takes thirty-two of any size: a client that
//! hardly reads would keep megabytes of a large fleet's deltas waiting. And it encodes every message anew, for
//! each of those who are told the same. So what is said goes its own way to the connection: frames that are
//! ready, waited with while too much of them is not taken. Knows framing, and nothing of what is said.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use actix_web::HttpResponse;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_ws::CloseReason;
use bytes::{BufMut, Bytes, BytesMut};

/// Bytes that may wait before more is sent; one message over it, since it is not cut.
const ROOM_BYTES: usize = 64 * 1024;

/// The last frame of a message.
const FINAL: u8 = 0x80;
const TEXT: u8 = 0x1;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xa;

/// The connection is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// A message as it goes over the wire; cheap to clone, for those who are told the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame(Bytes);

impl Frame {
    /// Text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::new(TEXT, text.as_bytes())
    }

    /// A ping; at most 125 bytes.
    #[must_use]
    pub fn ping(payload: &[u8]) -> Self {
        Self::new(PING, payload)
    }

    /// The answer to a ping, with its payload.
    #[must_use]
    pub fn pong(payload: &[u8]) -> Self {
        Self::new(PONG, payload)
    }

    /// The last frame; at most 123 bytes of reason.
    #[must_use]
    pub fn close(reason: CloseReason) -> Self {
        let mut payload = u16::from(reason.code).to_be_bytes().to_vec();
        payload.extend_from_slice(reason.description.unwrap_or_default().as_bytes());
        Self::new(CLOSE, &payload)
    }

    /// A server does not mask.
    fn new(kind: u8, payload: &[u8]) -> Self {
        let mut frame = BytesMut::with_capacity(payload.len() + 10);
        frame.put_u8(FINAL | kind);
        match payload.len() {
            short @ 0..126 => frame.put_u8(short as u8),
            middle @ 126..65_536 => {
                frame.put_u8(126);
                frame.put_u16(middle as u16);
            }
            long => {
                frame.put_u8(127);
                frame.put_u64(long as u64);
            }
        }
        frame.put_slice(payload);
        Self(frame.freeze())
    }
}

/// The way from a socket's task to its connection; the connection ends when this is dropped, once it has taken
/// what it was given.
pub struct Outflow {
    flow: Rc<RefCell<Flow>>,
}

#[derive(Default)]
struct Flow {
    frames: VecDeque<Bytes>,
    /// Bytes of them.
    waiting: usize,
    ended: bool,
    gone: bool,
    /// Whoever waits for frames.
    connection: Option<Waker>,
    /// Whoever waits for room.
    sender: Option<Waker>,
}

impl Outflow {
    /// Takes the place of what the WebSocket library would send after its answer to the handshake.
    #[must_use]
    pub fn of(answer: HttpResponse) -> (HttpResponse, Self) {
        let flow = Rc::<RefCell<Flow>>::default();
        let connection = Rc::clone(&flow);
        (answer.map_body(|_, body| BoxBody::new(Taken { _body: body, flow: connection })), Self { flow })
    }

    /// Waits until the connection has taken most of what it was given, and gives it one more.
    pub async fn send(&self, frame: Frame) -> Result<(), Gone> {
        poll_fn(|cx| {
            let mut flow = self.flow.borrow_mut();
            if !flow.gone && flow.waiting >= ROOM_BYTES {
                flow.sender = Some(cx.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
        let mut flow = self.flow.borrow_mut();
        if flow.gone {
            return Err(Gone);
        }
        flow.waiting += frame.0.len();
        flow.frames.push_back(frame.0);
        if let Some(connection) = flow.connection.take() {
            connection.wake();
        }
        Ok(())
    }
}

impl Drop for Outflow {
    fn drop(&mut self) {
        let mut flow = self.flow.borrow_mut();
        flow.ended = true;
        if let Some(connection) = flow.connection.take() {
            connection.wake();
        }
    }
}

/// A socket's frames as its connection takes them.
struct Taken {
    /// What the library would have sent: it tells the reading side when the connection is gone.
    _body: BoxBody,
    flow: Rc<RefCell<Flow>>,
}

impl MessageBody for Taken {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let mut flow = self.flow.borrow_mut();
        if let Some(frame) = flow.frames.pop_front() {
            flow.waiting -= frame.len();
            if let Some(sender) = flow.sender.take() {
                sender.wake();
            }
            return Poll::Ready(Some(Ok(frame)));
        }
        if flow.ended {
            return Poll::Ready(None);
        }
        flow.connection = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut flow = self.flow.borrow_mut();
        flow.gone = true;
        flow.frames.clear();
        if let Some(sender) = flow.sender.take() {
            sender.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use actix_web::body::to_bytes;
    use actix_ws::CloseCode;
    use futures_util::FutureExt;

    use super::*;

    fn way() -> (BoxBody, Outflow) {
        let (answer, outflow) = Outflow::of(HttpResponse::SwitchingProtocols().finish());
        (answer.into_body(), outflow)
    }

    fn text(size: usize) -> Frame {
        Frame::text(&"x".repeat(size))
    }

    #[actix_web::test]
    async fn who_sends_waits_while_too_much_is_not_taken() {
        let (mut body, outflow) = way();
        for size in [0, 1, 125, 126, 65_535] {
            assert_eq!(outflow.send(text(size)).now_or_never(), Some(Ok(())));
        }
        assert!(outflow.send(text(1)).now_or_never().is_none());
        let mut taken = 0;
        while outflow.send(text(1)).now_or_never().is_none() {
            taken += poll_fn(|cx| Pin::new(&mut body).poll_next(cx)).await.unwrap().unwrap().len();
        }
        assert_eq!(taken, 2 + 3 + 127 + 130 + 65_539);
        drop(body);
        assert_eq!(outflow.send(text(1)).now_or_never(), Some(Err(Gone)));
    }

    #[actix_web::test]
    async fn who_waits_for_room_hears_that_the_connection_is_gone() {
        let (body, outflow) = way();
        outflow.send(text(65_536)).await.unwrap();
        let waiting = outflow.send(text(1));
        let gone = async { drop(body) };
        assert_eq!(futures_util::future::join(waiting, gone).await.0, Err(Gone));
    }

    #[actix_web::test]
    async fn frames_are_those_of_rfc_6455_and_end_with_the_sender() {
        let (body, outflow) = way();
        let reason = CloseReason { code: CloseCode::Other(4408), description: Some("slow".to_owned()) };
        for frame in [Frame::ping(b""), Frame::pong(b"ab"), Frame::text("é"), Frame::close(reason)] {
            outflow.send(frame).await.unwrap();
        }
        drop(outflow);
        let bytes = to_bytes(body).await.unwrap();
        assert_eq!(&bytes[..], b"\x89\x00\x8a\x02ab\x81\x02\xc3\xa9\x88\x06\x11\x38slow");
        let long = [text(126).0, text(65_535).0, text(65_536).0];
        let heads = [&long[0][..4], &long[1][..4], &long[2][..10]];
        let want: [&[u8]; 3] =
            [&[0x81, 126, 0, 126], &[0x81, 126, 255, 255], &[0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]];
        assert_eq!(heads, want);
    }
}
