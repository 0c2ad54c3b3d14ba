//! One tracker: its socket, what it sends when, and how it comes back.

use std::rc::Rc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use rand::RngExt;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_tungstenite::tungstenite::client::ClientRequestBuilder;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use super::outbox::{Outbox, ServerMessage};
use super::stage::{Stage, micros};
use crate::trace::Point;
use waypost_actors::model::Timestamp;

const SUBPROTOCOL: &str = "waypost.tracker.v1";
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// A server that does not answer for this long, at least, counts as lost.
const SILENCE_AT_LEAST: Duration = Duration::from_secs(10);

/// A client's socket.
pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Why a connection ended before its work was done.
#[derive(Debug)]
pub(super) enum End {
    /// Try again.
    Lost(String),
    /// Trying again would not help.
    Refused(String),
}

/// What a tracker needs to know.
pub(super) struct Assignment {
    /// Its vehicle's number.
    pub vehicle: usize,
    /// Its fixes.
    pub points: Box<dyn Iterator<Item = Point>>,
    /// How many there are.
    pub remaining: usize,
    /// When its frames are due, seconds into frame time; empty: as soon as credit allows.
    pub dues: Vec<f64>,
    /// `ws://…/v1/ws/tracker`.
    pub url: String,
    /// Its credential.
    pub token: String,
    /// What it says in a hello, if it says one.
    pub boot_id: Option<String>,
    /// Fixes in a frame.
    pub items: usize,
    /// How long it tries to come back.
    pub reconnect_for: Duration,
    /// Whether each fix is stamped with the moment it is sent.
    pub stamps_now: bool,
}

/// A tracker under way.
pub(super) struct Tracker {
    assignment: Assignment,
    stage: Rc<Stage>,
    /// Handshakes under way at a time, all trackers together.
    handshakes: Rc<Semaphore>,
    outbox: Outbox,
    frames_sent: usize,
    arrived: bool,
    last_progress: Instant,
    buffer: Vec<Point>,
    /// The server's last error message: it explains the close that follows.
    said: Option<String>,
}

impl Tracker {
    /// A tracker that has sent nothing.
    #[must_use]
    pub(super) fn new(assignment: Assignment, stage: Rc<Stage>, handshakes: Rc<Semaphore>) -> Self {
        Self {
            assignment,
            stage,
            handshakes,
            outbox: Outbox::new(),
            frames_sent: 0,
            arrived: false,
            last_progress: Instant::now(),
            buffer: Vec::new(),
            said: None,
        }
    }

    /// Sends everything and waits until everything is acknowledged, through as many connections as it
    /// takes. An error says why it gave up.
    pub(super) async fn play(mut self) -> Result<(), String> {
        let mut lost_at = None;
        loop {
            let acked = self.outbox.acked();
            let reason = match self.session().await {
                Ok(()) => return Ok(()),
                Err(End::Refused(reason)) => return Err(self.give_up(reason)),
                Err(End::Lost(reason)) => reason,
            };
            if self.outbox.acked() > acked || (self.arrived && self.outbox.waiting() == 0) {
                lost_at = None;
            }
            let since = *lost_at.get_or_insert_with(Instant::now);
            if since.elapsed() >= self.assignment.reconnect_for {
                return Err(self.give_up(reason));
            }
            self.stage.counts().reconnects += 1;
            let millis = rand::rng().random_range(50..1000);
            sleep(Duration::from_millis(millis)).await;
        }
    }

    fn give_up(&mut self, reason: String) -> String {
        self.stage.counts().in_flight -= self.outbox.waiting();
        self.arrive();
        self.said.take().map_or_else(|| reason.clone(), |said| format!("{reason} ({said})"))
    }

    fn arrive(&mut self) {
        self.stage.counts().arrived += usize::from(!self.arrived);
        self.arrived = true;
        self.stage.notify();
    }

    fn finished(&self) -> bool {
        self.assignment.remaining == 0 && self.outbox.waiting() == 0
    }

    /// One connection, from its handshake to its end.
    async fn session(&mut self) -> Result<(), End> {
        let mut socket = self.connect().await?;
        self.greet(&mut socket).await?;
        self.resend(&mut socket).await?;
        self.arrive();
        let start = self.stage.begun().await;
        let mut pauses = self.stage.pauses();
        self.last_progress = Instant::now();
        loop {
            let next_due =
                if *pauses.borrow_and_update() { None } else { self.send_due(&mut socket, start).await? };
            if self.finished() {
                let _ = timeout(CONNECT_WITHIN, socket.close(None)).await;
                return Ok(());
            }
            let silence = self.assignment.reconnect_for.max(SILENCE_AT_LEAST);
            tokio::select! {
                biased;
                message = socket.next() => self.take(message, &mut socket).await?,
                () = sleep_until(next_due.unwrap_or_else(Instant::now)), if next_due.is_some() => {}
                changed = pauses.changed() => changed.map_err(|gone| End::Refused(gone.to_string()))?,
                () = sleep_until(self.last_progress + silence), if self.outbox.waiting() > 0 => {
                    return Err(End::Lost(format!("no ack for {} s", silence.as_secs())));
                }
            }
        }
    }

    async fn connect(&self) -> Result<Socket, End> {
        let _turn = self.handshakes.acquire().await.map_err(|gone| End::Refused(gone.to_string()))?;
        connect(&self.assignment.url, &self.assignment.token, Some(SUBPROTOCOL)).await
    }

    async fn greet(&mut self, socket: &mut Socket) -> Result<(), End> {
        let Some(boot_id) = &self.assignment.boot_id else { return Ok(()) };
        let hello = serde_json::json!({ "type": "hello", "bootId": boot_id, "firmware": "simulate" });
        send(socket, Message::text(hello.to_string())).await?;
        loop {
            let message = timeout(CONNECT_WITHIN, socket.next()).await;
            let message = message.map_err(|_| End::Lost("no welcome".to_owned()))?;
            if let Message::Text(text) = open(message)? {
                let welcome = parse(&text)?;
                self.progress(&welcome);
                if welcome.kind == "welcome" {
                    return Ok(());
                }
            }
        }
    }

    async fn resend(&self, socket: &mut Socket) -> Result<(), End> {
        for text in self.outbox.unacknowledged() {
            self.stage.counts().frames_resent += 1;
            send(socket, Message::Text(text)).await?;
        }
        Ok(())
    }

    /// Sends what is due as far as credit goes; answers when the next frame is due that credit allows.
    async fn send_due(&mut self, socket: &mut Socket, start: Instant) -> Result<Option<Instant>, End> {
        while self.assignment.remaining > 0 && self.outbox.has_room() {
            let now = Instant::now();
            let planned = self.assignment.dues.get(self.frames_sent);
            let due = planned.map_or(now, |seconds| self.stage.due(start, *seconds));
            if due > now {
                return Ok(Some(due));
            }
            if *self.stage.pauses().borrow() {
                break;
            }
            let text = self.next_frame(due);
            self.stage.sent(
                self.assignment.vehicle,
                self.buffer.len() as u64,
                self.buffer.iter().map(|point| point.recorded_at).max(),
                now - due,
            );
            send(socket, Message::Text(text)).await?;
        }
        Ok(None)
    }

    fn next_frame(&mut self, due: Instant) -> tungstenite::Utf8Bytes {
        if self.outbox.waiting() == 0 {
            self.last_progress = Instant::now();
        }
        self.buffer.clear();
        self.buffer.extend(self.assignment.points.by_ref().take(self.assignment.items));
        self.assignment.remaining -= self.buffer.len();
        if self.assignment.stamps_now {
            stamp(&mut self.buffer);
        }
        self.frames_sent += 1;
        self.outbox.frame(&self.buffer, due)
    }

    async fn take(&mut self, message: Incoming, socket: &mut Socket) -> Result<(), End> {
        let Message::Text(text) = open(message)? else { return Ok(()) };
        let message = parse(&text)?;
        match message.kind.as_str() {
            "ack" | "welcome" => self.progress(&message),
            "retry" => {
                self.stage.counts().retries += 1;
                sleep(Duration::from_millis(message.after_ms.unwrap_or(1000))).await;
                self.resend(socket).await?;
            }
            "error" => {
                let [code, detail] = [message.code, message.detail].map(Option::unwrap_or_default);
                self.said = Some(format!("{code}: {detail}"));
            }
            _ => {}
        }
        Ok(())
    }

    fn progress(&mut self, message: &ServerMessage) {
        let progress = self.outbox.take(message);
        let now = Instant::now();
        if progress.acknowledged > 0 {
            self.last_progress = now;
        }
        let mut counts = self.stage.counts();
        counts.stored += message.stored;
        counts.duplicates += message.duplicates;
        counts.acknowledged += progress.acknowledged;
        counts.in_flight -= progress.dues.len();
        counts.last_ack = Some(now);
        counts.latencies_micros.extend(progress.dues.iter().map(|due| micros(now - *due)));
        for code in progress.refused {
            *counts.refused.entry(code).or_default() += 1;
        }
        let idle = counts.in_flight == 0;
        drop(counts);
        if idle {
            self.stage.notify();
        }
    }
}

/// One millisecond apart, the last one now.
fn stamp(points: &mut [Point]) {
    let now = jiff::Timestamp::now().as_millisecond();
    for (point, millis) in points.iter_mut().rev().zip((0..=now).rev()) {
        point.recorded_at = Timestamp::from_micros(millis * 1000);
    }
}

type Incoming = Option<Result<Message, tungstenite::Error>>;

/// Opens a socket with small buffers and a bearer credential.
pub(super) async fn connect(url: &str, token: &str, subprotocol: Option<&str>) -> Result<Socket, End> {
    let uri = url.parse().map_err(|wrong| End::Refused(format!("{url}: {wrong}")))?;
    let mut request = ClientRequestBuilder::new(uri).with_header("Authorization", format!("Bearer {token}"));
    if let Some(subprotocol) = subprotocol {
        request = request.with_sub_protocol(subprotocol);
    }
    let config = WebSocketConfig::default().read_buffer_size(4096).write_buffer_size(0);
    match timeout(CONNECT_WITHIN, connect_async_with_config(request, Some(config), true)).await {
        Ok(Ok((socket, _))) => Ok(socket),
        Ok(Err(tungstenite::Error::Http(answer))) => {
            let status = answer.status();
            let text = answer.body().as_deref().map(String::from_utf8_lossy).unwrap_or_default();
            let reason = format!("{status} {text}");
            let passing = status.is_server_error() || status.as_u16() == 429;
            Err(if passing { End::Lost(reason) } else { End::Refused(reason) })
        }
        Ok(Err(error)) => Err(End::Lost(error.to_string())),
        Err(_) => Err(End::Lost("no answer to the handshake".to_owned())),
    }
}

/// Sends one message and flushes it.
pub(super) async fn send(socket: &mut Socket, message: Message) -> Result<(), End> {
    socket.send(message).await.map_err(|error| End::Lost(error.to_string()))
}

/// What came in, or why nothing more will.
pub(super) fn open(message: Incoming) -> Result<Message, End> {
    match message {
        Some(Ok(Message::Close(frame))) => Err(closed(frame.as_ref())),
        Some(Ok(message)) => Ok(message),
        Some(Err(error)) => Err(End::Lost(error.to_string())),
        None => Err(End::Lost("the connection is gone".to_owned())),
    }
}

/// 4400 to 4499 say what is wrong with this client; 4408 and 4429 pass, and so does all else.
fn closed(frame: Option<&CloseFrame>) -> End {
    let Some(frame) = frame else { return End::Lost("closed without a code".to_owned()) };
    let code = u16::from(frame.code);
    let reason = format!("closed with {code} {}", frame.reason.as_str());
    let ours = (4400..4500).contains(&code) && !matches!(code, 4408 | 4429);
    if ours { End::Refused(reason) } else { End::Lost(reason) }
}

fn parse(text: &str) -> Result<ServerMessage, End> {
    serde_json::from_str(text).map_err(|wrong| End::Refused(format!("not the protocol: {wrong}: {text}")))
}
