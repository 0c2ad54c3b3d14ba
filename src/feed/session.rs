//! One dispatcher's socket, from its sign-in to its close code; or their stream of events, which subscribes once.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use serde_json::value::RawValue;
use tokio::sync::mpsc::Sender;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use waypost_actors::live::Storing;
use waypost_actors::model::{Change, OrganizationId};
use waypost_actors::watch::{Audience, News};

use super::ending::{Close, Stop, broken, ended, goodbye, not_text, session_over, stopped};
use super::filter::Filter;
use super::heard::{self, Unread, told};
use super::merged::{self, MergedSubscription, next_said};
use super::outlet::{EventStream, Inlet, Outlet, Telling};
use super::parts::Feed;
use super::protocol::{Heard, MAX_FRAME_BYTES, Say, Subscribe};
use super::sign_in::{audience, may_subscribe, sign_in};
use super::subscription::Subscription;
use super::wire;
use crate::auth::Caller;
use crate::connections::Peer;
use crate::domain::change::ShownChange;
use crate::domain::field::FieldError;
use crate::sessions::{End, Sessions};
use crate::socket::Broken;
use crate::socket::{Closed, Frame, Message, Messages, Out};

/// How a socket was opened.
pub struct Opening {
    /// The caller, if a header identified it; otherwise a ticket must come first.
    pub caller: Option<Caller>,
    /// The client's side of the connection, on which such a ticket is awaited.
    pub peer: Option<Arc<Peer>>,
    /// The organization that an operator named when it was opened.
    pub organization: Option<OrganizationId>,
    /// The registry of open sockets.
    pub sessions: Sessions,
    /// What a caller may see of a change.
    pub show_change: ShowChange,
}

/// Reads what a caller may see of a change of master data now; `None`: nothing. The error is the store's.
pub type ShowChange =
    Rc<dyn Fn(Caller, Change) -> LocalBoxFuture<'static, Result<Option<ShownChange>, String>>>;

/// If the store takes longer than this to check a session, the next check decides.
const CHECK_WITHIN: Duration = Duration::from_secs(2);
/// Bytes that may wait for the connection before sending pauses. One message may exceed it, because messages are not
/// cut.
const ROOM_BYTES: usize = 64 * 1024;
/// Pings that may stay unanswered.
const MISSED_PINGS: u32 = 3;

pub(super) type Step = Result<(), Stop>;

/// A signed-in socket and what it subscribed to.
pub(super) struct Socket {
    out: Outlet,
    pub(super) feed: Feed,
    pub(super) caller: Caller,
    organization: Option<OrganizationId>,
    pub(super) show_change: ShowChange,
    pub(super) subscriptions: Vec<Subscription>,
    /// Those that are of other nodes, too.
    pub(super) merged: Vec<MergedSubscription>,
    pub(super) resets: Vec<Instant>,
    stopping: watch::Receiver<Option<End>>,
    storing: Storing,
    /// What the client last heard of it.
    told_storing: bool,
    /// Pings since the last sign of life.
    unanswered: u32,
    /// The subscription to ask first for its next news, so that they take turns.
    turn: usize,
}

/// Serves a dispatcher's socket until it closes.
pub async fn run(out: Out, mut messages: Messages, feed: Feed, opening: Opening) {
    let Opening { caller, peer, organization, sessions, show_change } = opening;
    let mut stopping = sessions.stopping();
    let caller = match caller {
        Some(caller) => Ok(caller),
        None => tokio::select! {
            caller = sign_in(&mut messages, peer, &feed) => caller,
            end = stopped(&mut stopping) => Err(ended(end)),
        },
    };
    let out = Outlet::Socket(out);
    match caller {
        Ok(caller) => {
            let opened = (caller, organization, sessions, show_change);
            attend(out, Inlet::Socket(messages), feed, opened, None).await
        }
        Err(stop) => goodbye(out, stop).await,
    }
}

/// Serves a stream of events until its client is gone, by one subscription. `body`: what is sent there is the answer's
/// body. `pass`: what each id has behind its cursor and a dot.
pub async fn stream(
    (body, pass): (Sender<Bytes>, Option<String>),
    feed: Feed,
    caller: Caller,
    (sessions, show_change): (Sessions, ShowChange),
    asked: Subscribe,
) {
    let out = Outlet::Stream(EventStream::new(body.clone(), pass));
    attend(out, Inlet::Stream(body), feed, (caller, None, sessions, show_change), Some(asked)).await;
}

/// Why a subscription is refused, by its code and for people; `None` if it is not.
#[must_use]
pub async fn refusal(feed: &Feed, caller: &Caller, asked: &Subscribe) -> Option<(&'static str, String)> {
    asked_for(feed, (caller, None), asked).await.err().map(|(code, error)| (code, told(&[error])))
}

/// What is to be sent, or why that is refused: a code, and the member.
async fn asked_for(
    feed: &Feed,
    (caller, organization): (&Caller, Option<OrganizationId>),
    asked: &Subscribe,
) -> Result<Filter, (&'static str, FieldError)> {
    may_subscribe(caller, asked)
        .map_err(|(pointer, detail)| ("forbidden", FieldError::new(pointer, "forbidden", detail)))?;
    let nobody = || FieldError::new("/filter/organizationId", "notFound", "no such organization");
    let audience = audience(caller, organization, asked).ok_or_else(|| ("notFound", nobody()))?;
    if !(feed.serves)(audience) && feed.shards_of(audience).is_none() {
        let detail =
            "not served here: connect with ?organizationId= in the address, once for each organization";
        return Err(("organizationRequired", FieldError::new("/filter/organizationId", "required", detail)));
    }
    // Only operators may name any. Who cannot be looked up now is told of once it can.
    if let (Audience::Organization(named), Ok(None)) = (audience, caller.own_organization())
        && matches!(feed.auth.organization_status(named).await, Ok(None))
    {
        return Err(("notFound", nobody()));
    }
    Filter::new(asked, audience, caller.sees())
        .map_err(|detail| ("invalidSubscription", FieldError::new("/filter/bbox", "range", detail)))
}

async fn attend(
    out: Outlet,
    inlet: Inlet,
    feed: Feed,
    (caller, organization, sessions, show_change): (Caller, Option<OrganizationId>, Sessions, ShowChange),
    asked: Option<Subscribe>,
) {
    let place = sessions.watch(caller.id, caller.credential.id(), caller.organization_id);
    let mut socket = Socket {
        out,
        storing: feed.live.storing(),
        feed,
        caller,
        organization,
        show_change,
        subscriptions: Vec::new(),
        merged: Vec::new(),
        resets: Vec::new(),
        stopping: place.ending.clone(),
        told_storing: true,
        unanswered: 0,
        turn: 0,
    };
    // A revocation since the lookup found no socket to end, so check again now that it is registered.
    let begun = match socket.check().await {
        Ok(()) => match &asked {
            Some(asked) => socket.subscribe(asked).await,
            None => Ok(()),
        },
        Err(stop) => Err(stop),
    };
    let stop = match begun {
        Ok(()) => socket.serve(inlet).await,
        Err(stop) => stop,
    };
    goodbye(socket.out, stop).await;
}

impl Socket {
    async fn serve(&mut self, mut messages: Inlet) -> Stop {
        let every = |period: Duration| {
            let mut ticks = interval(period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks.reset();
            ticks
        };
        let mut heartbeat = every(self.feed.limits.heartbeat_every);
        let mut check = every(self.feed.limits.check_every);
        loop {
            let due = self.subscriptions.iter().filter_map(Subscription::delta_due).min();
            let has_waiting = self.out.waiting_bytes() > 0;
            let step = tokio::select! {
                // Biased, with writing last, so that one write carries everything there is to send.
                biased;
                end = stopped(&mut self.stopping) => return ended(end),
                message = messages.next() => {
                    self.unanswered = 0;
                    self.hear(message).await
                }
                (index, news) = next_news(&mut self.subscriptions, self.turn) => {
                    self.turn = index + 1;
                    self.news(index, news).await
                }
                (index, shard, said) = next_said(&mut self.merged) => self.said(index, shard, said).await,
                () = until(due) => self.deltas().await,
                () = self.storing.other_than(self.told_storing) => self.tell_storing().await,
                _ = heartbeat.tick() => self.heartbeat().await,
                _ = check.tick() => self.check().await,
                taken = self.out.flush(), if has_waiting => taken.map_err(|Closed| Stop::Gone),
            };
            if let Err(stop) = step {
                return stop;
            }
        }
    }

    async fn hear(&mut self, message: Option<Result<Message, Broken>>) -> Step {
        match message {
            Some(Ok(Message::Text(text))) => match heard::read(&text) {
                Ok(Heard::Subscribe(asked)) => self.subscribe(&asked).await,
                Ok(Heard::Unsubscribe { id }) => {
                    self.unsubscribe(&id);
                    Ok(())
                }
                Ok(Heard::Ping {}) => self.say(&Say::Pong { server_time: self.feed.live.now() }).await,
                Ok(Heard::Authenticate { .. }) => {
                    let detail = "the socket is signed in already";
                    self.refuse(None, "alreadyAuthenticated", detail, &[]).await
                }
                Err(Unread::Wrong { id, code, errors }) => {
                    self.refuse(id.as_deref(), code, &told(&errors), &errors).await
                }
                Err(Unread::NoJson(detail)) => Err(Stop::Close(Close(4400, "malformedFrame", detail))),
            },
            Some(Ok(Message::Ping(payload))) => self.send(Frame::pong(&payload)).await,
            Some(Ok(Message::Pong)) => Ok(()),
            Some(Ok(Message::Binary(_))) => Err(not_text()),
            Some(Ok(Message::Close(code))) => Err(Stop::Goodbye(code)),
            None => Err(Stop::Gone),
            Some(Err(why)) => Err(broken(why, MAX_FRAME_BYTES)),
        }
    }

    async fn subscribe(&mut self, asked: &Subscribe) -> Step {
        let ids = self.subscriptions.iter().map(|known| &known.id);
        let others =
            ids.chain(self.merged.iter().map(|known| &known.id)).filter(|id| **id != asked.id).count();
        if others >= self.feed.limits.subscriptions {
            let detail = format!("a socket may have {} subscriptions", self.feed.limits.subscriptions);
            return self.refuse(Some(&asked.id), "tooManySubscriptions", &detail, &[]).await;
        }
        let filter = match asked_for(&self.feed, (&self.caller, self.organization), asked).await {
            Ok(filter) => filter,
            Err((code, error)) => {
                let errors = [error];
                return self.refuse(Some(&asked.id), code, &told(&errors), &errors).await;
            }
        };
        let shards = self.feed.shards_of(filter.interest.audience).cloned();
        let other_merged = self.merged.iter().filter(|known| known.id != asked.id).count();
        if shards.is_some() && other_merged >= merged::MOST {
            let detail = format!("a socket may have {} subscriptions to all organizations", merged::MOST);
            return self.refuse(Some(&asked.id), "tooManySubscriptions", &detail, &[]).await;
        }
        self.unsubscribe(&asked.id);
        match shards {
            Some(shards) => self.begin_merged(asked, &filter, &*shards).await,
            None => self.begin(asked, filter).await,
        }
    }

    fn unsubscribe(&mut self, id: &str) {
        self.subscriptions.retain(|known| known.id != id);
        self.merged.retain(|known| known.id != id);
    }

    async fn heartbeat(&mut self) -> Step {
        let cursors = self.cursors();
        if self.out.is_stream() {
            let cursor = cursors.into_values().next();
            self.out.keep_alive(cursor.as_deref());
            return Ok(());
        }
        if self.unanswered >= MISSED_PINGS {
            return Err(Stop::Close(Close(4408, "timeout", "no sign of life for three pings".to_owned())));
        }
        self.unanswered += 1;
        let cursors: Box<RawValue> = wire::raw(wire::json(&cursors));
        let server_time = self.feed.live.now();
        self.send(Frame::ping()).await?;
        let storing = self.storing.is_so() && self.merged.iter().all(MergedSubscription::storing);
        self.say(&Say::Heartbeat { server_time, cursors: &cursors, storing }).await
    }

    /// Where each subscription's events go on, by its name.
    fn cursors(&self) -> BTreeMap<String, String> {
        let (signer, now) = (&self.feed.auth.cursor_signer, self.feed.live.now());
        let own = self.subscriptions.iter().map(|known| (known.id.clone(), self.cursor(known)));
        own.chain(self.merged.iter().map(|known| (known.id.clone(), known.cursor(signer, now)))).collect()
    }

    async fn tell_storing(&mut self) -> Step {
        self.told_storing = !self.told_storing;
        self.say(&Say::Status { storing: self.told_storing }).await
    }

    /// Ends the socket unless its session is still valid. While the store is away this is unknown, and the socket
    /// stays.
    async fn check(&mut self) -> Step {
        match timeout(CHECK_WITHIN, self.feed.auth.still_holds(&self.caller)).await {
            Ok(Ok(false)) => Err(session_over()),
            Ok(Ok(true) | Err(_)) | Err(_) => Ok(()),
        }
    }

    async fn refuse(&mut self, id: Option<&str>, code: &str, detail: &str, errors: &[FieldError]) -> Step {
        self.say(&Say::Error { id, code, detail, errors }).await
    }

    pub(super) async fn say(&mut self, say: &Say<'_>) -> Step {
        let (kind, cursor) = say.as_event();
        self.tell_client(Telling { kind, cursor, text: &[&wire::json(say)] }).await
    }

    /// Hands a message to the connection once it has room.
    pub(super) async fn tell_client(&mut self, telling: Telling<'_>) -> Step {
        self.room().await?;
        self.out.tell(&telling);
        Ok(())
    }

    /// Whether frames made for many at once can be handed on as they are.
    pub(super) const fn takes_frames(&self) -> bool {
        !self.out.is_stream()
    }

    /// Hands a frame to the connection once it has room; a client that takes nothing for too long is closed. A client
    /// that does not read cannot keep the server from stopping.
    pub(super) async fn send(&mut self, frame: Frame) -> Step {
        self.room().await?;
        self.out.give(frame);
        Ok(())
    }

    async fn room(&mut self) -> Step {
        if self.out.waiting_bytes() >= ROOM_BYTES {
            tokio::select! {
                biased;
                taken = timeout(self.feed.limits.write_within, self.out.room(ROOM_BYTES)) => match taken {
                    Ok(taken) => taken.map_err(|Closed| Stop::Gone)?,
                    Err(_) => {
                        let detail = "the client does not read".to_owned();
                        return Err(Stop::Close(Close(4408, "slowReader", detail)));
                    }
                },
                end = stopped(&mut self.stopping) => return Err(ended(end)),
            }
        }
        Ok(())
    }
}

/// The next news of any subscription, asking number `first` before the others.
async fn next_news(subscriptions: &mut [Subscription], first: usize) -> (usize, News) {
    let count = subscriptions.len();
    std::future::poll_fn(|cx| {
        for index in (0..count).map(|number| (first + number) % count) {
            if let Poll::Ready(news) = subscriptions[index].poll_news(cx) {
                return Poll::Ready((index, news));
            }
        }
        Poll::Pending
    })
    .await
}

/// Waits for an instant; for ever without one.
async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
