//! Clients that report at `/in`, as far as it matters what they do with an answer: what they send, what they count as
//! delivered, what they delete, and what they send again.

use std::collections::VecDeque;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A place at a second of Unix time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) second: i64,
    pub(crate) latitude: f64,
    pub(crate) longitude: f64,
}

/// What a client sends: method, what follows the token, media type, body.
struct Request(&'static str, String, &'static str, String);

/// How a client behaves.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    request: fn(&[Point]) -> Request,
    /// Points in one request.
    together: usize,
    /// Whether points go out in the order they were recorded.
    is_ordered: bool,
    is_delivered: fn(u16, &[u8]) -> bool,
    deletes_on_4xx: bool,
    /// Whether it deletes on any answer at all.
    deletes_on_5xx: bool,
    /// After so many attempts it gives a point up.
    attempts: Option<u32>,
}

/// A client with what it has to report.
pub(crate) struct StandIn {
    pub(crate) kind: &'static Kind,
    pub(crate) token: String,
    /// What it still has, with how often each was sent.
    queue: VecDeque<(Point, u32)>,
    /// What it takes for delivered.
    pub(crate) forgotten: Vec<Point>,
    /// What it deleted although it was not delivered.
    pub(crate) lost: Vec<Point>,
}

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";

fn form(point: &Point) -> String {
    let Point { second, latitude, longitude } = point;
    format!("id=1&timestamp={second}&lat={latitude}&lon={longitude}&speed=0.0&accuracy=5.0")
}

fn rfc3339(second: i64) -> String {
    waypost_actors::model::Timestamp::from_micros(second * 1_000_000).to_string()
}

fn feature(point: &Point) -> Value {
    json!({ "type": "Feature", "geometry": { "type": "Point", "coordinates": [point.longitude, point.latitude] },
        "properties": { "timestamp": rfc3339(point.second), "speed": -1, "horizontal_accuracy": 5 } })
}

fn owntracks(points: &[Point]) -> Request {
    let Point { second, latitude, longitude } = points[0];
    let body = json!({ "_type": "location", "tst": second, "lat": latitude, "lon": longitude, "acc": 5, "tid": "JJ" });
    Request("POST", String::new(), JSON, body.to_string())
}

fn is_2xx(status: u16, _: &[u8]) -> bool {
    (200..300).contains(&status)
}

/// What most of them do: they keep a point until a 2xx, and send one after the other.
const USUAL: Kind = Kind {
    name: "Traccar Client 10",
    request: |points| Request("POST", String::new(), FORM, form(&points[0])),
    together: 1,
    is_ordered: true,
    is_delivered: is_2xx,
    deletes_on_4xx: false,
    deletes_on_5xx: false,
    attempts: None,
};

/// Every client of docs/devices.md, as its source says that it behaves.
pub(crate) static KINDS: [Kind; 13] = [
    USUAL,
    Kind {
        name: "Traccar Client 9",
        request: |points| {
            let Point { second, latitude, longitude } = points[0];
            let coords = json!({ "latitude": latitude, "longitude": longitude, "speed": -1, "heading": -1, "accuracy": 5 });
            let body =
                json!({ "location": { "timestamp": rfc3339(second), "coords": coords }, "device_id": "1" });
            Request("POST", String::new(), JSON, body.to_string())
        },
        ..USUAL
    },
    Kind {
        name: "Traccar Client 8, Android",
        request: |points| Request("POST", format!("?{}", form(&points[0])), "", String::new()),
        is_delivered: |status, _| status < 400,
        ..USUAL
    },
    Kind {
        name: "Traccar Client 8, iOS",
        request: |points| Request("POST", format!("?{}", form(&points[0])), "", String::new()),
        deletes_on_4xx: true,
        deletes_on_5xx: true,
        ..USUAL
    },
    Kind {
        name: "OsmAnd",
        request: |points| Request("GET", format!("?{}", form(&points[0])), "", String::new()),
        ..USUAL
    },
    Kind {
        name: "OwnTracks, Android",
        request: owntracks,
        is_delivered: |status, body| is_2xx(status, body) && serde_json::from_slice::<Value>(body).is_ok(),
        ..USUAL
    },
    Kind { name: "OwnTracks, iOS", request: owntracks, deletes_on_4xx: true, ..USUAL },
    Kind {
        name: "Overland",
        request: |points| {
            let locations: Vec<Value> = points.iter().map(feature).collect();
            Request(
                "POST",
                String::new(),
                JSON,
                json!({ "locations": locations, "current": {}, "trip": {} }).to_string(),
            )
        },
        together: 3,
        is_delivered: |status, body| {
            let is_ok = serde_json::from_slice::<Value>(body).is_ok_and(|body| body["result"] == "ok");
            is_2xx(status, body) && is_ok
        },
        ..USUAL
    },
    Kind {
        name: "GPSLogger",
        request: |points| Request("POST", String::new(), "", form(&points[0])),
        is_ordered: false,
        attempts: Some(4),
        ..USUAL
    },
    Kind {
        name: "Colota",
        request: |points| {
            let body = json!({ "locations": [feature(&points[0])] });
            Request("POST", String::new(), JSON, body.to_string())
        },
        is_ordered: false,
        ..USUAL
    },
    Kind {
        name: "μlogger",
        request: |points| {
            let Point { second, latitude, longitude } = points[0];
            let body =
                format!("action=addpos&lat={latitude}&lon={longitude}&time={second}&accuracy=5&trackid=1");
            Request("POST", "/client/index.php".to_owned(), FORM, body)
        },
        is_delivered: |status, body| {
            status == 200 && serde_json::from_slice::<Value>(body).is_ok_and(|body| body["error"] == false)
        },
        ..USUAL
    },
    Kind {
        name: "Traccar server",
        request: |points| {
            let Point { second, latitude, longitude } = points[0];
            let position = json!({ "fixTime": rfc3339(second), "valid": true, "outdated": false, "latitude": latitude,
                "longitude": longitude, "speed": 0.0, "accuracy": 0.0, "attributes": {} });
            let body = json!({ "position": position, "device": { "uniqueId": "1" } });
            Request("POST", String::new(), JSON, body.to_string())
        },
        is_ordered: false,
        ..USUAL
    },
    Kind {
        name: "flespi",
        request: |points| {
            let message = |Point { second, latitude, longitude }: &Point| {
                json!({ "ident": "1", "timestamp": second, "position.latitude": latitude,
                    "position.longitude": longitude, "position.speed": 0, "position.valid": true })
            };
            let messages: Vec<Value> = points.iter().map(message).collect();
            Request("POST", String::new(), JSON, json!(messages).to_string())
        },
        together: 3,
        is_delivered: |status, _| status == 200,
        ..USUAL
    },
];

impl StandIn {
    pub(crate) fn new(kind: &'static Kind, token: String, points: &[Point]) -> Self {
        let queue = points.iter().map(|point| (*point, 0)).collect();
        Self { kind, token, queue, forgotten: Vec::new(), lost: Vec::new() }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn deletes_on_4xx(&self) -> bool {
        self.kind.deletes_on_4xx
    }

    pub(crate) fn deletes_on_5xx(&self) -> bool {
        self.kind.deletes_on_5xx
    }

    /// Sends what comes next, without waiting for the answer; returns what that was.
    pub(crate) async fn send(&mut self, server: &str) -> (TcpStream, Vec<Point>) {
        if !self.kind.is_ordered {
            self.queue.rotate_left(1);
        }
        let sent: Vec<Point> = self.queue.iter().take(self.kind.together).map(|(point, _)| *point).collect();
        self.queue.iter_mut().take(sent.len()).for_each(|(_, attempts)| *attempts += 1);
        let Request(method, behind, kind, body) = (self.kind.request)(&sent);
        let kind = if kind.is_empty() { String::new() } else { format!("Content-Type: {kind}\r\n") };
        let head = format!(
            "{method} /in/{}{behind} HTTP/1.1\r\nHost: waypost\r\nConnection: close\r\n{kind}Content-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        let mut socket = TcpStream::connect(server.trim_start_matches("http://")).await.unwrap();
        socket.write_all(head.as_bytes()).await.unwrap();
        (socket, sent)
    }

    /// Sends what comes next and does with the answer what the client does. Returns the status.
    pub(crate) async fn exchange(&mut self, server: &str) -> u16 {
        let (mut socket, sent) = self.send(server).await;
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).await.unwrap();
        let text = String::from_utf8_lossy(&answer).into_owned();
        let status =
            text.split(' ').nth(1).unwrap_or_else(|| panic!("an answer, not {text:?}")).parse().unwrap();
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
        self.hear(&sent, status, body.as_bytes());
        status
    }

    fn hear(&mut self, sent: &[Point], status: u16, body: &[u8]) {
        let Kind { is_delivered, deletes_on_4xx, deletes_on_5xx, attempts, .. } = self.kind;
        let deletes = match status {
            400..500 => *deletes_on_4xx,
            500.. => *deletes_on_5xx,
            _ => false,
        };
        if is_delivered(status, body) {
            self.queue.drain(..sent.len());
            self.forgotten.extend(sent);
        } else if deletes || attempts.is_some_and(|most| self.queue[0].1 >= most) {
            self.queue.drain(..sent.len());
            self.lost.extend(sent);
        }
    }
}
