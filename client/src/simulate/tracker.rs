//! One tracker: its socket, what it sends when, and how it reconnects.

use std::rc::Rc;
use std::time::Duration;

use rand::RngExt;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::outbox::{Outbox, ServerMessage};
use super::stage::{Stage, micros};
use crate::socket::{self, Ended, Socket, Unopened, hear, say};
use crate::trace::Point;
use waypost_actors::model::Timestamp;

/// How long a handshake, a welcome or a close may take.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// A server that does not answer for this long, at least, counts as lost.
const SILENCE_AT_LEAST: Duration = Duration::from_secs(10);

/// Why a connection ended before its work was done.
#[derive(Debug)]
pub(super) enum End {
    /// Try again.
    Lost(String),
    /// Trying again would not help.
    Refused(String),
}

impl From<Unopened> for End {
    fn from(why: Unopened) -> Self {
        match &why {
            Unopened::Refused { status, .. } if !status.is_server_error() && status.as_u16() != 429 => {
                Self::Refused(why.to_string())
            }
            _ => Self::Lost(why.to_string()),
        }
    }
}

impl From<Ended> for End {
    /// 4400 to 4499 mean that this client is at fault; 4408, 4429 and everything else will pass.
    fn from(how: Ended) -> Self {
        match how {
            Ended::Closed { code: 4400..=4407 | 4409..=4428 | 4430..=4499, .. } => {
                Self::Refused(how.to_string())
            }
            _ => Self::Lost(how.to_string()),
        }
    }
}

/// What a tracker needs to know.
pub(super) struct Assignment {
    /// Its vehicle's number.
    pub vehicle: usize,
    /// Its fixes.
    pub points: Box<dyn Iterator<Item = Point>>,
    /// The number of fixes.
    pub remaining: usize,
    /// When its frames are due, seconds into frame time; empty: as soon as credit allows.
    pub dues: Vec<f64>,
    /// The server's `http://…`.
    pub server: String,
    /// Its credential.
    pub token: String,
    /// What it says in a hello, if it says one.
    pub boot_id: Option<String>,
    /// Fixes in a frame.
    pub items: usize,
    /// How long it tries to reconnect.
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
                let _ = timeout(ANSWER_WITHIN, socket.close(None)).await;
                return Ok(());
            }
            let silence = self.assignment.reconnect_for.max(SILENCE_AT_LEAST);
            tokio::select! {
                biased;
                text = hear(&mut socket) => self.take(&text?, &mut socket).await?,
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
        let request = socket::tracker(&self.assignment.server, &self.assignment.token);
        Ok(socket::open(request, ANSWER_WITHIN).await?)
    }

    async fn greet(&mut self, socket: &mut Socket) -> Result<(), End> {
        let Some(boot_id) = &self.assignment.boot_id else { return Ok(()) };
        let hello = serde_json::json!({ "type": "hello", "bootId": boot_id, "firmware": "simulate" });
        say(socket, hello.to_string()).await?;
        loop {
            let text = timeout(ANSWER_WITHIN, hear(socket)).await;
            let welcome = parse(&text.map_err(|_| End::Lost("no welcome".to_owned()))??)?;
            self.progress(&welcome);
            if welcome.kind == "welcome" {
                return Ok(());
            }
        }
    }

    async fn resend(&self, socket: &mut Socket) -> Result<(), End> {
        for text in self.outbox.unacknowledged() {
            self.stage.counts().frames_resent += 1;
            say(socket, text).await?;
        }
        Ok(())
    }

    /// Sends what is due as far as credit allows; returns when the next frame that credit allows is due.
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
            say(socket, text).await?;
        }
        Ok(None)
    }

    fn next_frame(&mut self, due: Instant) -> Utf8Bytes {
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

    async fn take(&mut self, text: &str, socket: &mut Socket) -> Result<(), End> {
        let message = parse(text)?;
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

fn parse(text: &str) -> Result<ServerMessage, End> {
    serde_json::from_str(text).map_err(|wrong| End::Refused(format!("not the protocol: {wrong}: {text}")))
}
