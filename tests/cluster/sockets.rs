//! Sockets are joined to the owner byte by byte, until one side ends.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, accept_async, connect_async};
use waypost::auth::{Caller, Tickets};
use waypost_actors::model::Timestamp;

use crate::nodes::{Edge, FLEET, SOON, bare, edge, head, rest, say};

type Client = WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>;

const ASKED: &str = "GET /v1/ws/tracker HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
    sec-websocket-extensions: permessage-deflate\r\nsec-websocket-version: 13\r\n\
    sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const AGREED: &str = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
    sec-websocket-extensions: permessage-deflate\r\nx-owner: 1\r\n\r\n";

/// An owner that says everything back; tells of each socket that ended.
fn echo() -> (SocketAddr, UnboundedReceiver<()>) {
    let (ended, ends) = unbounded_channel();
    let owner = bare(move |stream| {
        let ended = ended.clone();
        async move {
            let mut socket = accept_async(stream).await.unwrap();
            while let Some(Ok(message)) = socket.next().await {
                if message.is_text() && message.to_text().unwrap() == "end" {
                    socket.close(None).await.ok();
                } else if !message.is_close() {
                    socket.send(message).await.ok();
                }
            }
            ended.send(()).ok();
        }
    });
    (owner, ends)
}

async fn connect(edge: &Edge) -> Client {
    connect_async(format!("ws://{}/v1/ws/live", edge.address)).await.unwrap().0
}

async fn next(socket: &mut Client) -> Option<Message> {
    timeout(SOON, socket.next()).await.expect("something comes in time").and_then(Result::ok)
}

#[actix_rt::test]
async fn messages_of_any_size_pass_both_ways_until_one_side_ends() {
    let (owner, mut ends) = echo();
    let edge = edge(owner, false);
    let mut socket = connect(&edge).await;
    for length in [0, 1, 125, 70_000, 3 << 20] {
        let message = Message::text("a".repeat(length));
        socket.send(message.clone()).await.unwrap();
        assert_eq!(next(&mut socket).await, Some(message), "{length}");
    }
    socket.send(Message::text("end")).await.unwrap();
    assert!(next(&mut socket).await.unwrap().is_close());
    assert_eq!(next(&mut socket).await, None);
    timeout(SOON, ends.recv()).await.unwrap().unwrap();

    // A client that vanishes.
    drop(connect(&edge).await);
    timeout(SOON, ends.recv()).await.expect("the owner hears of it").unwrap();
}

#[actix_rt::test]
async fn bytes_are_not_looked_at_and_extensions_pass() {
    let owner = bare(|mut stream| async move {
        let asked = head(&mut stream).await;
        assert!(asked.contains("sec-websocket-extensions: permessage-deflate"), "{asked}");
        // What is said at once with the head belongs to the socket.
        stream.write_all(format!("{AGREED}hello").as_bytes()).await.unwrap();
        let all = rest(&mut stream).await;
        stream.write_all(&all).await.unwrap();
    });
    let edge = edge(owner, false);
    let mut stream = say(edge.address, &format!("{ASKED}early ")).await;
    let agreed = head(&mut stream).await;
    for line in
        ["101 Switching", "sec-websocket-extensions: permessage-deflate", "x-owner: 1", "upgrade: websocket"]
    {
        assert!(agreed.contains(line), "{line}: {agreed}");
    }
    let noise: Vec<u8> = (0..200_000_u32).map(|number| (number * 7 / 3) as u8).collect();
    stream.write_all(&noise).await.unwrap();
    // One half ends; the other still says what it has to say.
    stream.shutdown().await.unwrap();
    let said = rest(&mut stream).await;
    let expected = [b"helloearly ", noise.as_slice()].concat();
    assert!(said == expected, "{} bytes instead of {}", said.len(), expected.len());
}

#[actix_rt::test]
async fn a_server_that_stops_ends_its_sockets_and_those_of_an_owner_that_ends() {
    let (owner, mut ends) = echo();
    let stopped = edge(owner, false);
    let mut socket = connect(&stopped).await;
    stopped.stopping.cancel();
    assert_eq!(next(&mut socket).await, None);
    timeout(SOON, ends.recv()).await.unwrap().unwrap();
    // One that has not said whose it is is told why.
    let stopped = edge(owner, true);
    let mut silent = connect(&stopped).await;
    stopped.stopping.cancel();
    let Some(Message::Close(Some(why))) = next(&mut silent).await else { panic!("it is told") };
    assert_eq!(u16::from(why.code), 1012);

    let owner = bare(|mut stream| async move {
        head(&mut stream).await;
        stream.write_all(AGREED.as_bytes()).await.unwrap();
    });
    let edge = edge(owner, false);
    let mut stream = say(edge.address, ASKED).await;
    head(&mut stream).await;
    assert_eq!(rest(&mut stream).await, b"");
}

#[actix_rt::test]
async fn a_browsers_socket_goes_where_its_ticket_says_with_all_that_it_said() {
    let (owner, _ends) = echo();
    let edge = edge(owner, true);
    let caller = Caller { organization_id: Some(FLEET), ..Caller::console() };
    let (ticket, _) =
        Tickets::default().issue(caller.clone(), caller.organization_id, Timestamp::from_micros(0)).unwrap();
    let authenticate = Message::text(format!(r#"{{"type":"authenticate","ticket":"{ticket}"}}"#));
    let mut socket = connect(&edge).await;
    socket.send(authenticate.clone()).await.unwrap();
    socket.send(Message::text("more")).await.unwrap();
    assert_eq!(next(&mut socket).await, Some(authenticate));
    assert_eq!(next(&mut socket).await, Some(Message::text("more")));

    let mut stranger = connect(&edge).await;
    stranger.send(Message::text("hello")).await.unwrap();
    let Some(Message::Close(Some(why))) = next(&mut stranger).await else { panic!("nobody has it") };
    assert_eq!(u16::from(why.code), 1013);
}

#[actix_rt::test]
async fn a_socket_says_nothing_more_if_the_owner_says_no() {
    for (status, code) in [("403 Forbidden", 1008), ("503 Service Unavailable", 1013)] {
        let owner = bare(move |mut stream| async move {
            head(&mut stream).await;
            stream
                .write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes())
                .await
                .unwrap();
            stream.read_u8().await.ok();
        });
        let edge = edge(owner, true);
        let caller = Caller { organization_id: Some(FLEET), ..Caller::console() };
        let (ticket, _) = Tickets::default()
            .issue(caller.clone(), caller.organization_id, Timestamp::from_micros(0))
            .unwrap();
        let mut socket = connect(&edge).await;
        socket
            .send(Message::text(format!(r#"{{"type":"authenticate","ticket":"{ticket}"}}"#)))
            .await
            .unwrap();
        let Some(Message::Close(Some(why))) = next(&mut socket).await else { panic!("it is refused") };
        assert_eq!(u16::from(why.code), code);
    }
}
