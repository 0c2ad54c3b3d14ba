//! Hardware trackers at any node: what they send goes to the owner of their listener's organization.
//!
//! A connection is joined to one of the owner's, on which the owner says first whether the device may report; until then it counts
//! as a stranger's here. A datagram is a request of its own.

use std::net::SocketAddr;
use std::time::Duration;

use actix_http::{ConnectionType, RequestHead};
use actix_web::body::{BodySize, to_bytes_limited};
use actix_web::dev::Payload;
use actix_web::http::header::HeaderValue;
use actix_web::http::{Method, StatusCode, Uri};
use actix_web::web::Data;
use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::exchange::{Body, Failed};
use super::for_nodes::device_path;
use super::from_node::{self, CLIENT_ADDRESS};
use super::head;
use super::relay::Relay;
use super::router::{Destination, Router};
use super::shards::ShardLocation;
use super::tunnel::join;
use crate::config::DeviceListener;
use crate::connections::Connection;
use crate::context::Context;
use crate::ingest::devices::{self, ADMITTED, Datagram};
use crate::store::shard::Shard;

/// Bytes of a device that is not known yet, passed on at once.
const PIECE_BYTES: usize = 512;
/// Bytes of the longest answer to a datagram.
const ANSWER_BYTES: usize = 64;
/// A refused device has this long for what it is told.
const REFUSED_WITHIN: Duration = Duration::from_secs(5);

impl Router {
    /// Serves a device's connection until it ends.
    pub async fn serve_device(&self, connection: Connection, listener: DeviceListener) {
        match self.destination(Shard::of(listener.organization)).await {
            Some(Destination::Here(served)) => {
                let found = served.into_found();
                if let Some(context) = found.get::<Data<Context>>() {
                    devices::serve(connection, context.device_listener(listener)).await;
                }
            }
            Some(Destination::To(owner)) => {
                let departure = self.parts.shards.departure(owner);
                tokio::select! {
                    _ended = self.relay.device(connection, listener, owner) => {}
                    () = self.relay.ended(&departure) => {}
                }
            }
            // It connects again.
            None => {}
        }
    }

    /// Stores a datagram; gives its answer once that is committed. Without one, its device sends it again.
    pub async fn take_datagram(&self, datagram: Datagram, listener: DeviceListener) -> Option<Vec<u8>> {
        let (shards, shard) = (&self.parts.shards, Shard::of(listener.organization));
        match shards.location(shard) {
            ShardLocation::Here(_) => {
                let context = shards.context(shard)?;
                devices::take_datagram(context.device_listener(listener), datagram).await
            }
            ShardLocation::At(owner) => self.relay.datagram(datagram, listener, owner).await.ok(),
            ShardLocation::Unknown => None,
        }
    }
}

impl Relay {
    async fn device(
        &self,
        mut connection: Connection,
        listener: DeviceListener,
        owner: SocketAddr,
    ) -> Result<(), Failed> {
        let mut head = asking(listener, Method::GET);
        head::ask_for_socket(&mut head);
        // In boxes: a connection has no room for what it needed at its beginning.
        let answered = Box::pin(self.open(head, owner)).await?;
        if answered.head.status != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(());
        }
        let (mut stream, mut told) = answered.into_side();
        if Box::pin(verdict(&mut connection, &mut stream, &mut told)).await? == ADMITTED {
            let (device, seat) = connection.into_parts();
            join((device, BytesMut::new()), (stream, told)).await.ok();
            drop(seat);
            return Ok(());
        }
        let refused = async {
            connection.write_all(&told).await?;
            tokio::io::copy(&mut stream, &mut connection).await
        };
        timeout(REFUSED_WITHIN, refused).await.ok();
        Ok(())
    }

    async fn datagram(
        &self,
        datagram: Datagram,
        listener: DeviceListener,
        owner: SocketAddr,
    ) -> Result<Vec<u8>, Failed> {
        let mut head = asking(listener, Method::POST);
        head.set_connection_type(ConnectionType::KeepAlive);
        let sender = datagram.sender.and_then(|sender| HeaderValue::try_from(sender.to_string()).ok());
        if let Some(sender) = sender {
            head.headers.insert(CLIENT_ADDRESS, sender);
        }
        let body = Body {
            size: BodySize::Sized(datagram.raw.len() as u64),
            payload: Payload::from(datagram.raw),
            _awaited: None,
            moved: Box::new(|| ()),
        };
        let answered = self.ask(head, Some(body), owner).await?;
        let (answer, body) = self.body(answered, &Method::POST, owner, None);
        match to_bytes_limited(body, ANSWER_BYTES).await {
            Ok(Ok(bytes)) if answer.status == StatusCode::OK => Ok(bytes.to_vec()),
            _ => Err(Failed::Request),
        }
    }
}

/// The head of a request to the owner of a listener's organization.
fn asking(listener: DeviceListener, method: Method) -> RequestHead {
    let DeviceListener { protocol, organization, .. } = listener;
    let path = Uri::try_from(device_path(protocol, organization)).expect("a path of plain characters");
    from_node::asking(method, path, Shard::of(organization))
}

/// Passes on what a device says until the owner says whether it may report, in the first byte of what it says.
async fn verdict(device: &mut Connection, owner: &mut TcpStream, told: &mut BytesMut) -> std::io::Result<u8> {
    let mut piece = [0; PIECE_BYTES];
    while told.is_empty() {
        tokio::select! {
            heard = device.read(&mut piece) => match heard? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                count => owner.write_all(&piece[..count]).await?,
            },
            read = owner.read_buf(told) => if read? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            },
        }
    }
    Ok(told.split_to(1)[0])
}
