//! The feeds of all shards, for an operator who follows every organization: a socket to each shard's owner, this node among them.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

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
use super::router::{LOOK_EVERY, OWNER_WITHIN, Router, Way};
use super::shards::Place;
use crate::feed::shard_feed::{MOST_BYTES, ShardFeeds, ShardSocket};
use crate::store::shard::Shard;

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
                    // Its owner is gone, and another is about to be.
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
        let owner = match self.way(shard).await {
            Some(Way::Here(_)) => self.parts.node,
            Some(Way::To(owner)) => owner,
            None => return Err(ErrorKind::NotConnected.into()),
        };
        let asked = self.relay.open(asking(shard, pass)?, owner).await;
        let (socket, answer) = asked.map_err(io::Error::other)?;
        if answer.status != StatusCode::SWITCHING_PROTOCOLS {
            return Err(io::Error::other(answer.status.to_string()));
        }
        let framed = socket.into_map_codec(|_| Codec::new().client_mode().max_size(MOST_BYTES));
        Ok(ShardSocket { framed, moved: self.moved(shard, owner).boxed_local() })
    }

    /// Completes once another node than this one is known to have a shard.
    fn moved(&self, shard: Shard, from: SocketAddr) -> impl Future<Output = ()> + use<> {
        let (shards, node) = (self.parts.shards.clone(), self.parts.node);
        async move {
            loop {
                sleep(LOOK_EVERY * 10).await;
                let owner = match shards.place(shard) {
                    Place::Here(_) => node,
                    Place::At(owner) => owner,
                    Place::Unknown => continue,
                };
                if owner != from {
                    return;
                }
            }
        }
    }
}

fn asking(shard: Shard, pass: &str) -> io::Result<RequestHead> {
    let mut head = RequestHead::default();
    head.method = Method::GET;
    head.uri = Uri::from_static(FEED);
    head::ask_for_socket(&mut head);
    for (name, value) in [
        (header::HOST, "node"),
        (header::SEC_WEBSOCKET_VERSION, "13"),
        // Whoever answers is a node, so the answer is not compared with it.
        (header::SEC_WEBSOCKET_KEY, "d2F5cG9zdCBub2RlIGZlZQ=="),
    ] {
        head.headers.insert(name, HeaderValue::from_static(value));
    }
    head.headers.insert(PASS, HeaderValue::from_str(pass).map_err(io::Error::other)?);
    from_node::tell_shard(&mut head.headers, shard);
    Ok(head)
}
