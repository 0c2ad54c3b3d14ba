//! Requests that another node hands on: how they are known, and whose they are.
//!
//! Only connections of the nodes' own listener are marked, so what anybody else says in the header counts for nothing.

use std::net::IpAddr;

use actix_http::{Extensions, RequestHead};
use actix_web::dev::ServiceRequest;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::http::{Method, Uri};

use crate::connections::Connection;
use crate::store::shard::Shard;

/// The header in which a node says where a request came from.
pub const CLIENT_ADDRESS: HeaderName = HeaderName::from_static("waypost-client-address");

/// The header in which a node says which shard it handed a request on for.
pub const SHARD: HeaderName = HeaderName::from_static("waypost-shard");

/// The header in which a node says how often a request was handed on.
const HANDED_ON: HeaderName = HeaderName::from_static("waypost-handed-on");

/// A request that arrives just after its shard was given back goes on to the next owner, but not round in a circle.
const MOST_HANDED_ON: u16 = 3;

/// Marks a connection of another node.
#[derive(Clone, Copy, Debug)]
pub struct FromNode;

/// Marks a connection of the nodes' own listener. It counts as known, because it waits for requests of everybody.
pub fn mark(connection: &Connection, requests: &mut Extensions) {
    let peer = connection.peer();
    peer.know();
    requests.insert(peer);
    requests.insert(FromNode);
}

/// Whether another node handed this request on.
#[must_use]
pub fn is_from_node(request: &ServiceRequest) -> bool {
    request.conn_data::<FromNode>().is_some()
}

/// Where a request came from that another node handed on.
#[must_use]
pub fn told_address(request: &ServiceRequest) -> Option<IpAddr> {
    let told = request.headers().get(CLIENT_ADDRESS).filter(|_| is_from_node(request))?;
    told.to_str().ok()?.parse().ok()
}

/// The shard that another node handed a request on for.
#[must_use]
pub fn told_shard(request: &ServiceRequest) -> Option<Shard> {
    let told = request.headers().get(SHARD).filter(|_| is_from_node(request))?;
    Shard::numbered(told.to_str().ok()?.parse().ok()?)
}

/// Says which shard a request is handed on for, whatever it said itself.
pub fn tell_shard(headers: &mut HeaderMap, shard: Shard) {
    headers.insert(SHARD, HeaderValue::from(u16::from(shard.number())));
    headers.insert(HANDED_ON, HeaderValue::from(1));
}

/// Says that a request of another node is handed on once more; `false` if it was too often.
pub fn tell_handed_on(headers: &mut HeaderMap) -> bool {
    let told = headers.get(HANDED_ON).and_then(|told| told.to_str().ok()?.parse().ok());
    // A node of an earlier version says nothing.
    let times: u16 = told.unwrap_or(1);
    headers.insert(HANDED_ON, HeaderValue::from(times.saturating_add(1)));
    times < MOST_HANDED_ON
}

/// The head of a node's own request to the owner of a shard.
pub(super) fn asking(method: Method, uri: Uri, shard: Shard) -> RequestHead {
    let mut head = RequestHead::default();
    (head.method, head.uri) = (method, uri);
    head.headers.insert(header::HOST, HeaderValue::from_static("node"));
    tell_shard(&mut head.headers, shard);
    head
}
