//! A client's WebSocket, as close to the wire as the tests need: frames, close codes, refusals.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::MaybeTlsStream;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{self, Message};
use waypost_client::socket::{self, Request, Socket, Unopened};

use crate::server::{Bus, DEADLINE, INSIDE, OUTSIDE, Server};

/// An open socket.
pub(crate) struct Wire {
    socket: Socket,
}

/// Why a handshake was refused.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// How the server ended a socket.
#[derive(Debug, PartialEq)]
pub(crate) struct Closed {
    pub(crate) code: u16,
    /// The code of the last `error`.
    pub(crate) word: String,
    /// Its detail.
    pub(crate) detail: String,
}

impl Wire {
    /// Opens a socket.
    pub(crate) async fn open(request: Request) -> Result<Self, Refused> {
        Self::opened(socket::open(request, DEADLINE).await)
    }

    fn opened(socket: Result<Socket, Unopened>) -> Result<Self, Refused> {
        match socket {
            Ok(socket) => Ok(Self { socket }),
            Err(Unopened::Refused { status, body }) => Err(Refused {
                status: status.as_u16(),
                body: serde_json::from_str(&body).unwrap_or_default(),
            }),
            Err(why) => panic!("no handshake: {why}"),
        }
    }

    /// A tracker's socket.
    pub(crate) async fn tracker(server: &Server, token: &str) -> Result<Self, Refused> {
        Self::open(socket::tracker(&server.url, token)).await
    }

    /// A bus's socket.
    pub(crate) async fn bus(server: &Server, bus: &Bus) -> Self {
        Self::tracker(server, &bus.token).await.expect("a bus may report")
    }

    /// A dispatcher's socket.
    pub(crate) async fn feed(server: &Server, token: &str) -> Self {
        Self::open(socket::feed(&server.url, token)).await.expect("a dispatcher may watch")
    }

    /// A dispatcher's socket with little room for what it does not read.
    pub(crate) async fn narrow_feed(server: &Server, token: &str) -> Self {
        let small = TcpSocket::new_v4().unwrap();
        small.set_recv_buffer_size(4096).unwrap();
        let stream = small.connect(server.url.trim_start_matches("http://").parse().unwrap()).await.unwrap();
        let request = socket::feed(&server.url, token);
        Self::opened(socket::open_on(stream, request, DEADLINE).await).expect("a dispatcher may watch")
    }

    /// Sends a message.
    pub(crate) async fn send(&mut self, message: Message) -> Result<(), tungstenite::Error> {
        timeout(DEADLINE, self.socket.send(message)).await.expect("the server reads")
    }

    /// Sends JSON.
    pub(crate) async fn say(&mut self, value: &Value) {
        self.text(&value.to_string()).await;
    }

    /// Sends a text.
    pub(crate) async fn text(&mut self, text: &str) {
        self.send(Message::text(text)).await.unwrap();
    }

    /// Sends a part of a text, in a frame of its own.
    pub(crate) async fn part(
        &mut self,
        part: &str,
        first: bool,
        last: bool,
    ) -> Result<(), tungstenite::Error> {
        let data = if first { Data::Text } else { Data::Continue };
        let frame = Frame::message(part.as_bytes().to_vec(), OpCode::Data(data), last);
        self.send(Message::Frame(frame)).await
    }

    /// Reports positions.
    pub(crate) async fn report(&mut self, items: Vec<Value>) {
        self.say(&json!({ "type": "positions", "items": items })).await;
    }

    /// Sends a text if the connection takes it within about a second; what it has begun to take is sent later.
    pub(crate) async fn offer(&mut self, text: &str) -> bool {
        self.socket.feed(Message::text(text)).await.unwrap();
        timeout(Duration::from_secs(1), self.socket.flush()).await.is_ok_and(|sent| sent.is_ok())
    }

    /// Sends the rest of what was offered.
    pub(crate) async fn flush(&mut self) {
        timeout(DEADLINE, self.socket.flush()).await.expect("the server reads").unwrap();
    }

    /// The underlying connection, for a client that misbehaves.
    pub(crate) fn into_raw(self) -> RawWire {
        match self.socket.into_inner() {
            MaybeTlsStream::Plain(stream) => RawWire { stream },
            _ => unreachable!("tests speak ws://"),
        }
    }

    /// The next message, whatever it is; `None` once the connection is gone.
    pub(crate) async fn message(&mut self) -> Option<Message> {
        let next = timeout(DEADLINE, self.socket.next()).await.expect("the server says something");
        next.and_then(Result::ok)
    }

    /// The next text message, or how the socket was closed.
    pub(crate) async fn next(&mut self) -> Result<Value, Option<u16>> {
        loop {
            match self.message().await {
                Some(Message::Text(text)) => return Ok(serde_json::from_str(&text).unwrap()),
                Some(Message::Close(frame)) => return Err(frame.map(|frame| frame.code.into())),
                Some(_) => {}
                None => return Err(None),
            }
        }
    }

    /// The next message, which must be of this type; heartbeats are skipped.
    #[track_caller]
    pub(crate) fn hear(&mut self, kind: &str) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        async move {
            loop {
                match self.next().await {
                    Ok(said) if said["type"] == kind => return said,
                    Ok(said) if said["type"] == "heartbeat" => {}
                    other => panic!("{caller}: {kind} was to come, not {other:?}"),
                }
            }
        }
    }

    /// Reads on to the next wanted message.
    #[track_caller]
    pub(crate) fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        async move {
            loop {
                match self.next().await {
                    Ok(said) if wanted(&said) => return said,
                    Ok(_) => {}
                    Err(closed) => panic!("{caller}: closed before it came: {closed:?}"),
                }
            }
        }
    }

    /// Reads on to the end, which must be a close with a code.
    #[track_caller]
    pub(crate) fn closed(&mut self) -> impl Future<Output = Closed> {
        let caller = std::panic::Location::caller();
        async move {
            let mut error = Value::Null;
            loop {
                match self.next().await {
                    Ok(said) if said["type"] == "error" => error = said,
                    Ok(_) => {}
                    Err(Some(code)) => {
                        let member = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
                        return Closed { code, word: member("code"), detail: member("detail") };
                    }
                    Err(None) => panic!("{caller}: the connection ended without a close code"),
                }
            }
        }
    }
}

/// A connection whose frames are read by hand: no ping is answered.
pub(crate) struct RawWire {
    stream: TcpStream,
}

impl RawWire {
    /// The next frame of the server: its opcode and payload.
    pub(crate) async fn frame(&mut self) -> (u8, Vec<u8>) {
        let read = async {
            let head = self.stream.read_u16().await.unwrap().to_be_bytes();
            let length = match head[1] {
                126 => u64::from(self.stream.read_u16().await.unwrap()),
                127 => self.stream.read_u64().await.unwrap(),
                short => u64::from(short),
            };
            let mut payload = vec![0; length as usize];
            self.stream.read_exact(&mut payload).await.unwrap();
            (head[0] & 0x0f, payload)
        };
        timeout(DEADLINE, read).await.expect("the server says something")
    }
}

/// A position item: recorded at `recorded_at` milliseconds since 1970, at a latitude.
pub(crate) fn item(seq: i64, recorded_at: i64, latitude: f64) -> Value {
    json!({ "seq": seq, "recordedAt": recorded_at, "latitude": latitude, "longitude": -97.74 })
}

/// Fixes number `from..=to`, a second apart: odd ones inside every fence of a test, even ones outside.
pub(crate) fn crossings(from: i64, to: i64) -> Vec<Value> {
    let latitude = |seq: i64| if seq % 2 == 1 { INSIDE } else { OUTSIDE };
    (from..=to).map(|seq| item(seq, 1_790_000_000_000 + seq * 1000, latitude(seq))).collect()
}

/// Items `from..=to`, a second apart, one millionth of a degree north of each other.
pub(crate) fn items(from: i64, to: i64, start: i64) -> Vec<Value> {
    (from..=to).map(|seq| item(seq, start + seq * 1000, 30.0 + seq as f64 * 1e-6)).collect()
}
