//! The live feed as Server-Sent Events: who may open it, what an event is, and going on after a break.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;

use crate::harness::{ANSWER_WITHIN, App, circle, on_each_engine, text};

/// An open stream.
pub(crate) struct Stream(Lines<BufReader<TcpStream>>);

/// An event: its name, its id if it has one, and its data.
pub(crate) type Heard = (String, Option<String>, Value);

impl Stream {
    /// Opens a stream; returns its status as well.
    pub(crate) async fn open(app: &App, query: &str, headers: &[(&str, &str)]) -> (u16, Self) {
        let address = app.url.strip_prefix("http://").unwrap();
        let mut connection = TcpStream::connect(address).await.unwrap();
        let mut request = format!("GET /v1/events/stream?{query} HTTP/1.1\r\nhost: {address}\r\n");
        headers.iter().for_each(|(name, value)| request.push_str(&format!("{name}: {value}\r\n")));
        connection.write_all(format!("{request}\r\n").as_bytes()).await.unwrap();
        let mut lines = BufReader::new(connection).lines();
        let first = lines.next_line().await.unwrap().unwrap();
        let status = first.split(' ').nth(1).unwrap().parse().unwrap();
        let mut head = Vec::new();
        loop {
            match lines.next_line().await.unwrap().unwrap() {
                line if line.is_empty() => break,
                line => head.push(line.to_ascii_lowercase()),
            }
        }
        if status == 200 {
            for expected in
                ["content-type: text/event-stream", "cache-control: no-store", "x-accel-buffering: no"]
            {
                assert!(head.iter().any(|line| line == expected), "{expected}: {head:?}");
            }
            assert!(!head.iter().any(|line| line.starts_with("content-encoding")), "{head:?}");
        }
        (status, Self(lines))
    }

    pub(crate) async fn of(app: &App, query: &str, token: &str, last_id: &str) -> Self {
        let bearer = format!("Bearer {token}");
        let headers =
            [("authorization", bearer.as_str()), ("accept-encoding", "br, gzip"), ("last-event-id", last_id)];
        let (status, stream) = Self::open(app, query, &headers).await;
        assert_eq!(status, 200);
        stream
    }

    /// The next event of one of these names.
    pub(crate) async fn hear(&mut self, names: &[&str]) -> Heard {
        let heard = async {
            let (mut name, mut id) = (String::new(), None);
            loop {
                let line = self.0.next_line().await.unwrap().expect("the stream goes on");
                match line.split_once(": ") {
                    Some(("event", value)) => (name, id) = (value.to_owned(), None),
                    Some(("id", value)) => id = Some(value.to_owned()),
                    Some(("data", value)) if names.contains(&name.as_str()) => {
                        return (name, id, serde_json::from_str(value).unwrap());
                    }
                    _ => {}
                }
            }
        };
        tokio::time::timeout(ANSWER_WITHIN, heard).await.expect("an event")
    }

    /// The kind and the name of the next change of a geofence, and its id. Changes of what the test began with may come
    /// first: they are numbered after they were answered.
    async fn change(&mut self) -> (String, String) {
        loop {
            let (_, id, said) = self.hear(&["change"]).await;
            let change = &said["change"];
            if change["resource"] == "geofence" {
                return (format!("{} {}", text(&change["kind"]), text(&change["data"]["name"])), id.unwrap());
            }
        }
    }
}

#[test]
fn who_comes_back_with_the_last_id_hears_what_was_missed_once() {
    on_each_engine(async |app| {
        let org = app.org("streamed").await;
        let made = async |name: &str| app.post("/v1/geofences", &org.dispatcher, circle(name)).await.ok(201);
        let mut stream = Stream::of(&app, "topics=changes,events", &org.viewer, "").await;
        let (_, id, subscribed) = stream.hear(&["subscribed"]).await;
        assert_eq!((subscribed["mode"].clone(), id), (json!("snapshot"), Some(text(&subscribed["cursor"]))));
        made("One").await;
        let (said, id) = stream.change().await;
        assert_eq!(said, "created One");
        drop(stream);
        made("Two").await;
        made("Three").await;
        let mut stream = Stream::of(&app, "topics=changes,events", &org.viewer, &id).await;
        assert_eq!(stream.hear(&["subscribed"]).await.2["mode"], "resumed");
        for expected in ["created Two", "created Three"] {
            assert_eq!(stream.change().await.0, expected);
        }
        made("Four").await;
        assert_eq!(stream.change().await.0, "created Four");
        // By the query, for those who cannot set the header.
        let mut stream = Stream::of(&app, &format!("topics=changes&cursor={id}"), &org.viewer, "").await;
        assert_eq!(stream.change().await.0, "created Two");
        app
    });
}

#[test]
fn positions_come_as_snapshot_and_deltas() {
    on_each_engine(async |app| {
        let org = app.org("moving").await;
        let body = json!({ "name": "Bus", "tracker": { "uniqueId": "imei-1" } });
        let bus = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
        let mut stream = Stream::of(&app, "topics=positions&minIntervalMs=0", &org.viewer, "").await;
        let (_, id, snapshot) = stream.hear(&["snapshot"]).await;
        assert_eq!((id, &snapshot["vehicles"][0]["vehicleId"]), (None, &bus["id"]));
        let item = json!({ "recordedAt": "2026-05-01T11:59:00Z", "latitude": 30.27, "longitude": -97.74 });
        let token = text(&bus["tracker"]["token"]);
        app.post("/v1/positions", &token, json!({ "items": [item] })).await.ok(200);
        let (_, _, delta) = stream.hear(&["delta"]).await;
        assert_eq!(delta["vehicles"][0]["position"]["latitude"], 30.27, "{delta}");
        app
    });
}

#[test]
fn a_ticket_opens_one_stream_and_rights_are_those_of_the_socket() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("mine").await, app.org("theirs").await);
        let ticket = text(&app.post("/v1/auth/ws-ticket", &org.viewer, json!(null)).await.ok(201)["ticket"]);
        let query = format!("topics=changes&ticket={ticket}");
        let (status, mut stream) = Stream::open(&app, &query, &[]).await;
        assert_eq!(status, 200);
        stream.hear(&["subscribed"]).await;
        assert_eq!(Stream::open(&app, &query, &[]).await.0, 401);
        assert_eq!(Stream::open(&app, "", &[]).await.0, 401);
        let refused = async |query: &str, token: &str| {
            let bearer = format!("Bearer {token}");
            Stream::open(&app, query, &[("authorization", &bearer)]).await.0
        };
        assert_eq!(refused(&format!("organizationId={}", other.id), &org.viewer).await, 404);
        assert_eq!(refused("topics=nothing", &org.viewer).await, 400);
        assert_eq!(refused("topic=events", &org.viewer).await, 400);
        let (_, program) = app.system_user(&org.org_admin, &["fuel:read"]).await;
        assert_eq!(refused("topics=events", &program).await, 403);
        assert_eq!(refused("topics=fuel", &program).await, 200);
        app
    });
}
