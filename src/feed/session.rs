//! One dispatcher's socket, from its sign-in to its close code.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use actix_ws::{AggregatedMessage, AggregatedMessageStream, CloseCode, CloseReason, Session};
use futures_util::StreamExt;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use waypost_actors::live::Live;
use waypost_actors::model::Event;
use waypost_actors::ports::EventLog;
use waypost_actors::watch::{Audience, CommittedEvent, Update};

use super::filter::Filter;
use super::protocol::{Heard, ResetReason, Say, Subscribe, Topic};
use super::subscription::Subscription;
use super::{cursor, wire};
use crate::auth::{Auth, Caller};
use crate::sessions::End;

/// What a feed works with.
#[derive(Clone)]
pub struct Feed {
    /// The live core.
    pub live: Live,
    /// Events that a client missed.
    pub log: Arc<dyn EventLog>,
    /// Tickets, cursors, and whether a session still holds.
    pub auth: Arc<Auth>,
    /// Bounds and times.
    pub limits: FeedLimits,
}

/// Bounds and times of the feed.
#[derive(Clone, Copy, Debug)]
pub struct FeedLimits {
    /// Between two heartbeats; a client that answers none of three pings is dead.
    pub heartbeat_every: Duration,
    /// A socket without credentials must sign in within this time.
    pub sign_in_within: Duration,
    /// Between two looks at whether the session still holds.
    pub check_every: Duration,
    /// A client that takes nothing for so long is closed.
    pub write_within: Duration,
    /// Resets for slow reading within a minute, before the socket is closed.
    pub resets_per_minute: usize,
    /// Subscriptions of one socket.
    pub subscriptions: usize,
}

impl Default for FeedLimits {
    fn default() -> Self {
        Self {
            heartbeat_every: Duration::from_secs(15),
            sign_in_within: Duration::from_secs(10),
            check_every: Duration::from_secs(10),
            write_within: Duration::from_secs(30),
            resets_per_minute: 3,
            subscriptions: 20,
        }
    }
}

/// How a socket was opened.
pub struct Opening {
    /// Who, when a header said so; otherwise a ticket must come first.
    pub caller: Option<Caller>,
    /// Tells when every socket must end.
    pub stopping: watch::Receiver<Option<End>>,
}

/// Vehicles in one part of a snapshot.
const SNAPSHOT_PART: usize = 200;
/// Events read from the log at once.
const LOG_PAGE: i64 = 500;
/// Pings that may stay unanswered.
const MISSED_PINGS: u32 = 3;

/// A close code with its code word and reason.
struct Close(u16, &'static str, String);

enum Stop {
    Gone,
    Close(Close),
}

type Step = Result<(), Stop>;

struct Socket {
    out: Session,
    feed: Feed,
    caller: Caller,
    subscriptions: Vec<Subscription>,
    resets: Vec<Instant>,
}

/// Serves a dispatcher's socket until it closes.
pub async fn run(mut out: Session, mut frames: AggregatedMessageStream, feed: Feed, opening: Opening) {
    let caller = match opening.caller {
        Some(caller) => Ok(caller),
        None => sign_in(&mut frames, &feed).await,
    };
    let stop = match caller {
        Ok(caller) => {
            let mut socket =
                Socket { out: out.clone(), feed, caller, subscriptions: Vec::new(), resets: Vec::new() };
            socket.serve(frames, opening.stopping).await
        }
        Err(stop) => stop,
    };
    if let Stop::Close(Close(code, word, detail)) = stop {
        let error = wire::json(&Say::Error { id: None, code: word, detail: &detail });
        let reason = CloseReason {
            code: CloseCode::Other(code),
            description: Some(detail.chars().take(60).collect()),
        };
        // Whoever does not read does not get the reason either.
        let goodbye = async {
            if out.text(error).await.is_ok() {
                let _gone = out.close(Some(reason)).await;
            }
        };
        timeout(Duration::from_secs(1), goodbye).await.ok();
    }
}

async fn sign_in(frames: &mut AggregatedMessageStream, feed: &Feed) -> Result<Caller, Stop> {
    let refused = |detail: &str| Stop::Close(Close(4401, "unauthenticated", detail.to_owned()));
    let first = async {
        loop {
            match frames.next().await {
                Some(Ok(AggregatedMessage::Text(text))) => return Ok(text),
                Some(Ok(AggregatedMessage::Ping(_) | AggregatedMessage::Pong(_))) => {}
                _ => return Err(Stop::Gone),
            }
        }
    };
    let first = timeout(feed.limits.sign_in_within, first).await;
    let text = first.map_err(|_| Stop::Close(Close(4408, "timeout", "no ticket came in time".to_owned())))??;
    match serde_json::from_str(&text) {
        Ok(Heard::Authenticate { ticket }) => feed
            .auth
            .tickets
            .redeem(&ticket, feed.live.now())
            .ok_or_else(|| refused("the ticket is unknown, used or older than 30 s")),
        _ => Err(refused("the first message must be {\"type\":\"authenticate\",\"ticket\":…}")),
    }
}

impl Socket {
    async fn serve(
        &mut self,
        mut frames: AggregatedMessageStream,
        mut stopping: watch::Receiver<Option<End>>,
    ) -> Stop {
        let every = |period: Duration| {
            let mut ticks = interval(period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks.reset();
            ticks
        };
        let mut heartbeat = every(self.feed.limits.heartbeat_every);
        let mut check = every(self.feed.limits.check_every);
        let mut heard_at = Instant::now();
        loop {
            let step = tokio::select! {
                _ = stopping.wait_for(Option::is_some) => {
                    return Stop::Close(Close(1012, "restarting", "the server restarts".to_owned()));
                }
                frame = frames.next() => {
                    heard_at = Instant::now();
                    self.hear(frame).await
                }
                (index, update) = next_update(&mut self.subscriptions) => match update {
                    Some(update) => self.update(index, &update).await,
                    None => self.lagged(index).await,
                },
                () = delta_due(&self.subscriptions) => self.deltas().await,
                _ = heartbeat.tick() => self.heartbeat(heard_at).await,
                _ = check.tick() => self.check().await,
            };
            if let Err(stop) = step {
                return stop;
            }
        }
    }

    async fn hear(&mut self, frame: Option<Result<AggregatedMessage, actix_ws::ProtocolError>>) -> Step {
        match frame {
            Some(Ok(AggregatedMessage::Text(text))) => match serde_json::from_str(&text) {
                Ok(Heard::Subscribe(asked)) => self.subscribe(&asked).await,
                Ok(Heard::Unsubscribe { id }) => {
                    self.subscriptions.retain(|subscription| subscription.id != id);
                    Ok(())
                }
                Ok(Heard::Authenticate { .. }) => {
                    self.refuse(None, "alreadyAuthenticated", "the socket is signed in already").await
                }
                Err(error) => Err(Stop::Close(Close(4400, "malformedFrame", error.to_string()))),
            },
            Some(Ok(AggregatedMessage::Ping(payload))) => {
                self.out.pong(&payload).await.map_err(|_| Stop::Gone)
            }
            Some(Ok(AggregatedMessage::Pong(_))) => Ok(()),
            Some(Ok(AggregatedMessage::Binary(_))) => {
                Err(Stop::Close(Close(4400, "malformedFrame", "frames are JSON text, not binary".to_owned())))
            }
            Some(Ok(AggregatedMessage::Close(_))) | None => Err(Stop::Gone),
            Some(Err(actix_ws::ProtocolError::Overflow)) => {
                Err(Stop::Close(Close(4413, "frameTooLarge", "a frame may have 64 KiB".to_owned())))
            }
            Some(Err(_)) => Err(Stop::Gone),
        }
    }

    async fn subscribe(&mut self, asked: &Subscribe) -> Step {
        let others = self.subscriptions.iter().filter(|known| known.id != asked.id).count();
        if asked.id.is_empty() || asked.id.len() > 64 {
            return self.refuse(None, "invalidSubscription", "id: 1 to 64 characters").await;
        }
        if asked.min_interval_ms > 60_000 {
            let detail = "minIntervalMs: 0 to 60000";
            return self.refuse(Some(&asked.id), "invalidSubscription", detail).await;
        }
        if others >= self.feed.limits.subscriptions {
            let detail = format!("a socket may have {} subscriptions", self.feed.limits.subscriptions);
            return self.refuse(Some(&asked.id), "tooManySubscriptions", &detail).await;
        }
        let filter = match Filter::new(&asked.filter) {
            Ok(filter) => filter,
            Err(detail) => return self.refuse(Some(&asked.id), "invalidSubscription", &detail).await,
        };
        let Some(audience) = audience(&self.caller, asked) else {
            return self.refuse(Some(&asked.id), "notFound", "filter.organizationId: no such organization").await;
        };
        self.subscriptions.retain(|known| known.id != asked.id);
        self.begin(asked, filter, audience).await
    }

    async fn begin(&mut self, asked: &Subscribe, filter: Filter, audience: Audience) -> Step {
        let now = self.feed.live.now();
        let resume =
            asked.cursor.as_deref().map(|text| cursor::open(&self.feed.auth.sealer, audience, text, now));
        let begun =
            Subscription::begin(asked, filter, audience, resume.flatten(), &self.feed.live).await;
        let subscription = begun.map_err(|_| restarting())?;
        let mode = if resume.flatten().is_some() { "resumed" } else { "snapshot" };
        let sealed = self.cursor(&subscription);
        self.subscriptions.push(subscription);
        let index = self.subscriptions.len() - 1;
        if resume == Some(None) {
            self.say(&Say::Reset { id: &asked.id, reason: ResetReason::CursorExpired }).await?;
        }
        self.say(&Say::Subscribed { id: &asked.id, mode, cursor: &sealed }).await?;
        self.snapshot(index).await?;
        self.catch_up(index).await
    }

    /// Everything as it is, in parts, so that no message is large.
    async fn snapshot(&mut self, index: usize) -> Step {
        let subscription = &mut self.subscriptions[index];
        let vehicles = subscription.take_snapshot();
        let (positions, occupancy) = (
            subscription.topics.contains(&Topic::Positions),
            subscription.topics.contains(&Topic::Occupancy),
        );
        if !positions && !occupancy {
            return Ok(());
        }
        let id = subscription.id.clone();
        let filter = subscription.filter.clone();
        let parts = vehicles.chunks(SNAPSHOT_PART).count().max(1);
        for part in 0..parts {
            let some = vehicles.chunks(SNAPSHOT_PART).nth(part).unwrap_or_default();
            let shown: Vec<String> = some
                .iter()
                .filter(|(.., state)| positions && state.last.is_none_or(|fix| filter.place(fix.place)))
                .map(|(id, organization, state)| wire::vehicle(*id, *organization, state))
                .collect();
            let inside: Vec<wire::InsideOut> = some
                .iter()
                .filter(|_| occupancy)
                .flat_map(|(id, _, state)| wire::inside(*id, state))
                .filter(|inside| filter.fence(inside.geofence_id))
                .collect();
            let vehicles = wire::list(shown.iter().map(String::as_str));
            let occupancy = wire::raw(wire::json(&inside));
            let last = part + 1 == parts;
            self.say(&Say::Snapshot { id: &id, part, last, vehicles: &vehicles, occupancy: &occupancy }).await?;
        }
        Ok(())
    }

    /// Sends what the log has between what was sent and what the watch will bring.
    async fn catch_up(&mut self, index: usize) -> Step {
        while self.subscriptions[index].is_behind() {
            let subscription = &self.subscriptions[index];
            let (from, until) = (subscription.next_sequence, subscription.watch.next_sequence);
            let page = self.feed.log.events_from(subscription.audience, from, LOG_PAGE).await;
            let page = page.map_err(|error| Stop::Close(Close(1013, "storeAway", error.to_string())))?;
            let whole = page.len() < LOG_PAGE as usize;
            let page: Vec<Event> = page.into_iter().filter(|event| event.sequence < until).collect();
            let next = match page.last() {
                Some(last) if !whole => last.sequence + 1,
                _ => until,
            };
            for event in page {
                if self.subscriptions[index].filter.event(&event) {
                    self.event(index, &CommittedEvent::new(event)).await?;
                }
            }
            let subscription = &mut self.subscriptions[index];
            subscription.next_sequence = subscription.next_sequence.max(next);
        }
        Ok(())
    }

    async fn update(&mut self, index: usize, update: &Update) -> Step {
        for event in self.subscriptions[index].take(update) {
            self.event(index, &event).await?;
        }
        Ok(())
    }

    async fn event(&mut self, index: usize, event: &CommittedEvent) -> Step {
        let subscription = &self.subscriptions[index];
        let (sealer, now) = (&self.feed.auth.sealer, self.feed.live.now());
        let cursor = cursor::seal(sealer, subscription.audience, event.event.sequence + 1, now);
        let id = wire::json(&subscription.id);
        let body = event.encoded(wire::event);
        let text = format!(r#"{{"type":"event","id":{id},"cursor":"{cursor}","event":{body}}}"#);
        self.send(text).await
    }

    /// The client was too slow for the watch: sum up what it missed, and lose no event.
    async fn lagged(&mut self, index: usize) -> Step {
        let minute = Duration::from_secs(60);
        self.resets.retain(|at| at.elapsed() < minute);
        self.resets.push(Instant::now());
        if self.resets.len() > self.feed.limits.resets_per_minute {
            let detail = "too slow for this feed; resume with the last cursor";
            return Err(Stop::Close(Close(4408, "slowReader", detail.to_owned())));
        }
        let live = self.feed.live.clone();
        let subscription = &mut self.subscriptions[index];
        subscription.begin_anew(&live).await.map_err(|_| restarting())?;
        let id = subscription.id.clone();
        self.say(&Say::Reset { id: &id, reason: ResetReason::SlowReader }).await?;
        self.snapshot(index).await?;
        self.catch_up(index).await
    }

    async fn deltas(&mut self) -> Step {
        for index in 0..self.subscriptions.len() {
            let subscription = &mut self.subscriptions[index];
            if subscription.delta_due().is_none_or(|due| due > Instant::now()) {
                continue;
            }
            subscription.delta_sent();
            let delta = subscription.changes.take();
            let id = subscription.id.clone();
            let vehicles = delta.vehicles.iter().map(|update| {
                update.encoded(|u| wire::vehicle(u.vehicle_id, u.organization_id, &u.state))
            });
            let vehicles = wire::list(vehicles);
            let occupancy = wire::raw(wire::json(&delta.occupancy));
            let say =
                Say::Delta { id: &id, vehicles: &vehicles, removes: &delta.removes, occupancy: &occupancy };
            self.say(&say).await?;
        }
        Ok(())
    }

    async fn heartbeat(&mut self, heard_at: Instant) -> Step {
        if heard_at.elapsed() > self.feed.limits.heartbeat_every * (MISSED_PINGS + 1) {
            return Err(Stop::Close(Close(4408, "timeout", "no sign of life for three pings".to_owned())));
        }
        let cursors: std::collections::BTreeMap<&str, String> =
            self.subscriptions.iter().map(|known| (known.id.as_str(), self.cursor(known))).collect();
        let cursors: Box<RawValue> = wire::raw(wire::json(&cursors));
        let server_time = self.feed.live.now();
        self.out.ping(b"").await.map_err(|_| Stop::Gone)?;
        self.say(&Say::Heartbeat { server_time, cursors: &cursors }).await
    }

    /// Whether the session still holds. A store that is away says nothing about it.
    async fn check(&mut self) -> Step {
        match self.feed.auth.still_holds(&self.caller).await {
            Ok(false) => {
                Err(Stop::Close(Close(4401, "sessionEnded", "the session is not valid any more".to_owned())))
            }
            Ok(true) | Err(_) => Ok(()),
        }
    }

    fn cursor(&self, subscription: &Subscription) -> String {
        let (sealer, now) = (&self.feed.auth.sealer, self.feed.live.now());
        cursor::seal(sealer, subscription.audience, subscription.next_sequence, now)
    }

    async fn refuse(&mut self, id: Option<&str>, code: &str, detail: &str) -> Step {
        self.say(&Say::Error { id, code, detail }).await
    }

    async fn say(&mut self, say: &Say<'_>) -> Step {
        self.send(wire::json(say)).await
    }

    /// Hands a message to the socket; a client that takes nothing for too long is closed.
    async fn send(&mut self, text: String) -> Step {
        match timeout(self.feed.limits.write_within, self.out.text(text)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Stop::Gone),
            Err(_) => Err(Stop::Close(Close(4408, "slowReader", "the client does not read".to_owned()))),
        }
    }
}

fn restarting() -> Stop {
    Stop::Close(Close(1012, "restarting", "the server restarts".to_owned()))
}

/// Whose vehicles a caller's subscription shows; another organization's are not to be found.
fn audience(caller: &Caller, asked: &Subscribe) -> Option<Audience> {
    match (caller.organization_id, asked.filter.organization_id) {
        (Some(own), named) if named.is_none_or(|named| named == own) => Some(Audience::Organization(own)),
        (Some(_), _) => None,
        (None, Some(named)) => Some(Audience::Organization(named)),
        (None, None) => Some(Audience::Everyone),
    }
}

/// The next commit of any subscription; `None` when that one has lagged too far behind.
async fn next_update(subscriptions: &mut [Subscription]) -> (usize, Option<Arc<Update>>) {
    std::future::poll_fn(|cx| {
        for (index, subscription) in subscriptions.iter_mut().enumerate() {
            if let Poll::Ready(update) = subscription.watch.updates.poll_recv(cx) {
                return Poll::Ready((index, update));
            }
        }
        Poll::Pending
    })
    .await
}

/// Waits until some subscription's delta is due.
async fn delta_due(subscriptions: &[Subscription]) {
    match subscriptions.iter().filter_map(Subscription::delta_due).min() {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
