//! What only other nodes ask for: the connections and datagrams of hardware trackers, which come to any node and are served by the
//! owner of their listener's organization; and the feed of a shard, for an operator who follows all of them.

use actix_http::ConnectionType;
use actix_web::HttpResponse;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::HeaderName;
use actix_web::http::{Method, StatusCode, header};
use actix_web::web::Data;
use bytes::Bytes;
use waypost_actors::model::OrganizationId;

use super::from_node::told_address;
use crate::config::{DeviceListener, DeviceProtocol};
use crate::context::Context;
use crate::http::sockets::shard_feed;
use crate::ingest::devices::{self, datagram};
use crate::socket;

/// Where nodes reach listeners.
const DEVICES: &str = "/devices/";

/// Where nodes reach the feed of a shard.
pub(super) const FEED: &str = "/feed";
/// The header in which a node says whom a feed is for.
pub(super) const PASS: HeaderName = HeaderName::from_static("waypost-pass");

/// Where nodes reach the listener of a protocol and an organization.
pub(super) fn device_path(protocol: DeviceProtocol, organization: OrganizationId) -> String {
    format!("{DEVICES}{}/{}", protocol.as_str(), organization.0)
}

/// Whether only nodes may ask for this. A stranger's request for it is never handed on, or it would come to the owner as a node's.
pub(super) fn is_for_nodes(path: &str) -> bool {
    path == FEED || path.starts_with(DEVICES)
}

/// Answers another node that asks for a listener of this one; gives the request back if it asks for something else.
pub(super) async fn answer(
    mut request: ServiceRequest,
    context: &Data<Context>,
) -> Result<ServiceResponse, ServiceRequest> {
    if request.path() == FEED {
        let pass = request.headers().get(PASS).and_then(|pass| pass.to_str().ok()).unwrap_or_default();
        let answer = shard_feed(context, request.request(), pass).await;
        return Ok(request.into_response(answer.unwrap_or_else(|error| error.error_response())));
    }
    if !request.path().starts_with(DEVICES) {
        return Err(request);
    }
    let is_asked = |it: &&DeviceListener| request.path() == device_path(it.protocol, it.organization);
    let listener = context.settings.device_listeners.iter().find(is_asked).copied();
    let answer = match listener.map(|listener| context.device_listener(listener)) {
        // The nodes' settings differ.
        None => HttpResponse::NotFound().finish(),
        Some(listener) if *request.method() == Method::GET => {
            let mut answer = HttpResponse::new(StatusCode::SWITCHING_PROTOCOLS);
            answer.head_mut().set_connection_type(ConnectionType::Upgrade);
            answer.headers_mut().insert(header::UPGRADE, header::HeaderValue::from_static("websocket"));
            // The other node says nothing before this answer.
            socket::take_over(answer, |connection, _read| devices::serve_relayed(connection, listener))
        }
        Some(listener) => {
            let body = request.extract::<Bytes>().await.ok();
            match body.and_then(|bytes| datagram(&bytes)) {
                None => HttpResponse::BadRequest().finish(),
                Some(mut datagram) => {
                    datagram.sender = told_address(&request);
                    match devices::take_datagram(listener, datagram).await {
                        Some(answer) => HttpResponse::Ok().body(answer),
                        None => HttpResponse::NoContent().finish(),
                    }
                }
            }
        }
    };
    Ok(request.into_response(answer))
}
