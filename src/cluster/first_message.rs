//! Sockets of browsers, whose first message says whose they are: they are accepted here, and joined to the owner once
//! that came.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_http::RequestHead;
use actix_http::ws::{OpCode, Parser};
use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{StatusCode, header};
use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::exchange::Failed;
use super::from_node;
use super::head;
use super::relay::Relay;
use super::whose::Whose;
use crate::auth::ticket_organization;
use crate::connections::Peer;
use crate::feed::ticket_in;
use crate::http::problem::Problem;
use crate::http::{edge, limit};
use crate::socket;

/// The first message has to come within this, as the owner would have it.
const SAID_WITHIN: Duration = Duration::from_secs(10);
/// Bytes that it may have.
const MOST_BYTES: usize = 4 * 1024;

/// A close frame for a client that has no owner yet when this server stops: 1012, service restart.
const RESTARTING: [u8; 4] = [0x88, 2, 0x03, 0xf4];
/// A close frame for a client that may come back: 1013, try again later.
const LATER: [u8; 4] = [0x88, 2, 0x03, 0xf5];
/// A close frame for a client that the owner refused: 1008, policy violation.
const REFUSED: [u8; 4] = [0x88, 2, 0x03, 0xf0];

impl Relay {
    /// Accepts a socket and hands it on once its first message came. `owner` finds the node.
    pub fn socket_by_ticket(
        &self,
        request: ServiceRequest,
        owner: impl AsyncFn(Whose) -> Option<SocketAddr> + 'static,
    ) -> ServiceResponse<BoxBody> {
        let mut head = head::for_owner(&request, limit::client(&request), true);
        // The answer below agrees to none.
        head.headers.remove(header::SEC_WEBSOCKET_EXTENSIONS);
        let peer = request.conn_data::<Arc<Peer>>().cloned();
        let open = peer.as_ref().map(|peer| peer.another());
        let answer = match socket::handshake(request.request(), &[]) {
            Ok(answer) => {
                let relay = self.clone();
                socket::take_over(answer, move |client, read| async move {
                    serve(&relay, (client, read), peer, head, owner).await;
                    drop(open);
                })
            }
            Err(error) => {
                let refusal = error.as_response_error();
                let problem =
                    Problem::from_framework(refusal.status_code(), refusal.error_response().headers());
                edge::refused(&request, &problem)
            }
        };
        ServiceResponse::new(request.into_parts().0, answer)
    }
}

async fn serve(
    relay: &Relay,
    (mut client, mut read): (TcpStream, BytesMut),
    peer: Option<Arc<Peer>>,
    mut head: RequestHead,
    owner: impl AsyncFn(Whose) -> Option<SocketAddr>,
) {
    let opening = async {
        // Whatever else it says, or says nothing, is for a node to refuse, with what came so far.
        let said = timeout(SAID_WITHIN, first_text(&mut client, &mut read));
        let said = Peer::waits_for(peer, said).await.ok_or(Failed::Request)?.ok().flatten();
        let ticket = said.and_then(|text| ticket_in(&text));
        let whose =
            ticket.and_then(|ticket| ticket_organization(&ticket)).map_or(Whose::Nobody, Whose::Organization);
        from_node::tell_shard(&mut head.headers, whose.shard());
        match owner(whose).await {
            Some(to) => relay.open(head, to).await,
            None => Err(Failed::Owner(ErrorKind::NotConnected.into())),
        }
    };
    let goodbye = match relay.stopping.run_until_cancelled(opening).await {
        None => RESTARTING,
        Some(Ok(answered)) if answered.head.status == StatusCode::SWITCHING_PROTOCOLS => {
            return relay.join((client, read), answered).await;
        }
        Some(Ok(answered)) if answered.head.status.is_client_error() => REFUSED,
        Some(_) => LATER,
    };
    client.write_all(&goodbye).await.ok();
    client.shutdown().await.ok();
}

/// The first text that a client sends; `None` if it says something else. What was read stays in `read`.
async fn first_text(client: &mut TcpStream, read: &mut BytesMut) -> Option<String> {
    loop {
        match text_in(read) {
            FirstFrame::Text(text) => return Some(text),
            FirstFrame::SomethingElse => return None,
            FirstFrame::TooLittle if read.len() > MOST_BYTES => return None,
            FirstFrame::TooLittle => {}
        }
        if client.read_buf(read).await.ok()? == 0 {
            return None;
        }
    }
}

/// What a client has said so far.
#[derive(Debug, PartialEq, Eq)]
enum FirstFrame {
    Text(String),
    TooLittle,
    SomethingElse,
}

fn text_in(read: &BytesMut) -> FirstFrame {
    let mut frames = read.clone();
    loop {
        match Parser::parse(&mut frames, true, MOST_BYTES) {
            Ok(Some((_, OpCode::Ping | OpCode::Pong, _))) => {}
            Ok(Some((true, OpCode::Text, Some(text)))) => {
                return String::from_utf8(text.to_vec()).map_or(FirstFrame::SomethingElse, FirstFrame::Text);
            }
            Ok(Some(_)) | Err(_) => return FirstFrame::SomethingElse,
            Ok(None) => return FirstFrame::TooLittle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(all: &[(OpCode, &str)]) -> BytesMut {
        let mut bytes = BytesMut::new();
        for (kind, text) in all {
            Parser::write_message(&mut bytes, text, *kind, true, true);
        }
        bytes
    }

    #[test]
    fn the_first_text_is_found_behind_signs_of_life_and_not_before_it_is_whole() {
        let read = frames(&[(OpCode::Ping, "x"), (OpCode::Text, "hello"), (OpCode::Text, "more")]);
        assert_eq!(text_in(&read), FirstFrame::Text("hello".to_owned()));
        for length in 0..frames(&[(OpCode::Ping, "x"), (OpCode::Text, "hello")]).len() {
            assert_eq!(text_in(&BytesMut::from(&read[..length])), FirstFrame::TooLittle, "{length}");
        }
        assert_eq!(text_in(&frames(&[(OpCode::Binary, "hello")])), FirstFrame::SomethingElse);
        assert_eq!(text_in(&BytesMut::from("GET / HTTP/1.1")), FirstFrame::SomethingElse);
    }
}
