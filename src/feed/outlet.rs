//! Where a feed's messages go: frames of a WebSocket, or Server-Sent Events.

use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc::Sender;

use crate::socket::{Broken, Closed, Frame, Message, Messages, Out};

/// One message: its kind, where the log goes on after it, if it is of the log, and its JSON, in parts.
pub(super) struct Telling<'a> {
    pub(super) kind: &'a str,
    pub(super) cursor: Option<&'a str>,
    pub(super) text: &'a [&'a str],
}

/// The way out of a feed.
pub(super) enum Outlet {
    /// A WebSocket.
    Socket(Out),
    /// A stream of events.
    Stream(EventStream),
}

/// The body of an answer that is a stream of events. What was given waits until it is taken.
pub(super) struct EventStream {
    body: Sender<Bytes>,
    /// What each id has behind its cursor.
    pass: Option<String>,
    waiting: BytesMut,
}

impl EventStream {
    /// `body`: what is sent here is the answer's body. `pass`: what each id has behind its cursor and a dot.
    pub(super) fn new(body: Sender<Bytes>, pass: Option<String>) -> Self {
        Self { body, pass, waiting: BytesMut::new() }
    }

    /// An event; its JSON has no line break. An id alone, without data, is no event: it moves the place to go on from.
    fn give(&mut self, kind: Option<&str>, cursor: Option<&str>, text: &[&str]) {
        if let Some(kind) = kind {
            self.put(&["event: ", kind, "\n"]);
        }
        if let Some(cursor) = cursor {
            self.put(&["id: ", cursor]);
            if let Some(pass) = &self.pass {
                self.waiting.extend_from_slice(b".");
                self.waiting.extend_from_slice(pass.as_bytes());
            }
            self.put(&["\n"]);
        }
        if !text.is_empty() {
            self.put(&["data: "]);
            self.put(text);
            self.put(&["\n"]);
        }
        self.put(&["\n"]);
    }

    fn put(&mut self, parts: &[&str]) {
        parts.iter().for_each(|part| self.waiting.extend_from_slice(part.as_bytes()));
    }

    /// Hands everything over once there is room; nothing is lost when this is cancelled.
    async fn flush(&mut self) -> Result<(), Closed> {
        let room = self.body.reserve().await.map_err(|_| Closed)?;
        room.send(self.waiting.split().freeze());
        Ok(())
    }
}

impl Outlet {
    pub(super) const fn is_stream(&self) -> bool {
        matches!(self, Self::Stream(_))
    }

    /// Queues a message.
    pub(super) fn tell(&mut self, Telling { kind, cursor, text }: &Telling<'_>) {
        match self {
            Self::Socket(out) => out.give(Frame::text_of(text)),
            Self::Stream(events) => events.give(Some(kind), *cursor, text),
        }
    }

    /// Queues a frame; a stream has none.
    pub(super) fn give(&mut self, frame: Frame) {
        if let Self::Socket(out) = self {
            out.give(frame);
        }
    }

    /// Queues a comment, which keeps proxies awake, and where the log goes on.
    pub(super) fn keep_alive(&mut self, cursor: Option<&str>) {
        if let Self::Stream(events) = self {
            events.waiting.extend_from_slice(b": still here\n");
            events.give(None, cursor, &[]);
        }
    }

    /// Bytes queued that the connection has not taken.
    pub(super) fn waiting_bytes(&self) -> usize {
        match self {
            Self::Socket(out) => out.waiting_bytes(),
            Self::Stream(events) => events.waiting.len(),
        }
    }

    /// Waits until the connection has taken everything.
    pub(super) async fn flush(&mut self) -> Result<(), Closed> {
        match self {
            Self::Socket(out) => out.flush().await,
            Self::Stream(events) => events.flush().await,
        }
    }

    /// Waits until fewer than `bytes` bytes wait.
    pub(super) async fn room(&mut self, bytes: usize) -> Result<(), Closed> {
        match self {
            Self::Socket(out) => out.room(bytes).await,
            Self::Stream(events) if events.waiting.len() >= bytes => events.flush().await,
            Self::Stream(_) => Ok(()),
        }
    }

    /// Sends the last frame and closes.
    pub(super) async fn close(&mut self, goodbye: Frame) {
        match self {
            Self::Socket(out) => out.close(goodbye).await,
            Self::Stream(events) => {
                events.flush().await.ok();
            }
        }
    }
}

/// What comes from the client.
pub(super) enum Inlet {
    /// The messages of a socket.
    Socket(Messages),
    /// Nothing but the end of a stream.
    Stream(Sender<Bytes>),
}

impl Inlet {
    /// The next message; `None` once the client is gone.
    pub(super) async fn next(&mut self) -> Option<Result<Message, Broken>> {
        match self {
            Self::Socket(messages) => messages.next().await,
            Self::Stream(body) => {
                body.closed().await;
                None
            }
        }
    }
}
