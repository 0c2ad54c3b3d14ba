//! One tracker's socket, from its first frame to its close code.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use waypost_actors::live::{Live, LiveError};

use super::decode::{self, BadItem, Heard, Item, Positions};
use super::intake::Intake;
use super::protocol::{CREDIT, Close, LIMITS, MAX_BOOT_ID_CHARS, MAX_FRAME_BYTES, MAX_ITEMS, Say};
use super::sent::{FrameAction, Outcome, Sent};
use crate::auth::Configured;
use crate::domain::tracker::TrackerConfig;
use crate::sessions::{self, End, KeepDays, News};
use crate::socket::Broken;
use crate::socket::{Frame, Message, Messages, Out};

/// Least time before the first item is sent again after a failed commit, in milliseconds.
const RETRY_AFTER_MS: u64 = 1_000;
/// Pings that may stay unanswered.
const MISSED_PINGS: u32 = 3;
/// How long a stopping server waits for commits to acknowledge; after that the tracker must be asked to reconnect.
const LAST_ACKS_WITHIN: Duration = Duration::from_secs(3);
/// How long the reason of a close may take to be sent.
const GOODBYE_WITHIN: Duration = Duration::from_secs(1);

/// Times of the tracker socket.
#[derive(Clone, Copy, Debug)]
pub struct SocketLimits {
    /// Time between two pings; a socket silent for three of them is dead.
    pub ping_every: Duration,
    /// A tracker that takes no data for this long is closed.
    pub write_within: Duration,
}

impl Default for SocketLimits {
    fn default() -> Self {
        Self { ping_every: Duration::from_secs(30), write_within: Duration::from_secs(30) }
    }
}

/// Why the loop ends.
enum Stop {
    /// The other side is gone.
    Gone,
    /// The client said goodbye, with this code if it had one.
    Goodbye(Option<u16>),
    /// What arrives is not a message.
    Broken(Broken),
    /// The server closes.
    Close(Close, String),
}

struct Socket {
    out: Out,
    intake: Intake,
    session: sessions::ReportingSession,
    live: Live,
    limits: SocketLimits,
    /// The config sent to the tracker; `None` on a system user's socket.
    config: Option<TrackerConfig>,
    sent: Sent,
    boot: Option<String>,
    acked: Option<i64>,
    /// Pings since the last sign of life.
    unanswered: u32,
    /// Items that a known boot sent before, and fixes not handed over because of it.
    repeated: u64,
}

/// Serves a tracker's socket until it closes. Not an `async fn`, whose future would hold the parameters as well as
/// what is made from them; there are very many sockets.
pub fn run(
    out: Out,
    mut messages: Messages,
    intake: Intake,
    session: sessions::ReportingSession,
    live: Live,
    limits: SocketLimits,
) -> impl Future<Output = ()> {
    let mut socket = Socket {
        config: intake.config(live.now()),
        out,
        intake,
        session,
        live,
        limits,
        sent: Sent::default(),
        boot: None,
        acked: None,
        unanswered: 0,
        repeated: 0,
    };
    async move {
        let stop = socket.serve(&mut messages).await;
        Box::pin(socket.close(stop)).await;
    }
}

impl Socket {
    async fn serve(&mut self, messages: &mut Messages) -> Stop {
        let mut ping = interval(self.limits.ping_every);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ping.reset();
        loop {
            // Without credit the socket is not read: the sender waits in its own buffers.
            let may_read = self.sent.len() < CREDIT;
            let step = tokio::select! {
                news = self.session.news() => match news {
                    News::End(end) => return ended(end),
                    News::Config(config) => Box::pin(self.configure(config)).await,
                    News::KeepDays(KeepDays(days)) => {
                        self.intake.keep_positions(days);
                        Ok(())
                    }
                },
                outcome = self.sent.next() => self.acknowledge(outcome).await,
                message = messages.next(), if may_read => {
                    self.unanswered = 0;
                    // In a box: a task that waits has no room for what a message needs.
                    Box::pin(self.hear(message)).await
                }
                _ = ping.tick() => self.ping(may_read).await,
            };
            if let Err(stop) = step {
                return stop;
            }
        }
    }

    async fn ping(&mut self, may_read: bool) -> Result<(), Stop> {
        if self.unanswered >= MISSED_PINGS {
            return Err(Stop::Close(Close::Timeout, "no sign of life for three pings".to_owned()));
        }
        // While the server does not read, silence means nothing.
        self.unanswered += u32::from(may_read);
        self.out.give(Frame::ping());
        self.flush().await
    }

    async fn hear(&mut self, message: Option<Result<Message, Broken>>) -> Result<(), Stop> {
        match message {
            Some(Ok(Message::Text(text))) => self.text(&text).await,
            Some(Ok(Message::Binary(_))) => Err(malformed("frames are JSON text, not binary")),
            Some(Ok(Message::Ping(payload))) => {
                self.out.give(Frame::pong(&payload));
                self.flush().await
            }
            Some(Ok(Message::Pong)) => Ok(()),
            Some(Ok(Message::Close(code))) => Err(Stop::Goodbye(code)),
            Some(Err(why)) => Err(Stop::Broken(why)),
            None => Err(Stop::Gone),
        }
    }

    async fn text(&mut self, text: &str) -> Result<(), Stop> {
        match decode::frame(text).map_err(|bad| malformed(&bad.0))? {
            Heard::Hello { boot_id } => self.hello(boot_id).await,
            Heard::Positions(read) => self.positions(read).await,
        }
    }

    async fn hello(&mut self, boot: Option<String>) -> Result<(), Stop> {
        if boot.as_ref().is_some_and(|boot| boot.chars().count() > MAX_BOOT_ID_CHARS) {
            return Err(malformed(&format!("bootId may have {MAX_BOOT_ID_CHARS} characters")));
        }
        // An ack of the old numbers must not count for the new ones.
        if self.sent.len() > 0 {
            return Err(malformed("hello: items sent before it still wait for their ack"));
        }
        self.sent = Sent::default();
        let acked_seq = self.session.begin_boot(boot.as_deref());
        self.boot = boot;
        self.acked = acked_seq;
        self.intake.tell_configs();
        let (server_time, config) = (self.live.now(), self.config);
        self.say(&Say::Welcome { server_time, acked_seq, config, limits: LIMITS }).await
    }

    async fn configure(&mut self, config: TrackerConfig) -> Result<(), Stop> {
        if self.config.replace(config) == Some(config) {
            return Ok(());
        }
        self.say(&Say::Config { tracker_id: None, unique_id: None, config }).await
    }

    async fn positions(&mut self, read: Positions<'_>) -> Result<(), Stop> {
        let Positions { mut items, many, ignored } = read;
        self.intake.warn(ignored);
        if many > MAX_ITEMS {
            let detail = format!("a frame may have {MAX_ITEMS} items, this one has {many}");
            return Err(Stop::Close(Close::TooLarge, detail));
        }
        let Some((first, last)) = numbers(&items)? else { return Ok(()) };
        match self.sent.admit((first, last), Instant::now()) {
            FrameAction::Accept => {}
            FrameAction::Ignore => {
                self.intake.show_provisional(items).await;
                return Ok(());
            }
            FrameAction::Retry(seq) => return self.say(&Say::Retry { seq, after_ms: RETRY_AFTER_MS }).await,
            FrameAction::GiveUp(seq) => {
                let detail = format!("item {seq} was to come again and did not");
                return Err(Stop::Close(Close::Timeout, detail));
            }
        }
        let mut repeated = 0;
        if let Some(acked) = self.acked.filter(|_| self.boot.is_some()) {
            repeated = items.iter().take_while(|item| seq(item).is_some_and(|seq| seq <= acked)).count();
            items.drain(..repeated);
            self.repeated += repeated as u64;
        }
        match self.intake.take(repeated, items).await {
            Ok(batch) => {
                self.sent.push(first, last, batch.committed());
                for Configured { tracker_id, unique_id, config } in self.intake.take_configs() {
                    let (tracker_id, unique_id) = (Some(tracker_id), Some(unique_id.as_str()));
                    self.say(&Say::Config { tracker_id, unique_id, config }).await?;
                }
                Ok(())
            }
            Err(error) => {
                let seq = self.sent.fail(first, Instant::now());
                self.retry(&error, seq).await
            }
        }
    }

    /// Reports the outcome of the oldest frames.
    async fn acknowledge(&mut self, outcome: Outcome) -> Result<(), Stop> {
        if let Some(last) = outcome.acked {
            // A boot's numbers never change their meaning, so an item that is repeated takes back no ack.
            let before = self.acked.filter(|_| self.boot.is_some());
            let seq = before.map_or(last, |acked| acked.max(last));
            self.acked = Some(seq);
            if let Some(boot) = &self.boot {
                self.session.remember(boot, seq);
            }
            let duplicates = outcome.counts.duplicates + std::mem::take(&mut self.repeated);
            let warnings = self.intake.take_warnings();
            let ack = Say::Ack {
                seq,
                rejected: &outcome.rejected,
                warnings: &warnings,
                stored: outcome.counts.stored,
                duplicates,
                credit: CREDIT - self.sent.len(),
            };
            self.say(&ack).await?;
        }
        match outcome.failed {
            Some((error, seq)) => self.retry(&error, seq).await,
            None => Ok(()),
        }
    }

    async fn retry(&mut self, error: &LiveError, seq: i64) -> Result<(), Stop> {
        match error {
            LiveError::Unavailable => self.say(&Say::Retry { seq, after_ms: RETRY_AFTER_MS }).await,
            LiveError::UnknownVehicle => {
                Err(Stop::Close(Close::VehicleOutOfUse, "the tracker's vehicle is out of use".to_owned()))
            }
            LiveError::Stopped => Err(Stop::Close(Close::Restarting, "the server restarts".to_owned())),
        }
    }

    async fn say(&mut self, say: &Say<'_>) -> Result<(), Stop> {
        self.out.give(Frame::text(&serde_json::to_string(say).map_err(|_| Stop::Gone)?));
        self.flush().await
    }

    /// Flushes the socket. A tracker that never reads is closed like one that is silent.
    async fn flush(&mut self) -> Result<(), Stop> {
        match timeout(self.limits.write_within, self.out.flush()).await {
            Ok(taken) => taken.map_err(|_| Stop::Gone),
            Err(_) => Err(Stop::Close(Close::Timeout, "the tracker does not read".to_owned())),
        }
    }

    /// Closes the socket. Frames on their way are committed in any case; those that can still be acknowledged are.
    async fn close(&mut self, stop: Stop) {
        if let Stop::Close(Close::Restarting | Close::Changed, _) = stop {
            timeout(LAST_ACKS_WITHIN, self.last_acks()).await.ok();
        }
        timeout(GOODBYE_WITHIN, self.goodbye(stop)).await.ok();
    }

    async fn last_acks(&mut self) {
        while self.sent.len() > 0 {
            let outcome = self.sent.next().await;
            if outcome.failed.is_some() || self.acknowledge(outcome).await.is_err() {
                return;
            }
        }
    }

    async fn goodbye(&mut self, stop: Stop) {
        let why = match stop {
            Stop::Gone => None,
            Stop::Goodbye(code) => return self.out.close(Frame::close_answer(code)).await,
            Stop::Broken(why) => why.close(MAX_FRAME_BYTES),
            Stop::Close(close, detail) => Some((close.code(), close.word(), detail)),
        };
        let Some((code, word, detail)) = why else { return };
        let _gone = self.say(&Say::Error { code: word, detail: &detail }).await;
        self.out.close(Frame::close(code, &detail)).await;
    }
}

fn malformed(detail: &str) -> Stop {
    Stop::Close(Close::Malformed, detail.to_owned())
}

fn ended(end: End) -> Stop {
    let (close, detail) = match end {
        End::Replaced => (Close::Replaced, "another connection of this tracker took over"),
        End::Credential => (Close::Credential, "the token is not valid any more"),
        End::Disabled => (Close::Disabled, "the tracker or its organization is disabled"),
        End::VehicleDeleted => (
            Close::VehicleOutOfUse,
            "the tracker's vehicle was deleted; what comes from now on has no vehicle until the tracker is installed in another one",
        ),
        End::Moved => (Close::Changed, "the tracker was moved to or from a vehicle; connect again"),
        End::Changed => (Close::Changed, "the tracker was changed; connect again"),
        End::Restarting => (Close::Restarting, "the server restarts"),
    };
    Stop::Close(close, detail.to_owned())
}

fn seq(item: &Result<Item<'_>, BadItem>) -> Option<i64> {
    match item {
        Ok(item) => item.seq,
        Err(bad) => bad.seq,
    }
}

/// The numbers of the first and the last item. Every item must have one, because otherwise no ack could name it.
fn numbers(items: &[Result<Item<'_>, BadItem>]) -> Result<Option<(i64, i64)>, Stop> {
    let mut ends: Option<(i64, i64)> = None;
    for (index, item) in items.iter().enumerate() {
        let Some(seq) = seq(item) else {
            let why = item.as_ref().err().map_or("a whole number is missing", |bad| &bad.detail);
            return Err(malformed(&format!("items/{index}/seq: {why}")));
        };
        match &mut ends {
            Some((_, last)) if seq <= *last => {
                return Err(malformed(&format!("items/{index}/seq: {seq} does not follow {last}")));
            }
            Some((_, last)) => *last = seq,
            None => ends = Some((seq, seq)),
        }
    }
    Ok(ends)
}
