//! An operator's subscription to all organizations of a cluster: the feeds of all shards as one. Order is kept within an
//! organization; between organizations none is promised.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;
use waypost_actors::model::Timestamp;

use super::cursor;
use super::ending::{Close, Stop};
use super::protocol::{Say, Subscribe};
use super::shard_feed::{PASS, ShardFeeds, ShardMessage, follow};
use super::wire::json;
use crate::auth::{Auth, Caller, CursorSigner};

/// All shards have to answer within this. One that changes its owner does within a second or two.
const BEGUN_WITHIN: Duration = Duration::from_secs(10);
/// Most of a socket, each of which is a socket for each shard.
pub(super) const MOST: usize = 2;

/// The feeds of all shards.
pub(super) struct MergedSubscription {
    pub(super) id: String,
    /// In the order of the shards.
    shards: Vec<ShardPart>,
    /// Snapshot parts told.
    parts: usize,
    /// Whether the client knows that reports are stored.
    told_storing: bool,
    /// The shard to ask first for what it says, so that they take turns.
    turn: usize,
}

/// What the client is told.
pub(super) struct FeedMessage {
    pub(super) kind: &'static str,
    /// Where events go on after it, if it is one.
    pub(super) cursor: Option<String>,
    pub(super) text: String,
}

struct ShardPart {
    said: Receiver<ShardMessage>,
    /// The number of the next event.
    next: i64,
    resumed: bool,
    /// Whether its snapshot is still to come. What it says after that waits until those of all shards are told.
    in_snapshot: bool,
    storing: bool,
}

impl ShardPart {
    /// Subscribes, and waits until that is so.
    async fn begin(
        (feeds, place): (&dyn ShardFeeds, usize),
        (pass, auth): (&str, &Arc<Auth>),
        asked: &Subscribe,
        has_snapshot: bool,
    ) -> std::io::Result<Self> {
        let socket = feeds.open(place, pass).await?;
        let mut said = follow(socket, asked, Arc::clone(auth)).await?;
        match said.recv().await {
            Some(ShardMessage::Subscribed { next, resumed }) => {
                Ok(Self { said, next, resumed, in_snapshot: has_snapshot, storing: true })
            }
            _ => Err(std::io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl MergedSubscription {
    /// Subscribes at all shards. `from`: where each goes on; `has_snapshot`: whether one is to come.
    pub(super) async fn begin(
        feeds: &dyn ShardFeeds,
        (auth, caller): (&Arc<Auth>, &Caller),
        asked: &Subscribe,
        (from, has_snapshot): (Option<Vec<String>>, bool),
    ) -> Result<Self, Stop> {
        let from = from.filter(|cursors| cursors.len() == feeds.count());
        let pass = auth.stream_pass(PASS, caller);
        let of_shard = |place: usize| Subscribe {
            cursor: from.as_ref().map(|cursors| cursors[place].clone()),
            ..asked.clone()
        };
        let shards = (0..feeds.count()).map(async |place| {
            ShardPart::begin((feeds, place), (&pass, auth), &of_shard(place), has_snapshot).await
        });
        match timeout(BEGUN_WITHIN, try_join_all(shards)).await {
            Ok(Ok(shards)) => {
                Ok(Self { id: asked.id.clone(), shards, parts: 0, told_storing: true, turn: 0 })
            }
            Ok(Err(_)) | Err(_) => Err(changing()),
        }
    }

    /// Whether all go on where the client was.
    pub(super) fn resumed(&self) -> bool {
        self.shards.iter().all(|shard| shard.resumed)
    }

    /// What the client is told of what a shard said, if anything.
    pub(super) fn take(
        &mut self,
        place: usize,
        said: Option<ShardMessage>,
        (signer, now): (&CursorSigner, Timestamp),
    ) -> Result<Option<FeedMessage>, Stop> {
        let shard = &mut self.shards[place];
        match said {
            Some(ShardMessage::Snapshot { last, vehicles, occupancy }) => {
                shard.in_snapshot = !last;
                let (part, last) = (self.parts, !self.in_snapshot());
                self.parts += 1;
                let (vehicles, occupancy) = (&*vehicles, &*occupancy);
                Ok(Some(FeedMessage::of(&Say::Snapshot { id: &self.id, part, last, vehicles, occupancy })))
            }
            Some(ShardMessage::Entry { kind, next, cursor, text }) => {
                shard.next = next;
                let all = self.cursor(signer, now);
                let text = text.replacen(&cursor, &all, 1);
                Ok(Some(FeedMessage { kind, cursor: Some(all), text }))
            }
            Some(ShardMessage::Delta(text)) => Ok(Some(FeedMessage { kind: "delta", cursor: None, text })),
            Some(ShardMessage::Storing { storing, next }) => {
                shard.next = next.map_or(shard.next, |next| next.max(shard.next));
                shard.storing = storing;
                let storing = self.storing();
                let is_news = std::mem::replace(&mut self.told_storing, storing) != storing;
                Ok(is_news.then(|| FeedMessage::of(&Say::Status { storing })))
            }
            Some(ShardMessage::TooSlow) => {
                let detail = "too slow for this feed; resume with the last cursor";
                Err(Stop::Close(Close(4408, "slowReader", detail.to_owned())))
            }
            Some(ShardMessage::Subscribed { .. }) | None => Err(changing()),
        }
    }

    /// What a shard says next, and its place; `None`: it says nothing any more.
    fn poll_said(&mut self, cx: &mut Context<'_>) -> Poll<(usize, Option<ShardMessage>)> {
        let (count, in_snapshot) = (self.shards.len(), self.in_snapshot());
        for place in (0..count).map(|number| (self.turn + number) % count) {
            let shard = &mut self.shards[place];
            if in_snapshot && !shard.in_snapshot {
                continue;
            }
            if let Poll::Ready(said) = shard.said.poll_recv(cx) {
                self.turn = place + 1;
                return Poll::Ready((place, said));
            }
        }
        Poll::Pending
    }

    fn in_snapshot(&self) -> bool {
        self.shards.iter().any(|shard| shard.in_snapshot)
    }

    /// Whether the reports of all shards are stored.
    pub(super) fn storing(&self) -> bool {
        self.shards.iter().all(|shard| shard.storing)
    }

    /// Where its events go on.
    pub(super) fn cursor(&self, signer: &CursorSigner, now: Timestamp) -> String {
        let numbers: Vec<i64> = self.shards.iter().map(|shard| shard.next).collect();
        cursor::sign_all(signer, &numbers, now)
    }
}

/// What a shard says to any of the subscriptions: which one it is, the shard's place, and what it says.
pub(super) async fn next_said(merged: &mut [MergedSubscription]) -> (usize, usize, Option<ShardMessage>) {
    poll_fn(|cx| {
        for (index, known) in merged.iter_mut().enumerate() {
            if let Poll::Ready((place, said)) = known.poll_said(cx) {
                return Poll::Ready((index, place, said));
            }
        }
        Poll::Pending
    })
    .await
}

impl FeedMessage {
    fn of(say: &Say<'_>) -> Self {
        Self { kind: say.as_event().0, cursor: None, text: json(say) }
    }
}

/// The close when a shard cannot be followed: it is about to have another owner.
fn changing() -> Stop {
    let detail = "the server of some organizations is changing; resume by the last cursor";
    Stop::Close(Close(1012, "restarting", detail.to_owned()))
}
