//! The feed of one shard of a cluster, as the node that serves an operator reads it: the messages of `/v1/ws/live`, from the node
//! that has the shard. Knows no way there.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use actix_codec::Framed;
use actix_http::ws::{Codec, Frame, Message};
use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use waypost_actors::watch::Audience;

use super::cursor;
use super::protocol::Subscribe;
use super::wire::json;
use crate::auth::{Auth, CursorSigner};

/// What a pass is signed for, with which a node says whom another node's feed is for.
pub const PASS: &str = "feed of a shard";
/// Bytes of the longest message of a feed.
pub const MOST_BYTES: usize = 8 * 1024 * 1024;
/// Messages that wait for the client; then no more are read.
const WAITING: usize = 8;

/// A socket to the feed of a shard.
pub struct ShardSocket {
    /// The connection.
    pub framed: Framed<TcpStream, Codec>,
    /// Completes once another node has the shard. A node that stands still says nothing of it.
    pub moved: LocalBoxFuture<'static, ()>,
}

/// Opens the feeds of a cluster's shards.
pub trait ShardFeeds {
    /// How many shards there are.
    fn count(&self) -> usize;

    /// A socket to the feed of a shard, by its place from 0 on, for whom the pass names.
    fn open<'a>(&'a self, place: usize, pass: &'a str) -> LocalBoxFuture<'a, io::Result<ShardSocket>>;
}

/// What a shard's feed says, as far as it matters to who reads several.
pub(super) enum ShardMessage {
    /// The subscription is active. `next`: the number of the next event; `resumed`: whether that is where it was asked to go on.
    Subscribed { next: i64, resumed: bool },
    /// A part of the snapshot.
    Snapshot { last: bool, vehicles: Box<RawValue>, occupancy: Box<RawValue> },
    /// An event or a change. `next`: the number after it; `cursor`: how its text says that.
    Entry { kind: &'static str, next: i64, cursor: String, text: String },
    /// What has changed.
    Delta(String),
    /// Whether reports of trackers are stored, and with a heartbeat the number of the next event.
    Storing { storing: bool, next: Option<i64> },
    /// The reader was too slow for it.
    TooSlow,
}

/// A message of a feed. Its other members are passed on unread.
#[derive(Deserialize)]
struct Read<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    cursor: Option<String>,
    mode: Option<&'a str>,
    last: Option<bool>,
    storing: Option<bool>,
    reason: Option<&'a str>,
    vehicles: Option<Box<RawValue>>,
    occupancy: Option<Box<RawValue>>,
    cursors: Option<HashMap<String, String>>,
}

/// What the feed of a shard says to a subscription, from its beginning; it ends when the socket does.
pub(super) async fn follow(
    mut socket: ShardSocket,
    asked: &Subscribe,
    auth: Arc<Auth>,
) -> io::Result<Receiver<ShardMessage>> {
    socket.framed.send(Message::Text(json(asked).into())).await.map_err(io::Error::other)?;
    let (sender, said) = channel(WAITING);
    actix_web::rt::spawn(read(socket, auth, sender));
    Ok(said)
}

/// Reads until the socket ends, or nobody listens any more.
async fn read(mut socket: ShardSocket, auth: Arc<Auth>, sender: Sender<ShardMessage>) {
    loop {
        let frame = tokio::select! {
            frame = socket.framed.next() => frame,
            () = &mut socket.moved => return,
            () = sender.closed() => return,
        };
        let text = match frame {
            Some(Ok(Frame::Text(text))) => text,
            Some(Ok(Frame::Ping(payload))) => match socket.framed.send(Message::Pong(payload)).await {
                Ok(()) => continue,
                Err(_) => return,
            },
            Some(Ok(Frame::Pong(_))) => continue,
            Some(Ok(Frame::Binary(_) | Frame::Continuation(_) | Frame::Close(_)) | Err(_)) | None => return,
        };
        match understood(&text, &auth.cursor_signer) {
            Ok(None) => {}
            Ok(Some(said)) => match sender.send(said).await {
                Ok(()) => {}
                Err(_) => return,
            },
            Err(why) => {
                tracing::warn!(why, "the feed of another node is not understood");
                return;
            }
        }
    }
}

fn understood(text: &Bytes, signer: &CursorSigner) -> Result<Option<ShardMessage>, &'static str> {
    let text = std::str::from_utf8(text).map_err(|_| "a text that is none")?;
    let read: Read<'_> = serde_json::from_str(text).map_err(|_| "a message that is no message")?;
    let number = |cursor: &str| {
        cursor::read(signer, Audience::Everyone, cursor).map(|(next, _)| next).ok_or("a cursor of others")
    };
    let cursor = || read.cursor.clone().ok_or("no cursor");
    let entry = |kind| {
        let cursor = cursor()?;
        Ok(Some(ShardMessage::Entry { kind, next: number(&cursor)?, cursor, text: text.to_owned() }))
    };
    match read.kind {
        "subscribed" => Ok(Some(ShardMessage::Subscribed {
            next: number(&cursor()?)?,
            resumed: read.mode == Some("resumed"),
        })),
        "snapshot" => {
            let (vehicles, occupancy) = read.vehicles.zip(read.occupancy).ok_or("an empty snapshot")?;
            Ok(Some(ShardMessage::Snapshot { last: read.last == Some(true), vehicles, occupancy }))
        }
        "event" => entry("event"),
        "change" => entry("change"),
        "delta" => Ok(Some(ShardMessage::Delta(text.to_owned()))),
        "status" | "heartbeat" => {
            let next =
                read.cursors.iter().flat_map(|cursors| cursors.values()).map(|cursor| number(cursor)).next();
            Ok(Some(ShardMessage::Storing { storing: read.storing.unwrap_or(true), next: next.transpose()? }))
        }
        "reset" if read.reason == Some("slowReader") => Ok(Some(ShardMessage::TooSlow)),
        // An expired cursor: what follows says that it did not resume.
        "reset" => Ok(None),
        "error" => Err("a refusal"),
        // Of a newer version.
        _ => Ok(None),
    }
}
