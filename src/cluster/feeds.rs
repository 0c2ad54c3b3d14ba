//! The feeds of all shards, for an operator who follows every organization: a socket to each shard's owner, this node among them.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use actix_http::RequestHead;
use actix_http::ws::Codec;
use actix_web::http::header::{self, HeaderValue};
use actix_web::http::{Method, StatusCode, Uri};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use tokio::time::{Instant, sleep};

use super::for_nodes::{FEED, PASS};
use super::from_node;
use super::head;
use super::router::{LOOK_EVERY, Router};
use super::shards::OWNER_WITHIN;
use crate::feed::shard_feed::{MOST_BYTES, ShardFeeds, ShardSocket};
use crate::store::shard::Shard;

/// Pause between two looks whether a shard that is followed has moved: as often as nodes look at who has which.
const MOVED_EVERY: Duration = Duration::from_millis(500);

impl ShardFeeds for Router {
    fn count(&self) -> usize {
        Shard::all().count()
    }

    fn open<'a>(&'a self, place: usize, pass: &'a str) -> LocalBoxFuture<'a, io::Result<ShardSocket>> {
        async move {
            let shard = Shard::all().nth(place).ok_or(ErrorKind::NotFound)?;
            let until = Instant::now() + OWNER_WITHIN;
            loop {
                match self.feed(shard, pass).await {
                    // Nobody has it, or its owner is gone: another is about to have it.
                    Err(_) if Instant::now() < until => sleep(LOOK_EVERY).await,
                    opened => return opened,
                }
            }
        }
        .boxed_local()
    }
}

impl Router {
    async fn feed(&self, shard: Shard, pass: &str) -> io::Result<ShardSocket> {
        let owner = self.parts.owner(shard).ok_or(ErrorKind::NotConnected)?;
        let asked = self.relay.open(asking(shard, pass)?, owner).await;
        let answered = asked.map_err(io::Error::other)?;
        if answered.head.status != StatusCode::SWITCHING_PROTOCOLS {
            return Err(io::Error::other(answered.head.status.to_string()));
        }
        let framed = answered.connection.into_map_codec(|_| Codec::new().client_mode().max_size(MOST_BYTES));
        Ok(ShardSocket { framed, moved: self.moved(shard, owner).boxed_local() })
    }

    /// Completes once another node than this one is known to have a shard.
    fn moved(&self, shard: Shard, from: SocketAddr) -> impl Future<Output = ()> + use<> {
        let parts = self.parts.clone();
        async move {
            while parts.owner(shard).is_none_or(|owner| owner == from) {
                sleep(MOVED_EVERY).await;
            }
        }
    }
}

fn asking(shard: Shard, pass: &str) -> io::Result<RequestHead> {
    let mut head = from_node::asking(Method::GET, Uri::from_static(FEED), shard);
    head::ask_for_socket(&mut head);
    head.headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    // A node answers, so the answer is not compared with it.
    head.headers.insert(header::SEC_WEBSOCKET_KEY, HeaderValue::from_static("d2F5cG9zdCBub2RlIGZlZQ=="));
    head.headers.insert(PASS, HeaderValue::from_str(pass).map_err(io::Error::other)?);
    Ok(head)
}
