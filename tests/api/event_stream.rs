//! The live feed as Server-Sent Events: who may open it, what an event is, and going on after a break.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use waypost::domain::account::Role;

use crate::api_keys::new_key;
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

    /// The next line.
    pub(crate) async fn line(&mut self) -> String {
        self.0.next_line().await.unwrap().expect("the stream goes on")
    }

    /// The next event of one of these names.
    pub(crate) async fn hear(&mut self, names: &[&str]) -> Heard {
        let heard = async {
            let (mut name, mut id) = (String::new(), None);
            loop {
                let line = self.line().await;
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
fn an_operator_who_names_no_organization_that_is_there_is_told() {
    on_each_engine(async |app| {
        let org = app.org("streamed").await;
        let bearer = format!("Bearer {}", app.root);
        let headers = [("authorization", bearer.as_str())];
        let of = |id: &str| format!("topics=events&organizationId={id}");
        let unknown = of("0190b3c2-7a51-7c3e-9d0a-5b7f6c1e2d43");
        assert_eq!(Stream::open(&app, &unknown, &headers).await.0, 404);
        assert_eq!(Stream::open(&app, &of(&org.id), &headers).await.0, 200);
        app
    });
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

/// The query of a stream of changes by a ticket of somebody.
async fn by_ticket(app: &App, token: &str) -> String {
    let ticket = app.post("/v1/auth/ws-ticket", token, json!(null)).await.ok(201);
    format!("topics=changes&ticket={}", text(&ticket["ticket"]))
}

/// As a browser connects again: the same address, and the last id. The status, and what it hears.
async fn again(app: &App, query: &str, last_id: &str) -> (u16, Stream) {
    Stream::open(app, query, &[("last-event-id", last_id)]).await
}

#[test]
fn who_came_by_a_ticket_goes_on_with_it_and_the_last_id_as_long_as_the_credential_holds() {
    on_each_engine(async |app| {
        let org = app.org("mine").await;
        let account = app.account(Role::Dispatcher, Some(&org.id)).await;
        let (token, (keys, key, program)) =
            (app.sign_in(account).await, new_key(&app, &org, &["geofences:read"]).await);
        let (of_person, of_program) = (by_ticket(&app, &token).await, by_ticket(&app, &program).await);
        let mut last = Vec::new();
        for query in [&of_person, &of_program] {
            let (status, mut stream) = Stream::open(&app, query, &[]).await;
            assert_eq!(status, 200);
            last.push(stream.hear(&["subscribed"]).await.1.unwrap());
        }
        let (mut of, others) = (last.remove(0), last.remove(0));
        let cursor = of.split_once('.').unwrap().0.to_owned();
        for name in ["One", "Two"] {
            app.post("/v1/geofences", &org.dispatcher, circle(name)).await.ok(201);
            let (status, mut stream) = again(&app, &of_person, &of).await;
            assert_eq!(status, 200);
            assert_eq!(stream.hear(&["subscribed"]).await.2["mode"], "resumed");
            let (told, id) = stream.change().await;
            assert_eq!(told, format!("created {name}"));
            of = id;
        }
        // The ticket alone, the cursor alone, another's id; and the id as a cursor shows nothing.
        for id in ["", &cursor, &others, &format!("{cursor}."), &format!("{cursor}.{}", "A".repeat(67))] {
            assert_eq!(again(&app, &of_person, id).await.0, 401, "{id}");
        }
        assert_eq!(again(&app, "topics=changes", &of).await.0, 401);
        assert_eq!(Stream::open(&app, &format!("{of_person}&cursor={of}"), &[]).await.0, 401);
        // A new ticket goes on from the same id, said either way.
        for (cursor, header) in [(of.as_str(), ""), ("", of.as_str())] {
            let query = format!("{}&cursor={cursor}", by_ticket(&app, &token).await);
            let (_, mut stream) = again(&app, &query, header).await;
            assert_eq!(stream.hear(&["subscribed"]).await.2["mode"], "resumed");
        }
        let (_, mut stream) = again(&app, &of_person, &of).await;
        stream.hear(&["subscribed"]).await;
        app.put(&format!("/v1/users/{account}"), &org.org_admin, json!({ "status": "disabled" }))
            .await
            .ok(200);
        assert_eq!(stream.hear(&["problem"]).await.2["code"], "sessionEnded");
        assert_eq!(again(&app, &of_person, &of).await.0, 401);
        assert_eq!(again(&app, &of_program, &others).await.0, 200);
        app.delete(&format!("{keys}/{key}"), &org.org_admin).await.ok(204);
        assert_eq!(again(&app, &of_program, &others).await.0, 401);
        app
    });
}
